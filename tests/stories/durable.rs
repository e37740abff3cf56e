//! `kill -9` of whatever keeps the line, with a thousand waiting: every number as before, none twice.

use std::collections::BTreeSet;

use crate::support::eventually::within;
use crate::support::http::Connection;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, join_many};

const WAITING: usize = 1000;

/// Sees that everybody still has their number, and that new ones get numbers that nobody had.
async fn assert_kept(ropeline: &Ropeline, before: Vec<App>) {
    within("places can be taken again", std::time::Duration::from_secs(30), async || {
        let mut probe = before[0].clone();
        let reply = probe.join().await.map_err(|e| e.to_string())?;
        if reply.status == 200 { Ok(()) } else { Err(format!("{} {}", reply.status, reply.text())) }
    })
    .await;
    let numbers: BTreeSet<u64> = before.iter().map(|a| a.number).collect();
    assert_eq!(numbers.len(), before.len(), "no number was given twice before");
    for old in &before {
        let mut app = old.clone();
        let polled = app.poll().await.unwrap();
        assert_eq!(polled.status, 200, "number {}: {}", old.number, polled.text());
        assert_eq!(polled.json()["visitor"]["number"], old.number, "the place is kept");
    }
    for old in before.iter().step_by(50) {
        let mut app = old.clone();
        let again = app.join().await.unwrap();
        assert_eq!((again.status, app.number), (200, old.number), "joining again gives the same place");
    }
    assert!(ropeline.waiting().await >= WAITING as u64 * 9 / 10, "the room shows them");
    let highest = *numbers.last().unwrap();
    for newcomer in join_many(ropeline, 20).await {
        assert!(newcomer.number > highest, "{} was used before ({highest})", newcomer.number);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w020_kill_9_of_redis_with_1000_waiting_keeps_every_number() {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let plan = Plan::before(&origin).rate("1/min").on(&redis);
    let ropeline = Ropeline::start(plan, &origin).await;
    let before = join_many(&ropeline, WAITING).await;

    redis.kill_hard();
    ropeline.until_state("unavailable").await;
    redis.up().await;

    assert_kept(&ropeline, before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kill_9_of_ropeline_on_the_embedded_store_with_1000_waiting_keeps_every_number() {
    let origin = Origin::start().await;
    let mut ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    let before = join_many(&ropeline, WAITING).await;

    ropeline.kill_hard();
    assert!(Connection::open(ropeline.edge()).await.is_err());
    ropeline.up().await;

    assert_kept(&ropeline, before).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_works_after_a_restart() {
    let origin = Origin::start().await;
    let mut ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut app = App::joined(&ropeline).await;
    app.until_admitted(std::time::Duration::from_secs(30)).await;

    ropeline.terminate().await;
    ropeline.up().await;

    assert!(!app.visit("/buy").await.unwrap().is_ours());
}

/// The store's data is gone for good. No join makes the room again; an operator does, once, and every instance goes
/// on with it: old tickets must join anew, and nobody goes in by the loss.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w020_after_a_loss_one_word_of_an_operator_brings_every_instance_back() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    let plan = Plan::before(&origin).rate("1/min").on(&redis);
    let three = Ropeline::start_many(plan, &origin, 3).await;
    let mut before = join_many(&three[0], 30).await;

    redis.say(&["FLUSHALL"]).await.unwrap();
    for ropeline in &three {
        ropeline.until_state("unavailable").await;
    }
    let said = three[1].ctl(&["create", three[1].room]).await;
    assert_eq!(said.code, 0, "{}", said.text);

    for ropeline in &three {
        ropeline.until_state("open").await;
        let newcomer = App::joined(ropeline).await;
        assert!(newcomer.number <= 3, "a line of its own: {}", newcomer.number);
    }
    let old = before.pop().unwrap().poll().await.unwrap();
    assert_eq!(old.status, 410, "{}", old.text());
}
