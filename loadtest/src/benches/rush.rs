//! The first seconds of a sale: 350,000 people within ten seconds, who come whether or not the others have
//! been served (an open loop), through `queue::Line` onto one Redis. Nobody may be lost or counted twice.

use std::sync::Arc;
use std::time::Duration;

use ropeline::queue::{Line, QueueStore};
use ropeline::room::{IdentityHash, JoinOutcome};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::lines::{self, line};
use super::{Bounds, shown};
use crate::fault::{Result, fault};
use crate::peers::redis::{Fsync, Redis};
use crate::report::{Report, Table, figure};
use crate::stats::{percentile, ratio};

const NAME: &str = "rush";
const QUESTION: &str = "350,000 joins within 10 s onto one Redis, by three instances: is anybody lost or counted twice, and how long do \
                        they wait for their number?";

const PEOPLE: usize = 350_000;
const WITHIN: Duration = Duration::from_secs(10);
/// People come in groups: a timer each would measure the timer.
const GROUP: usize = 50;
const INSTANCES: u64 = 3;
/// A refused visitor comes again after this.
const AGAIN: Duration = Duration::from_millis(50);
const TRIES: usize = 400;

/// What became of a crowd.
struct Outcome {
    numbers: Vec<u64>,
    /// Milliseconds from coming to having a number, refusals included.
    waits: Vec<f64>,
    refused: usize,
    lasted: Duration,
}

/// Runs it. The number of rounds plays no part: each store sees one rush of browsers and one of accounts.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let mut report = Report::new(NAME, QUESTION);
    report.setup(format!(
        "{PEOPLE} people come evenly within {} s, {GROUP} at a time, whether or not those before them were served; {INSTANCES} \
         instances' lines in this process, one Redis. Waits count from the moment of coming, with refusals and retries in \
         them. Nothing is pinned.",
        WITHIN.as_secs()
    ));
    let columns = [
        "",
        "identities",
        "numbers",
        "lost",
        "double",
        "joins/s reached",
        "p50 ms",
        "p99 ms",
        "longest ms",
        "refusals",
    ];
    let mut table = Table::new("One rush each:", &columns);
    for (name, fsync) in [("AOF always", Fsync::Always), ("AOF everysec", Fsync::EverySecond)] {
        let redis = Redis::start(&bounds.home, fsync)?;
        for identified in [false, true] {
            let store = lines::connect(&redis, fsync).await?;
            let came = rush(&store, identified).await?;
            table.row(row(name, identified, &came));
        }
        report.configuration(name, shown(&redis.configuration, &bounds.home));
    }
    report.table(table);
    report.reading(
        "Lost: people whose number is not among those handed out once; double: numbers that two people hold.",
    );
    Ok(report)
}

async fn rush(store: &Arc<dyn QueueStore>, identified: bool) -> Result<Outcome> {
    let room = if identified { "accounts" } else { "browsers" };
    let mut instances = Vec::new();
    for id in 1..=INSTANCES {
        instances.push(line(store, room, id, "1/min").await?);
    }
    let opens = Instant::now() + Duration::from_millis(200);
    let groups = PEOPLE / GROUP;
    let mut crowd = JoinSet::new();
    for group in 0..groups {
        let instances = instances.clone();
        let comes = opens + WITHIN.mul_f64(ratio(group as f64, groups as f64));
        crowd.spawn(async move {
            sleep_until(comes).await;
            let mut people = JoinSet::new();
            for person in group * GROUP..(group + 1) * GROUP {
                let Some(line) = instances.get(person % instances.len()).cloned() else { continue };
                people.spawn(
                    async move { join(&line, identified.then(|| lines::identity(person)), comes).await },
                );
            }
            let mut seen = Vec::with_capacity(GROUP);
            while let Some(one) = people.join_next().await {
                seen.push(one??);
            }
            Ok::<_, crate::fault::Fault>(seen)
        });
    }
    let mut outcome = Outcome { numbers: Vec::new(), waits: Vec::new(), refused: 0, lasted: Duration::ZERO };
    while let Some(group) = crowd.join_next().await {
        for (number, wait, refused) in group?? {
            outcome.numbers.push(number);
            outcome.waits.push(wait);
            outcome.refused += refused;
        }
    }
    outcome.lasted = opens.elapsed();
    Ok(outcome)
}

/// Number, wait in milliseconds, refusals on the way.
async fn join(line: &Line, identity: Option<IdentityHash>, came: Instant) -> Result<(u64, f64, usize)> {
    for refused in 0..TRIES {
        match line.join(identity).await {
            Ok(JoinOutcome::Placed { number, .. }) => {
                return Ok((number.0, came.elapsed().as_secs_f64() * 1e3, refused));
            }
            Ok(other) => return fault(format!("a join ended as {other:?}")),
            Err(_) => sleep(AGAIN).await,
        }
    }
    fault("a visitor was refused all the time")
}

fn row(name: &str, identified: bool, came: &Outcome) -> Vec<String> {
    let mut numbers = came.numbers.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let longest = came.waits.iter().copied().fold(0.0, f64::max);
    vec![
        name.to_owned(),
        if identified { "accounts" } else { "browsers" }.to_owned(),
        came.numbers.len().to_string(),
        (PEOPLE - came.numbers.len()).to_string(),
        (came.numbers.len() - numbers.len()).to_string(),
        figure(ratio(PEOPLE as f64, came.lasted.as_secs_f64())),
        figure(percentile(&came.waits, 50.0)),
        figure(percentile(&came.waits, 99.0)),
        figure(longest),
        came.refused.to_string(),
    ]
}
