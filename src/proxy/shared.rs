//! What caches before us may keep. Behind the gate: nothing that they would give to others.
//!
//! A content network in front that keeps what the shop marks `public` would hand a room's pages to whoever asks,
//! without a pass; and one that keeps the answer that brings a pass would hand out the pass itself.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::answer::Permit;

/// For an answer that brings a visitor's tokens: `Set-Cookie` alone keeps no cache from storing.
const ONE_VISITORS: HeaderValue = HeaderValue::from_static("private, no-store");

/// By these an origin speaks to shared caches alone, over the head of `Cache-Control`.
pub(super) const TO_SHARED_CACHES: [HeaderName; 5] = [
    HeaderName::from_static("surrogate-control"),
    HeaderName::from_static("cdn-cache-control"),
    HeaderName::from_static("cloudflare-cdn-cache-control"),
    HeaderName::from_static("edge-control"),
    HeaderName::from_static("x-accel-expires"),
];

/// The `Cache-Control` that must stand on an answer under this permit, or `None` where the origin's may stay.
pub(super) fn control(permit: &Permit, headers: &HeaderMap) -> Option<HeaderValue> {
    if !permit.cookies().is_empty() || permit.renewed().is_some() {
        return Some(ONE_VISITORS);
    }
    permit.room().map(|_| private(headers))
}

/// What the origin said, for the visitor's own cache alone.
fn private(headers: &HeaderMap) -> HeaderValue {
    let lines = headers.get_all(header::CACHE_CONTROL).iter().filter_map(|line| line.to_str().ok());
    let mut kept: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).collect();
    kept.retain(|directive| !directive.is_empty() && !speaks_to_shared(directive));
    let already =
        kept.iter().any(|d| ["private", "no-store"].iter().any(|word| d.eq_ignore_ascii_case(word)));
    if !already {
        kept.push("private");
    }
    HeaderValue::from_str(&kept.join(", ")).unwrap_or(ONE_VISITORS)
}

fn speaks_to_shared(directive: &str) -> bool {
    let name = directive.split('=').next().unwrap_or_default().trim();
    ["public", "s-maxage", "proxy-revalidate"].iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Makes an answer that is given in the origin's place fit for what its permit allows, and adds its cookies.
pub(super) fn keep_from_shared(headers: &mut HeaderMap, permit: &Permit) {
    let Some(control) = control(permit, headers) else { return };
    headers.insert(header::CACHE_CONTROL, control);
    for name in TO_SHARED_CACHES {
        headers.remove(name);
    }
    for cookie in permit.cookies() {
        headers.append(header::SET_COOKIE, cookie.clone());
    }
    if let Some(pass) = permit.renewed() {
        headers.insert(super::forward::PASS, pass.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_the_gate_nothing_is_for_shared_caches() {
        for (said, becomes) in [
            ("public, max-age=60", "max-age=60, private"),
            ("s-maxage=9, Public", "private"),
            ("", "private"),
            ("no-store", "no-store"),
            ("Private, max-age=5", "Private, max-age=5"),
        ] {
            let headers = HeaderMap::from_iter([(header::CACHE_CONTROL, said.parse().unwrap())]);
            assert_eq!(private(&headers), becomes, "{said}");
        }
        assert_eq!(private(&HeaderMap::new()), "private");
    }

    #[test]
    fn an_answer_that_brings_a_pass_is_stored_by_nobody() {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public"));
        headers.insert("cdn-cache-control", HeaderValue::from_static("max-age=60"));
        keep_from_shared(&mut headers, &Permit::for_tests(Some("a"), None));
        assert_eq!(headers[header::CACHE_CONTROL], "private, no-store");
        assert!(!headers.contains_key("cdn-cache-control") && headers.contains_key(header::SET_COOKIE));
    }
}
