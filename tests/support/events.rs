//! A reader of event streams: one document after the other, as they come.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

use super::http::{Ask, Connection};

/// Longer than a heartbeat takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(40);

/// A held event stream; dropping it hangs up.
pub struct Stream {
    pub status: u16,
    pub headers: HeaderMap,
    body: Incoming,
    text: String,
    beats: usize,
}

impl Stream {
    /// Opens one; the status says whether it is one.
    pub async fn open(to: SocketAddr, ask: Ask) -> io::Result<Self> {
        let answer = Connection::open(to).await?.begin(ask).await?;
        let (head, body) = answer.into_parts();
        let text = String::new();
        Ok(Self { status: head.status.as_u16(), headers: head.headers, body, text, beats: 0 })
    }

    /// The next document; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(document) = self.read() {
                return Some(document);
            }
            self.hear().await?;
        }
    }

    /// Waits for a comment, which is a heartbeat.
    pub async fn beat(&mut self) {
        let before = self.beats;
        while self.beats == before {
            self.hear().await.expect("the stream goes on");
            while self.read().is_some() {}
        }
    }

    /// More text.
    async fn hear(&mut self) -> Option<()> {
        let frame = timeout(LONGEST, self.body.frame()).await.expect("a heartbeat at least");
        let data = frame?.ok()?.into_data().unwrap_or_default();
        self.text += std::str::from_utf8(&data).unwrap();
        Some(())
    }

    /// The next document that is there already; comments before it are counted.
    fn read(&mut self) -> Option<Value> {
        while let Some((event, rest)) = self.text.split_once("\n\n") {
            let (event, rest) = (event.to_owned(), rest.to_owned());
            self.text = rest;
            if let Some(data) = event.lines().find_map(|line| line.strip_prefix("data: ")) {
                return Some(serde_json::from_str(data).unwrap_or_else(|_| panic!("not JSON: {data}")));
            }
            self.beats += usize::from(event.starts_with(':'));
        }
        None
    }

    /// Reads on until a document is as wanted.
    pub async fn until(&mut self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        while let Some(document) = self.next().await {
            if wanted(&document) {
                return document;
            }
            last = document;
        }
        panic!("the stream ended before {what}; last: {last}")
    }

    /// Everything that is left, to the end.
    pub async fn rest(mut self) -> Vec<Value> {
        let mut all = Vec::new();
        while let Some(document) = self.next().await {
            all.push(document);
        }
        all
    }
}
