//! Reads the shop's stock: ropeline asks the origin itself, once a `refresh` over all instances as a rule, and
//! puts the number into the line, where it bounds admissions (`room::Stock`).
//!
//! Each instance looks at the age of the last reading first, whoever made it. Who made it makes the next one too,
//! and the others step in when that is late: so they share the work without knowing each other. A shop that fails is asked more and more seldom, and a reading that ages bounds
//! nobody: what is not known never keeps anybody out.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use rand::Rng;
use serde_json::Value;
use tokio::sync::watch;

use crate::config::{Config, RoomConfig, StockConfig};
use crate::listen::stopped;
use crate::metrics::{self, StockRead};
use crate::proxy::Fetcher;
use crate::queue::Line;
use crate::room::{Control, Micros, Stock};

/// Longest answer of the shop, in bytes.
const BODY_MAX: usize = 64 * 1024;
/// How old a snapshot may be, and how often one without news is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Longest pause after failures in a row.
const BACKOFF_MAX: Duration = Duration::from_secs(30);
/// Longest wait for one answer: an old number is worth nothing.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Reads the stock of one room.
pub(super) struct Reader {
    line: Arc<Line>,
    fetcher: Arc<Fetcher>,
    stock: StockConfig,
    host: String,
    failures: u32,
    /// When the last reading of this instance was kept.
    own: Option<Micros>,
    /// The kind of the last failure, so that each is told once.
    told: Option<StockRead>,
}

/// Why there is no number.
#[derive(Debug)]
enum Failure {
    Fetch(String),
    Status(u16),
    Field,
    Store(String),
}

impl Failure {
    fn kind(&self) -> StockRead {
        match self {
            Self::Fetch(_) => StockRead::Unreachable,
            Self::Status(_) => StockRead::Status,
            Self::Field => StockRead::Unreadable,
            Self::Store(_) => StockRead::Store,
        }
    }

    fn told(&self) -> String {
        match self {
            Self::Fetch(error) => error.clone(),
            Self::Status(status) => format!("it answered with status {status}"),
            Self::Field => "there is no whole number from 0 at room.stock.field".to_owned(),
            Self::Store(error) => format!("the reading could not be kept: {error}"),
        }
    }
}

/// One reader for each room that has a stock.
pub(super) fn readers(config: &Config, lines: &[Arc<Line>], fetcher: &Arc<Fetcher>) -> Vec<Reader> {
    let rooms = config.rooms.iter().zip(lines);
    let reader = |(room, line): (&RoomConfig, &Arc<Line>)| {
        Some(Reader {
            line: Arc::clone(line),
            fetcher: Arc::clone(fetcher),
            stock: room.stock.clone()?,
            host: host(config, room),
            failures: 0,
            own: None,
            told: None,
        })
    };
    rooms.filter_map(reader).collect()
}

/// The shop is asked as the room's own host, as visitors ask it.
fn host(config: &Config, room: &RoomConfig) -> String {
    let served = room.hosts.first().or_else(|| config.server.hosts.first());
    served.cloned().unwrap_or_else(|| format!("{}:{}", config.origin.host, config.origin.port))
}

impl Reader {
    pub(super) async fn until_stopped(mut self, mut stopping: watch::Receiver<bool>) {
        tokio::select! {
            () = stopped(&mut stopping) => {}
            () = self.run() => {}
        }
    }

    async fn run(&mut self) {
        loop {
            match self.due_in() {
                Duration::ZERO => {
                    let read = self.read().await;
                    self.settle(read);
                    tokio::time::sleep(self.pause()).await;
                }
                soon => tokio::time::sleep(soon).await,
            }
        }
    }

    /// Until the last reading, of whichever instance, is old enough for this one.
    fn due_in(&self) -> Duration {
        let view = self.line.view();
        let Some(snapshot) = view.snapshot.as_deref().filter(|_| view.fresh) else {
            // Before the store can be asked there is nowhere to put a reading.
            return LOOK;
        };
        let Some(stock) = snapshot.stock else { return Duration::ZERO };
        let refresh = self.stock.refresh;
        let mine = self.own == Some(stock.read_at);
        // Another's next reading takes a moment to be seen here.
        let due = if mine { refresh } else { refresh.mul_f64(1.5) + 2 * LOOK };
        due.saturating_sub(snapshot.now.since(stock.read_at)).min(LOOK.max(refresh))
    }

