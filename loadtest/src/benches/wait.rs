//! How true `wait_seconds` is: everybody notes each range that they are told, and when their turn came. On the way
//! there is a pause, and the rate is doubled: what was told before cannot know of either.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Bounds, shown};
use crate::fault::{Result, fault};
use crate::load::client::{Ask, Client};
use crate::load::origin::Origin;
use crate::load::visitors::{self, Waiting};
use crate::peers::ropeline::{Plan, Ropeline, room_path};
use crate::report::{Report, Table, figure};
use crate::stats::{median, ratio};

const NAME: &str = "wait";
const QUESTION: &str = "How often does the truth lie within the `wait_seconds` that visitors are told, and how wide is that range?";

const PEOPLE: usize = 1_800;
/// Percent who go away without a word.
const GONE: u64 = 40;
const RATE: &str = "10/s";
const FASTER: &str = "20/s";
const PAUSED: Duration = Duration::from_secs(20);
const RESUMED: Duration = Duration::from_secs(30);
const CHANGED: Duration = Duration::from_secs(45);

/// One range that somebody was told.
#[derive(Debug, Clone, Copy)]
struct Told {
    at: Duration,
    low: f64,
    high: f64,
    /// Seconds until the turn really came.
    truth: f64,
}

/// Runs it; the number of rounds plays no part.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let mut report = Report::new(NAME, QUESTION);
    let client = Client::new();
    let origin = Origin::start().await?;
    let plan = Plan { origin: origin.address, loose: true, ..Plan::new(RATE) };
    let ropeline = Ropeline::start(&bounds.home, &plan, &client).await?;
    ropeline.operate(&client, "pause").await?;
    let line = visitors::join(&client, ropeline.edge, PEOPLE).await?;
    let begins = Instant::now() + Duration::from_secs(1);
    let book = Arc::new(Mutex::new(Vec::new()));
    let mut people = JoinSet::new();
    for (index, visitor) in line.into_iter().enumerate() {
        let dice = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if dice % 100 >= GONE {
            let first = begins + Duration::from_millis(dice / 100 % 2000);
            people.spawn(visit(client.clone(), ropeline.edge, visitor, (begins, first), Arc::clone(&book)));
        }
    }
    sleep_until(begins).await;
    ropeline.operate(&client, "resume").await?;
    sleep_until(begins + PAUSED).await;
    ropeline.operate(&client, "pause").await?;
    sleep_until(begins + RESUMED).await;
    ropeline.operate(&client, "resume").await?;
    sleep_until(begins + CHANGED).await;
    ropeline.rate(FASTER)?;
    while let Some(done) = people.join_next().await {
        done??;
    }
    let told = std::mem::take(&mut *book.lock().unwrap_or_else(PoisonError::into_inner));
    report.setup(format!(
        "{PEOPLE} join while the room is paused, {GONE} % of them never ask; release at {RATE} from 0 s, a pause from {} to {} s, \
         {FASTER} from {} s on. Embedded store, one instance; each range that a poll brings is held against the moment when \
         that visitor was admitted.",
        PAUSED.as_secs(),
        RESUMED.as_secs(),
        CHANGED.as_secs()
    ));
    report.configuration("ropeline.toml", shown(&ropeline.configuration, &bounds.home));
    tell(&mut report, &told);
    Ok(report)
}

async fn visit(
    client: Client,
    edge: std::net::SocketAddr,
    visitor: Waiting,
    (begins, first): (Instant, Instant),
    book: Arc<Mutex<Vec<Told>>>,
) -> Result<()> {
    let mut ranges: Vec<(Duration, f64, f64)> = Vec::new();
    sleep_until(first).await;
    for _ in 0..2_000 {
        let poll = Ask::get(edge, &room_path("/position")).header("accept", "application/json");
        let said = client.send(poll.header("authorization", format!("Bearer {}", visitor.ticket))).await?;
        let document = said.json();
        let at = Instant::now().saturating_duration_since(begins);
        if document["visitor"]["state"] == "admitted" {
            let now = at.as_secs_f64();
            let truth =
                |(at, low, high): (Duration, f64, f64)| Told { at, low, high, truth: now - at.as_secs_f64() };
            book.lock().unwrap_or_else(PoisonError::into_inner).extend(ranges.into_iter().map(truth));
            return Ok(());
        }
        let wait = &document["visitor"]["wait_seconds"];
        if let (Some(low), Some(high)) = (wait["low"].as_f64(), wait["high"].as_f64()) {
            ranges.push((at, low, high));
        }
        sleep(Duration::from_millis(document["next_poll_ms"].as_u64().unwrap_or(2_000))).await;
    }
    fault("somebody was never admitted")
}

fn tell(report: &mut Report, told: &[Told]) {
    let columns = [
        "told",
        "ranges",
        "truth inside",
        "truth below",
        "truth above",
        "median width s",
        "median width / truth",
    ];
    let mut table = Table::new("By the time at which they were told:", &columns);
    let to = |seconds: u64| Duration::from_secs(seconds);
    let spans = [
        ("before the pause, who went in before it", to(0), PAUSED, true),
        ("before the pause, who went in after it", to(0), PAUSED, false),
        ("between the pause and the new rate", RESUMED, CHANGED, false),
        ("after the new rate", CHANGED + to(10), to(100_000), false),
    ];
    for (name, from, until, early) in spans {
        let within = |told: &&Told| {
            let in_by = told.at.as_secs_f64() + told.truth <= PAUSED.as_secs_f64();
            told.at >= from && told.at < until && (until != PAUSED || in_by == early)
        };
        let some: Vec<&Told> = told.iter().filter(within).collect();
        let share = |count: usize| format!("{:.0} %", 100.0 * ratio(count as f64, some.len() as f64));
        let widths: Vec<f64> = some.iter().map(|told| told.high - told.low).collect();
        let parts: Vec<f64> = some.iter().map(|told| ratio(told.high - told.low, told.truth)).collect();
        table.row(vec![
            name.to_owned(),
            some.len().to_string(),
            share(some.iter().filter(|told| told.truth >= told.low && told.truth <= told.high).count()),
            share(some.iter().filter(|told| told.truth < told.low).count()),
            share(some.iter().filter(|told| told.truth > told.high).count()),
            figure(median(&widths)),
            figure(median(&parts)),
        ]);
    }
    report.table(table);
    report.reading(
        "Nobody can know of a pause or a new rate before it is made: those rows show what they cost.",
    );
}
