//! Writes an event stream to pingora's session: each document when it is there, and nothing ahead of the reader.
//!
//! Whoever takes nothing for `write_timeout` is cut; a visitor who goes away ends the stream at once, because the
//! connection is watched while there is nothing to write.

use bytes::Bytes;
use http::{HeaderValue, Version, header};
use pingora::proxy::Session;

use super::{forward, reply};
use crate::answer::{Events, Gate, finish};

const CHUNKED: HeaderValue = HeaderValue::from_static("chunked");

/// Writes the head and what the gate gives, until the end of it.
///
/// # Errors
/// When the client is gone or takes nothing.
pub(super) async fn write(session: &mut Session, gate: &dyn Gate, mut events: Events) -> pingora::Result<()> {
    let mut head = events.head();
    finish(&mut head);
    reply::settle_body(session).await;
    let mut header = reply::fields_of(&head)?;
    let version = session.req_header().version;
    if version <= Version::HTTP_11 {
        header.insert_header(header::TRANSFER_ENCODING, CHUNKED)?;
        forward::frame(&mut header, version)?;
    }
    session.write_response_header(Box::new(header), false).await?;
    while let Some(bytes) = next(session, gate, &mut events).await {
        session.write_response_body(Some(bytes), false).await?;
    }
    // Whoever stops takes its connections down; after the turn the next request is a page's.
    session.write_response_body(Some(Bytes::new()), true).await
}

/// The next bytes, or nothing when the visitor has gone.
async fn next(session: &mut Session, gate: &dyn Gate, events: &mut Events) -> Option<Bytes> {
    tokio::select! {
        biased;
        _ = session.as_downstream_mut().read_body_or_idle(true) => None,
        bytes = gate.next(events) => bytes,
    }
}
