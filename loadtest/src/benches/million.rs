//! A million people in one room: what they cost where they wait. Redis bytes for each of them, the memory of a
//! ropeline process that serves their room, and what that process asks of its store meanwhile.

use std::sync::Arc;
use std::time::Duration;

use ropeline::queue::{Line, QueueStore};
use ropeline::room::JoinOutcome;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::lines::{self, line};
use super::{Bounds, shown};
use crate::fault::{Result, fault};
use crate::load::client::Client;
use crate::peers::redis::{Fsync, Redis};
use crate::peers::ropeline::{Plan, ROOM, Ropeline};
use crate::report::{Report, Table, figure};
use crate::stats::ratio;

const NAME: &str = "million";
const QUESTION: &str = "With 1,000, 100,000 and 1,000,000 people waiting in one room: bytes of Redis for each, memory of the ropeline \
                        process, and its store calls a second?";

const STEPS: [usize; 3] = [1_000, 100_000, 1_000_000];
/// Slow enough that nearly everybody stays.
const RATE: &str = "1/min";
const AT_ONCE: usize = 4_000;
/// How long calls are counted.
const WATCHED: Duration = Duration::from_secs(20);
/// Until memory and presence have settled after a change.
const SETTLES: Duration = Duration::from_secs(5);

/// Runs it; the number of rounds plays no part.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let mut report = Report::new(NAME, QUESTION);
    report.setup(format!(
        "People join through a line in this process onto one Redis (AOF always), until so many wait; an instance of ropeline \
         (release build) serves the same room. Then memory is read and the commands that Redis ran are counted for {} s.",
        WATCHED.as_secs()
    ));
    let columns = [
        "waiting",
        "identity",
        "Redis MiB",
        "bytes each",
        "ropeline MiB",
        "commands/s of all",
        "scripts/s of all",
    ];
    let mut table = Table::new("One room, one instance and the line that filled it:", &columns);
    for identified in [false, true] {
        let home = bounds.home.join(if identified { "accounts" } else { "browsers" });
        std::fs::create_dir_all(&home)?;
        let redis = Redis::start(&home, Fsync::Always)?;
        let empty = redis.info("memory", "used_memory")?;
        let client = Client::new();
        let plan = Plan { store: Some(redis.url()), loose: true, ..Plan::new(RATE) };
        let ropeline = Ropeline::start(&home, &plan, &client).await?;
        let store = lines::connect(&redis, Fsync::Always).await?;
        let mut there = 0;
        for waiting in STEPS {
            fill(&store, there..waiting, identified).await?;
            there = waiting;
            sleep(SETTLES).await;
            let used = redis.info("memory", "used_memory")? - empty;
            let (commands, scripts) = calls(&redis).await?;
            table.row(vec![
                waiting.to_string(),
                if identified { "account" } else { "browser" }.to_owned(),
                figure(used / f64::from(1 << 20)),
                figure(ratio(used, waiting as f64)),
                figure(ropeline.process.memory()? as f64 / f64::from(1 << 20)),
                figure(commands),
                figure(scripts),
            ]);
        }
        if !identified {
            report.configuration("Redis", shown(&redis.configuration, &bounds.home));
            report.configuration("ropeline.toml", shown(&ropeline.configuration, &bounds.home));
        }
    }
    report.table(table);
    report.reading("The peer's figures are 240 bytes and 62 MiB for a million. Commands count everything that scripts do inside.");
    Ok(report)
}

/// Lets people join until all of this range are in line.
async fn fill(store: &Arc<dyn QueueStore>, people: std::ops::Range<usize>, identified: bool) -> Result<()> {
    let line = line(store, ROOM, u64::MAX - people.start as u64, RATE).await?;
    let next = Arc::new(std::sync::atomic::AtomicUsize::new(people.start));
    let mut callers = JoinSet::new();
    for _ in 0..AT_ONCE.min(people.len()) {
        let (line, next) = (Arc::clone(&line), Arc::clone(&next));
        callers.spawn(async move {
            loop {
                let person = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                if person >= people.end {
                    return Ok::<_, crate::fault::Fault>(());
                }
                join(&line, identified.then_some(person)).await?;
            }
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    Ok(())
}

async fn join(line: &Line, person: Option<usize>) -> Result<()> {
    match line.join(person.map(lines::identity)).await? {
        JoinOutcome::Placed { .. } => Ok(()),
        other => fault(format!("a join ended as {other:?}")),
    }
}

/// Commands a second that Redis ran, and scripts among them.
async fn calls(redis: &Redis) -> Result<(f64, f64)> {
    let read = || {
        let all = redis.info("stats", "total_commands_processed")?;
        Ok::<_, crate::fault::Fault>((all, redis.calls("evalsha")?))
    };
    let (all, scripts) = read()?;
    sleep(WATCHED).await;
    let (all_after, scripts_after) = read()?;
    let seconds = WATCHED.as_secs_f64();
    Ok((ratio(all_after - all, seconds), ratio(scripts_after - scripts, seconds)))
}
