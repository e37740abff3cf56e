//! A store that may forget is refused at the start, with the remedy.

use std::sync::Arc;
use std::time::Duration;

use crate::support::eventually::within;
use crate::support::home::Home;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::process;
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, make_keys};
use crate::support::visitor::App;
use crate::support::{plan, ports};

async fn refused(redis: &Redis, store: &str, remedy: &str) {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).on(redis);
    store.clone_into(&mut plan.store);
    let home = Arc::new(Home::new());
    make_keys(&home).await;
    let ports = plan::Ports { edge: ports::free(), crowd: 0, admin: ports::free() };
    home.file("ropeline.toml", &plan.document(home.path(), ports, &home.token_hashes()));
    let said = process::ropeline(home.path(), &["run", "--config", "ropeline.toml"]).await;
    assert_eq!(said.code, 1, "{}", said.text);
    assert!(said.text.contains(remedy), "the remedy {remedy:?} is missing: {}", said.text);
}

#[tokio::test]
async fn w020_a_store_that_evicts_is_refused() {
    let redis = Redis::with(&[("maxmemory-policy", "allkeys-lru")]).await;
    refused(&redis, "", "noeviction").await;
}

#[tokio::test]
async fn w020_a_store_without_persistence_is_refused() {
    let redis = Redis::with(&[("appendonly", "no")]).await;
    refused(&redis, "", "appendonly").await;
}

#[tokio::test]
async fn a_store_that_cannot_give_the_durability_asked_for_is_refused() {
    let redis = Redis::with(&[("appendfsync", "everysec")]).await;
    refused(&redis, "durability = \"disk\"", "appendfsync").await;
}

#[tokio::test]
async fn a_replica_is_refused() {
    let main = Redis::start().await;
    let replica = Redis::with(&[("replicaof", &format!("127.0.0.1 {}", main.port()))]).await;
    refused(&replica, "", "replica").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_weaker_promise_may_be_asked_for() {
    let redis = Redis::with(&[("appendfsync", "everysec")]).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).on(&redis);
    plan.store = "durability = \"memory\"".into();
    Ropeline::start(plan, &origin).await;
}

/// Two instances whose keys differ would send each other's visitors away: the second does not serve the room, until
/// a flush makes it its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_with_other_keys_is_not_ready() {
    let (redis, origin) = (Redis::start().await, Origin::start().await);
    let plan = Plan::before(&origin).rate("1/min").on(&redis);
    let first = Ropeline::start(Plan::before(&origin).rate("1/min").on(&redis), &origin).await;
    first.pause("").await;
    let waiting = App::joined(&first).await;
    let home = Arc::new(Home::new());
    make_keys(&home).await;
    let mut other = Ropeline::planned(&plan, &home);
    other.up().await;
    let not_ready = within("it says why it is not ready", Duration::from_secs(60), async || {
        let ready = Ask::get("/readyz").send(other.admin()).await.map_err(|e| e.to_string())?;
        if ready.status == 503 { Ok(ready) } else { Err(ready.text().to_owned()) }
    })
    .await;
    assert!(not_ready.text().contains("key directory"), "{}", not_ready.text());
    assert_eq!(App::of(&other).join().await.unwrap().status, 503);
    assert_eq!(waiting.clone().poll().await.unwrap().status, 200, "the first goes on");
    let ready = Ask::get("/readyz").send(first.admin()).await.unwrap();
    assert_eq!(ready.status, 200, "{}", ready.text());

    // The first instance is gone for good, and its keys with it.
    drop(first);
    let flushed = other.operate("POST", "/flush", None).await.unwrap();
    assert!(flushed.status < 300, "{} {}", flushed.status, flushed.text());
    App::joined(&other).await;
}
