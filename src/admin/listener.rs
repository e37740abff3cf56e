//! The operator's socket: HTTP/1.1 by hyper, with bounds on connections, heads and idle time, and a stop that
//! lets requests finish. One server on the side of the shop's traffic: nothing that happens here may cost the
//! doors more than its few connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};

use super::Settings;
use super::access::Peer;
use crate::listen::{self, BindError, Bound, stopped};
use crate::metrics::{self, ConnectionRefusal, Listener as Door, OpenConnection};

/// The recorder's histograms are folded this often; they would grow otherwise.
const UPKEEP: Duration = Duration::from_secs(5);

/// The admin listener, bound but not yet serving.
#[derive(Debug)]
pub struct Listener {
    bound: Bound,
    settings: Settings,
}

impl Listener {
    /// Binds the address of the settings.
    ///
    /// # Errors
    /// See [`BindError`]; one line that says which address and what to do.
    pub async fn bind(settings: Settings) -> Result<Self, BindError> {
        let bound = listen::bind(settings.listen).await?;
        Ok(Self { bound, settings })
    }

    /// The address that it got; the port is the real one if 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.bound.local_addr()
    }

    /// Serves until `stop` shows true or its sender is gone, then lets open requests finish within
    /// `settings.drain`. Meanwhile it keeps `counted` from growing.
    pub async fn serve(self, router: Router, counted: metrics::Handle, stop: watch::Receiver<bool>) {
        let Self { bound, settings } = self;
        let room = Arc::new(Semaphore::new(settings.connections));
        let seen = stop.clone();
        let connection = |stream, peer| {
            let permit = Arc::clone(&room).try_acquire_owned();
            let (router, settings, stop) = (router.clone(), settings.clone(), seen.clone());
            async move {
                let Ok(_permit) = permit else {
                    metrics::connection_refused(Door::Admin, ConnectionRefusal::Full);
                    return;
                };
                let _open = OpenConnection::at(Door::Admin);
                converse(stream, peer, router, &settings, stop).await;
            }
        };
        tokio::select! {
            () = bound.run(stop, settings.drain, connection) => {}
            () = upkeep(&counted) => {}
        }
    }
}

async fn upkeep(counted: &metrics::Handle) {
    let mut tick = tokio::time::interval(UPKEEP);
    loop {
        tick.tick().await;
        counted.upkeep();
    }
}

/// One connection; the request in flight is finished after the stop.
async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    settings: &Settings,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let api = TowerToHyperService::new(router);
    let told = service_fn(move |mut request| {
        http::Request::extensions_mut(&mut request).insert(Peer(peer));
        api.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_timeout)
        .max_buf_size(settings.header_bytes.max(8192))
        .serve_connection(TokioIo::new(stream), told);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        let cause = if error.is_timeout() { ConnectionRefusal::Slow } else { ConnectionRefusal::Malformed };
        if error.is_timeout() || error.is_parse() {
            metrics::connection_refused(Door::Admin, cause);
        }
        tracing::debug!(%error, "a connection to the admin listener broke");
    }
}
