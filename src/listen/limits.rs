//! Bounds on clients. Both doors have the same ones, so that a slow or endless client gains nothing by choosing.

use std::time::Duration;

/// Bounds on clients, for both doors.
#[derive(Debug, Clone)]
pub struct Limits {
    /// From the first byte of a request head to its last. Too short cuts slow phones, too long feeds slowloris.
    pub header_timeout: Duration,
    /// Most bytes of a request head; 431 (414 when the request line alone is longer).
    pub header_bytes: usize,
    /// Most header lines; 431.
    pub header_lines: usize,
    /// How long a connection may be silent between requests.
    pub idle_timeout: Duration,
    /// Most bytes of a request body; 413. With 0 no request may have one.
    pub body_bytes: u64,
    /// How long a client may be silent inside a request body.
    pub body_timeout: Duration,
    /// How long one write to a client may take; a reader that takes nothing is cut.
    pub write_timeout: Duration,
    /// How long a client may be silent on an upgraded connection.
    pub upgrade_idle: Duration,
    /// How long requests in flight may go on after the stop was asked for.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            header_bytes: 16 * 1024,
            header_lines: 100,
            body_bytes: 10 * 1024 * 1024,
            idle_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            upgrade_idle: Duration::from_secs(600),
            grace: Duration::from_secs(10),
        }
    }
}
