//! Joins through `queue::Line` in this very process: what the batches and the store can do, without HTTP.
//!
//! Many callers in a closed loop, each joining again as soon as it has a number. Callers, line and embedded
//! store share this process and both cores; Redis is pinned. A store that may lose its last second hands
//! numbers out below a ceiling that it raises some seconds ahead, by the joins of late; so there each round
//! begins with some seconds that do not count, and refusals are counted.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ropeline::metrics::Handle;
use ropeline::queue::embedded::EmbeddedStore;
use ropeline::queue::redis::RedisStore;
use ropeline::queue::{
    Durability, InstanceId, Line, LineSettings, Measured, Place, QueueStore, Settings, StoreError,
};
use ropeline::room::{IdentityHash, JoinOutcome, Lineage, Rate, RoomId, Rules};
use tokio::task::JoinSet;

use super::{Bounds, shown};
use crate::fault::{Result, fault};
use crate::peers::redis::{Fsync, Redis};
use crate::report::{Report, Table, figure};
use crate::scrape::{Batches, Scrape};
use crate::stats::{median, percentile, spread};

/// Callers at once.
const CALLERS: [usize; 4] = [1, 64, 512, 4096];
/// How many callers join with an identity in the last row.
const IDENTIFIED: usize = 512;
const TIMEOUT: Duration = Duration::from_secs(5);
/// Before a round on a store with ceilings.
const LEAD: Duration = Duration::from_secs(4);
/// A refused caller comes again after this.
const AGAIN: Duration = Duration::from_millis(50);

/// A store under measurement; dropping it ends its process.
struct Engine {
    name: &'static str,
    store: Arc<dyn QueueStore>,
    lead: Duration,
    redis: Option<Redis>,
}

/// Callers with or without identities, and what their rounds brought.
struct Row {
    engine: usize,
    callers: usize,
    identified: bool,
    rounds: Vec<Round>,
}

struct Round {
    a_second: f64,
    p50: f64,
    p99: f64,
    batches: Batches,
    refused: usize,
}

/// What one caller saw.
#[derive(Default)]
struct Calls {
    /// Milliseconds.
    latencies: Vec<f64>,
    refused: usize,
}

pub(super) async fn run(bounds: &Bounds, report: &mut Report) -> Result<()> {
    let counted = ropeline::metrics::install();
    let engines = engines(&bounds.home).await?;
    let loads = CALLERS.into_iter().map(|callers| (callers, false)).chain([(IDENTIFIED, true)]);
    let row = |(engine, (callers, identified))| Row { engine, callers, identified, rounds: Vec::new() };
    let mut rows: Vec<Row> =
        (0..engines.len()).flat_map(|e| loads.clone().map(move |load| (e, load))).map(row).collect();
    let mut room = 0;
    for round in 0..=bounds.rounds {
        for row in &mut rows {
            room += 1;
            let Some(engine) = engines.get(row.engine) else { continue };
            // The first one of each warms up for a second.
            let lasts = if round == 0 { Duration::from_secs(1) } else { bounds.lasts };
            let seen = measure(engine, room, row, lasts, &counted).await?;
            if round > 0 {
                row.rounds.push(seen);
            }
        }
    }
    for engine in &engines {
        engine.store.close().await;
        if let Some(redis) = &engine.redis {
            report.configuration(engine.name, shown(&redis.configuration, &bounds.home));
        }
    }
    tell(report, &engines, &rows);
    Ok(())
}

async fn engines(home: &Path) -> Result<Vec<Engine>> {
    let embedded = EmbeddedStore::open(&settings(Place::File(home.join("line")), Durability::Disk))?;
    let mut engines = vec![Engine {
        name: "embedded, fsync",
        store: measured(embedded),
        lead: Duration::ZERO,
        redis: None,
    }];
    let kinds = [
        ("Redis, AOF always", Fsync::Always, Durability::Disk, Duration::ZERO),
        ("Redis, AOF everysec", Fsync::EverySecond, Durability::Memory, LEAD),
    ];
    for (name, fsync, durability, lead) in kinds {
        let redis = Redis::start(home, fsync)?;
        let store = RedisStore::connect(&settings(Place::Redis(redis.url()), durability))?;
        store.probe().await?;
        engines.push(Engine { name, store: measured(store), lead, redis: Some(redis) });
    }
    Ok(engines)
}

/// Counted as an instance counts its own store: the sizes of batches come from there.
fn measured(store: impl QueueStore) -> Arc<dyn QueueStore> {
    Arc::new(Measured::new(Arc::new(store)))
}

fn settings(place: Place, durability: Durability) -> Settings {
    Settings { place, ca_file: None, timeout: TIMEOUT, durability, accept_loss: false }
}

