//! Where bodies end: lengths, limits, and origins that speak an older HTTP.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::bench::{Bench, Plan, get, rest, until};
use crate::proxy::{OriginSettings, Settings};

/// A shop that answers every request with these parts, then closes; a new part goes out for each permit.
async fn told(parts: &'static [&'static str], next: Arc<Semaphore>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let next = next.clone();
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.is_ok_and(|n| n > 0) {}
                for part in parts {
                    next.acquire().await.unwrap().forget();
                    stream.write_all(part.as_bytes()).await.unwrap();
                }
            });
        }
    });
    address
}

async fn before(shop: SocketAddr) -> Bench {
    let origin = OriginSettings { url: format!("http://{shop}"), ..OriginSettings::default() };
    Bench::with(Plan { origin, ..Plan::default() }).await
}

const PLENTY: usize = 1000;

#[tokio::test]
async fn an_old_origin_without_lengths_is_chunked_for_us_and_costs_no_connection() {
    let shop = told(
        &["HTTP/1.0 200 OK\r\nKeep-Alive: timeout=5\r\n\r\n", "old ", "shop"],
        Arc::new(Semaphore::new(PLENTY)),
    );
    let bench = before(shop.await).await;
    let mut stream = bench.connect().await;
    for n in 0..3 {
        stream.write_all(format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        let answer = until(&mut stream, "\r\n0\r\n\r\n").await.to_lowercase();
        assert!(answer.starts_with("http/1.1 200 ok\r\n"), "{answer}");
        assert!(answer.contains("transfer-encoding: chunked"), "{answer}");
        assert!(answer.contains("connection: keep-alive") && !answer.contains("timeout=5"), "{answer}");
    }
}

#[tokio::test]
async fn an_old_origin_with_a_length_keeps_it() {
    let shop =
        told(&["HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\nold shop"], Arc::new(Semaphore::new(PLENTY)));
    let bench = before(shop.await).await;
    let mut stream = bench.connect().await;
    for _ in 0..2 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let answer = until(&mut stream, "old shop").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(!answer.to_lowercase().contains("transfer-encoding"), "{answer}");
    }
}

#[tokio::test]
async fn an_old_client_is_never_sent_chunks() {
    let parts = &["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nnew shop\r\n0\r\n\r\n"];
    let shop = told(parts, Arc::new(Semaphore::new(PLENTY)));
    let bench = before(shop.await).await;
    let answer = bench.talk("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n").await;
    assert!(answer.ends_with("\r\n\r\nnew shop"), "{answer}");
    assert!(!answer.to_lowercase().contains("transfer-encoding"), "{answer}");
}

#[tokio::test]
async fn a_slow_response_of_known_length_is_passed_on_as_it_comes() {
    let next = Arc::new(Semaphore::new(0));
    let parts = &["HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n", "first", "other", "final"];
    let bench = before(told(parts, next.clone()).await).await;
    let mut stream = bench.connect().await;
    stream.write_all(get("/", "").as_bytes()).await.unwrap();
    for mark in ["\r\n\r\n", "first", "other", "final"] {
        next.add_permits(1);
        until(&mut stream, mark).await;
    }
}

async fn small(body_bytes: u64) -> Bench {
    let mut settings = Settings::default();
    settings.limits.body_bytes = body_bytes;
    Bench::with(Plan { settings, ..Plan::default() }).await
}

fn is_too_large(answer: &str) -> bool {
    answer.starts_with("HTTP/1.1 413") && answer.contains("urn:ropeline:problem:body-too-large")
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_anything_else() {
    let bench = small(10).await;
    let post =
        |n: usize| format!("POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {n}\r\n\r\n");
    let answer = bench.talk(format!("{}{}", post(11), "x".repeat(11))).await;
    assert!(is_too_large(&answer), "{answer}");
    let answer = bench.talk(post(900_000_000)).await;
    assert!(is_too_large(&answer), "nobody waits for the body: {answer}");
    assert!(bench.entries().is_empty());
    let answer = bench.talk(format!("{}{}", post(10), "x".repeat(10))).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_is_cut() {
    let bench = small(10).await;
    let head = "POST /hang HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = bench.connect().await;
    stream.write_all(format!("{head}6\r\nsix456\r\n").as_bytes()).await.unwrap();
    while bench.entries().is_empty() {
        tokio::task::yield_now().await;
    }
    stream.write_all(b"5\r\nfive5\r\n").await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(is_too_large(&answer), "{answer}");
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_while_it_is_answered_closes_the_connection() {
    let bench = small(10).await;
    let head = "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut stream = bench.connect().await;
    stream.write_all(format!("{head}6\r\nsix456\r\n").as_bytes()).await.unwrap();
    until(&mut stream, "six456").await;
    stream.write_all(b"5\r\nfive5\r\n0\r\n\r\n").await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(!answer.contains("five5") && !answer.contains("0\r\n\r\n"), "cut, not ended: {answer}");
}

#[tokio::test]
async fn where_no_body_may_be_there_is_none() {
    let bench = small(0).await;
    assert!(bench.talk(get("/", "")).await.starts_with("HTTP/1.1 200"));
    let answer =
        bench.talk("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx").await;
    assert!(is_too_large(&answer), "{answer}");
}
