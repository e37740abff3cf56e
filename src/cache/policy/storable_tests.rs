//! Which answers are kept, shared, refused.

use bytes::Bytes;
use http::HeaderValue;

use super::*;

fn fetched(status: u16, headers: &[(&'static str, &'static str)]) -> Fetched {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_static(value));
    }
    Fetched {
        status: StatusCode::from_u16(status).unwrap(),
        headers: map,
        body: Bytes::from_static(b"{\"remaining\":7}"),
    }
}

fn of(status: u16, headers: &[(&'static str, &'static str)]) -> Assessment {
    assess(Ok(fetched(status, headers)), Micros(5), 1000)
}

#[test]
fn a_plain_answer_is_kept_and_one_that_is_somebodys_is_refused() {
    assert!(matches!(of(200, &[]), Assessment::Keep(_)));
    assert!(matches!(of(200, &[("vary", "Accept-Encoding")]), Assessment::Keep(_)));
    let refused: [(&[(&str, &str)], Refusal); 8] = [
        (&[("set-cookie", "a=b"), ("cache-control", "public, max-age=60")], Refusal::SetCookie),
        (&[("cache-control", "private")], Refusal::Private),
        (&[("cache-control", "no-store")], Refusal::NoStore),
        (&[("cache-control", "no-cache")], Refusal::NoCache),
        (&[("vary", "*")], Refusal::Vary),
        (&[("vary", "accept-language")], Refusal::Vary),
        (&[("content-encoding", "gzip")], Refusal::Encoded),
        (&[("set-cookie", "\u{7f}")], Refusal::SetCookie),
    ];
    for (headers, why) in refused {
        let mut answer = fetched(200, &[]);
        for (name, value) in headers {
            let value = HeaderValue::from_bytes(value.as_bytes());
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            answer.headers.append(name, value.unwrap_or(HeaderValue::from_static("x")));
        }
        assert!(refuses(answer.status, &answer.headers));
        assert_eq!(assess(Ok(answer), Micros(5), 1000), Assessment::Refuse(why));
    }
}

#[test]
fn a_status_says_whether_it_is_the_same_for_everybody() {
    for status in [404, 410] {
        assert!(matches!(of(status, &[]), Assessment::Share(_)), "{status}");
    }
    assert_eq!(of(404, &[("set-cookie", "a=b")]), Assessment::Refuse(Refusal::SetCookie));
    for status in [500, 502, 503, 504, 599, 429, 408] {
        assert_eq!(of(status, &[("set-cookie", "a=b")]), Assessment::Fail, "{status}");
    }
    for status in [206, 301, 302, 304, 400, 401, 403, 407] {
        assert_eq!(of(status, &[]), Assessment::Refuse(Refusal::Status), "{status}");
    }
}

#[test]
fn a_broken_body_fails_and_a_large_one_is_refused() {
    assert_eq!(of(200, &[("content-length", "16")]), Assessment::Fail);
    assert_eq!(of(200, &[("content-length", "x")]), Assessment::Fail);
    assert!(matches!(of(200, &[("content-length", "15")]), Assessment::Keep(_)));
    assert_eq!(assess(Ok(fetched(200, &[])), Micros(5), 14), Assessment::Refuse(Refusal::Oversized));
    assert_eq!(assess(Err(FetchError::Oversized), Micros(5), 14), Assessment::Refuse(Refusal::Oversized));
    assert_eq!(assess(Err(FetchError::Truncated), Micros(5), 14), Assessment::Fail);
    let mut large = fetched(200, &[]);
    large.headers.insert("x-large", HeaderValue::from_str(&"x".repeat(HEADERS_MAX)).unwrap());
    assert_eq!(assess(Ok(large), Micros(5), 1000), Assessment::Refuse(Refusal::Oversized));
}

#[test]
fn only_end_to_end_headers_are_kept() {
    let answer = of(
        200,
        &[
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("content-length", "15"),
            ("age", "12"),
            ("x-ropeline-end", "pass"),
            ("etag", "\"v1\""),
            ("content-type", "application/json"),
            ("cache-control", "must-revalidate"),
        ],
    );
    let Assessment::Keep(entry) = answer else { panic!("{answer:?}") };
    let mut names: Vec<_> = entry.headers.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["cache-control", "content-type", "etag"]);
    assert_eq!((entry.age_before, entry.never_stale, entry.asked), (12, true, Micros(5)));
}
