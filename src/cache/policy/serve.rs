//! The answer as a reader gets it: `Age`, `Cache-Status` (RFC 9211), and 304 where the reader has it already.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, header};

use super::storable::Refusal;
use crate::cache::record::Entry;
use crate::cache::settings::Rule;
use crate::room::Micros;

const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// Whether a request may be answered from memory at all: GET or HEAD, no body, no upgrade. A `Range` is
/// answered with the whole, as a server may.
#[must_use]
pub fn applies(method: &Method, headers: &HeaderMap) -> bool {
    let none = [header::UPGRADE, header::TRANSFER_ENCODING].iter().all(|name| !headers.contains_key(name));
    let empty = headers.get(header::CONTENT_LENGTH).is_none_or(|v| v.as_bytes() == b"0");
    (method == Method::GET || method == Method::HEAD) && none && empty
}

/// How an answer came to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cache) enum Shown {
    /// From memory.
    Hit,
    /// From memory, stale.
    Stale,
    /// Just fetched. `stored`: and kept; `collapsed`: the question was another reader's.
    Fetched {
        /// It is kept.
        stored: bool,
        /// Another reader's question brought it.
        collapsed: bool,
    },
}

/// The answer for a reader at `now` who sent `reader` as headers.
pub(in crate::cache) fn answer(
    entry: &Entry,
    shown: Shown,
    rule: &Rule,
    reader: &HeaderMap,
    now: Micros,
) -> Response<Bytes> {
    let known = entry.status == StatusCode::OK && has_it(reader, &entry.headers);
    let mut response = Response::new(if known { Bytes::new() } else { entry.body.clone() });
    *response.status_mut() = if known { StatusCode::NOT_MODIFIED } else { entry.status };
    let mut headers = entry.headers.clone();
    if known {
        [header::CONTENT_TYPE, header::CONTENT_LANGUAGE, header::CONTENT_ENCODING, header::LAST_MODIFIED]
            .iter()
            .for_each(|name| drop(headers.remove(name)));
    }
    headers.insert(header::AGE, HeaderValue::from(age(entry, now)));
    if let Ok(status) = HeaderValue::try_from(cache_status(entry, shown, rule, now)) {
        headers.append(CACHE_STATUS, status);
    }
    *response.headers_mut() = headers;
    response
}

/// Seconds since the origin's side made it, as far as known.
fn age(entry: &Entry, now: Micros) -> u64 {
    entry.age_before.saturating_add(now.since(entry.asked).as_secs())
}

fn cache_status(entry: &Entry, shown: Shown, rule: &Rule, now: Micros) -> String {
    let left = |resident: Duration| {
        let seconds = |d: Duration| i64::try_from(d.as_secs()).unwrap_or(i64::MAX);
        seconds(rule.ttl).saturating_sub(seconds(resident))
    };
    match shown {
        Shown::Hit => format!("ropeline; hit; ttl={}", left(now.since(entry.asked))),
        Shown::Stale => format!("ropeline; hit; ttl={}; detail=stale", left(now.since(entry.asked))),
        Shown::Fetched { stored, collapsed } => {
            let mut status = format!("ropeline; fwd=miss; fwd-status={}", entry.status.as_u16());
            status.push_str(if stored { "; stored" } else { "" });
            status.push_str(if collapsed { "; collapsed" } else { "" });
            status
        }
    }
}

impl Refusal {
    /// `Cache-Status` for the answer to a request that is forwarded for this reason; append it to what the
    /// origin sent.
    #[must_use]
    pub fn cache_status(self) -> HeaderValue {
        let text = format!("ropeline; fwd=bypass; detail={}", self.as_str());
        HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static("ropeline; fwd=bypass"))
    }
}

/// `If-None-Match`, compared weakly as for GET (RFC 9110, 13.1.2). `If-Modified-Since` alone gets the whole.
fn has_it(reader: &HeaderMap, kept: &HeaderMap) -> bool {
    let Some(etag) = kept.get(header::ETAG).and_then(|v| v.to_str().ok()) else { return false };
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let wanted = opaque(etag);
    reader
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .any(|line| line.trim() == "*" || tags(line).any(|tag| opaque(tag) == wanted))
}

/// Entity tags of a list; a comma may stand within a tag's quotes.
fn tags(line: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    line.split(move |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    })
}

/// Whole seconds after which a reader should try again: not before `wait` is over, and spread over as much time
/// again (at least a second, at most ten), so that those who were turned away together do not come together.
pub(in crate::cache) fn retry_after(wait: Duration, chance: u32) -> u64 {
    let base = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)).max(1);
    base.saturating_add(u64::from(chance) % (base.min(10) + 1))
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
