//! A small HTTP/1.1 client: one request per connection, or a kept connection; nothing is tidied or followed.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest wait for an answer: polls near the front may be held for 10 s.
const LONGEST: Duration = Duration::from_secs(40);

/// A request to be sent.
#[derive(Debug, Clone)]
pub struct Ask {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Ask {
    /// A request with this method and target.
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.into(), target: target.into(), headers: Vec::new(), body: Bytes::new() }
    }

    /// A GET.
    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With these headers too.
    pub fn with_all(mut self, headers: &[(&str, &str)]) -> Self {
        self.headers.extend(headers.iter().map(|(n, v)| ((*n).into(), (*v).into())));
        self
    }

    /// With a JSON body.
    pub fn json(self, body: &Value) -> Self {
        self.with("content-type", "application/json").body(body.to_string())
    }

    /// With a body.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// As a browser opens an address: a navigation.
    pub fn navigation(self) -> Self {
        self.with_all(&[
            ("accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
            ("sec-fetch-site", "none"),
        ])
    }

    /// As a script of the page asks: a same-origin fetch.
    pub fn script_fetch(self) -> Self {
        self.with_all(&[
            ("accept", "application/json"),
            ("sec-fetch-mode", "cors"),
            ("sec-fetch-dest", "empty"),
            ("sec-fetch-site", "same-origin"),
        ])
    }

    /// As a program without a browser's headers asks for JSON.
    pub fn program(self) -> Self {
        self.with("accept", "application/json")
    }

    /// Sends it over a connection of its own.
    pub async fn send(self, to: SocketAddr) -> io::Result<Reply> {
        Connection::open(to).await?.send(self).await
    }

    fn build(self, to: SocketAddr) -> io::Result<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method.as_str()).uri(&self.target);
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request = request.header("host", to.to_string());
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body)).map_err(io::Error::other)
    }
}

/// A kept connection.
pub struct Connection {
    to: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Connection {
    /// Connects.
    pub async fn open(to: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(driver);
        Ok(Self { to, sender })
    }

    /// Sends one request and reads its whole answer.
    pub async fn send(&mut self, ask: Ask) -> io::Result<Reply> {
        timeout(LONGEST, self.exchange(ask)).await.map_err(io::Error::other)?
    }

    /// Sends one request and reads the head of its answer.
    pub async fn begin(&mut self, ask: Ask) -> io::Result<http::Response<Incoming>> {
        self.sender.ready().await.map_err(io::Error::other)?;
        self.sender.send_request(ask.build(self.to)?).await.map_err(io::Error::other)
    }

    async fn exchange(&mut self, ask: Ask) -> io::Result<Reply> {
        let (head, body) = self.begin(ask).await?.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, body })
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Reply {
    /// A header's first value, or nothing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("")
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        let text = || format!("not JSON ({} {:?}): {}", self.status, self.headers, self.text());
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", text()))
    }

    /// Whether ropeline made this answer (a waiting page, the document, a problem), not the shop.
    pub fn is_ours(&self) -> bool {
        let kind = self.header("content-type");
        let document = || serde_json::from_slice::<Value>(&self.body).is_ok_and(|d| d.get("room").is_some());
        self.header("x-robots-tag").contains("noindex")
            || kind.starts_with("application/problem+json")
            || (kind.starts_with("application/json") && document())
    }

    /// Cookies set: name, value, attributes.
    pub fn cookies(&self) -> Vec<(String, String, String)> {
        let lines = self.headers.get_all("set-cookie").iter().filter_map(|v| v.to_str().ok());
        lines
            .filter_map(|line| {
                let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
                let (name, value) = pair.split_once('=')?;
                Some((name.trim().to_owned(), value.trim().to_owned(), attributes.trim().to_owned()))
            })
            .collect()
    }
}
