//! The store behind TLS: trusted by the authority that the operator names and by nobody else, and as durable as without.

use std::sync::Arc;
use std::time::Duration;

use crate::support::cluster::ok;
use crate::support::eventually::within;
use crate::support::home::Home;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ports;
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, make_keys};
use crate::support::secure::{AUTHORITY, CERTIFICATE_FILE, KEY_FILE, STRANGER};
use crate::support::sentinel::{NAME, Sentinel};
use crate::support::visitor::{App, join_many};

const PATIENCE: Duration = Duration::from_secs(60);

/// A Redis that answers by TLS too; where.
async fn encrypted(more: &[(&str, &str)]) -> (Redis, u16) {
    let port = ports::free();
    let number = port.to_string();
    let tls = [
        ("tls-port", number.as_str()),
        ("tls-cert-file", CERTIFICATE_FILE),
        ("tls-key-file", KEY_FILE),
        ("tls-ca-cert-file", AUTHORITY),
        ("tls-auth-clients", "no"),
    ];
    (Redis::with(&[&tls[..], more].concat()).await, port)
}

fn plan(origin: &Origin, port: u16, authority: &str) -> Plan {
    let mut plan = Plan::before(origin).rate("1/min");
    plan.redis = Some(format!("rediss://127.0.0.1:{port}"));
    plan.store = format!("ca_file = \"{authority}\"");
    plan
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sale_goes_on_over_tls_when_the_store_was_started_anew() {
    let (mut redis, port) = encrypted(&[]).await;
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(plan(&origin, port, AUTHORITY), &origin).await;
    let before = join_many(&ropeline, 20).await;
    let list = redis.say(&["CLIENT LIST TYPE normal"]).await.unwrap();
    assert!(list.contains(&format!(" laddr=127.0.0.1:{port} ")), "{list}");
    assert_eq!(redis.clients().await, 1, "{list}");

    redis.kill_hard();
    ropeline.until_state("unavailable").await;
    redis.up().await;

    ropeline.until_state("open").await;
    for old in &before {
        let mut app = old.clone();
        assert_eq!(app.poll().await.unwrap().json()["visitor"]["number"], old.number);
    }
    assert!(App::joined(&ropeline).await.number > 20);
    assert_eq!(redis.clients().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_nodes_are_asked_by_tls_too() {
    let (redis, port) = encrypted(&[]).await;
    let asked = ports::free();
    let lines = format!(
        "tls-port {asked}\ntls-cert-file {CERTIFICATE_FILE}\ntls-key-file {KEY_FILE}\ntls-ca-cert-file {AUTHORITY}\n\
         tls-auth-clients no\ntls-replication yes"
    );
    let _sentinel = Sentinel::alone(port, &lines).await;
    let bus = ports::free().to_string();
    let (node, at) =
        encrypted(&[("cluster-enabled", "yes"), ("cluster-port", &bus), ("tls-cluster", "yes")]).await;
    ok(&node, "CLUSTER ADDSLOTSRANGE 0 16383").await;
    let origin = Origin::start().await;
    for (url, store, port) in [
        (format!("rediss+sentinel://127.0.0.1:{asked}/{NAME}"), &redis, port),
        (format!("rediss+cluster://127.0.0.1:{at}"), &node, at),
    ] {
        let mut plan = plan(&origin, port, AUTHORITY);
        plan.redis = Some(url);
        let ropeline = Ropeline::start(plan, &origin).await;
        App::joined(&ropeline).await;
        let list = store.say(&["CLIENT LIST TYPE normal"]).await.unwrap();
        assert!(list.contains(&format!(" laddr=127.0.0.1:{port} ")), "{list}");
    }
}

/// What an instance does that may not use its store, and what its log says of it.
async fn stays_out(plan: Plan, says: &[&str]) {
    let home = Arc::new(Home::new());
    make_keys(&home).await;
    let mut ropeline = Ropeline::planned(&plan, &home);
    ropeline.up().await;
    let reply = Ask::get("/buy").navigation().send(ropeline.edge()).await.unwrap();
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.is_ours());
    within("the log says why", PATIENCE, async || {
        let log = ropeline.log();
        if says.iter().all(|say| log.contains(say)) { Ok(()) } else { Err(log) }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_no_trusted_authority_vouches_for_is_not_used() {
    let (_redis, port) = encrypted(&[]).await;
    let origin = Origin::start().await;
    let stranger = plan(&origin, port, STRANGER);
    let says = format!("no trusted TLS with 127.0.0.1:{port}: invalid peer certificate: UnknownIssuer");
    stays_out(stranger.clone(), &[&says, "store.ca_file"]).await;
    stays_out(Plan { store: String::new(), ..stranger }, &[&says, "store.ca_file"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_speak_tls_or_wants_a_certificate_of_ours_is_told_apart() {
    let (redis, port) = encrypted(&[("tls-auth-clients", "yes")]).await;
    let origin = Origin::start().await;
    stays_out(plan(&origin, redis.port(), AUTHORITY), &["did not answer by TLS in time"]).await;
    stays_out(plan(&origin, port, AUTHORITY), &["tls-auth-clients no"]).await;
}
