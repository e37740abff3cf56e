//! The operator's socket: HTTP/1.1 by hyper, with bounds on connections, heads and idle time, and a stop that
//! lets requests finish. One server on the side of the shop's traffic: nothing that happens here may cost the
//! doors more than its few connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::Settings;
use super::access::Peer;
use crate::metrics::{self, ConnectionRefusal, Listener as Door, OpenConnection};

/// Why the admin listener cannot be opened: one line that says what to do.
#[derive(Debug, thiserror::Error)]
#[error("admin.listen = \"{address}\": {why}")]
pub struct BindError {
    address: SocketAddr,
    why: String,
}

impl BindError {
    fn new(address: SocketAddr, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "the port is taken; stop what listens there or choose another".to_owned()
            }
            io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
            io::ErrorKind::PermissionDenied => "not allowed; ports below 1024 need a privilege".to_owned(),
            _ => error.to_string(),
        };
        Self { address, why }
    }
}

/// The admin listener, bound but not yet serving.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    settings: Settings,
}

impl Listener {
    /// Binds the address of the settings.
    pub async fn bind(settings: Settings) -> Result<Self, BindError> {
        let failed = |error: io::Error| BindError::new(settings.listen, &error);
        let socket = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address, settings })
    }

    /// The address that it got; the port is the real one if 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` shows true or its sender is gone, then lets open requests finish within
    /// `settings.drain`. Every few seconds it folds `counted`, whose histograms would grow otherwise.
    pub async fn serve(self, router: Router, counted: metrics::Handle, mut stop: watch::Receiver<bool>) {
        let open = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(self.settings.connections));
        let mut upkeep = tokio::time::interval(UPKEEP);
        loop {
            tokio::select! {
                () = stopped(&mut stop) => break,
                _ = upkeep.tick() => counted.upkeep(),
                accepted = self.socket.accept() => match accepted {
                    Ok((stream, peer)) => self.take(stream, peer, &router, &room, &open),
                    Err(error) => pause_after(&error).await,
                },
            }
        }
        drop(self.socket);
        if tokio::time::timeout(self.settings.drain, open.shutdown()).await.is_err() {
            tracing::warn!("some requests on the admin listener did not finish in time and were cut");
        }
    }

    /// Serves one connection in a task of its own, if there is room.
    fn take(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        router: &Router,
        room: &Arc<Semaphore>,
        open: &GracefulShutdown,
    ) {
        let Ok(permit) = Arc::clone(room).try_acquire_owned() else {
            metrics::connection_refused(Door::Admin, ConnectionRefusal::Full);
            return;
        };
        let _ = stream.set_nodelay(true);
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(self.settings.header_timeout)
            .max_buf_size(self.settings.header_bytes.max(8192));
        let api = TowerToHyperService::new(router.clone());
        let told = service_fn(move |mut request| {
            http::Request::extensions_mut(&mut request).insert(Peer(peer));
            api.call(request)
        });
        let connection = open.watch(http1.serve_connection(TokioIo::new(stream), told));
        tokio::spawn(run(connection, permit));
    }
}

const UPKEEP: Duration = Duration::from_secs(5);

async fn run(connection: impl Future<Output = hyper::Result<()>>, permit: OwnedSemaphorePermit) {
    let counted = OpenConnection::at(Door::Admin);
    if let Err(error) = connection.await {
        let cause = if error.is_timeout() { ConnectionRefusal::Slow } else { ConnectionRefusal::Malformed };
        if error.is_timeout() || error.is_parse() {
            metrics::connection_refused(Door::Admin, cause);
        }
        tracing::debug!(%error, "a connection to the admin listener broke");
    }
    drop((counted, permit));
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Out of file handles, for example: accepting again at once would only burn the CPU that is left.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "the admin listener could not accept a connection");
    tokio::time::sleep(Duration::from_millis(50)).await;
}
