//! Bytes over a socket exactly as written: what ordinary clients would tidy before sending.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What came back: all bytes until the other side closed or was quiet, as text.
#[derive(Debug)]
pub struct Heard {
    pub text: String,
    pub closed: bool,
}

impl Heard {
    /// The first status, 0 if there was none.
    pub fn status(&self) -> u16 {
        self.text.split(' ').nth(1).and_then(|s| s.get(..3)).and_then(|s| s.parse().ok()).unwrap_or(0)
    }

    /// How many answers there were.
    pub fn answers(&self) -> usize {
        self.text.matches("HTTP/1.1 ").count()
    }
}

/// Sends these bytes, then listens until the close or until a second of quiet after the first byte.
pub async fn send(to: SocketAddr, bytes: &[u8]) -> io::Result<Heard> {
    let mut stream = TcpStream::connect(to).await?;
    stream.write_all(bytes).await?;
    let mut heard = Vec::new();
    let mut chunk = [0; 16 * 1024];
    let mut patience = Duration::from_secs(20);
    let closed = loop {
        match timeout(patience, stream.read(&mut chunk)).await {
            Ok(Ok(0) | Err(_)) => break true,
            Ok(Ok(n)) => heard.extend_from_slice(&chunk[..n]),
            Err(_) => break false,
        }
        patience = Duration::from_millis(700);
    };
    Ok(Heard { text: String::from_utf8_lossy(&heard).into_owned(), closed })
}

/// A GET of this raw target that asks for the connection to be closed afterwards.
pub async fn get(to: SocketAddr, target: &str, more: &str) -> Heard {
    let host = format!("Host: {to}\r\n");
    let host = if more.to_ascii_lowercase().contains("host:") { "" } else { &host };
    let request = format!(
        "GET {target} HTTP/1.1\r\n{host}Accept: application/json\r\nSec-Fetch-Mode: cors\r\n{more}Connection: close\r\n\r\n"
    );
    send(to, request.as_bytes()).await.unwrap()
}
