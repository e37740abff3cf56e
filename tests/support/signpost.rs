//! An address that can be moved: whoever connects is led to the server that it points to now. Moving it cuts everybody
//! off, as a failover does.

use std::net::SocketAddr;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::ports;

/// A running signpost; it ends with the test's runtime.
pub struct Signpost {
    addr: SocketAddr,
    to: watch::Sender<SocketAddr>,
}

impl Signpost {
    /// Points to this server.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(ports::at(ports::free())).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (to, target) = watch::channel(server);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(lead(stream, target.clone()));
            }
        });
        Self { addr, to }
    }

    /// Points to another server from now on.
    pub fn turn(&self, server: SocketAddr) {
        self.to.send_replace(server);
    }

    /// Where it stands.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

async fn lead(mut from: TcpStream, mut target: watch::Receiver<SocketAddr>) {
    let server = *target.borrow_and_update();
    let Ok(mut to) = TcpStream::connect(server).await else { return };
    tokio::select! {
        _ = copy_bidirectional(&mut from, &mut to) => {}
        _ = target.changed() => {}
    }
}
