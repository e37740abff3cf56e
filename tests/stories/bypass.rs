//! Spellings and framings that have opened other people's gates (the field reports W001 to W005 and W008). Whatever the
//! client is told, the shop's journal is read as leniently as any shop might read it when the story ends.

use std::time::Duration;

use crate::support::origin::Origin;
use crate::support::origin::guard::lenient;
use crate::support::plan::Plan;
use crate::support::raw;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::App;

const SPELLINGS: &[&str] = &[
    // W001: the rule matched on the raw spelling
    "//buy",
    "/buy//",
    "/./buy",
    "/open/../buy",
    "/open//../buy",
    "/buy/.",
    "/open/./../buy/x",
    "/buy/static/../x",
    // W002: decoding
    "/%62uy",
    "/bu%79",
    "/%2562uy",
    "/open%2f..%2fbuy",
    "/open%5c..%5cbuy",
    "/open\\..\\buy",
    "/buy%00",
    "/buy%20",
    "/%c0%afbuy",
    "/buy%",
    "/%2e/buy",
    "/open/%2e%2e/buy",
    "/buy%2f",
    "/buy%2fx",
    // W003: path parameters
    "/buy;x=1",
    "/buy;",
    "/;/buy",
    "/open;a/../buy",
    "/open/..;/buy",
    "/buy%3bx",
    // absolute and odd forms
    "http://127.0.0.1/buy",
    "http://evil.example/buy",
    "http:///buy",
    "buy",
    "*",
    "/buy#x",
    "/buy?x=/open",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_spelling_leads_past_the_line() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    for target in SPELLINGS {
        let heard = raw::get(ropeline.edge(), target, "").await;
        let told = format!("{target}: {}", heard.text);
        assert!(matches!(heard.status(), 400 | 404 | 421 | 503), "gated or refused: {told}");
        assert!(!heard.text.contains("x-shop"), "{told}");
    }
    let mut app = App::joined(&ropeline).await;
    app.until_admitted(Duration::from_secs(30)).await;
    assert!(!app.visit("/buy").await.unwrap().is_ours(), "the plain path works with a pass");
}

/// Off-case is another path unless the origin is said to ignore case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn case_is_ignored_where_the_origin_ignores_it() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.origin_lines = "paths_ignore_case = true".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    for target in ["/BUY", "/Buy/x", "/%42uy"] {
        let heard = raw::get(ropeline.edge(), target, "").await;
        assert!(matches!(heard.status(), 400 | 503), "{target}: {}", heard.text);
    }
    let leaked = |target: &str| lenient(target, true).starts_with("/buy");
    assert!(origin.journal().entries().iter().all(|e| !leaked(&e.request.target)));
}

/// W004: whose host is it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_spelling_of_a_host_meets_the_same_gate() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.server = "hosts = [\"127.0.0.1\"]".into();
    plan.more = "[[room]]\nid = \"hosted\"\nhosts = [\"shop.example\"]\npaths = [\"/buy/**\"]\n\
                 [room.release]\nrate = \"1/min\"\n"
        .into();
    let ropeline = Ropeline::start(plan, &origin).await;
    for host in ["shop.example", "SHOP.EXAMPLE", "shop.example.", "shop.example:80", "shop.example.:80"] {
        let heard = raw::get(ropeline.edge(), "/buy", &format!("Host: {host}\r\n")).await;
        assert_eq!(heard.status(), 503, "{host}: {}", heard.text);
        assert!(heard.text.contains("hosted"), "{host}: {}", heard.text);
    }
    for host in ["Host: unknown.example\r\n", "Host: \r\n", "Host: shop.example\r\nHost: else.example\r\n"] {
        let heard = raw::get(ropeline.edge(), "/buy", host).await;
        assert!(matches!(heard.status(), 400 | 404 | 421), "{host}: {}", heard.text);
    }
    let none = raw::send(ropeline.edge(), b"GET /buy HTTP/1.1\r\nConnection: close\r\n\r\n").await.unwrap();
    assert!(matches!(none.status(), 400 | 404 | 421), "{}", none.text);
    assert!(origin.journal().entries().is_empty());
}

