//! Event streams: what a poll would say, told when it changes; and what happens when there can be none.

use std::time::Duration;

use serde_json::Value;

use crate::support::events::Stream;
use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor, join_many};

fn ask(ropeline: &Ropeline, app: &App) -> Ask {
    let bearer = format!("Bearer {}", app.ticket.as_ref().unwrap());
    Ask::get(&ropeline.path("/events")).with("authorization", &bearer)
}

async fn stream(ropeline: &Ropeline, app: &App) -> Stream {
    let stream = Stream::open(ropeline.edge(), ask(ropeline, app)).await.unwrap();
    assert_eq!(stream.status, 200, "{:?}", stream.headers);
    stream
}

fn positions(documents: &[Value]) -> Vec<u64> {
    documents.iter().filter_map(|d| d["visitor"]["position"].as_u64()).collect()
}

/// The whole way through streams alone: positions fall, turns come in order, each stream ends with the pass.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_tells_the_way_to_the_front_and_brings_the_turn() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("5/s"), &origin).await;
    let apps = join_many(&ropeline, 40).await;
    let mut held = tokio::task::JoinSet::new();
    for mut app in apps {
        let stream = stream(&ropeline, &app).await;
        assert_eq!(stream.headers["content-type"], "text/event-stream");
        assert!(stream.headers["cache-control"].to_str().unwrap().contains("no-store"));
        held.spawn(async move {
            let documents = stream.rest().await;
            let last = documents.last().unwrap();
            assert_eq!(last["visitor"]["state"], "admitted", "{last}");
            app.pass = last["pass"]["token"].as_str().map(str::to_owned);
            assert!(!app.visit("/buy").await.unwrap().is_ours());
            (app.number, documents)
        });
    }
    let mut told = held.join_all().await;
    told.sort_by_key(|(number, _)| *number);
    for (number, documents) in &told {
        assert!(
            positions(documents).is_sorted_by(|a, b| a >= b),
            "number {number}: {:?}",
            positions(documents)
        );
        assert!(documents.iter().all(|d| d["visitor"]["number"] == *number), "nobody else's document");
    }
    let (_, last) = told.last().unwrap();
    assert!(positions(last).len() >= 3, "the last one saw the line move: {:?}", positions(last));
    assert_eq!(origin.journal().arrivals().len(), 40);
    let metrics = Ask::get("/metrics").send(ropeline.admin()).await.unwrap().text();
    assert!(metrics.contains("ropeline_event_streams_opened_total{room=\"sale\"} 40"), "{metrics}");
    assert!(metrics.contains("ropeline_event_streams{room=\"sale\"} 0"), "{metrics}");
}

