//! One of the crowd: a browser as far as the door can see, with cookies and the patience to ask only when told.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::ROOM;

/// Longest answer that is read, in bytes.
const ANSWER_MAX: usize = 256 * 1024;
/// Longest wait for an answer; a poll near the front may be held for 10 s.
const ANSWER_WAIT: Duration = Duration::from_secs(30);
/// Shortest and longest pause that is taken from an answer.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(60));
/// How often something may go wrong before somebody gives up.
const PATIENCE: u32 = 20;

/// What became of one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Bought,
    SoldOut,
    Vanished,
    Failed,
}

/// Somebody on the way to a ticket.
#[derive(Debug)]
pub(super) struct Person {
    edge: SocketAddr,
    name: usize,
    cookies: BTreeMap<String, String>,
}

struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
}

impl Reply {
    /// Whether the shop made this, not its waiting room.
    fn is_the_shops(&self) -> bool {
        !self.headers.contains_key("x-robots-tag") && self.status != StatusCode::SERVICE_UNAVAILABLE
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Person {
    pub(super) fn new(edge: SocketAddr, name: usize) -> Self {
        Self { edge, name, cookies: BTreeMap::new() }
    }

    /// Goes for a ticket; with chance `vanish` closes the window at some poll.
    pub(super) async fn shop(mut self, vanish: f64) -> Outcome {
        let mut leaves_in = (rand::random::<f64>() < vanish).then(|| rand::random::<u32>() % 4);
        for _ in 0..PATIENCE {
            match self.navigate("/buy").await {
                Ok(page) if page.is_the_shops() => return self.buy(&page.text()).await,
                Ok(_) => {}
                Err(_) => sleep(Duration::from_secs(1)).await,
            }
            if !self.wait(&mut leaves_in).await {
                return Outcome::Vanished;
            }
        }
        Outcome::Failed
    }

    /// Polls until it makes sense to open the form again; false: closed the window.
    async fn wait(&mut self, leaves_in: &mut Option<u32>) -> bool {
        for _ in 0..10_000 {
            match leaves_in {
                Some(0) => return false,
                Some(polls) => *polls -= 1,
                None => {}
            }
            match self.poll().await {
                Ok(Some(pause)) => sleep(pause.clamp(PAUSES.0, PAUSES.1)).await,
                Ok(None) => return true,
                Err(_) => {
                    sleep(Duration::from_secs(1)).await;
                    return true;
                }
            }
        }
        true
    }

    /// Asks for the position: the pause until the next time, or nothing when the turn has come or the place is gone.
    async fn poll(&mut self) -> io::Result<Option<Duration>> {
        let path = format!("/_ropeline/v1/rooms/{ROOM}/position");
        let reply = self.send(Method::GET, &path, "cors", Bytes::new()).await?;
        if reply.status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = reply.headers.get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()?.parse().ok());
            return Ok(Some(Duration::from_secs(seconds.unwrap_or(2))));
        }
        let document: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let waits = reply.status == StatusCode::OK
            && document.pointer("/visitor/state").and_then(Value::as_str) != Some("admitted");
        let next = document.get("next_poll_ms").and_then(Value::as_u64).map(Duration::from_millis);
        Ok(next.filter(|_| waits))
    }

    async fn buy(&mut self, page: &str) -> Outcome {
        let Some(key) = page.split("name=key value='").nth(1).and_then(|rest| rest.split('\'').next()) else {
            return if page.contains("Sold out") { Outcome::SoldOut } else { Outcome::Failed };
        };
        let body = Bytes::from(format!("key={key}&name=Visitor+{}", self.name));
        match self.send(Method::POST, "/buy", "navigate", body).await {
            Ok(reply) if reply.status == StatusCode::SEE_OTHER => Outcome::Bought,
            Ok(reply) if reply.status == StatusCode::CONFLICT => Outcome::SoldOut,
            _ => Outcome::Failed,
        }
    }

    async fn navigate(&mut self, path: &str) -> io::Result<Reply> {
        self.send(Method::GET, path, "navigate", Bytes::new()).await
    }

    async fn send(&mut self, method: Method, path: &str, mode: &str, body: Bytes) -> io::Result<Reply> {
        let request = self.request(method, path, mode, body).map_err(io::Error::other)?;
        let reply = timeout(ANSWER_WAIT, exchange(self.edge, request)).await.map_err(io::Error::other)??;
        for line in reply.headers.get_all(header::SET_COOKIE) {
            let pair = line.to_str().ok().and_then(|l| l.split(';').next()?.split_once('='));
            if let Some((name, value)) = pair {
                self.cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        Ok(reply)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        mode: &str,
        body: Bytes,
    ) -> http::Result<Request<Full<Bytes>>> {
        let accept = if mode == "navigate" { "text/html,*/*;q=0.8" } else { "application/json" };
        let dest = if mode == "navigate" { "document" } else { "empty" };
        let cookies: Vec<String> = self.cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.edge.to_string())
            .header(header::ACCEPT, accept)
            .header("sec-fetch-mode", mode)
            .header("sec-fetch-dest", dest)
            .header("sec-fetch-site", "same-origin");
        if !cookies.is_empty() {
            request = request.header(header::COOKIE, cookies.join("; "));
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        request.body(Full::new(body))
    }
}

async fn exchange(edge: SocketAddr, request: Request<Full<Bytes>>) -> io::Result<Reply> {
    let stream = TcpStream::connect(edge).await?;
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let driver = tokio::spawn(connection);
    let (head, body) = sender.send_request(request).await.map_err(io::Error::other)?.into_parts();
    let body = Limited::new(body, ANSWER_MAX).collect().await.map_err(io::Error::other)?.to_bytes();
    driver.abort();
    Ok(Reply { status: head.status, headers: head.headers, body })
}
