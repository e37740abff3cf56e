//! What a request is for: who takes a place and who does not, and in what form the answer must come.
//!
//! A place is taken only by what a person or an application does on purpose. An image, a script, a preflight
//! or a prefetched link must neither join nor spend the turn of somebody who did.

use http::{HeaderMap, Method, header};

/// The kind of a request on a room's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    /// A page is being opened: answered with the waiting page.
    Navigation,
    /// An application asks: answered with the document, and takes a place.
    Api,
    /// Anything else: answered with the document, takes nothing.
    Other,
}

impl Intent {
    pub(super) fn of(method: &Method, headers: &HeaderMap) -> Self {
        if ahead_of_time(headers) || *method == Method::HEAD || *method == Method::OPTIONS {
            return Self::Other;
        }
        let best = best_match(headers);
        match text(headers, "sec-fetch-mode") {
            Some("navigate") if frame_or_page(headers) => Self::Navigation,
            Some(_) => Self::Other,
            None if has_fetch_metadata(headers) => Self::Other,
            None if best == Best::Html => Self::Navigation,
            None if best == Best::Json => Self::Api,
            None => Self::Other,
        }
    }

    /// Whether the request may take a place or spend a turn. From another site only a link may.
    pub(super) fn takes_place(self, method: &Method, cross_site: bool) -> bool {
        match self {
            Self::Navigation => *method == Method::GET || !cross_site,
            Self::Api => !cross_site,
            Self::Other => false,
        }
    }
}

/// Whether the browser tells what a request is for; then no header needs to be guessed from.
pub(super) fn has_fetch_metadata(headers: &HeaderMap) -> bool {
    FETCH_METADATA.iter().any(|name| headers.contains_key(*name))
}

/// Those headers by which a browser tells it, alone.
pub(super) fn fetch_metadata(headers: &HeaderMap) -> HeaderMap {
    let named = |name: &&str| FETCH_METADATA.contains(name);
    let kept = headers.iter().filter(|(name, _)| named(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

const FETCH_METADATA: [&str; 3] = ["sec-fetch-mode", "sec-fetch-site", "sec-fetch-dest"];

/// Whether the request was caused by another site: as the browser says, or by its `Origin`.
pub(super) fn is_cross_site(headers: &HeaderMap, authority: &str) -> bool {
    match text(headers, "sec-fetch-site") {
        Some(site) => site == "cross-site",
        None => text(headers, "origin").is_some_and(|origin| {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_none_or(|host| !host.eq_ignore_ascii_case(authority))
        }),
    }
}

/// Fetched or rendered before anybody asked for it.
fn ahead_of_time(headers: &HeaderMap) -> bool {
    ["sec-purpose", "purpose", "x-purpose", "x-moz"].iter().any(|name| {
        text(headers, name).is_some_and(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("prefetch") || value.contains("prerender") || value.contains("preview")
        })
    })
}

/// Frames and pages navigate; so do embedded objects, which show nothing that a person waits at.
fn frame_or_page(headers: &HeaderMap) -> bool {
    matches!(text(headers, "sec-fetch-dest"), None | Some("document" | "iframe" | "frame"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Best {
    Html,
    Json,
    Neither,
}

/// The type that the client likes best, among those that it names: `*/*` names none.
fn best_match(headers: &HeaderMap) -> Best {
    let mut best = (Best::Neither, 0);
    for line in headers.get_all(header::ACCEPT) {
        for range in line.to_str().unwrap_or_default().split(',').take(32) {
            let (kind, quality) = read_range(range);
            if quality > best.1 {
                best = (kind, quality);
            }
        }
    }
    best.0
}

/// A media range and its quality in thousandths.
fn read_range(range: &str) -> (Best, u32) {
    let mut parts = range.split(';').map(str::trim);
    let media = parts.next().unwrap_or_default().to_ascii_lowercase();
    let quality = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
    let kind = match media.as_str() {
        "text/html" | "application/xhtml+xml" => Best::Html,
        "application/json" | "application/problem+json" | "text/json" => Best::Json,
        other if other.starts_with("application/") && other.ends_with("+json") => Best::Json,
        _ => Best::Neither,
    };
    (kind, quality)
}

fn thousandths(text: &str) -> u32 {
    text.parse::<f32>().ok().filter(|q| (0.0..=1.0).contains(q)).map_or(0, |q| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1000")]
        let q = (q * 1000.0) as u32;
        q
    })
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(n, v)| (http::HeaderName::from_static(n), v.parse().unwrap())).collect()
    }

    #[test]
    fn only_people_and_applications_take_places() {
        const CHROME: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        type Lines = [(&'static str, &'static str)];
        let cases: &[(&str, &Lines, Intent)] = &[
            ("GET", &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")], Intent::Navigation),
            ("POST", &[("sec-fetch-mode", "navigate")], Intent::Navigation),
            ("GET", &[("accept", CHROME)], Intent::Navigation),
            ("GET", &[("accept", "application/json")], Intent::Api),
            ("GET", &[("accept", "application/vnd.shop+json, text/html;q=0.5")], Intent::Api),
            ("GET", &[("accept", "application/json;q=0.4, text/html;q=0.5")], Intent::Navigation),
            ("GET", &[("accept", "*/*")], Intent::Other),
            ("GET", &[], Intent::Other),
            ("HEAD", &[("accept", CHROME)], Intent::Other),
            ("OPTIONS", &[("accept", "application/json")], Intent::Other),
            ("GET", &[("sec-fetch-mode", "navigate"), ("sec-purpose", "prefetch;prerender")], Intent::Other),
            ("GET", &[("accept", CHROME), ("purpose", "prefetch")], Intent::Other),
            ("GET", &[("sec-fetch-mode", "no-cors"), ("accept", "image/avif,image/webp,*/*")], Intent::Other),
            ("GET", &[("accept", "image/avif,image/webp,*/*;q=0.5")], Intent::Other),
            ("GET", &[("sec-fetch-mode", "cors"), ("accept", "application/json")], Intent::Other),
            ("GET", &[("sec-fetch-site", "same-origin"), ("accept", "application/json")], Intent::Other),
            ("GET", &[("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "object")], Intent::Other),
            ("GET", &[("accept", "text/html;q=7")], Intent::Other),
        ];
        for (method, lines, expected) in cases {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(Intent::of(&method, &headers(lines)), *expected, "{method} {lines:?}");
        }
    }

    #[test]
    fn another_site_may_only_link_here() {
        assert!(Intent::Navigation.takes_place(&Method::GET, true));
        assert!(!Intent::Navigation.takes_place(&Method::POST, true));
        assert!(!Intent::Api.takes_place(&Method::POST, true));
        for (lines, cross) in [
            (vec![("sec-fetch-site", "cross-site")], true),
            (vec![("sec-fetch-site", "same-site"), ("origin", "https://evil.example")], false),
            (vec![("origin", "https://evil.example")], true),
            (vec![("origin", "null")], true),
            (vec![("origin", "https://Shop.example:8443")], false),
            (vec![], false),
        ] {
            assert_eq!(is_cross_site(&headers(&lines), "shop.example:8443"), cross, "{lines:?}");
        }
    }
}
