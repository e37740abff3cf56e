//! The one writer of our own answers: framing, HEAD without a body, and a request body that nobody read.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, header};
use pingora::http::ResponseHeader;
use pingora::proxy::Session;

use crate::answer::{Answer, finish};

/// An unread request body is read and forgotten for so long; after that the connection is closed.
const DRAIN: Duration = Duration::from_millis(500);

/// Longest announced body that is drained rather than cut.
const DRAIN_BYTES: u64 = 64 * 1024;

/// Writes an answer to pingora's session, once.
///
/// # Errors
/// When the client is gone.
pub(super) async fn write(session: &mut Session, mut answer: Answer) -> pingora::Result<()> {
    finish(&mut answer);
    settle_body(session).await;
    let head_only = session.req_header().method == Method::HEAD || !has_body(&answer);
    let header = head_of(&answer)?;
    session.write_response_header(Box::new(header), head_only).await?;
    let body = if head_only { Bytes::new() } else { answer.body };
    session.write_response_body(Some(body), true).await
}

fn has_body(answer: &Answer) -> bool {
    !answer.body.is_empty() && !matches!(answer.status.as_u16(), 100..=199 | 204 | 304)
}

/// The head of an answer, without its length.
pub(super) fn fields_of(answer: &Answer) -> pingora::Result<ResponseHeader> {
    let mut header = ResponseHeader::build(answer.status, Some(answer.headers.len() + 2))?;
    for (name, value) in &answer.headers {
        header.append_header(name.clone(), value.clone())?;
    }
    Ok(header)
}

fn head_of(answer: &Answer) -> pingora::Result<ResponseHeader> {
    let mut header = fields_of(answer)?;
    if !matches!(answer.status.as_u16(), 100..=199 | 204 | 304) {
        header.insert_header(header::CONTENT_LENGTH, answer.body.len())?;
    }
    Ok(header)
}

/// A small body that is on its way is read, so that the connection can go on; for a larger one, or one without
/// an announced end, the connection closes after the answer.
pub(super) async fn settle_body(session: &mut Session) {
    if session.is_body_done() {
        return;
    }
    let length =
        session.get_header(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    let waits = session.get_header(header::EXPECT).is_some();
    if length.is_some_and(|n| n <= DRAIN_BYTES) && !waits {
        session.set_total_drain_timeout(Some(DRAIN));
        if session.drain_request_body().await.is_ok() {
            return;
        }
    }
    session.set_keepalive(None);
}

/// An answer as bytes, for a connection that closes after it.
pub(super) fn raw(answer: &Answer) -> Bytes {
    let mut answer = answer.clone();
    finish(&mut answer);
    let reason = answer.status.canonical_reason().unwrap_or("");
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", answer.status.as_u16());
    for (name, value) in &answer.headers {
        let _ = write!(text, "{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    let _ = write!(text, "content-length: {}\r\nconnection: close\r\n\r\n", answer.body.len());
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(&answer.body);
    Bytes::from(bytes)
}
