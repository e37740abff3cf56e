//! Binding a port and accepting on it, for both doors, with a stop that waits for requests in flight and no
//! longer than told.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Pause after a failed accept (no file descriptors left), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another process has the port.
    #[error("{0} is in use: stop what listens there, or choose another address in the settings")]
    InUse(SocketAddr),
    /// The address or port is not ours to take.
    #[error("{0} may not be listened on: choose an address of this machine and a port above 1023")]
    Denied(SocketAddr),
    /// Anything else.
    #[error("cannot listen on {0}: {1}")]
    Other(SocketAddr, io::Error),
}

/// A port that is ours.
#[derive(Debug)]
pub struct Bound {
    listener: TcpListener,
    local: SocketAddr,
}

/// Takes a port; port 0 lets the system choose.
///
/// # Errors
/// See [`BindError`]; one line that says which address and what to do.
pub async fn bind(address: SocketAddr) -> Result<Bound, BindError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AddrInUse => BindError::InUse(address),
        io::ErrorKind::PermissionDenied | io::ErrorKind::AddrNotAvailable => BindError::Denied(address),
        _ => BindError::Other(address, error),
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok(Bound { listener, local })
}

impl Bound {
    /// The address, with the port that the system chose.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Hands every connection to `serve` until `stop` turns true; then waits for those that are open, at
    /// most `grace`.
    pub(crate) async fn run<F>(
        self,
        mut stop: watch::Receiver<bool>,
        grace: Duration,
        serve: impl Fn(TcpStream, SocketAddr) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut open = JoinSet::new();
        loop {
            tokio::select! {
                () = stopped(&mut stop) => break,
                Some(_) = open.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => drop(open.spawn(serve(stream, peer))),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept");
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
        // Whoever was accepted by the system already is not reset.
        while let Ok(Ok((stream, peer))) = tokio::time::timeout(Duration::ZERO, self.listener.accept()).await
        {
            open.spawn(serve(stream, peer));
        }
        drop(self.listener);
        let drained = async { while open.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, drained).await.is_err() {
            tracing::warn!("connections were cut at the end of the grace period");
        }
    }
}

/// Waits for the stop; also when whoever could ask for it is gone.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}
