//! What the doors hand in and get back.

use std::net::IpAddr;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use crate::room::{Micros, RoomId};

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
    /// The host in its one spelling: lower case, no port, no final dot.
    pub host: &'a str,
    /// Host and port as the visitor's browser knows them, for links and origins.
    pub authority: &'a str,
    /// The path in its one spelling, for matching only.
    pub path: &'a str,
    /// Path and query byte for byte as they came and as they would go on.
    pub target: &'a str,
    /// The headers, as sent.
    pub headers: &'a HeaderMap,
    /// The peer, or the right-most hop that is not a trusted proxy.
    pub client: IpAddr,
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
}

/// What is to be done with a request.
#[derive(Debug)]
pub enum Verdict {
    /// It may go to the origin.
    Forward(Permit),
    /// It is answered here; the origin never sees it.
    Answer(Answer),
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
}

impl Permit {
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

    /// `Set-Cookie` values for the response, whatever the origin answers.
    #[must_use]
    pub fn cookies(&self) -> &[HeaderValue] {
        &self.cookies
    }
}

/// Where every request is decided; what the doors call.
#[async_trait]
pub trait Gate: Send + Sync + 'static {
    /// The edge: the reserved prefix, unserved hosts, gated and open paths, everything.
    async fn decide(&self, request: &Request<'_>) -> Verdict;

    /// The crowd door: the prefix endpoints alone; whatever else is asked gets 404.
    async fn wait(&self, request: &Request<'_>) -> Answer;
}
