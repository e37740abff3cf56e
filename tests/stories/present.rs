//! Who is there and who went away, as visitors see it: field reports on abandoned places, refreshes and tabs, and
//! clients that keep no cookies.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor, join_many};

const PATIENCE: Duration = Duration::from_secs(60);
const QUICK: &str =
    "[room.waiting]\nabsent_after = \"10s\"\nreturn_within = \"10s\"\npoll = { min = \"1s\", max = \"2s\" }";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w026_abandoned_places_hold_nobody_up_and_are_not_counted_for_ever() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).more(QUICK), &origin).await;
    ropeline.pause("until all have come").await;
    let mut people = join_many(&ropeline, 30).await;
    ropeline.resume().await;
    let stay = people.split_off(20);
    let gone = people.split_off(10);
    let mut inside = JoinSet::new();
    for mut app in people.into_iter().chain(stay) {
        inside.spawn(async move { app.until_admitted(PATIENCE).await });
    }
    inside.join_all().await;
    let mut returns_soon = gone[0].clone();
    let soon = returns_soon.poll().await.unwrap();
    assert_ne!(soon.status, 410, "within the grace the place is kept: {}", soon.text());
    returns_soon.until_admitted(PATIENCE).await;
    eventually("nobody counts as waiting", async || {
        let room = ropeline.room_now().await.ok()?;
        (room["waiting"] == 0).then_some(())
    })
    .await;
    let mut returns_late = gone[1].clone();
    // Asking would be coming back, so it is only time that can be waited for: return_within, and some steps.
    let begun = tokio::time::Instant::now();
    let long_ago = Duration::from_secs(22);
    eventually("the turn has lapsed", async || (begun.elapsed() > long_ago).then_some(())).await;
    let answer = returns_late.poll().await.unwrap();
    assert_eq!((answer.status, &answer.json()["visitor"]["state"]), (410, &json!("lapsed")));
    assert_eq!(returns_late.join().await.unwrap().status, 201, "one step to join anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w030_refreshes_tabs_and_eager_polls_are_one_place_that_never_moves_back() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/s").more(QUICK), &origin).await;
    ropeline.pause("until all have come").await;
    let others = join_many(&ropeline, 10).await;
    let mut visitor = Visitor::of(&ropeline);
    let first = visitor.open("/buy").await.unwrap();
    assert_eq!(first.status, 200);
    let number = visitor.number().await;
    let behind = join_many(&ropeline, 5).await;
    ropeline.resume().await;
    let mut crowd = JoinSet::new();
    for mut app in others.into_iter().chain(behind) {
        crowd.spawn(async move { app.until_admitted(PATIENCE).await });
    }
    let mut positions: Vec<u64> = Vec::new();
    let mut tabs: Vec<Visitor> = (0..5).map(|_| visitor.clone()).collect();
    for round in 0..50 {
        let tab = &mut tabs[round % 5];
        let page = tab.open(&format!("/buy?tab={}", round % 5)).await.unwrap();
        if !page.is_ours() {
            break;
        }
        for _ in 0..2 {
            let document = tab.poll().await.unwrap().json();
            if document["visitor"]["state"] == "waiting" {
                assert_eq!(document["visitor"]["number"], number, "one place: {document}");
                positions.push(document["visitor"]["position"].as_u64().unwrap());
                assert!(document["room"]["waiting"].as_u64() <= Some(16), "counted once: {document}");
            }
        }
    }
    assert!(positions.is_sorted_by(|a, b| a >= b), "{positions:?}");
    assert!(positions.len() >= 5, "{positions:?}");
    visitor.enter("/buy", PATIENCE).await.unwrap();
    crowd.join_all().await;
    let room = ropeline.operate("GET", "", None).await.unwrap().json();
    assert_eq!(room["line"]["last"], 16, "five tabs and fifty refreshes took one place");
    assert_eq!(room["line"]["admitted"], 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w033_a_client_without_cookies_is_told_so_and_its_places_do_not_last() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).more(QUICK), &origin).await;
    ropeline.pause("so that nobody goes in").await;
    let mut other = App::joined(&ropeline).await;
    for _ in 0..200 {
        let page = Ask::get("/buy").navigation().send(ropeline.edge()).await.unwrap();
        assert_eq!((page.status, page.header("location")), (200, ""), "no redirect, a page");
    }
    let text = Ask::get("/buy").navigation().send(ropeline.edge()).await.unwrap().text();
    assert!(text.to_lowercase().contains("cookie"), "it says that cookies are needed");
    eventually("their places count no more", async || {
        let document: Value = other.poll().await.ok()?.json();
        (document["room"]["waiting"].as_u64()? <= 1 && document["visitor"]["position"] == 1).then_some(())
    })
    .await;
}
