//! An accepted connection as pingora's stream type, with the bytes that were read ahead of it.
//!
//! Its buffers are a tenth of pingora's own, since most connections are idle. Whoever waits for the client has sent
//! everything: pingora flushes a response of known length only at its end, and while it waits for more of it
//! it watches the client. Closing lingers: a client that is still sending a body gets to read our answer instead of
//! a reset.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Buf, BytesMut};
use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, TimingDigest,
    UniqueID, UniqueIDType,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufWriter, ReadBuf};
use tokio::net::TcpStream;

/// Bytes gathered before a write.
const WRITE_BUFFER: usize = 4 * 1024;

/// How long, and for how many bytes, a closing connection is still read.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1024 * 1024;

/// A connection.
#[derive(Debug)]
pub(super) struct Conn {
    io: BufWriter<TcpStream>,
    /// Read from the socket, not yet handed to pingora.
    pub(super) ahead: BytesMut,
    digest: Arc<SocketDigest>,
}

impl Conn {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> Self {
        let digest = SocketDigest::from_raw_fd(stream.as_raw_fd());
        let _ = digest.peer_addr.set(Some(pingora::protocols::l4::socket::SocketAddr::Inet(peer)));
        Self {
            io: BufWriter::with_capacity(WRITE_BUFFER, stream),
            ahead: BytesMut::new(),
            digest: Arc::new(digest),
        }
    }

    /// Reads more into `ahead`; 0 at the end.
    pub(super) async fn more(&mut self) -> io::Result<usize> {
        self.ahead.reserve(2048);
        self.io.get_mut().read_buf(&mut self.ahead).await
    }

    /// Says that no more will be sent, then reads and forgets for a moment what the client still sends.
    pub(super) async fn linger(&mut self) {
        let lingering = async {
            self.io.shutdown().await?;
            let mut seen = 0;
            let mut sink = [0u8; 2048];
            while seen < LINGER_BYTES {
                match self.io.get_mut().read(&mut sink).await? {
                    0 => break,
                    n => seen += n,
                }
            }
            io::Result::Ok(())
        };
        let _ = tokio::time::timeout(LINGER, lingering).await;
    }
}

impl AsyncRead for Conn {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead.is_empty() {
            let read = Pin::new(self.io.get_mut()).poll_read(cx, buf);
            if read.is_pending()
                && !self.io.buffer().is_empty()
                && let Poll::Ready(Err(error)) = Pin::new(&mut self.io).poll_flush(cx)
            {
                return Poll::Ready(Err(error));
            }
            return read;
        }
        let n = self.ahead.len().min(buf.remaining());
        let chunk = self.ahead.split_to(n);
        buf.put_slice(chunk.chunk());
        if self.ahead.is_empty() {
            self.ahead = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Conn {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

#[async_trait]
impl Shutdown for Conn {
    async fn shutdown(&mut self) {
        self.linger().await;
    }
}

impl UniqueID for Conn {
    fn id(&self) -> UniqueIDType {
        self.io.get_ref().as_raw_fd()
    }
}

impl Ssl for Conn {}

impl GetTimingDigest for Conn {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Conn {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for Conn {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        Some(self.digest.clone())
    }
}

impl Peek for Conn {}
