//! The second door, for those who wait: hyper instead of pingora, since a parked connection costs a quarter
//! of the memory here. It serves the prefix endpoints alone and has no way to the origin: nothing in this
//! part knows where the origin is, and the gate is asked only [`Gate::wait`].

mod body;
mod patience;
mod service;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;

use patience::Patient;

use crate::answer::Gate;
use crate::listen::{self, Admit, Bound, Limits, stopped};
use crate::metrics::{self, ConnectionRefusal, Listener};
use crate::route::Trusted;

/// The smallest head buffer that hyper takes.
const HEAD_MIN: usize = 8 * 1024;

/// Settings of the crowd door.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Bounds on clients. `idle_timeout` here bounds silence and the arrival of a head together.
    pub limits: Limits,
    /// Proxies in front of us whose forwarding headers are believed.
    pub trusted: Trusted,
}

/// The crowd door.
pub struct Crowd {
    settings: Arc<Settings>,
    gate: Arc<dyn Gate>,
    admit: Arc<dyn Admit>,
}

impl Crowd {
    /// Puts the door together.
    #[must_use]
    pub fn new(settings: Settings, gate: Arc<dyn Gate>, admit: Arc<dyn Admit>) -> Self {
        Self { settings: Arc::new(settings), gate, admit }
    }

    /// Serves a port until `stop` turns true and the grace period is over or used up.
    pub async fn serve(&self, bound: Bound, stop: watch::Receiver<bool>) {
        let seen = stop.clone();
        let connection = |stream, peer: std::net::SocketAddr| {
            let counted = (!self.settings.trusted.holds(peer.ip())).then(|| peer.ip().to_canonical());
            let held = listen::take_in(Listener::Crowd, &*self.admit, counted);
            let (settings, gate, stop) = (self.settings.clone(), self.gate.clone(), seen.clone());
            async move {
                let Some(_held) = held else { return };
                converse(stream, peer, settings, gate, stop).await;
            }
        };
        bound.run(stop, self.settings.limits.grace, connection).await;
    }
}

/// One connection; the request in flight is finished after the stop.
async fn converse(
    stream: TcpStream,
    peer: std::net::SocketAddr,
    settings: Arc<Settings>,
    gate: Arc<dyn Gate>,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let limits = settings.limits.clone();
    let service = service_fn(move |request| {
        let (settings, gate) = (settings.clone(), gate.clone());
        async move { service::serve(request, peer.ip(), &settings.trusted, &gate).await }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.idle_timeout)
        .max_buf_size(limits.header_bytes.max(HEAD_MIN))
        .max_headers(limits.header_lines)
        .serve_connection(TokioIo::new(Patient::new(stream, limits.write_timeout)), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        if error.is_parse() {
            metrics::connection_refused(Listener::Crowd, ConnectionRefusal::Malformed);
        }
        tracing::debug!(%error, "a connection of the crowd door ended badly");
    }
}
