//! A request as the gate sees it, taken from pingora's session once.

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, Method, StatusCode};
use pingora::http::RequestHeader;
use pingora::proxy::Session;

use crate::answer::{Answer, Door, Problem, Request, problem};
use crate::route::{Ambiguous, BadHost, Client, Host, Target, Trusted};

/// The one reading of a request.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) method: Method,
    pub(super) host: Host,
    pub(super) target: Target,
    pub(super) client: Client,
    /// The peer itself, for the forwarding headers.
    pub(super) peer: IpAddr,
}

/// Why a request cannot be read in one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("{0}")]
    Host(#[from] BadHost),
    #[error("{0}")]
    Target(#[from] Ambiguous),
}

impl Reading {
    pub(super) fn of(session: &Session, trusted: &Trusted) -> Result<Self, Unreadable> {
        let peer = session
            .client_addr()
            .and_then(|address| address.as_inet())
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address| address.ip().to_canonical());
        Self::read(session.req_header(), peer, trusted)
    }

    fn read(header: &RequestHeader, peer: IpAddr, trusted: &Trusted) -> Result<Self, Unreadable> {
        let raw = std::str::from_utf8(header.raw_path()).map_err(|_| Ambiguous::BadByte)?;
        let target = Target::read(raw)?;
        let host = Host::of(&header.headers, target.authority())?;
        let client = trusted.client(peer, &header.headers);
        Ok(Self { method: header.method.clone(), host, target, client, peer })
    }

    /// What the gate decides on. `headers` are those that the reading was made of.
    pub(super) fn request<'a>(&'a self, headers: &'a HeaderMap) -> Request<'a> {
        Request {
            method: &self.method,
            https: self.client.https,
            host: &self.host,
            target: &self.target,
            headers,
            client: self.client.address,
            peer_trusted: self.client.peer_trusted,
            door: Door::Edge,
        }
    }
}

const AMBIGUOUS: Problem = Problem::new(
    "ambiguous-request",
    StatusCode::BAD_REQUEST,
    "The request can be read in more than one way",
);

impl Unreadable {
    pub(super) fn answer(self) -> Answer {
        problem(AMBIGUOUS, &self.to_string(), None)
    }
}