/// A browser's stream holds no token; the turn that it announced is the one that the next page brings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browsers_stream_announces_and_its_next_page_is_the_shop() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    ropeline.pause("").await;
    let mut visitor = Visitor::of(&ropeline);
    visitor.open("/buy").await.unwrap();
    let cookie = format!("rl_t_sale={}", visitor.ticket().unwrap());
    let ask = Ask::get(&ropeline.path("/events")).script_fetch().with("cookie", &cookie);
    let mut stream = Stream::open(ropeline.edge(), ask).await.unwrap();
    stream.until("the pause is told", |d| d["room"]["state"] == "paused").await;
    ropeline.resume().await;
    let turn = stream.until("the turn", |d| d["visitor"]["state"] == "admitted").await;
    assert!(turn["pass"]["token"].is_null() && turn["pass"]["expires_at"].is_string(), "{turn}");
    assert_eq!(stream.next().await, None, "and the stream ends");
    assert!(!visitor.open("/buy").await.unwrap().is_ours());
    let claims = crate::support::tokens::claims(visitor.pass().unwrap()).unwrap();
    assert_eq!(claims["num"], turn["visitor"]["number"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_crowd_door_streams_and_hands_no_pass_out() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.crowd = true;
    plan.server = "cors_origins = [\"https://shop.example\"]".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    ropeline.pause("").await;
    let mut app = App::joined(&ropeline).await;
    let ask = ask(&ropeline, &app).with("origin", "https://shop.example");
    let mut stream = Stream::open(ropeline.crowd(), ask).await.unwrap();
    assert_eq!(stream.headers["access-control-allow-origin"], "https://shop.example");
    stream.until("a first document", |d| d["visitor"]["number"] == app.number).await;
    ropeline.resume().await;
    let turn = stream.until("the turn", |d| d["visitor"]["state"] == "admitted").await;
    assert!(turn.get("pass").is_none_or(Value::is_null), "{turn}");
    assert_eq!(stream.next().await, None);
    app.until_admitted(Duration::from_secs(30)).await;
    assert!(!app.visit("/buy").await.unwrap().is_ours());
}

/// An operator's word is told to all who listen, without a poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_are_told_at_once_and_leaving_ends_the_stream() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    let mut app = join_many(&ropeline, 20).await.pop().unwrap();
    let mut stream = stream(&ropeline, &app).await;
    let first = stream.next().await.unwrap();
    assert_eq!((&first["room"]["state"], &first["visitor"]["state"]), (&"open".into(), &"waiting".into()));
    ropeline.pause("Back in a moment").await;
    let told = stream.until("the pause", |d| d["room"]["state"] == "paused").await;
    assert_eq!(told["room"]["message"], "Back in a moment");
    assert!(told["visitor"]["wait_seconds"].is_null());
    app.call("DELETE", "/ticket").await.unwrap();
    let left = stream.until("having left", |d| d["visitor"]["state"] == "left").await;
    assert_eq!(left["visitor"]["number"], app.number);
    assert_eq!(stream.next().await, None);
    let again = ask(&ropeline, &app).send(ropeline.edge()).await.unwrap();
    assert_eq!((again.status, again.json()["visitor"]["state"].as_str()), (410, Some("left")));
    let nobody = Ask::get(&ropeline.path("/events")).send(ropeline.edge()).await.unwrap();
    assert_eq!(nobody.status, 401);
    let post = Ask::new("POST", &ropeline.path("/events")).send(ropeline.edge()).await.unwrap();
    assert_eq!((post.status, post.header("allow")), (405, "GET"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beyond_the_bound_a_stream_is_refused_and_polls_go_on() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.server = "limits = { event_streams = 2 }".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut apps = join_many(&ropeline, 5).await;
    let first = stream(&ropeline, &apps[2]).await;
    let _second = stream(&ropeline, &apps[3]).await;
    let refused = ask(&ropeline, &apps[4]).send(ropeline.edge()).await.unwrap();
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert_eq!(refused.json()["type"], "urn:ropeline:problem:too-many-streams");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(apps[4].poll().await.unwrap().status, 200, "a poll takes no stream");
    drop(first);
    eventually("a place is free once somebody hung up", async || {
        let stream = Stream::open(ropeline.edge(), ask(&ropeline, &apps[4])).await.ok()?;
        (stream.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_address_cannot_hold_every_stream() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.server = "limits = { event_streams_per_address = 1 }\ntrusted_proxies = [\"127.0.0.1\"]".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let apps = join_many(&ropeline, 5).await;
    let from = |address: &str, app| ask(&ropeline, app).with("x-forwarded-for", address);
    let open = async |ask: Ask| Stream::open(ropeline.edge(), ask).await.unwrap();
    let held = open(from("192.0.2.1", &apps[2])).await;
    assert_eq!(held.status, 200);
    assert_eq!(open(from("192.0.2.1", &apps[3])).await.status, 503);
    assert_eq!(open(from("192.0.2.2", &apps[3])).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_outlives_the_stores_absence() {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).on(&redis).rate("2/s"), &origin).await;
    let app = join_many(&ropeline, 30).await.pop().unwrap();
    let mut held = stream(&ropeline, &app).await;
    held.next().await.unwrap();
    redis.kill_hard();
    let away = held.until("the outage is told", |d| d["room"]["state"] == "unavailable").await;
    assert_eq!(away["visitor"]["number"], app.number, "the place is kept");
    let another = stream(&ropeline, &app).await.next().await.unwrap();
    assert_eq!(another["room"]["state"], "unavailable", "who comes now is told too");
    redis.up().await;
    held.until("it is back", |d| d["room"]["state"] == "open").await;
    held.until("the turn", |d| d["visitor"]["state"] == "admitted").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_the_streams_in_order() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.crowd = true;
    let mut ropeline = Ropeline::start(plan, &origin).await;
    let apps = join_many(&ropeline, 5).await;
    let mut edge = stream(&ropeline, &apps[3]).await;
    let mut crowd = Stream::open(ropeline.crowd(), ask(&ropeline, &apps[4])).await.unwrap();
    edge.next().await.unwrap();
    crowd.next().await.unwrap();
    ropeline.terminate().await;
    assert_eq!(edge.next().await, None);
    assert_eq!(crowd.next().await, None);
    assert!(!ropeline.log().contains("connections were cut"), "{}", ropeline.log());
}

/// R11: who is far from the front is told from memory, however many streams are held; and the connection is kept
/// alive while there is nothing to tell.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_far_back_cost_no_store_call_and_beat() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    let number = async |name: &str| {
        let text = Ask::get("/metrics").send(ropeline.admin()).await.unwrap().text();
        let line = text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        line.map_or(0, |count| count.parse::<u64>().unwrap())
    };
    let presented = async || number("ropeline_store_batch_entries_sum{verb=\"advance\"}").await;
    // While the room is paused only the first who came are called.
    ropeline.pause("").await;
    let apps = join_many(&ropeline, 150).await.split_off(100);
    let before = presented().await;
    let mut streams = Vec::new();
    for app in &apps {
        streams.push(stream(&ropeline, app).await);
    }
    for stream in &mut streams {
        stream.next().await.unwrap();
    }
    // Nothing moves: the next thing that comes is a heartbeat, after several looks.
    streams[0].beat().await;
    assert_eq!(presented().await, before, "no number was shown to the store");
    let called = number("ropeline_room_called_number{room=\"sale\"}").await;
    assert!(called < apps[0].number, "{called} is far from {}", apps[0].number);
}
