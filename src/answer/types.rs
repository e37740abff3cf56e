//! What the doors hand in and get back.

use std::net::IpAddr;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::{Events, Stay};
use crate::metrics::RequestOutcome;
use crate::room::{Micros, RoomId};
use crate::route::{Host, Target};

/// Which listener a request came in by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The shop's own addresses: may forward, hands passes out.
    Edge,
    /// The second door for those who wait: never forwards, never hands a pass out.
    Crowd,
}

/// A request after it was read in the one way that there is (see `route`), without its body.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The method, as sent.
    pub method: &'a Method,
    /// Whether the visitor's connection is TLS: ours, or as told by a trusted proxy.
    pub https: bool,
    /// The host in its one spelling, and as the visitor's browser calls it.
    pub host: &'a Host,
    /// Path and query: in their one spelling for matching, byte for byte for forwarding.
    pub target: &'a Target,
    /// The headers, as sent.
    pub headers: &'a HeaderMap,
    /// The peer, or the right-most hop that is not a trusted proxy.
    pub client: IpAddr,
    /// Whether the peer is a trusted proxy, so that its headers may be believed.
    pub peer_trusted: bool,
    /// The listener.
    pub door: Door,
}

/// An answer of our own, complete.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// All headers but those of framing (`Content-Length`, `Connection`), which the doors add.
    pub headers: HeaderMap,
    /// The body; the doors leave it out for HEAD.
    pub body: Bytes,
    /// What kind of answer it is, for the counters and the log.
    pub outcome: RequestOutcome,
    /// The room that it is about, for the same.
    pub room: Option<RoomId>,
}

/// What is to be done with a request.
#[derive(Debug)]
pub enum Verdict {
    /// It may go to the origin.
    Forward(Permit),
    /// It is answered here; the origin never sees it.
    Answer(Answer),
    /// It is answered here by a stream: the head, then what [`Gate::next`] gives until that is nothing.
    Events(Box<Events>),
}

/// What those who wait get.
#[derive(Debug)]
pub enum Reply {
    /// An answer.
    Answer(Answer),
    /// A stream, as in [`Verdict::Events`].
    Events(Box<Events>),
}

/// The permission to forward. Code that forwards takes one by value, and only this part can make one, so a
/// path that forgot to decide does not compile.
#[derive(Debug)]
pub struct Permit {
    pub(super) room: Option<RoomId>,
    pub(super) visitor: Option<String>,
    pub(super) pass: Option<String>,
    pub(super) not_before: Option<Micros>,
    pub(super) cookies: Vec<HeaderValue>,
    pub(super) bearer_is_ours: bool,
    pub(super) renewed: Option<HeaderValue>,
    pub(super) stay: Option<Box<Stay>>,
}

impl Permit {
    /// For what needs no pass: open paths, and paths outside all rooms.
    pub(super) const fn open() -> Self {
        Self {
            room: None,
            visitor: None,
            pass: None,
            not_before: None,
            cookies: Vec::new(),
            bearer_is_ours: false,
            renewed: None,
            stay: None,
        }
    }

    /// The room that admitted the visitor; `None` on open paths and outside all rooms.
    #[must_use]
    pub fn room(&self) -> Option<&RoomId> {
        self.room.as_ref()
    }

    /// For `x-ropeline-visitor`.
    #[must_use]
    pub fn visitor(&self) -> Option<&str> {
        self.visitor.as_deref()
    }

    /// For `x-ropeline-pass`: the pass itself.
    #[must_use]
    pub fn pass(&self) -> Option<&str> {
        self.pass.as_deref()
    }

    /// The slot: the door must not forward before this moment of the wall clock.
    #[must_use]
    pub fn not_before(&self) -> Option<Micros> {
        self.not_before
    }

    /// Whether `Authorization` holds a ticket of ours, which is not for the origin's eyes.
    #[must_use]
    pub fn bearer_is_ours(&self) -> bool {
        self.bearer_is_ours
    }

    /// A renewed pass for the response header `x-ropeline-pass`: for those who sent theirs that way.
    #[must_use]
    pub fn renewed(&self) -> Option<&HeaderValue> {
        self.renewed.as_ref()
    }

    /// The stay that the permit is for; `None` where no pass was asked for.
    #[must_use]
    pub fn stay(&self) -> Option<&Stay> {
        self.stay.as_deref()
    }

    /// The stay has ended with this very response: it takes the visitor's tokens away.
    pub fn end(&mut self) {
        self.renewed = None;
        if let Some(stay) = &self.stay {
            stay.end();
            self.cookies = stay.cleared();
        }
    }

    /// `Set-Cookie` values for the response, whatever the origin answers.
    #[must_use]
    pub fn cookies(&self) -> &[HeaderValue] {
        &self.cookies
    }
}

#[cfg(test)]
impl Permit {
    /// A permit for tests of the doors, which have no line.
    pub(crate) fn for_tests(room: Option<&str>, not_before: Option<Micros>) -> Self {
        Self {
            room: room.and_then(RoomId::new),
            visitor: room.map(|_| "a-visitor".to_owned()),
            pass: room.map(|_| "the.pass".to_owned()),
            not_before,
            cookies: vec![HeaderValue::from_static("rl_p_a=the.pass; HttpOnly; Path=/")],
            bearer_is_ours: false,
            renewed: None,
            stay: None,
        }
    }
}

/// Where every request is decided; what the doors call.
#[async_trait]
pub trait Gate: Send + Sync + 'static {
    /// The edge: the reserved prefix, unserved hosts, gated and open paths, everything.
    async fn decide(&self, request: &Request<'_>) -> Verdict;

    /// The crowd door: the prefix endpoints alone; whatever else is asked gets 404.
    async fn wait(&self, request: &Request<'_>) -> Reply;

    /// The next bytes of a stream, after a wait of at most a heartbeat; `None` at its end. Dropping the future
    /// ends the stream. Without streams there is never anything.
    async fn next(&self, _events: &mut Events) -> Option<Bytes> {
        None
    }
}
