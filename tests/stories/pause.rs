//! Pause acts on all instances within half a second of its answer, survives every restart, and nothing is made up for.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::eventually::eventually;
use crate::support::origin::Origin;
use crate::support::origin::journal::now;
use crate::support::plan::Plan;
use crate::support::rate::{Metronome, assert_kept};
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor, join_many};

/// The contract's bound.
const IN_FORCE: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w031_a_pause_holds_everywhere_and_through_restarts_and_a_resume_makes_nothing_up() {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let mut two = Ropeline::start_many(Plan::before(&origin).on(&redis), &origin, 2).await;
    let metronome = Metronome::start();
    let count = 70;
    let mut inside = JoinSet::new();
    for i in 0..count {
        let mut visitor = Visitor::of(&two[i % 2]);
        inside.spawn(async move { visitor.enter("/buy", Duration::from_secs(150)).await.map(|_| ()) });
    }
    eventually("some are in", async || (origin.journal().arrivals().len() >= 10).then_some(())).await;

    two[0].pause("checking the till").await;
    let paused_at = now();
    two[1].until_state("paused").await;

    two[1].terminate().await;
    redis.kill_hard();
    redis.up().await;
    two[1].up().await;
    two[0].until_state("paused").await;
    two[1].until_state("paused").await;
    let newcomer = App::joined(&two[1]).await;
    let told = newcomer.clone().poll().await.unwrap().json();
    assert_eq!(told["room"]["state"], "paused");
    assert_eq!(told["visitor"]["wait_seconds"], serde_json::Value::Null, "no promise while paused");
    let before = origin.journal().arrivals();
    let allowed = paused_at + IN_FORCE + metronome.lag();
    assert!(before.iter().all(|a| a.at <= allowed), "admitted after the pause was in force");
    assert!(before.len() < count, "the pause came in time to be seen");

    two[1].resume().await;
    two[0].until_state("open").await;
    for result in inside.join_all().await {
        result.unwrap();
    }
    let lag = metronome.lag();
    assert_eq!(origin.journal().arrivals().len(), count);
    assert_kept(10.0, 1, &origin.journal().arrival_times(), lag);
    let later: Vec<u64> = origin.journal().arrivals()[before.len()..].iter().map(|a| a.number).collect();
    assert!(before.iter().all(|a| later.iter().all(|n| *n != a.number)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_survives_the_embedded_store_and_may_be_said_twice() {
    let origin = Origin::start().await;
    let mut ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    ropeline.pause("one").await;
    ropeline.pause("two").await;
    ropeline.kill_hard();
    ropeline.up().await;
    ropeline.until_state("paused").await;
    let waiting = join_many(&ropeline, 15).await;
    assert_eq!(waiting[0].clone().poll().await.unwrap().json()["visitor"]["state"], "waiting");
    assert!(origin.journal().arrivals().is_empty());

    let metronome = Metronome::start();
    ropeline.resume().await;
    ropeline.resume().await;
    ropeline.until_state("open").await;
    let mut inside = JoinSet::new();
    for mut app in waiting {
        inside.spawn(async move {
            app.until_admitted(Duration::from_secs(60)).await;
            assert!(!app.visit("/buy").await.unwrap().is_ours());
        });
    }
    inside.join_all().await;
    let lag = metronome.lag();
    // While paused nobody is held, and asks within a poll interval: those who ask first pick up first.
    origin.journal().assert_in_order(lag + Duration::from_secs(3));
    assert_kept(10.0, 1, &origin.journal().arrival_times(), lag);
}
