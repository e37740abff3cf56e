//! The shop fails in every way that a shop can: whoever is inside is told the truth, and stays inside.

use std::time::Duration;

use crate::support::http::Reply;
use crate::support::origin::{Fails, Origin};
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::tokens::claims;
use crate::support::visitor::Visitor;

const PATIENCE: Duration = Duration::from_secs(30);
/// As often as a visitor meets each fault.
const TIMES: usize = 5;

/// Neither the waiting page nor a word that takes the pass or the place away.
fn assert_still_inside(reply: &Reply, what: &str) {
    assert!(!reply.text().contains("queue-position"), "{what}: the waiting page");
    let cookies = reply.headers.get_all("set-cookie").iter().filter_map(|value| value.to_str().ok());
    let gone: Vec<_> = cookies.filter(|value| value.contains("Max-Age=0")).collect();
    assert!(gone.is_empty(), "{what}: {gone:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w032_an_origin_that_errs_costs_nobody_the_admission() {
    let mut origin = Origin::start().await;
    let mut plan =
        Plan::before(&origin).more("[room.pass]\nfirst_use = \"10m\"\nidle = \"10m\"\nttl = \"20m\"");
    plan.origin_lines = "response_timeout = \"200ms\"".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut visitor = Visitor::of(&ropeline);
    visitor.enter("/buy", PATIENCE).await.unwrap();
    let (pass, ticket) = (visitor.pass().cloned().unwrap(), visitor.ticket().cloned());
    let faults =
        [(Fails::With(500), 500), (Fails::With(503), 503), (Fails::Resets, 502), (Fails::Stalls, 504)];
    for (fault, status) in faults {
        origin.fails(Some(fault));
        for _ in 0..TIMES {
            let reply = visitor.open("/buy/seats").await.unwrap();
            assert_eq!(reply.status, status, "{fault:?}: {}", reply.text());
            let own = matches!(fault, Fails::With(_));
            assert_eq!(reply.text() == "the shop fails", own, "{fault:?}: {}", reply.text());
            assert_still_inside(&reply, &format!("{fault:?}"));
        }
        origin.fails(None);
        let reply = visitor.open("/buy/seats").await.unwrap();
        assert_eq!((reply.status, reply.is_ours()), (200, false), "after {fault:?}");
    }
    origin.down().await;
    for _ in 0..TIMES {
        let reply = visitor.open("/buy/seats").await.unwrap();
        assert_eq!(reply.status, 502, "the truth, and not the waiting page");
        assert_still_inside(&reply, "refused");
    }
    origin.up().await;
    let reply = visitor.open("/buy/seats").await.unwrap();
    assert_eq!((reply.status, reply.is_ours()), (200, false));
    let jti = |pass: &str| claims(pass).unwrap()["jti"].clone();
    assert_eq!(jti(visitor.pass().unwrap()), jti(&pass), "the same admission");
    assert_eq!(visitor.ticket().cloned(), ticket, "no new place");
    assert_eq!(ropeline.waiting().await, 0);
}
