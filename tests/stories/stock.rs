//! The shop's stock: who is told what, who goes in, and what happens when tickets come back.

use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::support::eventually::{eventually, within};
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::rate::{Metronome, assert_kept};
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor, join_many};

const PATH: &str = "/api/remaining";
const LONG: Duration = Duration::from_secs(60);

fn with_stock(plan: Plan, more: &str) -> Plan {
    plan.more(&format!(
        "[room.stock]\npath = \"{PATH}\"\nfield = \"/remaining\"\nrefresh = \"200ms\"\n{more}"
    ))
}

/// Waits until the room shows this many, or null.
async fn until_remaining(ropeline: &Ropeline, count: impl Into<Value>) {
    let count = count.into();
    eventually(&format!("{count} remain"), async || {
        (ropeline.room_now().await.ok()?["remaining"] == count).then_some(())
    })
    .await;
}

async fn polled(app: &mut App) -> Value {
    app.poll().await.unwrap().json()
}

/// Lets everybody poll as told and visit the shop once admitted.
fn all_wait(apps: Vec<App>) -> JoinSet<App> {
    let mut waiting = JoinSet::new();
    for mut app in apps {
        waiting.spawn(async move {
            app.until_admitted(Duration::from_secs(120)).await;
            assert!(!app.visit("/buy").await.unwrap().is_ours());
            app
        });
    }
    waiting
}

/// The first peak takes what there is; the second one, when tickets come back, is the first one again: in order, at
/// the rate, and never more inside than there are tickets for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tickets_that_come_back_are_offered_in_order_at_the_rate() {
    let origin = Origin::start().await;
    origin.remaining_is(6);
    let plan = with_stock(Plan::before(&origin), "reserve = 0\nwhen_short = \"waitlist\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    until_remaining(&ropeline, 6).await;
    ropeline.pause("").await;
    let mut apps = join_many(&ropeline, 30).await;
    let likely = polled(&mut apps[0]).await;
    assert_eq!(
        (&likely["visitor"]["state"], &likely["visitor"]["likely"]),
        (&"waiting".into(), &true.into())
    );
    let unlikely = polled(&mut apps[29]).await;
    assert_eq!(unlikely["visitor"]["state"], "waitlisted", "{unlikely}");
    assert_eq!(unlikely["visitor"]["likely"], false);
    ropeline.resume().await;
    let metronome = Metronome::start();
    let mut waiting = all_wait(apps);
    let mut inside = Vec::new();
    while inside.len() < 6 {
        inside.push(waiting.join_next().await.unwrap().unwrap());
    }
    // Two refreshes and more later still nobody else is in: all six are inside with nothing bought.
    let asked = origin.journal().of(PATH).len();
    eventually("the shop is asked again", async || {
        (origin.journal().of(PATH).len() > asked + 5).then_some(())
    })
    .await;
    assert_eq!(origin.journal().arrivals().len(), 6, "never more inside than stock allows");

    origin.remaining_is(0);
    ropeline.until_state("sold_out").await;
    for app in &inside {
        app.visit("/buy/end").await.unwrap();
    }
    let mut late = App::joined(&ropeline).await;
    assert_eq!(polled(&mut late).await["visitor"]["state"], "waitlisted");
    assert_eq!(origin.journal().arrivals().len(), 6);

    origin.remaining_is(4);
    while inside.len() < 10 {
        inside.push(waiting.join_next().await.unwrap().unwrap());
    }
    let asked = origin.journal().of(PATH).len();
    eventually("the shop is asked again", async || {
        (origin.journal().of(PATH).len() > asked + 5).then_some(())
    })
    .await;
    let lag = metronome.lag();
    assert_eq!(origin.journal().arrivals().len(), 10, "four came back");
    // Grants are in order; each takes its slot when its holder asks, and polls leave gaps of up to `poll.min`.
    origin.journal().assert_in_order(lag + Duration::from_secs(2));
    assert_kept(10.0, 1, &origin.journal().arrival_times(), lag);
    let mut numbers: Vec<u64> = inside.iter().map(|app| app.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=10).collect::<Vec<u64>>());
}