/// One round in a room of its own.
async fn measure(engine: &Engine, room: u64, row: &Row, lasts: Duration, counted: &Handle) -> Result<Round> {
    let room = RoomId::new(&format!("r{room}")).ok_or("a room's name")?;
    let mut rules = Rules::at(Rate::per_second(1).ok_or("a rate")?);
    rules.max_waiting = 100_000_000;
    let line = LineSettings {
        room,
        rules,
        instance: InstanceId(1),
        lineage: Lineage(7),
        keys: String::new(),
        absent_after: TIMEOUT * 36,
        timeout: TIMEOUT,
    };
    let line = Line::start(line, Arc::clone(&engine.store));
    while !line.view().fresh {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let from = Instant::now() + engine.lead;
    let mut callers = JoinSet::new();
    for caller in 0..row.callers {
        let (line, caller) = (Arc::clone(&line), row.identified.then_some(caller));
        callers.spawn(async move { joins(&line, caller, from, from + lasts).await });
    }
    tokio::time::sleep_until(from.into()).await;
    let before = Scrape::read(&counted.render());
    let mut all = Calls::default();
    while let Some(seen) = callers.join_next().await {
        let seen = seen??;
        all.latencies.extend(seen.latencies);
        all.refused += seen.refused;
    }
    let seconds = from.elapsed().as_secs_f64();
    let batches = Scrape::read(&counted.render()).batches_since(&before);
    #[expect(clippy::cast_precision_loss, reason = "counts of joins")]
    let a_second = all.latencies.len() as f64 / seconds;
    let (p50, p99) = (percentile(&all.latencies, 50.0), percentile(&all.latencies, 99.0));
    Ok(Round { a_second, p50, p99, batches, refused: all.refused })
}

/// One caller's joins until the end; those before `from` do not count.
async fn joins(line: &Line, identified: Option<usize>, from: Instant, end: Instant) -> Result<Calls> {
    let mut calls = Calls::default();
    let mut turn = 0;
    while Instant::now() < end {
        turn += 1;
        let identity = identified.map(|caller| identity(caller, turn));
        let begun = Instant::now();
        let counts = begun >= from;
        match line.join(identity).await {
            Ok(JoinOutcome::Placed { .. }) if counts => {
                calls.latencies.push(begun.elapsed().as_secs_f64() * 1e3)
            }
            Ok(JoinOutcome::Placed { .. }) => {}
            Err(StoreError::Refused(_)) => {
                calls.refused += usize::from(counts);
                tokio::time::sleep(AGAIN).await;
            }
            Ok(_) => return fault("the line is full"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(calls)
}

/// A hash that no other join has, and that lies anywhere, as real ones do.
fn identity(caller: usize, join: usize) -> IdentityHash {
    let mixed = |seed: u64| {
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let one = ((caller as u64) << 32) | join as u64;
    IdentityHash((u128::from(mixed(one)) << 64 | u128::from(mixed(!one))).to_be_bytes())
}

fn tell(report: &mut Report, engines: &[Engine], rows: &[Row]) {
    report.setup(
        "Through the line: callers in a closed loop in one process that also holds the line and, if embedded, the store (two \
         threads, not pinned; Redis on core 1), a new room each round.",
    );
    report.setup(format!(
        "With `durability = \"memory\"` (AOF everysec) numbers are handed out below a ceiling that is raised three seconds ahead \
         by the joins of late, at first 250,000: rounds there begin with {} s that do not count, and callers who are refused \
         come again after {} ms.",
        LEAD.as_secs(),
        AGAIN.as_millis()
    ));
    let columns = [
        "through the line",
        "callers",
        "joins/s",
        "spread",
        "p50 ms",
        "p99 ms",
        "batch mean",
        "batch p50",
        "batch p99",
        "refused",
    ];
    let mut table = Table::new("Through `queue::Line`, without HTTP:", &columns);
    for row in rows {
        let figures = |value: fn(&Round) -> f64| row.rounds.iter().map(value).collect::<Vec<_>>();
        let a_second = figures(|round| round.a_second);
        let bucket =
            |percent| row.rounds.last().map(|round| round.batches.percentile(percent)).unwrap_or_default();
        table.row(vec![
            engines.get(row.engine).map_or("", |engine| engine.name).to_owned(),
            format!("{}{}", row.callers, if row.identified { ", with identities" } else { "" }),
            figure(median(&a_second)),
            format!("{:.0} %", spread(&a_second)),
            figure(median(&figures(|round| round.p50))),
            figure(median(&figures(|round| round.p99))),
            figure(median(&figures(|round| round.batches.mean()))),
            bucket(50.0),
            bucket(99.0),
            row.rounds.iter().map(|round| round.refused).sum::<usize>().to_string(),
        ]);
    }
    report.table(table);
    for (index, engine) in engines.iter().enumerate() {
        let best = rows
            .iter()
            .filter(|row| row.engine == index && !row.identified)
            .map(|row| median(&row.rounds.iter().map(|round| round.a_second).collect::<Vec<_>>()));
        report.reading(format!(
            "{}: up to {} joins a second through the line.",
            engine.name,
            figure(best.fold(0.0, f64::max))
        ));
    }
}
