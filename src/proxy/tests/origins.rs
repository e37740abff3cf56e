//! What reaches the origin, and what comes back.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::{HeaderMap, Method, StatusCode};
use tokio::io::AsyncWriteExt;

use super::bench::{Bench, Plan, get, rest, until};
use crate::answer::{Answer, Request};
use crate::proxy::{OriginSettings, Settings, Shelf};
use crate::route::{Target, Trusted};

#[tokio::test]
async fn a_request_arrives_byte_for_byte_and_the_response_has_its_cookie() {
    let bench = Bench::new().await;
    let answer = bench.talk(get("/open/a%2Fb?x=%20&y=//..%2f", "")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("the shop"), "{answer}");
    assert!(answer.to_lowercase().contains("set-cookie: rl_p_a=the.pass"), "{answer}");
    assert!(!answer.to_lowercase().contains("x-ropeline"), "{answer}");
    assert_eq!(bench.entries()[0].target, "/open/a%2Fb?x=%20&y=//..%2f");
    bench.talk(get("http://shop.example/abs?q", "")).await;
    assert_eq!(bench.entries()[1].target, "/abs?q");
}

#[tokio::test]
async fn forged_headers_never_arrive_and_ours_do_once() {
    let bench = Bench::new().await;
    let forged = "X-Ropeline-Pass: forged\r\nX_Ropeline_Visitor: forged\r\nx-ropeline-room: forged\r\n\
        x-ropeline-room: forged\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nForwarded: for=6.6.6.6\r\n\
        X-Original-URL: /buy\r\nX-HTTP-Method-Override: DELETE\r\nX-Real-IP: 6.6.6.6\r\nX-Forwarded-Prefix: /buy\r\n\
        Cookie: a=1; rl_p_a=ok; b=\"2\"\r\nX-Kept: yes\r\n";
    bench.talk(get("/open", forged)).await;
    bench.talk(get("/buy/x", forged)).await;
    let entries = bench.entries();
    let all = |at: usize, name: &str| -> Vec<String> {
        entries[at].headers.get_all(name).iter().map(|v| v.to_str().unwrap().to_owned()).collect()
    };
    for at in [0, 1] {
        assert_eq!(all(at, "x-forwarded-for"), ["127.0.0.1"]);
        assert_eq!(all(at, "x-forwarded-proto"), ["http"]);
        assert_eq!(all(at, "x-forwarded-host"), ["shop.example"]);
        assert_eq!(all(at, "cookie"), ["a=1; b=\"2\""]);
        assert_eq!(all(at, "x-kept"), ["yes"]);
        for gone in
            ["x_ropeline_visitor", "forwarded", "x-original-url", "x-http-method-override", "x-real-ip"]
        {
            assert!(all(at, gone).is_empty(), "{gone}");
        }
        assert!(entries[at].headers.values().all(|v| v != "forged"));
    }
    assert!(all(0, "x-ropeline-pass").is_empty());
    assert_eq!(all(1, "x-ropeline-pass"), ["the.pass"]);
    assert_eq!(all(1, "x-ropeline-room"), ["a"]);
    assert_eq!(all(1, "x-ropeline-visitor"), ["a-visitor"]);
}

#[tokio::test]
async fn a_trusted_proxy_is_believed() {
    let mut settings = Settings { secret: Some("s3cret".parse().unwrap()), ..Settings::default() };
    settings.trusted = Trusted::new(vec!["127.0.0.0/8".parse().unwrap()]);
    let bench = Bench::with(Plan { settings, ..Plan::default() }).await;
    bench.talk(get("/open", "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n")).await;
    let headers = &bench.entries()[0].headers;
    assert_eq!(headers["x-forwarded-for"], "1.2.3.4, 127.0.0.1");
    assert_eq!(headers["x-forwarded-proto"], "https");
    assert_eq!(headers["x-ropeline-secret"], "s3cret");
}

#[tokio::test]
async fn an_origin_that_is_down_is_a_502_that_keeps_the_cookie() {
    let origin = OriginSettings { url: "http://127.0.0.1:1".to_owned(), ..OriginSettings::default() };
    let bench = Bench::with(Plan { origin, ..Plan::default() }).await;
    let answer = bench.talk(get("/open", "")).await;
    assert!(
        answer.starts_with("HTTP/1.1 502") && answer.contains("urn:ropeline:problem:origin-unreachable"),
        "{answer}"
    );
    assert!(answer.to_lowercase().contains("set-cookie: rl_p_a"), "{answer}");
    assert!(!answer.contains("Pingora"), "{answer}");
}

#[tokio::test]
async fn an_origin_that_hangs_is_a_504_and_one_that_is_full_a_503() {
    let origin = OriginSettings {
        url: String::new(),
        response_timeout: Duration::from_millis(300),
        share_timeout: Duration::from_millis(10),
        max_in_flight: 1,
        ..OriginSettings::default()
    };
    let bench = Bench::with(Plan { origin, ..Plan::default() }).await;
    let mut hanging = bench.connect().await;
    hanging.write_all(get("/hang", "").as_bytes()).await.unwrap();
    while bench.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    let full = bench.talk(get("/open", "")).await;
    assert!(full.starts_with("HTTP/1.1 503") && full.contains("origin-busy"), "{full}");
    let late = rest(&mut hanging).await;
    assert!(late.starts_with("HTTP/1.1 504") && late.contains("origin-late"), "{late}");
    assert!(bench.talk(get("/open", "")).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_body_streams_both_ways_while_it_is_sent() {
    let bench = Bench::new().await;
    let mut stream = bench.connect().await;
    let head = "POST /echo HTTP/1.1\r\nHost: shop.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{head}5\r\nfirst\r\n").as_bytes()).await.unwrap();
    until(&mut stream, "first").await;
    stream.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    assert!(rest(&mut stream).await.contains("second"));
    assert_eq!(bench.entries()[0].method, Method::POST);
}

struct Kept;

#[async_trait]
impl Shelf for Kept {
    async fn take(&self, request: &Request<'_>, _: &Target, _: &HeaderMap) -> Option<Answer> {
        (request.target.path() == "/count").then(|| Answer {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: "42".into(),
            outcome: crate::metrics::RequestOutcome::Cached,
            room: None,
        })
    }
}

#[tokio::test]
async fn what_is_kept_in_memory_does_not_ask_the_origin() {
    let bench = Bench::with(Plan { shelf: Some(Arc::new(Kept)), ..Plan::default() }).await;
    let answer = bench.talk(get("/count", "")).await;
    assert!(
        answer.ends_with("\r\n\r\n42") && answer.to_lowercase().contains("set-cookie: rl_p_a"),
        "{answer}"
    );
    assert!(bench.entries().is_empty());
}
