//! A relay that writes down what passes towards a server that nobody here wrote, in the shop's journal.
//!
//! It copies bytes both ways untouched and reads the heads of requests (without bodies: GET and HEAD) as they go by.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncBufRead, AsyncReadExt, AsyncWriteExt, BufReader, copy};
use tokio::net::{TcpListener, TcpStream};

use super::origin::journal::Journal;
use super::origin::wire::{Request, read_head};
use super::ports;

/// A running relay; it ends with the test's runtime.
pub struct Relay {
    addr: SocketAddr,
    journal: Arc<Journal>,
}

impl Relay {
    /// Relays to this server.
    pub async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind(ports::at(ports::free())).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let journal = Arc::new(Journal::default());
        let heard = Arc::clone(&journal);
        tokio::spawn(async move {
            let mut count = 0;
            while let Ok((stream, _)) = listener.accept().await {
                count += 1;
                tokio::spawn(relay(stream, server, Arc::clone(&heard), count));
            }
        });
        Self { addr, journal }
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What passed.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.journal
    }
}

async fn relay(
    from: TcpStream,
    server: SocketAddr,
    journal: Arc<Journal>,
    connection: u64,
) -> std::io::Result<()> {
    let (from_read, mut from_write) = from.into_split();
    let (mut to_read, mut to_write) = TcpStream::connect(server).await?.into_split();
    tokio::spawn(async move { copy(&mut to_read, &mut from_write).await });
    let mut from_read = BufReader::new(from_read);
    pass_heads(&mut from_read, &mut to_write, &journal, connection).await
}

async fn pass_heads(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWriteExt + Unpin),
    journal: &Journal,
    connection: u64,
) -> std::io::Result<()> {
    while let Some(head) = read_head(from).await? {
        let request = Request::from_head(&head);
        journal.note(connection, &request);
        to.write_all(format!("{}\r\n\r\n", head.join("\r\n")).as_bytes()).await?;
        let length = request.header("content-length").and_then(|v| v.parse().ok()).unwrap_or(0);
        copy(&mut from.take(length), to).await?;
    }
    to.shutdown().await
}
