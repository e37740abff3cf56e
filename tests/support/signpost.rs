//! An address that can be moved: whoever connects is led to the server that it points to now. Moving it cuts everybody
//! off, as a failover does. It can go dark too: connections stay and are taken, and nothing passes any more.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::ports;

/// A running signpost; it ends with the test's runtime.
pub struct Signpost {
    addr: SocketAddr,
    to: watch::Sender<SocketAddr>,
    dark: watch::Sender<bool>,
    taken: Arc<AtomicUsize>,
}

impl Signpost {
    /// Points to this server.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(ports::at(ports::free())).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (to, target) = watch::channel(server);
        let (dark, darkness) = watch::channel(false);
        let taken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(lead(stream, target.clone(), darkness.clone()));
            }
        });
        Self { addr, to, dark, taken }
    }

    /// Points to another server from now on.
    pub fn turn(&self, server: SocketAddr) {
        self.to.send_replace(server);
    }

    /// Nothing passes any more, or again.
    pub fn dark(&self, dark: bool) {
        self.dark.send_replace(dark);
    }

    /// How many connections it has taken.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Where it stands.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

async fn lead(from: TcpStream, mut target: watch::Receiver<SocketAddr>, mut dark: watch::Receiver<bool>) {
    if dark.wait_for(|dark| !dark).await.is_err() {
        return;
    }
    let server = *target.borrow_and_update();
    let Ok(to) = TcpStream::connect(server).await else { return };
    let ((from_read, from_write), (to_read, to_write)) = (from.into_split(), to.into_split());
    tokio::select! {
        _ = pass(from_read, to_write, dark.clone()) => {}
        _ = pass(to_read, from_write, dark) => {}
        _ = target.changed() => {}
    }
}

/// Passes bytes on while it is not dark.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut dark: watch::Receiver<bool>,
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if dark.wait_for(|dark| !dark).await.is_err() || count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count]).await?;
    }
}
