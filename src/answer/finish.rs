//! What every answer of our own carries, whichever door writes it.

use http::{HeaderName, HeaderValue, header};

use super::Answer;

/// On every answer that we make ourselves, unless it says otherwise.
const SECURITY: [(HeaderName, HeaderValue); 2] = [
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
];

/// Adds what every answer of ours carries; for both doors.
pub(crate) fn finish(answer: &mut Answer) {
    for (name, value) in SECURITY {
        answer.headers.entry(name).or_insert(value);
    }
    answer.headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}
