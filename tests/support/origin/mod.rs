//! The shop behind the room: answers everything, writes everything down, and when the story ends looks through its
//! journal for requests that should never have come (see [`guard`]).

pub mod guard;
pub mod journal;
pub mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use self::journal::Journal;
use self::wire::{Answer, Request};
use super::{ports, websocket};

/// A running shop.
pub struct Origin {
    addr: SocketAddr,
    shop: Arc<Shop>,
    accepting: Option<tokio::task::JoinHandle<()>>,
}

/// What every connection of the shop shares.
#[derive(Default)]
pub struct Shop {
    journal: Arc<Journal>,
    connections: AtomicU64,
    remaining_delay_ms: AtomicU64,
    remaining_fails: AtomicBool,
    jwks: std::sync::Mutex<String>,
    /// Said in place of the usual count.
    remaining_says: std::sync::Mutex<Option<String>>,
    fails: std::sync::Mutex<Option<Fails>>,
}

/// How the shop fails whoever asks.
#[derive(Debug, Clone, Copy)]
pub enum Fails {
    /// With an answer of this status.
    With(u16),
    /// With a reset of the connection.
    Resets,
    /// It takes the request and says nothing.
    Stalls,
}

impl Origin {
    /// Opens a shop on a free port.
    pub async fn start() -> Self {
        let mut origin = Self { addr: ports::at(ports::free()), shop: Arc::default(), accepting: None };
        origin.up().await;
        origin
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it heard.
    pub fn journal(&self) -> &Arc<Journal> {
        &self.shop.journal
    }

    /// Listens, on the same address as before.
    pub async fn up(&mut self) {
        let listener = TcpListener::bind(self.addr).await.unwrap();
        let shop = Arc::clone(&self.shop);
        self.accepting = Some(tokio::spawn(async move {
            let mut visits = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shop = Arc::clone(&shop);
                visits.spawn(async move { shop.serve(stream).await.ok() });
                while visits.try_join_next().is_some() {}
            }
        }));
    }

    /// Closes the listener and cuts all connections.
    pub async fn down(&mut self) {
        if let Some(task) = self.accepting.take() {
            task.abort();
            let _ = task.await;
        }
    }

    /// How it fails everybody from now on, if it does.
    pub fn fails(&self, fails: Option<Fails>) {
        *self.shop.fails.lock().unwrap() = fails;
    }

    /// The key set at `/keys.json` from now on.
    pub fn publish(&self, keys: &[serde_json::Value]) {
        *self.shop.jwks.lock().unwrap() = serde_json::json!({ "keys": keys }).to_string();
    }

    /// How long the remaining count takes from now on.
    pub fn remaining_takes(&self, delay: Duration) {
        self.shop.remaining_delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }

    /// Whether the remaining count fails from now on.
    pub fn remaining_fails(&self, fails: bool) {
        self.shop.remaining_fails.store(fails, Ordering::Relaxed);
    }

    /// How many tickets the remaining count says from now on.
    pub fn remaining_is(&self, count: u64) {
        self.remaining_says(&serde_json::json!({"event": 42, "remaining": count}).to_string());
    }

    /// What the remaining count says from now on, word for word.
    pub fn remaining_says(&self, body: &str) {
        *self.shop.remaining_says.lock().unwrap() = Some(body.to_owned());
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(task) = self.accepting.take() {
            task.abort();
        }
        if !std::thread::panicking() {
            self.shop.journal.assert_nothing_without_a_pass();
        }
    }
}

impl Shop {
    async fn serve(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let connection = self.connections.fetch_add(1, Ordering::Relaxed);
        let mut stream = BufReader::new(stream);
        while let Some(head) = wire::read_head(&mut stream).await? {
            let mut request = Request::from_head(&head);
            request.body = wire::read_body(&mut stream, &request).await?;
            self.journal.note(connection, &request);
            if request.header("sec-websocket-key").is_some() && request.path().contains("/ws") {
                return echo(stream, &request).await;
            }
            let fails = *self.fails.lock().unwrap();
            match fails {
                Some(Fails::Resets) => return stream.get_ref().set_zero_linger(),
                Some(Fails::Stalls) => return std::future::pending().await,
                Some(Fails::With(_)) | None => {}
            }
            let mut answer = self.answer(&request);
            if let Some(Fails::With(status)) = fails {
                (answer.status, answer.body) = (status, b"the shop fails".to_vec());
            }
            tokio::time::sleep(answer.delay).await;
            answer.write(stream.get_mut(), request.method == "HEAD").await?;
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Answer {
        let path = request.path();
        if path.ends_with("/remaining") {
            return self.remaining();
        }
        if path == "/keys.json" {
            return Answer::ok("application/json", self.jwks.lock().unwrap().clone());
        }
        let mut answer = match path.rsplit('/').next().unwrap_or_default() {
            "echo" => Answer::ok("application/octet-stream", request.body.clone()),
            "big" => Answer { chunked: true, ..Answer::ok("application/octet-stream", vec![b'x'; 4 << 20]) },
            "slow" => Answer { delay: Duration::from_secs(1), ..Answer::ok("text/plain", "slow") },
            _ => Answer::ok("text/html; charset=utf-8", page(&request.target)),
        };
        if path.ends_with("/end") {
            answer.headers.push(("x-ropeline-end", "pass".into()));
        }
        answer
    }

    fn remaining(&self) -> Answer {
        let delay = Duration::from_millis(self.remaining_delay_ms.load(Ordering::Relaxed));
        let status = if self.remaining_fails.load(Ordering::Relaxed) { 500 } else { 200 };
        let usual = || serde_json::json!({"event": 42, "remaining": 312}).to_string();
        let body = self.remaining_says.lock().unwrap().clone().unwrap_or_else(usual);
        Answer { status, delay, ..Answer::ok("application/json", body) }
    }
}

fn page(target: &str) -> String {
    let shown = target.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html><title>Shop</title><h1 id=shop>The shop</h1><p>{shown}</p>\
         <a id=link href=/buy>Buy tickets</a>"
    )
}

async fn echo(mut stream: BufReader<TcpStream>, request: &Request) -> std::io::Result<()> {
    let accept = websocket::accept_key(request.header("sec-websocket-key").unwrap_or_default());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-accept: {accept}\r\n\r\n"
    );
    stream.get_mut().write_all(head.as_bytes()).await?;
    loop {
        let (first, content) = websocket::read_frame(&mut stream).await?;
        websocket::write_frame(stream.get_mut(), first, &content, None).await?;
    }
}
