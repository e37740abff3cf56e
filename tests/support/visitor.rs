//! People: a browser that keeps cookies and sends what browsers send, and a program that carries its tokens itself.
//! Both do what they are told: they ask again after `next_poll_ms` or `Retry-After`, not before.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::eventually::eventually;
use super::http::{Ask, Reply};
use super::ropeline::{Ropeline, room_path};

/// A browser: keeps cookies and sends `Sec-Fetch-*`.
#[derive(Debug, Clone)]
pub struct Visitor {
    pub at: SocketAddr,
    pub room: String,
    pub cookies: BTreeMap<String, String>,
}

impl Visitor {
    /// One who comes to this instance.
    pub fn of(instance: &Ropeline) -> Self {
        Self::new(instance.edge(), instance.room)
    }

    /// One who comes to this address.
    pub fn new(at: SocketAddr, room: &str) -> Self {
        Self { at, room: room.to_owned(), cookies: BTreeMap::new() }
    }

    /// Sends a request with the cookies and keeps what is set.
    pub async fn send(&mut self, ask: Ask) -> io::Result<Reply> {
        let jar: Vec<String> = self.cookies.iter().map(|(n, v)| format!("{n}={v}")).collect();
        let ask = if jar.is_empty() { ask } else { ask.with("cookie", &jar.join("; ")) };
        let reply = ask.send(self.at).await?;
        for (name, value, attributes) in reply.cookies() {
            let gone = attributes.to_ascii_lowercase().replace(' ', "").contains("max-age=0");
            if gone || value.is_empty() {
                self.cookies.remove(&name)
            } else {
                self.cookies.insert(name, value)
            };
        }
        Ok(reply)
    }

    /// Opens a page.
    pub async fn open(&mut self, path: &str) -> io::Result<Reply> {
        self.send(Ask::get(path).navigation()).await
    }

    /// Asks for the position.
    pub async fn poll(&mut self) -> io::Result<Reply> {
        self.send(Ask::get(&room_path(&self.room, "/position")).script_fetch()).await
    }

    /// Joins, as a script of the page does.
    pub async fn join(&mut self) -> io::Result<Reply> {
        self.send(Ask::new("POST", &room_path(&self.room, "/tickets")).script_fetch()).await
    }

    /// With one more cookie, such as the shop's.
    pub fn with_cookie(mut self, name: &str, value: &str) -> Self {
        self.cookies.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The ticket, if there is one.
    pub fn ticket(&self) -> Option<&String> {
        self.cookies.get(&format!("rl_t_{}", self.room))
    }

    /// The pass, if there is one.
    pub fn pass(&self) -> Option<&String> {
        self.cookies.get(&format!("rl_p_{}", self.room))
    }

    /// The number, by a poll.
    pub async fn number(&mut self) -> u64 {
        let reply = self.poll().await.unwrap();
        let number = reply.json()["visitor"]["number"].as_u64();
        number.unwrap_or_else(|| panic!("no number: {} {}", reply.status, reply.text()))
    }

    /// Opens a page of the room and waits in line for as long as it takes; the shop's answer.
    pub async fn enter(&mut self, path: &str, patience: Duration) -> Result<Reply, String> {
        let end = Instant::now() + patience;
        let mut last = String::from("nothing heard");
        while Instant::now() < end {
            match self.open(path).await {
                Ok(reply) if !reply.is_ours() => return Ok(reply),
                Ok(reply) => last = format!("page: {}", reply.status),
                Err(error) => last = error.to_string(),
            }
            self.wait_for_turn(end, &mut last).await;
        }
        Err(format!("not in after {patience:?}; last: {last}; cookies {:?}", self.cookies.keys()))
    }

    async fn wait_for_turn(&mut self, end: Instant, last: &mut String) {
        while Instant::now() < end {
            let pause = match self.poll().await {
                Ok(reply) if reply.status == 200 => {
                    let document = reply.json();
                    *last = document.to_string();
                    if document["visitor"]["state"] == "admitted" {
                        return;
                    }
                    next_poll(&document)
                }
                Ok(reply) if reply.status == 503 => retry_after(&reply),
                Ok(reply) => {
                    *last = format!("poll: {} {}", reply.status, reply.text());
                    return;
                }
                Err(error) => {
                    *last = error.to_string();
                    Duration::from_millis(200)
                }
            };
            sleep(pause).await;
        }
    }
}

/// When the document says to ask again.
pub fn next_poll(document: &Value) -> Duration {
    let ms = document["next_poll_ms"].as_u64();
    Duration::from_millis(ms.unwrap_or_else(|| panic!("no next_poll_ms: {document}")))
}

/// When an answer says to try again.
pub fn retry_after(reply: &Reply) -> Duration {
    let seconds = reply.header("retry-after").parse();
    Duration::from_secs(
        seconds.unwrap_or_else(|_| panic!("no Retry-After: {} {}", reply.status, reply.text())),
    )
}

/// A program without a cookie jar: ticket and pass as bearer.
#[derive(Debug, Clone)]
pub struct App {
    pub at: SocketAddr,
    pub room: String,
    pub ticket: Option<String>,
    pub pass: Option<String>,
    pub number: u64,
}

impl App {
    /// One who talks to this instance.
    pub fn of(instance: &Ropeline) -> Self {
        Self::new(instance.edge(), instance.room)
    }

