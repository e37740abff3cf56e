//! The connection on which the origin is asked for an upgrade: it gives the request its turn before the answer.
//!
//! pingora hands the origin's bytes and the end of the (empty) request body to one loop that takes whichever it
//! sees first. When a fast origin's `101` wins, the end of the body that comes after it is taken for the end of
//! the upgraded connection, and both sides are closed. So the first read after a write yields once: whatever was
//! to be sent is then taken first.
//!
//! An upgraded connection is a use of the visitor's pass for as long as it is open, and is cut when the stay ends:
//! now and then a read asks whether it still goes on, and is the end of the connection if not.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use pingora::connectors::L4Connect;
use pingora::protocols::l4::socket::SocketAddr;
use pingora::protocols::l4::stream::Stream;
use pingora::protocols::l4::virt::{VirtualSockOpt, VirtualSocket, VirtualSocketStream};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep};

use crate::answer::Stay;

/// Between two looks at the stay.
const LOOK: Duration = Duration::from_millis(500);

/// Keeps these connections apart from those of plain requests.
const GROUP: u64 = 1;

/// Has the peer reached over connections of this kind. They are not kept: after a refused upgrade as after a
/// granted one the next request is better off with an ordinary connection.
pub(super) fn prepare(peer: &mut HttpPeer, connect_timeout: Duration, stay: Option<Stay>) {
    peer.group_key = GROUP;
    peer.options.idle_timeout = Some(Duration::ZERO);
    peer.options.custom_l4 = Some(Arc::new(Dial { connect_timeout, stay }));
}

#[derive(Debug)]
struct Dial {
    connect_timeout: Duration,
    stay: Option<Stay>,
}

#[async_trait]
impl L4Connect for Dial {
    async fn connect(&self, address: &SocketAddr) -> pingora::Result<Stream> {
        let address = *address
            .as_inet()
            .ok_or_else(|| Error::explain(ErrorType::ConnectError, "not an internet address"))?;
        match tokio::time::timeout(self.connect_timeout, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let lease = self.stay.clone().map(Lease::new);
                let socket = Courteous { stream, wrote: false, lease };
                Ok(VirtualSocketStream::new(Box::new(socket)).into())
            }
            Ok(Err(error)) => Err(Error::because(kind_of(&error), "connecting for an upgrade", error)),
            Err(late) => Err(Error::because(ErrorType::ConnectTimedout, "connecting for an upgrade", late)),
        }
    }
}

fn kind_of(error: &io::Error) -> ErrorType {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => ErrorType::ConnectRefused,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => ErrorType::ConnectNoRoute,
        _ => ErrorType::ConnectError,
    }
}

/// A visitor's stay, looked at twice a second.
#[derive(Debug)]
struct Lease {
    stay: Stay,
    look: Pin<Box<Sleep>>,
}

impl Lease {
    fn new(stay: Stay) -> Self {
        Self { stay, look: Box::pin(tokio::time::sleep(LOOK)) }
    }

    /// Whether the connection must end; wakes the task for the next look.
    fn poll_over(&mut self, cx: &mut Context<'_>) -> bool {
        while self.look.as_mut().poll(cx).is_ready() {
            if !self.stay.goes_on() {
                return true;
            }
            self.look.as_mut().reset(Instant::now() + LOOK);
        }
        false
    }
}

/// A socket whose first read after a write yields once, and whose reads end with the visitor's stay.
#[derive(Debug)]
struct Courteous<S> {
    stream: S,
    wrote: bool,
    lease: Option<Lease>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Courteous<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if std::mem::take(&mut self.wrote) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.lease.as_mut().is_some_and(|lease| lease.poll_over(cx)) {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Courteous<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.wrote = true;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.wrote = true;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl VirtualSocket for Courteous<TcpStream> {
    fn set_socket_option(&self, option: VirtualSockOpt) -> io::Result<()> {
        match option {
            VirtualSockOpt::NoDelay => self.stream.set_nodelay(true),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn what_is_to_be_sent_goes_before_an_answer_that_is_there_already() {
        for _ in 0..100 {
            let (stream, mut origin) = tokio::io::duplex(64);
            let mut socket = Courteous { stream, wrote: false, lease: None };
            origin.write_all(b"101").await.unwrap();
            socket.write_all(b"GET").await.unwrap();
            let mut answer = [0u8; 3];
            tokio::select! {
                _ = socket.read(&mut answer) => panic!("the answer came first"),
                () = std::future::ready(()) => {}
            }
            socket.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"101");
        }
    }
}