/// Two instances share one reading, and one bound.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_instances_ask_once_and_agree() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    origin.remaining_is(5);
    let plan = Plan::before(&origin).on(&redis);
    let plan = plan.more(&format!(
        "[room.stock]\npath = \"{PATH}\"\nfield = \"/remaining\"\nrefresh = \"2s\"\nreserve = 0\nper_visitor = 1"
    ));
    let both = Ropeline::start_many(plan, &origin, 2).await;
    for ropeline in &both {
        until_remaining(ropeline, 5).await;
    }
    let mut apps = join_many(&both[0], 10).await;
    for app in apps.iter_mut().skip(1).step_by(2) {
        app.at = both[1].edge();
    }
    let mut waiting = all_wait(apps);
    for _ in 0..5 {
        waiting.join_next().await.unwrap().unwrap();
    }
    let begun = std::time::Instant::now();
    let before = origin.journal().of(PATH).len();
    let asked = eventually("the shop is asked some times", async || {
        let asked = origin.journal().of(PATH).len() - before;
        (asked >= 5).then_some(asked)
    })
    .await;
    // One a refresh over both; each by itself would ask twice as often.
    let most = begun.elapsed().as_secs_f64() / 2.0 * 1.3 + 1.0;
    assert!((asked as f64) <= most, "{asked} in {:?}", begun.elapsed());
    assert_eq!(origin.journal().arrivals().len(), 5, "one bound over both");
}

/// A signal that was never heard, or long ago, is no reason to keep anybody out; and it is said.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stock_that_was_never_read_blocks_nobody_and_says_so() {
    let origin = Origin::start().await;
    origin.remaining_says("{\"remaining\": \"none of your business, token=hunter2\"}");
    let plan = with_stock(Plan::before(&origin), "when_short = \"close\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut app = App::joined(&ropeline).await;
    assert!(polled(&mut app).await["visitor"]["likely"].is_null());
    app.until_admitted(LONG).await;
    assert!(!app.visit("/buy").await.unwrap().is_ours());
    let ready = Ask::get("/readyz").send(ropeline.admin()).await.unwrap();
    assert!(ready.status == 200 && ready.text().contains("stock was never read"), "{}", ready.text());
    let log = ropeline.log();
    assert_eq!(log.matches("stock cannot be read").count(), 1, "once for each kind: {log}");
    assert!(!log.contains("hunter2"), "{log}");

    origin.remaining_fails(true);
    eventually("another kind is told too", async || {
        (ropeline.log().matches("stock cannot be read").count() == 2).then_some(())
    })
    .await;
    origin.remaining_fails(false);
    origin.remaining_says("{\"remaining\": 7.0}");
    until_remaining(&ropeline, 7).await;
    eventually("all is well", async || {
        let ready = Ask::get("/readyz").send(ropeline.admin()).await.ok()?;
        (!ready.text().contains("degraded")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stock_that_is_old_bounds_nobody() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(with_stock(Plan::before(&origin), ""), &origin).await;
    origin.remaining_is(0);
    ropeline.until_state("sold_out").await;
    origin.remaining_fails(true);
    let mut app = App::joined(&ropeline).await;
    assert_eq!(polled(&mut app).await["visitor"]["likely"], false);
    let mut browser = Visitor::of(&ropeline);
    assert!(browser.open("/buy").await.unwrap().text().contains("Sold out"));
    within("the reading is old", LONG, async || {
        let room = ropeline.room_now().await.map_err(|e| e.to_string())?;
        if room["remaining"].is_null() { Ok(()) } else { Err(room.to_string()) }
    })
    .await;
    app.until_admitted(LONG).await;
    assert!(!app.visit("/buy").await.unwrap().is_ours());
    let ready = Ask::get("/readyz").send(ropeline.admin()).await.unwrap();
    assert!(ready.text().contains("not read of late"), "{}", ready.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_room_that_closes_takes_no_places_beyond_its_stock() {
    let origin = Origin::start().await;
    origin.remaining_is(3);
    let plan = with_stock(Plan::before(&origin).rate("1/min"), "reserve = 0\nwhen_short = \"close\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    until_remaining(&ropeline, 3).await;
    ropeline.pause("").await;
    let mut apps = join_many(&ropeline, 3).await;
    let beyond = eventually("no new places", async || {
        let reply = App::of(&ropeline).join().await.ok()?;
        (reply.status != 201).then_some(reply)
    })
    .await;
    assert_eq!((beyond.status, &beyond.json()["type"]), (409, &"urn:ropeline:problem:sold-out".into()));
    assert!(beyond.header("retry-after").parse::<u64>().unwrap() >= 1);
    let mut browser = Visitor::of(&ropeline);
    let page = browser.open("/buy").await.unwrap();
    assert!(page.is_ours() && browser.ticket().is_none(), "a browser gets no place either");
    assert_eq!(apps[0].join().await.unwrap().status, 200, "who has a place keeps it");
    origin.remaining_is(50);
    eventually("places again", async || (App::of(&ropeline).join().await.ok()?.status == 201).then_some(()))
        .await;
}
