//! The remaining count: a thousand readers at once, one request a second to the shop.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::support::eventually::eventually;
use crate::support::http::{Ask, Connection};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;

const CACHE: &str = "[[cache]]\npaths = [\"/api/events/*/remaining\"]\nttl = \"1s\"\n\
                     stale_while_revalidate = \"2s\"\nstale_if_error = \"30s\"";
const PATH: &str = "/api/events/42/remaining";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_readers_are_one_request_a_second() {
    let origin = Origin::start().await;
    origin.remaining_takes(Duration::from_millis(100));
    let ropeline = Ropeline::start(Plan::before(&origin).more(CACHE), &origin).await;
    let start = Instant::now();
    let mut readers = JoinSet::new();
    for _ in 0..1000 {
        let edge = ropeline.edge();
        readers.spawn(async move {
            let mut connection = Connection::open(edge).await.unwrap();
            let mut read = 0;
            while read == 0 || start.elapsed() < Duration::from_secs(3) {
                let reply = connection.send(Ask::get(PATH).program()).await.unwrap();
                assert_eq!((reply.status, &reply.json()["remaining"]), (200, &312.into()));
                read += 1;
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
            read
        });
    }
    let read: u32 = readers.join_all().await.into_iter().sum();
    let asked = origin.journal().of(PATH).len() as u64;
    let most = start.elapsed().as_secs() + 1;
    assert!(read >= 1000, "{read} answers");
    assert!(asked <= most, "{read} readers were {asked} requests in {most} lifetimes of a second");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failing_count_is_answered_from_what_was_known() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).more(CACHE), &origin).await;
    assert_eq!(Ask::get(PATH).send(ropeline.edge()).await.unwrap().status, 200);
    origin.remaining_fails(true);
    eventually("the shop was asked again and failed", async || {
        let _ = Ask::get(PATH).send(ropeline.edge()).await;
        (origin.journal().of(PATH).len() >= 2).then_some(())
    })
    .await;
    for _ in 0..20 {
        let reply = Ask::get(PATH).send(ropeline.edge()).await.unwrap();
        assert_eq!((reply.status, &reply.json()["remaining"]), (200, &312.into()), "stale within its bound");
    }
}

/// Cookies of ours ride on none of it, and what one visitor got is nobody else's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cached_answer_sets_no_cookie() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).more(CACHE), &origin).await;
    for _ in 0..3 {
        let reply = Ask::get(PATH).navigation().send(ropeline.edge()).await.unwrap();
        assert!(reply.cookies().is_empty());
    }
    let heard = &origin.journal().of(PATH)[0].request;
    assert!(heard.header("x-ropeline-pass").is_none());
}
