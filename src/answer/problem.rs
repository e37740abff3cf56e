//! Errors as problem documents (RFC 9457). The one place where a refusal becomes an answer.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::Answer;
use crate::metrics::RequestOutcome;

/// A kind of refusal: its slug, which becomes `urn:ropeline:problem:<slug>`, and its status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// The last part of the type.
    pub slug: &'static str,
    /// The status.
    pub status: StatusCode,
    /// A short title, the same for every occurrence.
    pub title: &'static str,
}

impl Problem {
    /// A kind of refusal.
    #[must_use]
    pub const fn new(slug: &'static str, status: StatusCode, title: &'static str) -> Self {
        Self { slug, status, title }
    }
}

/// The answer for a refusal. `detail` is for the visitor, left out where it is empty, and never holds what they
/// sent; `retry_after` is in seconds and jittered by the caller.
#[must_use]
pub fn problem(kind: Problem, detail: &str, retry_after: Option<u64>) -> Answer {
    problem_with(kind, detail, retry_after, None)
}

/// The same with one more member, as RFC 9457 lets a kind have.
pub(super) fn problem_with(
    kind: Problem,
    detail: &str,
    retry_after: Option<u64>,
    member: Option<(&str, String)>,
) -> Answer {
    let mut body = serde_json::json!({
        "type": format!("urn:ropeline:problem:{}", kind.slug),
        "title": kind.title,
        "status": kind.status.as_u16(),
    });
    if let (false, Some(members)) = (detail.is_empty(), body.as_object_mut()) {
        members.insert("detail".to_owned(), detail.into());
    }
    if let (Some((name, value)), Some(members)) = (member, body.as_object_mut()) {
        members.insert(name.to_owned(), value.into());
    }
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    let outcome = if kind.status.is_server_error() { RequestOutcome::Error } else { RequestOutcome::Refused };
    Answer { status: kind.status, headers, body: Bytes::from(body.to_string()), outcome, room: None }
}
