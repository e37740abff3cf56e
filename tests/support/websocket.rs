//! As much of WebSocket (RFC 6455) as an echo needs: the handshake and short frames.

use std::io;
use std::net::SocketAddr;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::origin::wire;

/// What the other side must answer to a handshake key.
pub fn accept_key(key: &str) -> String {
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    STANDARD.encode(digest::digest(&digest::SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()))
}

/// Reads one short frame and takes its mask off; its first byte and its content.
pub async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<(u8, Vec<u8>)> {
    let first = stream.read_u8().await?;
    let length = stream.read_u8().await?;
    let mut mask = [0; 4];
    if length & 0x80 != 0 {
        stream.read_exact(&mut mask).await?;
    }
    let mut content = vec![0; usize::from(length & 0x7f)];
    stream.read_exact(&mut content).await?;
    content.iter_mut().enumerate().for_each(|(i, b)| *b ^= mask[i % 4]);
    Ok((first, content))
}

/// Writes one short frame.
pub async fn write_frame(
    stream: &mut (impl AsyncWrite + Unpin),
    first: u8,
    content: &[u8],
    mask: Option<[u8; 4]>,
) -> io::Result<()> {
    let mut frame = vec![first, content.len() as u8 | if mask.is_some() { 0x80 } else { 0 }];
    let mask_bytes = mask.unwrap_or_default();
    frame.extend(mask.iter().flatten());
    frame.extend(content.iter().enumerate().map(|(i, b)| b ^ mask_bytes[i % 4]));
    stream.write_all(&frame).await
}

/// An open WebSocket of a client.
pub struct Socket(BufReader<TcpStream>);

/// Asks for an upgrade: the socket, or the status of the refusal.
pub async fn open(to: SocketAddr, target: &str, more: &str) -> Result<Socket, u16> {
    let mut stream = BufReader::new(TcpStream::connect(to).await.unwrap());
    let key = STANDARD.encode(super::chance::bits().to_be_bytes().repeat(2));
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {to}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n{more}\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let head = wire::read_head(&mut stream).await.unwrap().unwrap_or_default();
    let status = head.first().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse().ok()).unwrap_or(0);
    if status != 101 {
        return Err(status);
    }
    assert!(head.iter().any(|l| l.ends_with(&accept_key(&key))), "wrong handshake: {head:?}");
    Ok(Socket(stream))
}

impl Socket {
    /// Sends a text and returns what comes back.
    pub async fn echo(&mut self, text: &str) -> io::Result<String> {
        write_frame(self.0.get_mut(), 0x81, text.as_bytes(), Some([7, 1, 200, 99])).await?;
        let (_, content) = read_frame(&mut self.0).await?;
        Ok(String::from_utf8_lossy(&content).into_owned())
    }
}
