//! Bodies of this door: whole answers, and streams that the gate is asked for piece by piece.
//!
//! hyper asks for a piece only when the last one is on its way, so a slow reader costs no queue here.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::body::{Body as HttpBody, Frame};

use crate::answer::{Events, Gate};

/// A whole answer or a stream.
pub(super) type Body = Either<Full<Bytes>, Stream>;

type Next = Pin<Box<dyn Future<Output = Option<(Bytes, Box<Events>)>> + Send>>;

/// An event stream as a body; dropping it ends the stream.
pub(super) struct Stream {
    gate: Arc<dyn Gate>,
    next: Option<Next>,
}

impl Stream {
    pub(super) fn new(gate: Arc<dyn Gate>, events: Box<Events>) -> Self {
        let next = Some(next(Arc::clone(&gate), events));
        Self { gate, next }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

fn next(gate: Arc<dyn Gate>, mut events: Box<Events>) -> Next {
    Box::pin(async move {
        let bytes = gate.next(&mut events).await?;
        Some((bytes, events))
    })
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(waiting) = &mut self.next else { return Poll::Ready(None) };
        let Poll::Ready(given) = waiting.as_mut().poll(cx) else { return Poll::Pending };
        let (gate, given) = (Arc::clone(&self.gate), given);
        self.next = None;
        Poll::Ready(given.map(|(bytes, events)| {
            self.next = Some(next(gate, events));
            Ok(Frame::data(bytes))
        }))
    }
}
