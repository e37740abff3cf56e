//! The crowd door over raw sockets.

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::{Crowd, Settings};
use crate::answer::{Door, Gate, Problem, Reply, Request, Verdict, problem};
use crate::listen::{Admit, bind};
use crate::metrics::ConnectionRefusal;

struct Echo;

#[async_trait]
impl Gate for Echo {
    async fn decide(&self, _: &Request<'_>) -> Verdict {
        unreachable!("the crowd door never decides")
    }

    async fn wait(&self, request: &Request<'_>) -> Reply {
        assert_eq!(request.door, Door::Crowd);
        Reply::Answer(problem(Problem::new("echo", StatusCode::OK, "Echo"), request.target.raw(), None))
    }
}

struct Everybody;

impl Admit for Everybody {
    fn admit(&self, _: Option<IpAddr>) -> Result<Box<dyn Any + Send>, ConnectionRefusal> {
        Ok(Box::new(()))
    }
}

async fn door(settings: Settings) -> (SocketAddr, watch::Sender<bool>, tokio::task::JoinHandle<()>) {
    let bound = bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let address = bound.local_addr();
    let (stop, seen) = watch::channel(false);
    let crowd = Crowd::new(settings, Arc::new(Echo), Arc::new(Everybody));
    (address, stop, tokio::spawn(async move { crowd.serve(bound, seen).await }))
}

async fn talk(address: SocketAddr, text: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).await.unwrap();
    all
}

#[tokio::test]
async fn it_answers_reads_in_one_way_and_stops() {
    let (address, stop, running) = door(Settings::default()).await;
    let answer = talk(address, "GET /x%2Fy?z HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.contains("/x%2Fy?z") && answer.contains("nosniff"),
        "{answer}"
    );
    let head = talk(address, "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
    for bad in [
        "GET /../x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    ] {
        assert!(talk(address, bad).await.starts_with("HTTP/1.1 400"), "{bad}");
    }
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nA: {}\r\n\r\n", "a".repeat(40_000));
    assert!(talk(address, &large).await.starts_with("HTTP/1.1 431"));
    let idle = TcpStream::connect(address).await.unwrap();
    stop.send(true).unwrap();
    running.await.unwrap();
    drop(idle);
}

#[tokio::test]
async fn a_silent_or_dripping_client_is_cut() {
    let mut settings = Settings::default();
    settings.limits.idle_timeout = Duration::from_millis(100);
    let (address, _stop, _running) = door(settings).await;
    let answer = talk(address, "GET / HT").await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer}");
    let kept = talk(address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(kept.starts_with("HTTP/1.1 200"), "{kept}");
}
