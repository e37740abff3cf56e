//! Three instances on one Redis at 1,000 a second, while many of those in line went away without a word.
//! The shop counts who arrives; everybody who stayed asks as told, over HTTP, at any of the instances.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::shared_reading::{Reading, reading};
use super::{Bounds, shown};
use crate::fault::Result;
use crate::load::client::{Ask, Client};
use crate::load::origin::Origin;
use crate::load::visitors::{self, Waiting};
use crate::peers::redis::{Fsync, Redis};
use crate::peers::ropeline::{Plan, Ropeline, room_path};
use crate::report::{Report, Table, figure};

const NAME: &str = "shared";
const QUESTION: &str = "Three instances share 1,000 admissions a second for 60 s while 40 %, then 70 % of the line went away without a word: \
                        how many are let in beyond the rate, how much of it is used, who is overtaken?";

pub(super) const RATE: u64 = 1_000;
/// The default for this rate.
pub(super) const BURST: u64 = 100;
const INSTANCES: usize = 3;
const LASTS: Duration = Duration::from_secs(60);
/// Those who stay, somewhat more than can go in, so that people wait at every moment.
const STAY: usize = 68_000;
/// Everybody polls for the first time within this, and release begins after it.
const SPREAD: Duration = Duration::from_secs(10);
/// Requests at once, held polls included.
const UNDER_WAY: usize = 6_000;
/// A visitor who was so much slower than told may rightly have been passed over.
const LATE: Duration = Duration::from_millis(900);

/// What the visitors share.
struct Crowd {
    client: Client,
    doors: Vec<SocketAddr>,
    /// So that a machine that falls behind runs out of time and not of file handles.
    under_way: Semaphore,
    /// Numbers of those who were slower than told.
    late: Mutex<HashSet<u64>>,
}

/// Runs it; the number of rounds plays no part.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let mut report = Report::new(NAME, QUESTION);
    report.setup(format!(
        "While the room is paused the whole line joins over HTTP. Those who stay poll as told, over kept connections, each at \
         its own instance; {} s later the room is resumed and runs for {} s. Whoever is admitted asks the shop once. Three \
         instances (release build), Redis (AOF always), shop and visitors share all cores; nothing is pinned.",
        SPREAD.as_secs(),
        LASTS.as_secs()
    ));
    report.setup(
        "Slots are moments of the store's clock and exact; arrivals at the shop come later by whatever this machine delays \
         them. Overtaken: let in after somebody with a larger number, visitors who polled later than told left out.",
    );
    let columns = [
        "went away",
        "in line",
        "let in",
        "twice",
        "most slots in 1 s",
        "over the limit",
        "most arrivals in 1 s",
        "over",
        "in 10 s",
        "over",
        "least use in 30 s",
        "overtaken",
        "late visitors",
        "longest stall ms",
    ];
    let mut table =
        Table::new(format!("Rate {RATE}/s, burst {BURST}, so at most {RATE} x t + {BURST}:"), &columns);
    for gone in [40, 70] {
        let home = bounds.home.join(format!("gone-{gone}"));
        std::fs::create_dir_all(&home)?;
        let total = STAY * 100 / (100 - gone);
        let (seen, configuration) = sale(&home, total, gone).await?;
        table.row(row(gone, total, &seen));
        if gone == 40 {
            report.configuration("ropeline.toml", shown(&configuration, &home));
        }
    }
    report.table(table);
    report.reading("The peer's figure is 1.2 % beyond the rate. A stall of this machine of s seconds can push 1,000 x s arrivals together.");
    Ok(report)
}

