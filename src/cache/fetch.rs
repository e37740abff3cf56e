//! How the cache asks the origin, without knowing how that is done.
//!
//! The question is made from the key alone. Nothing that a reader sent goes along, so no reader's cookie, and no
//! rare header, can shape an answer that others will see.

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::Key;

/// One question to the origin. The method is GET; there is no body.
#[derive(Debug, Clone)]
pub struct Ask {
    /// What is asked for; `Host` and the forwarding headers follow from it.
    pub key: Key,
    /// All request headers that may go out, besides `Host` and the forwarding headers: `accept`,
    /// `accept-encoding: identity` (so that there is one variant) and `user-agent`.
    pub headers: HeaderMap,
    /// Stop reading a body beyond so many bytes and answer [`FetchError::Oversized`].
    pub bytes_max: usize,
}

impl Ask {
    pub(super) fn new(key: Key, bytes_max: usize) -> Self {
        let mut headers = HeaderMap::with_capacity(3);
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static("ropeline"));
        Self { key, headers, bytes_max }
    }

    /// The status and headers alone make it certain that the answer will not be used: its body need not be
    /// read. Hand back what there is, with an empty body.
    #[must_use]
    pub fn refuses(&self, status: StatusCode, headers: &HeaderMap) -> bool {
        super::policy::refuses(status, headers)
    }
}

/// A whole answer of the origin.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The status.
    pub status: StatusCode,
    /// All headers as they came.
    pub headers: HeaderMap,
    /// The whole body. One that broke off is [`FetchError::Truncated`], never this.
    pub body: Bytes,
}

/// Why there is no whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// No connection, or no answer on it.
    #[error("the origin cannot be reached")]
    Unreachable,
    /// Not in time, by a deadline of the caller.
    #[error("the origin did not answer in time")]
    TimedOut,
    /// The caller's bound on requests to the origin is reached.
    #[error("too many requests to the origin")]
    Busy,
    /// The body broke off.
    #[error("the answer broke off")]
    Truncated,
    /// The body is larger than [`Ask::bytes_max`].
    #[error("the answer is larger than what is kept")]
    Oversized,
}

/// Asks the origin. Implemented by whoever can reach it, within a bound of its own on requests in flight.
///
/// Runs in a task of its own: a reader that goes away never cancels it. A panic counts as a failure.
#[async_trait]
pub trait Fetch: Send + Sync + 'static {
    /// GET the whole answer to `ask`.
    ///
    /// # Errors
    /// When there is no whole answer; see [`FetchError`].
    async fn fetch(&self, ask: &Ask) -> Result<Fetched, FetchError>;
}
