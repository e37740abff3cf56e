//! Where the operator's listener is, and its bounds.

use std::net::SocketAddr;
use std::time::Duration;

/// The `[admin]` table without its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The address; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Most connections at once; beyond it new ones are closed at once.
    pub connections: usize,
    /// Longest time for the head of a request, and so the longest idle time of a connection.
    pub header_timeout: Duration,
    /// Most bytes in the head of a request; at least 8192.
    pub header_bytes: usize,
    /// Longest time for the body of a request.
    pub body_timeout: Duration,
    /// Most bytes in the body of a request.
    pub body_bytes: usize,
    /// Longest time that a change waits for the store before it is answered with 503. Above the store's own
    /// timeout, which should end it first.
    pub change_timeout: Duration,
    /// How long connections may finish after the stop.
    pub drain: Duration,
}

impl Settings {
    /// The defaults of the manual, at an address.
    #[must_use]
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            connections: 256,
            header_timeout: Duration::from_secs(10),
            header_bytes: 32 * 1024,
            body_timeout: Duration::from_secs(10),
            body_bytes: 64 * 1024,
            change_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(5),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 9090)))
    }
}
