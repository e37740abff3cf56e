//! Stores that die under load, again and again: what was acknowledged is kept, and no number is anybody else's. A few
//! deaths in an ordinary run; `ROPELINE_LONG=1` for as many as the README's table speaks of. Each prints what it saw.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::eventually::{eventually, within};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ports;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::signpost::Signpost;
use crate::support::visitor::App;

/// Joins at once.
const CALLERS: usize = 8;
/// Joins between two deaths.
const MORE: usize = 60;

fn deaths(long: usize) -> usize {
    if std::env::var_os("ROPELINE_LONG").is_some() { long } else { 2 }
}

/// People who keep coming, whatever happens to the store; those who were told a number.
pub(super) struct Crowd {
    stop: Arc<AtomicBool>,
    told: Arc<AtomicUsize>,
    callers: JoinSet<Vec<App>>,
}

impl Crowd {
    pub(super) fn comes_to(edge: SocketAddr, room: &'static str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            callers.spawn(async move {
                let mut told = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let mut app = App::new(edge, room);
                    match app.join().await {
                        Ok(reply) if reply.status == 201 => {
                            told.push(app);
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                        _ => tokio::time::sleep(Duration::from_millis(20)).await,
                    }
                }
                told
            });
        }
        Self { stop, told: count, callers }
    }

    /// Waits until the store has served some more of them: it dies in the middle of its work.
    pub(super) async fn goes_on(&self) {
        let from = self.told.load(Ordering::Relaxed);
        within("places can be taken", Duration::from_secs(60), async || {
            let more = self.told.load(Ordering::Relaxed) - from;
            if more >= MORE { Ok(()) } else { Err(format!("{more} more were told a place")) }
        })
        .await;
    }

    pub(super) async fn all(self) -> Vec<App> {
        self.stop.store(true, Ordering::Relaxed);
        self.callers.join_all().await.into_iter().flatten().collect()
    }
}

/// Places that are gone, and numbers that two people hold.
pub(super) async fn lost_and_doubled(told: &[App]) -> (usize, usize) {
    let numbers: BTreeSet<u64> = told.iter().map(|app| app.number).collect();
    let mut lost = 0;
    for app in told {
        let mut copy = app.clone();
        let kept = eventually("a poll is answered", async || {
            let reply = copy.poll().await.ok()?;
            (reply.status != 503).then_some(reply)
        })
        .await;
        if kept.status != 200 || kept.json()["visitor"]["number"] != app.number {
            println!("number {}: {} {}", app.number, kept.status, kept.text());
            lost += 1;
        }
    }
    (lost, told.len() - numbers.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w020_redis_dies_again_and_again_and_nobody_loses_a_place() {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").on(&redis), &origin).await;
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    let count = deaths(50);
    for _ in 0..count {
        crowd.goes_on().await;
        redis.kill_hard();
        redis.up().await;
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!(
        "{count} kill -9 of Redis (AOF always): {} told a place, {lost} lost, {doubled} doubled",
        told.len()
    );
    assert_eq!((lost, doubled), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ropeline_dies_again_and_again_and_nobody_loses_a_place() {
    let origin = Origin::start().await;
    let mut ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    let count = deaths(50);
    for _ in 0..count {
        crowd.goes_on().await;
        ropeline.kill_hard();
        ropeline.up().await;
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!(
        "{count} kill -9 of ropeline (embedded store): {} told a place, {lost} lost, {doubled} doubled",
        told.len()
    );
    assert_eq!((lost, doubled), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_takes_over_again_and_again_and_nobody_loses_a_place() {
    let mut primary = Redis::start().await;
    let mut replica = replica_of(&primary).await;
    let post = Signpost::to(ports::at(primary.port())).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.redis = Some(format!("redis://{}", post.addr()));
    plan.store = "durability = \"replicas\"\nreplicas = 1".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    // Nobody goes in, so that no pass can come to its end meanwhile.
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    let count = deaths(20);
    for _ in 0..count {
        crowd.goes_on().await;
        primary.kill_hard();
        let said = replica.say(&["REPLICAOF NO ONE"]).await.unwrap();
        assert!(said.starts_with("+OK"), "{said}");
        let next = replica_of(&replica).await;
        post.turn(ports::at(replica.port()));
        primary = std::mem::replace(&mut replica, next);
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!(
        "{count} failovers to a replica (replicas = 1): {} told a place, {lost} lost, {doubled} doubled",
        told.len()
    );
    assert_eq!((lost, doubled), (0, 0));
    replica.kill_hard();
    let late = within("nobody is told a place without a replica", Duration::from_secs(60), async || {
        let reply = App::of(&ropeline).join().await.map_err(|e| e.to_string())?;
        if reply.status == 503 { Ok(()) } else { Err(format!("{}", reply.status)) }
    });
    late.await;
}

/// A replica that has caught up.
pub(super) async fn replica_of(primary: &Redis) -> Redis {
    let replica = Redis::with(&[("replicaof", &format!("127.0.0.1 {}", primary.port()))]).await;
    eventually("the replica has caught up", async || {
        let said = primary.say(&["INFO replication"]).await.ok()?;
        said.contains("state=online").then_some(())
    })
    .await;
    replica
}