    /// After a reading none; after failures longer and longer, and different in each instance.
    fn pause(&self) -> Duration {
        let refresh = self.stock.refresh;
        if self.failures == 0 {
            return Duration::ZERO;
        }
        let backed_off = refresh.saturating_mul(1 << self.failures.min(10)).min(BACKOFF_MAX.max(refresh));
        backed_off.mul_f64(rand::rng().random_range(0.7..1.0))
    }

    async fn read(&mut self) -> Result<u64, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        let asked = self.fetcher.get(&self.host, &self.stock.path, &headers, BODY_MAX);
        let late = |_| Failure::Fetch("it took too long".to_owned());
        let answer = tokio::time::timeout(ANSWER_MAX, asked).await.map_err(late)?;
        let answer = answer.map_err(|error| Failure::Fetch(error.to_string()))?;
        if !answer.status().is_success() {
            return Err(Failure::Status(answer.status().as_u16()));
        }
        let remaining = number(answer.body(), &self.stock.field).ok_or(Failure::Field)?;
        let kept = self.line.control(Control::StockRead { remaining }).await;
        let snapshot = kept.map_err(|error| Failure::Store(error.to_string()))?;
        self.own = snapshot.stock.map(|stock| stock.read_at);
        Ok(remaining)
    }

    fn settle(&mut self, read: Result<u64, Failure>) {
        let room = self.line.room();
        match read {
            Ok(remaining) => {
                metrics::stock_read(room, StockRead::Read);
                if self.told.take().is_some() {
                    tracing::info!(%room, remaining, "the shop's stock is known again");
                }
                self.failures = 0;
            }
            Err(failure) => {
                let kind = failure.kind();
                metrics::stock_read(room, kind);
                if self.told != Some(kind) {
                    let because = failure.told();
                    tracing::warn!(%room, because, "the shop's stock cannot be read; when it is old it bounds nobody");
                }
                self.told = Some(kind);
                self.failures = self.failures.saturating_add(1);
            }
        }
    }
}

/// The whole number from 0 at a JSON pointer; `312.0` is one too.
fn number(body: &[u8], field: &str) -> Option<u64> {
    let document: Value = serde_json::from_slice(body).ok()?;
    let value = document.pointer(field)?;
    let whole = value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked right here")]
        (float >= 0.0 && float.fract() == 0.0 && float <= 1e15).then_some(float as u64)
    });
    whole.map(|remaining| remaining.min(Stock::MAX))
}

/// What is amiss with the stock of a room, for the health of the instance.
pub(super) fn amiss(line: &Line) -> Option<String> {
    let view = line.view();
    let snapshot = view.snapshot.as_deref().filter(|s| view.fresh && s.rules.stock.is_some())?;
    let room = line.room();
    match snapshot.stock {
        None => Some(format!("room {room}: its stock was never read, so it bounds nobody")),
        Some(_) if snapshot.stock_is_stale() => {
            Some(format!("room {room}: its stock was not read of late, so it bounds nobody"))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_a_whole_number_from_zero_is_a_reading() {
        for (body, field, read) in [
            (r#"{"remaining": 312}"#, "/remaining", Some(312)),
            (r#"{"a": [{"left": 0}]}"#, "/a/0/left", Some(0)),
            (r#"{"remaining": 312.0}"#, "/remaining", Some(312)),
            ("7", "", Some(7)),
            (r#"{"remaining": 1e14}"#, "/remaining", Some(1_000_000_000_000)),
            (r#"{"remaining": -1}"#, "/remaining", None),
            (r#"{"remaining": 1.5}"#, "/remaining", None),
            (r#"{"remaining": "312"}"#, "/remaining", None),
            (r#"{"remaining": null}"#, "/remaining", None),
            (r#"{"left": 1}"#, "/remaining", None),
            ("<html>", "/remaining", None),
        ] {
            assert_eq!(number(body.as_bytes(), field), read, "{body}");
        }
    }
}
