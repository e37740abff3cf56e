//! Three instances on one Redis are one room: one line, one rate, and one of them may die.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::eventually::eventually;
use crate::support::origin::Origin;
use crate::support::people;
use crate::support::plan::Plan;
use crate::support::rate::{Metronome, assert_kept};
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::Visitor;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w029_three_instances_keep_one_rate_and_nobody_loses_a_place_when_one_dies() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    let mut three = Ropeline::start_many(Plan::before(&origin).on(&redis), &origin, 3).await;
    let metronome = Metronome::start();
    let count = people(90, 300);

    let mut inside = JoinSet::new();
    let mut numbers = Vec::new();
    for i in 0..count {
        let mut visitor = Visitor::of(&three[i % 3]);
        let first = visitor.open("/buy").await.unwrap();
        assert_eq!(first.status, 200);
        if !first.is_ours() {
            continue;
        }
        numbers.push(visitor.number().await);
        // A load balancer would send the dead one's visitors on.
        let next = three[(i + 1) % 3].edge();
        let living = if i % 3 == 2 { Some(next) } else { None };
        inside.spawn(async move { go_in(visitor, living).await });
    }
    let quarter = count / 4;
    eventually("a quarter is in", async || (origin.journal().arrivals().len() >= quarter).then_some(()))
        .await;
    three[2].kill_hard();

    for result in inside.join_all().await {
        result.unwrap();
    }
    let lag = metronome.lag();
    let arrivals = origin.journal().arrivals();
    assert_eq!(arrivals.len(), count, "everyone goes in, once");
    for number in &numbers {
        assert_eq!(
            arrivals.iter().filter(|a| a.number == *number).count(),
            1,
            "number {number} kept its place"
        );
    }
    assert_kept(10.0, 1, &origin.journal().arrival_times(), lag);
    // Whoever was never with the dead instance (its numbers are the multiples of three) was not overtaken.
    origin.journal().assert_in_order_among(lag, |number| number % 3 != 0);
}

/// Goes in; when the own instance does not answer any more, through the other one.
async fn go_in(mut visitor: Visitor, other: Option<std::net::SocketAddr>) -> Result<(), String> {
    let patience = Duration::from_secs(120);
    let Some(other) = other else { return visitor.enter("/buy", patience).await.map(|_| ()) };
    loop {
        match visitor.open("/buy").await {
            Ok(reply) if !reply.is_ours() => return Ok(()),
            Ok(_) => {}
            Err(_) => {
                visitor.at = other;
                return visitor.enter("/buy", patience).await.map(|_| ());
            }
        }
        match visitor.poll().await {
            Ok(reply) if reply.status == 200 => {
                let document = reply.json();
                if document["visitor"]["state"] != "admitted" {
                    tokio::time::sleep(crate::support::visitor::next_poll(&document)).await;
                }
            }
            _ => visitor.at = other,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_is_the_same_on_every_instance() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    let plan = Plan::before(&origin).rate("1/min").on(&redis);
    let two = Ropeline::start_many(plan, &origin, 2).await;
    let mut first = Visitor::of(&two[0]);
    assert!(!first.open("/buy").await.unwrap().is_ours(), "nobody waits: straight in");

    let mut waiting = Visitor::of(&two[0]);
    assert!(waiting.open("/buy").await.unwrap().is_ours());
    let number = waiting.number().await;
    waiting.at = two[1].edge();
    assert!(waiting.open("/buy").await.unwrap().is_ours());
    assert_eq!(waiting.number().await, number);

    first.at = two[1].edge();
    assert!(!first.open("/buy/seats").await.unwrap().is_ours(), "a pass opens the room on every instance");
}
