//! Whether an answer may be kept, may be shared with those who are waiting for it, or is nobody's but the
//! reader's own. The question went out without anything of a reader; what is refused here is refused because the
//! origin would have answered a reader differently, or says so.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, StatusCode, header};

use super::directives::{Directives, varies};
use crate::cache::fetch::{FetchError, Fetched};
use crate::cache::record::{Entry, header_bytes};
use crate::room::Micros;

/// Most bytes of headers that are kept with an answer.
const HEADERS_MAX: usize = 16 << 10;

/// Why an answer is not shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It sets a cookie.
    SetCookie,
    /// `Cache-Control: private`.
    Private,
    /// `Cache-Control: no-store`, or one that cannot be read.
    NoStore,
    /// `Cache-Control: no-cache`.
    NoCache,
    /// It varies by something that is not part of the key.
    Vary,
    /// It is encoded although it was asked for plain, so not every reader could read it.
    Encoded,
    /// It is larger than what is kept.
    Oversized,
    /// A status that a reader's own request might not have got (a redirect, a refusal).
    Status,
    /// There is no such rule.
    NoRule,
}

impl Refusal {
    /// As told in `Cache-Status`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetCookie => "set-cookie",
            Self::Private => "private",
            Self::NoStore => "no-store",
            Self::NoCache => "no-cache",
            Self::Vary => "vary",
            Self::Encoded => "encoded",
            Self::Oversized => "oversized",
            Self::Status => "status",
            Self::NoRule => "no-rule",
        }
    }
}

/// What an attempt brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cache) enum Assessment {
    /// An answer to keep.
    Keep(Arc<Entry>),
    /// The same for everybody, but an error: for those who are waiting for it, and not to be kept.
    Share(Arc<Entry>),
    /// For nobody but the reader whose own request it would answer.
    Refuse(Refusal),
    /// Nothing usable.
    Fail,
}

/// What to make of the result of an attempt that began at `asked`.
pub(in crate::cache) fn assess(
    result: Result<Fetched, FetchError>,
    asked: Micros,
    bytes_max: usize,
) -> Assessment {
    match result {
        Ok(fetched) => assess_answer(fetched, asked, bytes_max),
        Err(FetchError::Oversized) => Assessment::Refuse(Refusal::Oversized),
        Err(_) => Assessment::Fail,
    }
}

fn assess_answer(fetched: Fetched, asked: Micros, bytes_max: usize) -> Assessment {
    let kind = Kind::of(fetched.status);
    if kind == Kind::Failure {
        return Assessment::Fail;
    }
    if let Some(why) = refusal(kind, &fetched.headers) {
        return Assessment::Refuse(why);
    }
    if broke_off(&fetched) {
        return Assessment::Fail;
    }
    let never_stale = Directives::of(&fetched.headers).never_stale;
    let age_before = upstream_age(&fetched.headers);
    let headers = end_to_end(fetched.headers);
    if fetched.body.len() > bytes_max || header_bytes(&headers) > HEADERS_MAX {
        return Assessment::Refuse(Refusal::Oversized);
    }
    let entry = Entry { status: fetched.status, headers, body: fetched.body, asked, age_before, never_stale };
    match kind {
        Kind::Good => Assessment::Keep(Arc::new(entry)),
        _ => Assessment::Share(Arc::new(entry)),
    }
}

/// Whether status and headers alone decide that the body will not be used.
pub(in crate::cache) fn refuses(status: StatusCode, headers: &HeaderMap) -> bool {
    let kind = Kind::of(status);
    kind == Kind::Failure || refusal(kind, headers).is_some()
}

/// What a status says about the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// May be kept.
    Good,
    /// There is no such thing, for anybody.
    Absent,
    /// May be different for a reader who is known to the origin.
    Personal,
    /// The origin is in trouble.
    Failure,
}

impl Kind {
    fn of(status: StatusCode) -> Self {
        match status.as_u16() {
            200 | 203 | 204 => Self::Good,
            404 | 410 => Self::Absent,
            408 | 425 | 429 | 500.. => Self::Failure,
            _ => Self::Personal,
        }
    }
}

fn refusal(kind: Kind, headers: &HeaderMap) -> Option<Refusal> {
    let said = Directives::of(headers);
    let plain = |line: &http::HeaderValue| line.as_bytes().eq_ignore_ascii_case(b"identity");
    let checks = [
        (kind == Kind::Personal, Refusal::Status),
        (headers.contains_key(header::SET_COOKIE), Refusal::SetCookie),
        (said.private, Refusal::Private),
        (said.no_store, Refusal::NoStore),
        (said.no_cache, Refusal::NoCache),
        (varies(headers), Refusal::Vary),
        (!headers.get_all(header::CONTENT_ENCODING).iter().all(plain), Refusal::Encoded),
    ];
    checks.into_iter().find_map(|(applies, why)| applies.then_some(why))
}

fn broke_off(fetched: &Fetched) -> bool {
    let told = fetched.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok());
    told.is_some_and(|told| told.trim().parse() != Ok(fetched.body.len()))
}

fn upstream_age(headers: &HeaderMap) -> u64 {
    let told = headers.get(header::AGE).and_then(|v| v.to_str().ok());
    told.and_then(|told| told.trim().parse::<u32>().ok()).map_or(0, u64::from)
}

/// Headers that belong to one connection, to one reader, or that we write ourselves.
fn end_to_end(mut headers: HeaderMap) -> HeaderMap {
    for name in nominated(&headers) {
        headers.remove(name);
    }
    const DROPPED: [&str; 15] = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-range",
        "age",
        "set-cookie",
        "set-cookie2",
    ];
    for name in DROPPED {
        headers.remove(name);
    }
    let ours: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("x-ropeline-")).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    headers
}

fn nominated(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(header::CONNECTION).iter();
    lines
        .flat_map(|line| line.as_bytes().split(|b| *b == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect()
}

#[cfg(test)]
#[path = "storable_tests.rs"]
mod tests;