    /// One who talks to this address.
    pub fn new(at: SocketAddr, room: &str) -> Self {
        Self { at, room: room.to_owned(), ticket: None, pass: None, number: 0 }
    }

    /// One who has joined.
    pub async fn joined(instance: &Ropeline) -> Self {
        eventually("a place is told", async || {
            let mut app = Self::of(instance);
            let reply = app.join().await.unwrap();
            // As right after a restart of the store: come again.
            if reply.status == 503 {
                return None;
            }
            assert_eq!(reply.status, 201, "join: {}", reply.text());
            Some(app)
        })
        .await
    }

    fn ask(&self, method: &str, rest: &str) -> Ask {
        let ask = Ask::new(method, &room_path(&self.room, rest)).program();
        match &self.ticket {
            Some(ticket) => ask.with("authorization", &format!("Bearer {ticket}")),
            None => ask,
        }
    }

    /// Sends an endpoint of the room and keeps the tokens that come back.
    pub async fn call(&mut self, method: &str, rest: &str) -> io::Result<Reply> {
        let reply = self.ask(method, rest).send(self.at).await?;
        let document: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if let Some(ticket) = document["ticket"].as_str() {
            self.ticket = Some(ticket.to_owned());
        }
        if let Some(pass) = document["pass"]["token"].as_str() {
            self.pass = Some(pass.to_owned());
        }
        self.number = document["visitor"]["number"].as_u64().unwrap_or(self.number);
        Ok(reply)
    }

    /// Joins, or joins again.
    pub async fn join(&mut self) -> io::Result<Reply> {
        self.call("POST", "/tickets").await
    }

    /// Asks for the position.
    pub async fn poll(&mut self) -> io::Result<Reply> {
        self.call("GET", "/position").await
    }

    /// Polls as told until a pass has come.
    pub async fn until_admitted(&mut self, patience: Duration) {
        let end = Instant::now() + patience;
        let mut last = String::new();
        while self.pass.is_none() {
            assert!(
                Instant::now() < end,
                "no pass for number {} after {patience:?}; last: {last}",
                self.number
            );
            let pause = match self.poll().await {
                Ok(reply) if reply.status == 200 => next_poll(&reply.json()),
                Ok(reply) if reply.status == 503 => retry_after(&reply),
                Ok(reply) => panic!("poll of number {}: {} {}", self.number, reply.status, reply.text()),
                Err(error) => {
                    last = error.to_string();
                    Duration::from_millis(200)
                }
            };
            if self.pass.is_none() {
                sleep(pause).await;
            }
        }
    }

    /// Asks the shop with the pass.
    pub async fn visit(&self, target: &str) -> io::Result<Reply> {
        let ask = Ask::get(target).program();
        let ask = self.pass.iter().fold(ask, |ask, pass| ask.with("x-ropeline-pass", pass));
        ask.send(self.at).await
    }
}

/// Lets `count` programs join over several connections at a time; in the order of their numbers.
pub async fn join_many(instance: &Ropeline, count: usize) -> Vec<App> {
    let mut joins = tokio::task::JoinSet::new();
    let mut apps = Vec::with_capacity(count);
    for i in 0..count {
        let mut app = App::of(instance);
        joins.spawn(async move {
            let reply = app.join().await.unwrap();
            assert_eq!(reply.status, 201, "join {i}: {}", reply.text());
            app
        });
        if joins.len() >= 64 {
            apps.extend(joins.join_next().await.map(Result::unwrap));
        }
    }
    apps.extend(joins.join_all().await);
    apps.sort_by_key(|app| app.number);
    apps
}
