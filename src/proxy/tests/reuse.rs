//! Kept connections that turn out closed, and fetches of our own.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::bench::{Bench, Plan, get};
use crate::proxy::{Fetcher, FetcherError, Origin, OriginSettings};

/// A shop that promises to keep its connections and hangs up on the second request of each.
async fn fickle() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = [0u8; 4096];
                if stream.read(&mut buffer).await.is_ok_and(|n| n > 0) {
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
                    let _ = stream.read(&mut buffer).await;
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_costs_no_visitor_a_502() {
    let origin = OriginSettings { url: format!("http://{}", fickle().await), ..OriginSettings::default() };
    let bench = Bench::with(Plan { origin, ..Plan::default() }).await;
    for n in 0..10 {
        let answer = bench.talk(get(&format!("/{n}"), "")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    let answer = bench.talk(post).await;
    assert!(answer.starts_with("HTTP/1.1 502"), "a purchase is never sent twice: {answer}");
}

#[tokio::test]
async fn a_fetch_of_ours_holds_nothing_of_a_visitor_and_is_bounded() {
    let bench = Bench::new().await;
    bench.talk(get("/warm", "")).await;
    let url = format!("http://{}", bench.shop);
    let origin = Arc::new(Origin::new(OriginSettings { url, ..OriginSettings::default() }).unwrap());
    let mut headers = HeaderMap::new();
    for name in [header::COOKIE, header::AUTHORIZATION, header::IF_NONE_MATCH, header::RANGE, header::ACCEPT]
    {
        headers.insert(name, "x".parse().unwrap());
    }
    let fetcher = Fetcher::new(origin, None);
    let whole = fetcher.get("shop.example", "/count?a=%20", &headers, 64).await.unwrap();
    assert_eq!(whole.body(), "the shop");
    let entry = bench.entries().pop().unwrap();
    assert_eq!((entry.target.as_str(), entry.headers.len()), ("/count?a=%20", 2), "{:?}", entry.headers);
    assert_eq!(entry.headers[header::HOST], "shop.example");
    assert!(matches!(fetcher.get("a", "/", &headers, 3).await, Err(FetcherError::TooLong)));
}
