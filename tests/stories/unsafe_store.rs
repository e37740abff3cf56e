//! A store that may forget is refused at the start, with the remedy.

use std::sync::Arc;

use crate::support::home::Home;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::process;
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, make_keys};
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
