//! A replica that was cut off some time ago takes over under load, so that writes which were acknowledged are lost:
//! nobody loses a place, no number is anybody else's, and who goes in keeps to the order and the rate. One failover in
//! an ordinary run; `ROPELINE_LONG=1` for as many as the README's table speaks of. Each prints what it saw.

use std::sync::Arc;
use std::time::Duration;

use ropeline::queue::{Durability, Line};
use ropeline::room::{JoinOutcome, Rate, Rules, Standing};
use tokio::task::JoinSet;

use super::failover::{Crowd, lost_and_doubled};
use super::shared_rate::{densest, line};
use crate::support::eventually::{eventually, within};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ports;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::signpost::Signpost;

fn failovers() -> usize {
    if std::env::var_os("ROPELINE_LONG").is_some() { 20 } else { 1 }
}

/// A primary, a replica of it that has caught up, and the address that leads to the primary.
struct Pair {
    primary: Redis,
    replica: Redis,
    fsync: &'static str,
    post: Signpost,
}

impl Pair {
    async fn start(fsync: &'static str) -> Self {
        let primary = Redis::with(&[("appendfsync", fsync)]).await;
        let replica = replica_of(&primary, fsync).await;
        let post = Signpost::to(ports::at(primary.port())).await;
        Self { primary, replica, fsync, post }
    }

    fn url(&self) -> String {
        format!("redis://{}", self.post.addr())
    }

    /// From now on the replica hears of nothing.
    async fn cut_off(&self) {
        let said = self.replica.say(&["REPLICAOF NO ONE"]).await.unwrap();
        assert!(said.starts_with("+OK"), "{said}");
    }

    /// The primary dies, and the replica is the primary; another one follows it.
    async fn fail_over(&mut self) {
        self.primary.kill_hard();
        let next = replica_of(&self.replica, self.fsync).await;
        self.post.turn(ports::at(self.replica.port()));
        self.primary = std::mem::replace(&mut self.replica, next);
    }
}

async fn replica_of(primary: &Redis, fsync: &str) -> Redis {
    let follow = format!("127.0.0.1 {}", primary.port());
    let replica = Redis::with(&[("appendfsync", fsync), ("replicaof", &follow)]).await;
    eventually("the replica has caught up", async || {
        let said = primary.say(&["INFO replication"]).await.ok()?;
        said.contains("state=online").then_some(())
    })
    .await;
    replica
}

async fn places_outlive_a_replica_that_lags(durability: &str, fsync: &'static str) {
    let mut pair = Pair::start(fsync).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.redis = Some(pair.url());
    plan.store = format!("durability = \"{durability}\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    let count = failovers();
    for _ in 0..count {
        crowd.goes_on().await;
        pair.cut_off().await;
        // These are what the replica will not have.
        crowd.goes_on().await;
        pair.fail_over().await;
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!(
        "{count} failovers to a replica that was cut off before ({durability}): {} told a place, {lost} lost, {doubled} \
         doubled",
        told.len()
    );
    assert_eq!((lost, doubled), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w020_places_outlive_a_replica_that_lags_with_disk() {
    places_outlive_a_replica_that_lags("disk", "always").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w020_places_outlive_a_replica_that_lags_with_memory() {
    places_outlive_a_replica_that_lags("memory", "everysec").await;
}

const RATE: u64 = 50;
const VISITORS: usize = 600;
/// Everybody asks at least so often, in microseconds: `poll.min`.
const ASKS_WITHIN: u64 = 2_000_000;

/// Two instances' lines, without HTTP: slots are moments of the store's clock, so order and rate are exact however
/// busy this machine is.
async fn admissions_over_a_replica_that_lags(durability: Durability, fsync: &'static str) {
    let mut pair = Pair::start(fsync).await;
    let rules = Rules::at(Rate::per_second(RATE).unwrap());
    let lines: Vec<_> = (1..=2).map(|id| line(&pair.url(), id, durability, &rules)).collect();
    for line in &lines {
        eventually("the room is there", async || line.view().fresh.then_some(())).await;
    }
    let mut visitors = JoinSet::new();
    for i in 0..VISITORS {
        visitors.spawn(goes_in(Arc::clone(&lines[i % 2])));
    }
    admitted(&lines[0], 60).await;
    pair.cut_off().await;
    // These are admitted, and the replica knows nothing of it.
    admitted(&lines[0], 160).await;
    pair.fail_over().await;
    let mut slots = visitors.join_all().await;
    slots.sort_unstable();
    // Slots are taken at pick-up, so neighbours may change places; nobody may pass who asked all the time.
    let passed = |(slot, number): &&(u64, u64)| {
        slots.iter().any(|(earlier, larger)| larger > number && earlier + ASKS_WITHIN < *slot)
    };
    let inversions = slots.iter().filter(passed).count();
    let mut numbers: Vec<u64> = slots.iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let most = |width: u64| densest(&slots, width);
    println!(
        "{} admitted over a failover to a replica that was cut off 100 admissions before ({durability:?}): {inversions} \
         out of order, at most {} a second at {RATE}/s",
        slots.len(),
        most(1_000_000)
    );
    assert_eq!(numbers.len(), VISITORS, "one admission a number, and everybody is in");
    assert_eq!(inversions, 0);
    for width in [200_000, 1_000_000, 10_000_000] {
        let allowed = (width * RATE / 1_000_000 + rules.burst) as usize;
        assert!(most(width) <= allowed, "{} in {width} us, {allowed} allowed", most(width));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn order_and_rate_hold_over_a_replica_that_lags_with_disk() {
    admissions_over_a_replica_that_lags(Durability::Disk, "always").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn order_and_rate_hold_over_a_replica_that_lags_with_memory() {
    admissions_over_a_replica_that_lags(Durability::Memory, "everysec").await;
}

async fn admitted(line: &Line, count: u64) {
    within("visitors go in", Duration::from_secs(60), async || {
        let admitted = line.view().snapshot.map_or(0, |snapshot| snapshot.admitted);
        if admitted >= count { Ok(()) } else { Err(format!("{admitted} of {count} went in")) }
    })
    .await;
}

/// One visitor who asks as told, and again when nobody answers; the slot and the number.
async fn goes_in(line: Arc<Line>) -> (u64, u64) {
    let JoinOutcome::Placed { number, standing, .. } = line.join(None).await.unwrap() else {
        panic!("no place")
    };
    if let Standing::Admitted(admission) = standing {
        return (admission.slot.0, number.0);
    }
    loop {
        let told = line.view().snapshot.unwrap().next_poll(number, Duration::from_secs(10), 0.5);
        tokio::time::sleep(told.min(Duration::from_secs(1))).await;
        match line.ask(number, Duration::from_secs(4)).await {
            Ok(Standing::Admitted(admission)) => return (admission.slot.0, number.0),
            Ok(Standing::Waiting) | Err(_) => {}
            Ok(other) => panic!("{number} stayed and is {other:?}"),
        }
    }
}
