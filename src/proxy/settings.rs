//! What an operator may say about the edge.

use http::HeaderValue;

use crate::listen::Limits;
use crate::route::Trusted;

/// Settings of the edge.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Bounds on clients.
    pub limits: Limits,
    /// Proxies in front of us whose forwarding headers are believed.
    pub trusted: Trusted,
    /// Sent to the origin as `x-ropeline-secret`.
    pub secret: Option<HeaderValue>,
}