async fn sale(home: &std::path::Path, total: usize, gone: usize) -> Result<(Reading, String)> {
    let client = Client::new();
    let origin = Origin::start().await?;
    let redis = Redis::start(home, Fsync::Always)?;
    let mut instances: Vec<Ropeline> = Vec::new();
    for _ in 0..INSTANCES {
        let plan = Plan {
            origin: origin.address,
            store: Some(redis.url()),
            keys: Some(home.join("keys")),
            loose: true,
            ..Plan::new("1000/s")
        };
        instances.push(Ropeline::start(home, &plan, &client).await?);
    }
    let [first, ..] = &instances[..] else { return crate::fault::fault("no instance") };
    first.operate(&client, "pause").await?;
    let line = visitors::join(&client, first.edge, total).await?;
    let doors = instances.iter().map(|instance| instance.edge).collect();
    let crowd = Arc::new(Crowd {
        client: client.clone(),
        doors,
        under_way: Semaphore::new(UNDER_WAY),
        late: Mutex::default(),
    });
    let begins = Instant::now();
    let stall = Arc::new(Mutex::new(Duration::ZERO));
    let mut people = JoinSet::new();
    people.spawn(metronome(Arc::clone(&stall)));
    for (index, visitor) in line.into_iter().enumerate() {
        // Spread through the line without a pattern.
        let dice = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if dice % 100 >= gone as u64 {
            let first = begins + SPREAD.mul_f64((dice / 100 % 1000) as f64 / 1000.0);
            people.spawn(visit(Arc::clone(&crowd), visitor, index, first));
        }
    }
    sleep_until(begins + SPREAD).await;
    first.operate(&client, "resume").await?;
    *stall.lock().unwrap_or_else(PoisonError::into_inner) = Duration::ZERO;
    sleep(LASTS).await;
    let arrivals = origin.arrivals();
    people.shutdown().await;
    let late = crowd.late.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stall = *stall.lock().unwrap_or_else(PoisonError::into_inner);
    Ok((reading(&arrivals, &late, stall), first.configuration.clone()))
}

/// How late this machine wakes those who should run.
async fn metronome(worst: Arc<Mutex<Duration>>) {
    let beat = Duration::from_millis(5);
    loop {
        let before = Instant::now();
        sleep(beat).await;
        let late = before.elapsed().saturating_sub(beat);
        let mut worst = worst.lock().unwrap_or_else(PoisonError::into_inner);
        *worst = late.max(*worst);
    }
}

/// One visitor who stays: polls as told, and goes to the shop when admitted.
async fn visit(crowd: Arc<Crowd>, visitor: Waiting, index: usize, first: Instant) {
    let Some(door) = crowd.doors.get(index % crowd.doors.len()).copied() else { return };
    let mut due = first;
    loop {
        sleep_until(due).await;
        let Ok(permit) = crowd.under_way.acquire().await else { return };
        let poll = Ask::get(door, &room_path("/position"))
            .header("accept", "application/json")
            .header("authorization", format!("Bearer {}", visitor.ticket));
        if due.elapsed() > LATE {
            crowd.late.lock().unwrap_or_else(PoisonError::into_inner).insert(visitor.number);
        }
        let Ok(said) = crowd.client.send(poll).await else {
            crowd.late.lock().unwrap_or_else(PoisonError::into_inner).insert(visitor.number);
            due = Instant::now() + Duration::from_secs(1);
            drop(permit);
            continue;
        };
        let document = said.json();
        if let Some(pass) = document["pass"]["token"].as_str() {
            let shop = Ask::get(door, "/buy/seats").header("x-ropeline-pass", pass);
            let _counted_at_the_shop = crowd.client.send(shop).await;
            return;
        }
        drop(permit);
        let wait = document["next_poll_ms"].as_u64().unwrap_or(2_000);
        due = Instant::now() + Duration::from_millis(wait);
    }
}

fn row(gone: usize, total: usize, seen: &Reading) -> Vec<String> {
    let over = |most: u64, seconds: u64| {
        let limit = RATE * seconds + BURST;
        let beyond = most.saturating_sub(limit);
        format!("{beyond} ({} %)", figure(beyond as f64 * 100.0 / limit as f64))
    };
    vec![
        format!("{gone} %"),
        total.to_string(),
        seen.admitted.to_string(),
        seen.twice.to_string(),
        seen.slots_in_1s.to_string(),
        over(seen.slots_in_1s, 1),
        seen.arrivals_in_1s.to_string(),
        over(seen.arrivals_in_1s, 1),
        seen.arrivals_in_10s.to_string(),
        over(seen.arrivals_in_10s, 10),
        format!("{} %", figure(seen.least_use * 100.0)),
        seen.overtaken.to_string(),
        seen.late.to_string(),
        figure(seen.stall.as_secs_f64() * 1e3),
    ]
}
