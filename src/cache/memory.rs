//! [`Cache`]: the rules, the storage and the flights joined. Reads the clock once per reader, judges, and does
//! what the judgement says; every question to the origin begins in [`Shared::launch`] and nowhere else.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::counts::{Counts, Tally, count};
use super::flight::{Boarded, Flights, Leader, Waiter};
use super::policy::{
    Assessment, Judgement, Outcome, Refusal, Shown, Terms, answer, assess, judge, judge_failed, retry_after,
    settle,
};
use super::record::Entry;
use super::settings::{Rule, RuleId, Settings};
use super::store::Store;
use super::{Ask, Fetch, FetchError, Key};
use crate::room::Micros;

/// Reads a clock that never goes back.
pub type Clock = Arc<dyn Fn() -> Micros + Send + Sync>;

/// The time since this call, which steps of the wall clock do not touch.
#[must_use]
pub fn monotonic() -> Clock {
    let start = Instant::now();
    Arc::new(move || Micros(0).plus(start.elapsed()))
}

/// What a reader gets.
#[derive(Debug)]
pub enum Served {
    /// An answer, complete but for framing (`Content-Length`); leave the body out for HEAD.
    Answer(Response<Bytes>),
    /// The answer is not the same for everybody: forward the reader's own request, within the caller's own bound
    /// on requests to the origin.
    Forward(Refusal),
    /// Nothing may be shown: 503 with this `Retry-After`, in seconds, jittered.
    Unavailable {
        /// Seconds.
        retry_after: u64,
    },
}

/// Responses in memory. Cheap to clone; all clones are one cache.
#[derive(Clone)]
pub struct Cache(Arc<Shared>);

struct Shared {
    settings: Settings,
    store: Store,
    flights: Arc<Flights>,
    counts: Counts,
    clock: Clock,
}

/// A reader: what it asks for, under which rule, and what it sent.
struct Reader<'a> {
    rule: &'a Rule,
    id: RuleId,
    key: &'a Key,
    headers: &'a HeaderMap,
    fetch: &'a Arc<dyn Fetch>,
}

impl Cache {
    /// An empty cache.
    #[must_use]
    pub fn new(settings: Settings, clock: Clock) -> Self {
        let store = Store::new(&settings);
        let flights = Arc::new(Flights::new(&settings));
        Self(Arc::new(Shared { settings, store, flights, counts: Counts::default(), clock }))
    }

    /// Answers a reader that asks for `key` under `rule` and sent `headers` (of which only `If-None-Match` is
    /// read). The caller has made sure that the request [`applies`](super::applies).
    ///
    /// Dropping the future gives up the reader's place and nothing else. Must be called within a tokio runtime.
    pub async fn get(&self, rule: RuleId, key: &Key, headers: &HeaderMap, fetch: &Arc<dyn Fetch>) -> Served {
        let shared = &self.0;
        let Some(terms) = shared.settings.rules.get(rule.0) else {
            return shared.forward(Refusal::NoRule);
        };
        let reader = Reader { rule: terms, id: rule, key, headers, fetch };
        let record = shared.store.get(key).await;
        let now = shared.now();
        match judge(record.as_ref(), terms, now) {
            Judgement::Fresh(entry) => shared.show(&entry, Shown::Hit, &reader, now),
            Judgement::Spare(entry, _) => shared.show(&entry, Shown::Stale, &reader, now),
            Judgement::Refresh(entry) => {
                shared.refresh(&reader);
                shared.show(&entry, Shown::Stale, &reader, now)
            }
            Judgement::Forward { why, probe } => {
                if probe {
                    shared.refresh(&reader);
                }
                shared.forward(why)
            }
            Judgement::Unavailable(until) => shared.unavailable(until.since(now)),
            Judgement::Ask(last) => shared.ask(&reader, last).await,
        }
    }

    /// What was done so far, and what is kept.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.0.counts.read(self.0.flights.len(), self.0.store.size())
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Cache").field(&self.tally()).finish()
    }
}

/// What a reader gets.
impl Shared {
    /// Boards the flight of the key, waits for it, and falls back to `last`.
    async fn ask(self: &Arc<Self>, reader: &Reader<'_>, last: Option<Arc<Entry>>) -> Served {
        let (waiter, collapsed): (Option<Waiter>, bool) = match self.flights.board(reader.key) {
            Boarded::Lead(leader, waiter) => {
                self.launch(leader, reader);
                (waiter, false)
            }
            Boarded::Follow(waiter) => (Some(waiter), true),
            Boarded::Full => (None, true),
        };
        let outcome = match waiter {
            Some(waiter) => waiter.wait(self.settings.wait_max).await,
            None => None,
        };
        let now = self.now();
        match outcome {
            Some(Outcome::Kept(entry)) => {
                self.show(&entry, Shown::Fetched { stored: true, collapsed }, reader, now)
            }
            Some(Outcome::Shared(entry)) => {
                self.show(&entry, Shown::Fetched { stored: false, collapsed }, reader, now)
            }
            Some(Outcome::Forward(why)) => self.forward(why),
            Some(Outcome::Failed(until)) => self.fall_back(reader, last, until.since(now), now),
            None => self.fall_back(reader, last, Duration::ZERO, now),
        }
    }

