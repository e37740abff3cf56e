//! The cache as readers and the origin see it, on a paused clock: time moves only when everybody waits.

mod coalescing;
mod failing;
mod privacy;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::*;

/// What the sample origin does with a question.
#[derive(Clone)]
enum Act {
    Say(u16, Vec<(&'static str, &'static str)>),
    Break(FetchError),
    Hang,
    Panic,
}

/// An origin that takes `delay`, counts, and answers with the host, the path and how often it was asked.
struct Origin {
    asked: AtomicUsize,
    at_once: AtomicUsize,
    most_at_once: AtomicUsize,
    saw_reader: AtomicBool,
    act: Mutex<Act>,
    delay: Duration,
}

impl Origin {
    fn new(delay: Duration) -> Arc<Self> {
        Arc::new(Self {
            asked: AtomicUsize::new(0),
            at_once: AtomicUsize::new(0),
            most_at_once: AtomicUsize::new(0),
            saw_reader: AtomicBool::new(false),
            act: Mutex::new(plain()),
            delay,
        })
    }

    async fn will(&self, act: Act) {
        *self.act.lock().await = act;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn plain() -> Act {
    Act::Say(200, vec![("content-type", "text/plain")])
}

struct AtOnce<'a>(&'a Origin);

impl Drop for AtOnce<'_> {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Fetch for Origin {
    async fn fetch(&self, ask: &Ask) -> Result<Fetched, FetchError> {
        let count = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        let _inside = AtOnce(self);
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        if ask
            .headers
            .keys()
            .any(|name| !["accept", "accept-encoding", "user-agent"].contains(&name.as_str()))
        {
            self.saw_reader.store(true, Ordering::SeqCst);
        }
        tokio::time::sleep(self.delay).await;
        let act = self.act.lock().await.clone();
        match act {
            Act::Say(status, headers) => Ok(Fetched {
                status: StatusCode::from_u16(status).unwrap(),
                headers: headers
                    .into_iter()
                    .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
                    .collect(),
                body: Bytes::from(format!("{}{} {count}", ask.key.authority(), ask.key.target())),
            }),
            Act::Break(error) => Err(error),
            Act::Hang => std::future::pending().await,
            Act::Panic => panic!("the sample origin panics"),
        }
    }
}

/// A cache with one rule before a sample origin.
#[derive(Clone)]
struct Shop {
    cache: Cache,
    origin: Arc<Origin>,
    fetch: Arc<dyn Fetch>,
}

const TTL: Duration = Duration::from_secs(1);

fn rule() -> Rule {
    Rule { ttl: TTL, ..Rule::default() }
}

fn shop(rule: Rule, delay: Duration) -> Shop {
    shop_with(Settings { rules: vec![rule], ..Settings::default() }, delay)
}

fn shop_with(settings: Settings, delay: Duration) -> Shop {
    let origin = Origin::new(delay);
    Shop { cache: Cache::new(settings, monotonic()), fetch: origin.clone(), origin }
}

fn key(host: &str, target: &str) -> Key {
    Key::new(Scheme::Https, host, target)
}

impl Shop {
    async fn read(&self, key: &Key) -> Served {
        self.cache.get(RuleId(0), key, &HeaderMap::new(), &self.fetch).await
    }

    async fn count(&self) -> Served {
        self.read(&key("a", "/count")).await
    }

    /// So many readers of the count at once; all of what they got.
    async fn crowd(&self, readers: usize) -> Vec<Served> {
        let mut crowd = JoinSet::new();
        for _ in 0..readers {
            let shop = self.clone();
            crowd.spawn(async move { shop.count().await });
        }
        crowd.join_all().await
    }
}

fn response(served: Served) -> Response<Bytes> {
    match served {
        Served::Answer(response) => response,
        other => panic!("no answer: {other:?}"),
    }
}

fn body(served: Served) -> String {
    String::from_utf8(response(served).into_body().to_vec()).unwrap()
}

fn header(response: &Response<Bytes>, name: &str) -> String {
    response.headers().get(name).unwrap().to_str().unwrap().to_owned()
}

async fn later(by: Duration) {
    tokio::time::sleep(by).await;
}
