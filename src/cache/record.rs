//! What is remembered of a key.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::policy::Refusal;
use crate::room::Micros;

/// An answer as it is kept and shared.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The status.
    pub(super) status: StatusCode,
    /// End-to-end headers, without those that we write ourselves.
    pub(super) headers: HeaderMap,
    /// The body, shared by all readers.
    pub(super) body: Bytes,
    /// When the origin was asked: the answer is at least as old as this.
    pub(super) asked: Micros,
    /// How old it already was, in seconds, by the `Age` of the origin's side.
    pub(super) age_before: u64,
    /// The origin forbids to show it stale (`must-revalidate`, `proxy-revalidate`).
    pub(super) never_stale: bool,
}

/// What keeps the origin from being asked for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Nothing.
    None,
    /// The last `times` attempts failed; the next is due at `until`.
    Failing { until: Micros, times: u32 },
    /// The answers may not be shared; at `until` one request looks again.
    Uncacheable { until: Micros, why: Refusal },
}

/// All that is remembered of a key. Only the leader of the key's flight writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// The last good answer.
    pub(super) entry: Option<Arc<Entry>>,
    /// What keeps the origin from being asked.
    pub(super) hold: Hold,
}

impl Record {
    /// What it costs, in bytes, without the key.
    pub(super) fn bytes(&self) -> usize {
        self.entry.as_ref().map_or(0, |e| e.body.len() + header_bytes(&e.headers))
    }
}

/// What headers cost, in bytes.
pub(super) fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}