    fn fall_back(
        &self,
        reader: &Reader<'_>,
        last: Option<Arc<Entry>>,
        wait: Duration,
        now: Micros,
    ) -> Served {
        match judge_failed(last, reader.rule, now) {
            Some(entry) => self.show(&entry, Shown::Stale, reader, now),
            None => self.unavailable(wait),
        }
    }

    fn show(&self, entry: &Entry, shown: Shown, reader: &Reader<'_>, now: Micros) -> Served {
        count(match shown {
            Shown::Hit => &self.counts.fresh,
            Shown::Stale => &self.counts.stale,
            Shown::Fetched { .. } => &self.counts.filled,
        });
        Served::Answer(answer(entry, shown, reader.rule, reader.headers, now))
    }

    fn forward(&self, why: Refusal) -> Served {
        count(&self.counts.forwarded);
        Served::Forward(why)
    }

    fn unavailable(&self, wait: Duration) -> Served {
        count(&self.counts.unavailable);
        Served::Unavailable { retry_after: retry_after(wait, rand::random()) }
    }

    fn now(&self) -> Micros {
        (self.clock)()
    }
}

/// The origin's side: from here on no reader is involved.
impl Shared {
    fn refresh(self: &Arc<Self>, reader: &Reader<'_>) {
        if let Some(leader) = self.flights.lead(reader.key) {
            self.launch(leader, reader);
        }
    }

    /// Makes the flight in a task of its own.
    fn launch(self: &Arc<Self>, leader: Leader, reader: &Reader<'_>) {
        let (shared, id, fetch) = (self.clone(), reader.id, reader.fetch.clone());
        tokio::spawn(async move {
            if let Some(rule) = shared.settings.rules.get(id.0) {
                let outcome = shared.bring(rule, leader.key(), fetch).await;
                leader.land(outcome);
            }
        });
    }

    /// One attempt. First looks again at what is remembered: the flight before this one may have landed between
    /// the reader's look and its boarding.
    async fn bring(&self, rule: &Rule, key: &Key, fetch: Arc<dyn Fetch>) -> Outcome {
        let asked = self.now();
        let last = self.store.get(key).await;
        match judge(last.as_ref(), rule, asked) {
            Judgement::Fresh(entry) => return Outcome::Kept(entry),
            Judgement::Spare(_, until) | Judgement::Unavailable(until) => return Outcome::Failed(until),
            Judgement::Forward { why, probe: false } => return Outcome::Forward(why),
            Judgement::Refresh(_) | Judgement::Ask(_) | Judgement::Forward { .. } => {}
        }
        let got = self.question(rule, key, fetch, asked).await;
        let failed_before =
            matches!(last.as_ref().map(|r| r.hold), Some(super::record::Hold::Failing { .. }));
        let terms = Terms { rule, settings: &self.settings, asked, now: self.now() };
        let (record, outcome) = settle(last, got, terms);
        self.note(key, &outcome, failed_before);
        self.store.put(key, record).await;
        outcome
    }

    /// Asks the origin once, within `fetch_max`; a panic of the fetch stays in a task of its own.
    async fn question(&self, rule: &Rule, key: &Key, fetch: Arc<dyn Fetch>, asked: Micros) -> Assessment {
        count(&self.counts.fetches);
        let bytes_max = self.settings.body_max(rule);
        let ask = Ask::new(key.clone(), bytes_max);
        let mut work = JoinSet::new();
        work.spawn(async move { fetch.fetch(&ask).await });
        let result = match timeout(self.settings.fetch_max, work.join_next()).await {
            Ok(Some(Ok(result))) => result,
            Ok(Some(Err(_)) | None) => Err(FetchError::Truncated),
            Err(_) => Err(FetchError::TimedOut),
        };
        if let Err(error) = &result {
            tracing::debug!(%key, %error, "the cache got no answer");
        }
        assess(result, asked, bytes_max)
    }

    /// Says in the log when a key begins to fail and when it is well again, not each attempt between.
    fn note(&self, key: &Key, outcome: &Outcome, failed_before: bool) {
        match outcome {
            Outcome::Failed(_) => {
                count(&self.counts.failures);
                if !failed_before {
                    tracing::warn!(%key, "the origin fails for a cached address");
                }
            }
            _ if failed_before => tracing::info!(%key, "the origin answers again for a cached address"),
            _ => {}
        }
    }
}
