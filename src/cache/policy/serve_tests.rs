//! What readers see of an entry.

use super::*;

fn entry(headers: &[(&'static str, &'static str)]) -> Entry {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_static(value));
    }
    Entry {
        status: StatusCode::OK,
        headers: map,
        body: Bytes::from_static(b"7"),
        asked: Micros(10_000_000),
        age_before: 3,
        never_stale: false,
    }
}

fn asking(name: &'static str, value: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))])
}

fn at(seconds: u64) -> Micros {
    Micros(seconds * 1_000_000)
}

fn text<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
    response.headers().get(name).unwrap().to_str().unwrap()
}

#[test]
fn age_grows_and_the_status_says_where_it_came_from() {
    let rule = Rule { ttl: Duration::from_secs(5), ..Rule::default() };
    let shown = |shown, now| answer(&entry(&[]), shown, &rule, &HeaderMap::new(), at(now));
    let hit = shown(Shown::Hit, 12);
    assert_eq!((text(&hit, "age"), text(&hit, "cache-status")), ("5", "ropeline; hit; ttl=3"));
    assert_eq!(hit.body().as_ref(), b"7");
    let stale = shown(Shown::Stale, 19);
    assert_eq!(
        (text(&stale, "age"), text(&stale, "cache-status")),
        ("12", "ropeline; hit; ttl=-4; detail=stale")
    );
    let first = shown(Shown::Fetched { stored: true, collapsed: false }, 10);
    assert_eq!(text(&first, "cache-status"), "ropeline; fwd=miss; fwd-status=200; stored");
    let other = shown(Shown::Fetched { stored: false, collapsed: true }, 10);
    assert_eq!(text(&other, "cache-status"), "ropeline; fwd=miss; fwd-status=200; collapsed");
    assert_eq!(Refusal::Vary.cache_status(), "ropeline; fwd=bypass; detail=vary");
}

#[test]
fn the_status_of_a_cache_behind_us_is_kept() {
    let rule = Rule::default();
    let kept = entry(&[("cache-status", "inner; hit")]);
    let response = answer(&kept, Shown::Hit, &rule, &HeaderMap::new(), at(10));
    let all: Vec<_> = response.headers().get_all("cache-status").iter().collect();
    assert_eq!(all, ["inner; hit", "ropeline; hit; ttl=1"]);
}

#[test]
fn a_reader_who_has_it_gets_304() {
    let kept =
        entry(&[("etag", "W/\"a,1\""), ("content-type", "text/plain"), ("cache-control", "max-age=1")]);
    let rule = Rule::default();
    let status = |reader: &HeaderMap| answer(&kept, Shown::Hit, &rule, reader, at(10));
    for value in ["\"a,1\"", "W/\"a,1\"", "*", "\"x\" , \"a,1\""] {
        let response = status(&asking("if-none-match", value));
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{value}");
        assert!(response.body().is_empty());
        assert!(response.headers().contains_key("etag") && response.headers().contains_key("cache-control"));
        assert!(!response.headers().contains_key("content-type"));
    }
    for value in ["\"a\"", "a,1", "1\"", ""] {
        assert_eq!(status(&asking("if-none-match", value)).status(), StatusCode::OK, "{value}");
    }
    let untagged = answer(&entry(&[]), Shown::Hit, &rule, &asking("if-none-match", "*"), at(10));
    assert_eq!(untagged.status(), StatusCode::OK);
}

#[test]
fn only_plain_reads_are_answered_from_memory() {
    assert!(applies(&Method::GET, &HeaderMap::new()));
    assert!(applies(&Method::HEAD, &asking("content-length", "0")));
    assert!(!applies(&Method::POST, &HeaderMap::new()));
    assert!(!applies(&Method::GET, &asking("upgrade", "websocket")));
    assert!(!applies(&Method::GET, &asking("transfer-encoding", "chunked")));
    assert!(!applies(&Method::GET, &asking("content-length", "3")));
}

#[test]
fn retry_times_are_spread_and_never_too_early() {
    for chance in 0..1000 {
        let near = retry_after(Duration::from_millis(200), chance);
        assert!((1..=2).contains(&near));
        let far = retry_after(Duration::from_millis(29_001), chance);
        assert!((30..=40).contains(&far));
    }
}