/// W005: a header that names another address decides nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn override_headers_decide_nothing() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    for name in
        ["X-Original-URL", "X-Rewrite-URL", "X-Forwarded-Uri", "X-Forwarded-Prefix", "X-HTTP-Method-Override"]
    {
        let gated = raw::get(ropeline.edge(), "/buy", &format!("{name}: /open\r\n")).await;
        assert_eq!(gated.status(), 503, "{name}");
        let open = raw::get(ropeline.edge(), "/open/over", &format!("{name}: /buy\r\n")).await;
        assert_eq!(open.status(), 200, "{name}");
        let heard = origin.journal().of("/open/over").pop().unwrap().request;
        assert!(heard.header(name).is_none(), "{name} reached the shop");
    }
}

fn framings() -> Vec<String> {
    let hidden = "GET /buy HTTP/1.1\r\nHost: HOST\r\n\r\n";
    let n = hidden.len();
    let chunked = format!("0\r\n\r\n{hidden}");
    let post = |headers: &str, rest: &str| {
        format!("POST /open/framing HTTP/1.1\r\nHost: HOST\r\n{headers}\r\n\r\n{rest}")
    };
    let (te, cl) = ("Transfer-Encoding: chunked", format!("Content-Length: {}", n + 5));
    vec![
        post(&format!("{cl}\r\n{te}"), &chunked),
        post(&format!("{te}\r\n{cl}"), &chunked),
        post(&format!("{cl}\r\nTransfer-Encoding: chunked\t"), &chunked),
        post(&format!("{cl}\r\nTransfer-Encoding : chunked"), &chunked),
        post(&format!("{cl}\r\nTransfer-Encoding: xchunked"), &chunked),
        post(&format!("{cl}\r\nTransfer-Encoding: identity, chunked"), &chunked),
        post(&format!("{cl}\r\n{te}\r\n{te}"), &chunked),
        format!("POST /open/framing HTTP/1.0\r\nHost: HOST\r\n{te}\r\nContent-Length: 0\r\n\r\n{chunked}"),
        post(&format!("Content-Length: 0\r\nContent-Length: {n}"), hidden),
        post("Content-Length: +0", hidden),
        post("Content-Length: 0x0", hidden),
        post("Content-Length: ", hidden),
        post(&format!("Content-Length: 0\r\n X: folded\r\nContent-Length: {n}"), hidden),
        post(te, &format!("+0\r\n\r\n{hidden}")),
        post(te, &format!("-0\r\n\r\n{hidden}")),
        post(te, &format!("fffffffffffffffff\r\n{hidden}")),
        format!("GET /open/framing HTTP/1.1\nHost: HOST\nContent-Length: 0\n\n{hidden}"),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_framing_hides_a_second_request() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let host = ropeline.edge().to_string();
    for (i, framing) in framings().into_iter().enumerate() {
        let heard = raw::send(ropeline.edge(), framing.replace("HOST", &host).as_bytes()).await.unwrap();
        assert!(heard.answers() >= 1, "framing {i} was left without an answer: {heard:?}");
        assert!(heard.status() < 500 || heard.text.contains("room"), "framing {i}: {}", heard.text);
        if heard.status() == 400 {
            assert!(heard.closed, "framing {i}: what cannot be read ends the connection: {heard:?}");
        }
        let next = raw::get(ropeline.edge(), &format!("/open/next-{i}"), "").await;
        assert!(
            next.text.contains(&format!("/open/next-{i}")),
            "the next visitor gets their own answer: {}",
            next.text
        );
    }
    assert!(origin.journal().of("/buy").is_empty());
    for entry in origin.journal().of("/open/framing") {
        let framed = entry.request.all("content-length").len() + entry.request.all("transfer-encoding").len();
        assert!(framed <= 1, "one framing header: {entry:?}");
    }
}

/// Too much of anything is refused by us.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_too_large_is_refused_by_us() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let long = format!("/open/{}", "a".repeat(100_000));
    assert!(matches!(raw::get(ropeline.edge(), &long, "").await.status(), 400 | 414 | 431));
    let wide = format!("X-Wide: {}\r\n", "a".repeat(200_000));
    assert!(matches!(raw::get(ropeline.edge(), "/open", &wide).await.status(), 400 | 431));
    let many = "X-Many: 1\r\n".repeat(5_000);
    assert!(matches!(raw::get(ropeline.edge(), "/open", &many).await.status(), 400 | 431));
    assert!(origin.journal().entries().is_empty());
}
