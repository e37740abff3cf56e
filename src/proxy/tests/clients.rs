//! What clients may and may not do.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::bench::{Bench, Plan, get, rest, until};
use crate::listen::{Admit, BindError, bind};
use crate::metrics::ConnectionRefusal;
use crate::proxy::Settings;

fn settings(change: impl FnOnce(&mut Settings)) -> Plan {
    let mut settings = Settings::default();
    change(&mut settings);
    Plan { settings, ..Plan::default() }
}

#[tokio::test]
async fn a_head_that_drips_is_cut() {
    let bench = Bench::with(settings(|s| s.limits.header_timeout = Duration::from_millis(200))).await;
    let mut stream = bench.connect().await;
    stream.write_all(b"GET / HT").await.unwrap();
    assert!(rest(&mut stream).await.starts_with("HTTP/1.1 408"));
    let mut kept = bench.connect().await;
    kept.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    until(&mut kept, "the shop").await;
    kept.write_all(b"GET / HT").await.unwrap();
    assert!(rest(&mut kept).await.starts_with("HTTP/1.1 408"), "the second head has a deadline too");
}

#[tokio::test]
async fn a_silent_connection_is_closed() {
    let bench = Bench::with(settings(|s| s.limits.idle_timeout = Duration::from_millis(100))).await;
    assert_eq!(rest(&mut bench.connect().await).await, "");
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let bench = Bench::new().await;
    let large = bench.talk(get("/", &format!("A: {}\r\n", "a".repeat(20_000)))).await;
    assert!(large.starts_with("HTTP/1.1 431") && large.contains("problem+json"), "{large}");
    let long = bench.talk(get(&format!("/{}", "a".repeat(20_000)), "")).await;
    assert!(long.starts_with("HTTP/1.1 414"), "{long}");
    assert!(bench.entries().is_empty());
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_refused_and_never_arrives() {
    let bench = Bench::new().await;
    for text in [
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /open/../buy HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%2562uy/.. HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /buy%00 HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /buy HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd",
        "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n folded\r\n\r\n",
    ] {
        let answer = bench.talk(text).await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("problem+json"), "{text:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{text:?}: {answer}");
    }
    assert!(bench.entries().is_empty());
}

#[tokio::test]
async fn an_answer_is_read_though_the_body_is_still_on_its_way() {
    let bench = Bench::new().await;
    let mut stream = bench.connect().await;
    let head = "POST /buy HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; 900_000]).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with('}'), "{answer}");
}

#[tokio::test]
async fn a_small_body_nobody_reads_does_not_cost_the_connection() {
    let bench = Bench::new().await;
    let mut stream = bench.connect().await;
    for _ in 0..2 {
        stream.write_all(b"POST /buy HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc").await.unwrap();
        assert!(until(&mut stream, "}").await.starts_with("HTTP/1.1 503"));
    }
}

#[tokio::test]
async fn a_head_request_gets_the_length_and_no_body() {
    let bench = Bench::new().await;
    let asked = "HEAD /buy HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = bench.talk(asked).await;
    assert!(answer.starts_with("HTTP/1.1 503") && answer.ends_with("\r\n\r\n"), "{answer}");
    let lower = answer.to_lowercase();
    assert!(lower.contains("content-length: ") && !lower.contains("content-length: 0"), "{answer}");
    assert!(lower.contains("x-content-type-options: nosniff") && !lower.contains("pingora"), "{answer}");
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let bench = Bench::new().await;
    let mut stream = bench.connect().await;
    for n in 0..5 {
        stream.write_all(format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        until(&mut stream, "the shop").await;
    }
    assert_eq!(bench.entries().len(), 5);
}

struct Nobody;

impl Admit for Nobody {
    fn admit(&self, _peer: Option<IpAddr>) -> Result<Box<dyn Any + Send>, ConnectionRefusal> {
        Err(ConnectionRefusal::Full)
    }
}

#[tokio::test]
async fn who_may_not_hold_a_connection_is_closed_at_once() {
    let bench = Bench::with(Plan { admit: Arc::new(Nobody), ..Plan::default() }).await;
    let mut stream = bench.connect().await;
    let mut end = [0u8; 1];
    assert!(matches!(tokio::io::AsyncReadExt::read(&mut stream, &mut end).await, Ok(0) | Err(_)));
}

#[tokio::test]
async fn a_stop_finishes_what_was_begun_and_ends() {
    let bench = Bench::new().await;
    let mut busy = bench.connect().await;
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    busy.write_all(format!("{head}5\r\nfirst\r\n").as_bytes()).await.unwrap();
    until(&mut busy, "first").await;
    let mut idle = bench.connect().await;
    idle.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    until(&mut idle, "the shop").await;
    bench.stop.send(true).unwrap();
    assert_eq!(rest(&mut idle).await, "");
    busy.write_all(b"5\r\n-last\r\n0\r\n\r\n").await.unwrap();
    assert!(rest(&mut busy).await.contains("-last"));
    bench.running.await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_said_in_one_line() {
    let bound = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let error = bind(bound.local_addr()).await.unwrap_err();
    assert!(matches!(error, BindError::InUse(_)) && error.to_string().contains("in use"), "{error}");
}
