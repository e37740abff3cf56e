//! Stays inside the shop: how many there may be, what renews them, and all the ways in which they end
//! (contract section 3, "The pass", and section 5).

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, room_path};
use crate::support::visitor::{App, Visitor};
use crate::support::websocket;

const PATIENCE: Duration = Duration::from_secs(30);

/// A request of somebody inside; true if the shop answered.
async fn inside(app: &App, at: &Ropeline) -> bool {
    opens(app.pass.clone().unwrap(), at.edge()).await
}

/// A fetch of a page takes no place of its own, so nothing but the pass can let it in.
async fn opens(pass: String, edge: SocketAddr) -> bool {
    let ask = Ask::get("/buy/seats").script_fetch().with("x-ropeline-pass", &pass);
    !ask.send(edge).await.unwrap().is_ours()
}

async fn admitted(at: &Ropeline) -> App {
    let mut app = App::joined(at).await;
    app.until_admitted(PATIENCE).await;
    app
}

/// Passes of the longest kind, so that nothing but what a story does ends them.
fn lasting(origin: &Origin) -> Plan {
    Plan::before(origin).more("[room.pass]\nfirst_use = \"10m\"\nidle = \"10m\"\nttl = \"20m\"")
}

async fn end(app: &App, at: &Ropeline) -> u16 {
    let ask = Ask::new("DELETE", &room_path(at.room, "/pass")).program();
    ask.with("x-ropeline-pass", app.pass.as_deref().unwrap()).send(at.edge()).await.unwrap().status
}

async fn until_out(app: &App, at: &Ropeline) {
    eventually("the pass opens nothing more", async || (!inside(app, at).await).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_are_inside_than_may_be_and_a_place_that_is_left_is_the_next_ones() {
    let origin = Origin::start().await;
    let redis = Redis::start().await;
    let mut plan = lasting(&origin).on(&redis).rate("50/s");
    plan.release = "max_active = 3".into();
    let two = Ropeline::start_many(plan, &origin, 2).await;
    let mut people = Vec::new();
    for i in 0..6 {
        people.push(App::joined(&two[i % 2]).await);
    }
    for app in &mut people[..3] {
        app.until_admitted(PATIENCE).await;
    }
    for app in &mut people[3..] {
        for _ in 0..3 {
            let document = app.poll().await.unwrap().json();
            assert_eq!(document["visitor"]["state"], "waiting", "{document}");
        }
    }
    assert_eq!(end(&people[0], &two[1]).await, 204, "over the other instance");
    assert_eq!(end(&people[0], &two[1]).await, 204, "again");
    people[3].until_admitted(PATIENCE).await;
    until_out(&people[0], &two[0]).await;
    assert!(people[4].poll().await.unwrap().json()["pass"].is_null());
    let reply = two[0].operate("PATCH", "", Some(json!({"max_active": 5}))).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    people[4].until_admitted(PATIENCE).await;
    people[5].until_admitted(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shop_may_end_a_stay_and_every_instance_knows() {
    let origin = Origin::start().await;
    let redis = Redis::start().await;
    let two = Ropeline::start_many(lasting(&origin).on(&redis), &origin, 2).await;
    let mut visitor = Visitor::of(&two[0]);
    visitor.enter("/buy", PATIENCE).await.unwrap();
    let pass = visitor.pass().unwrap().clone();
    let bought = visitor.open("/buy/end").await.unwrap();
    assert!(!bought.is_ours() && bought.status == 200);
    assert_eq!(bought.header("x-ropeline-end"), "", "that is between the shop and us");
    assert_eq!((visitor.pass(), visitor.ticket()), (None, None), "the tokens are gone");
    for at in &two {
        eventually("the pass is dead", async || {
            let kept = Ask::get("/buy").script_fetch().with("x-ropeline-pass", &pass);
            kept.send(at.edge()).await.unwrap().is_ours().then_some(())
        })
        .await;
    }
    let again = visitor.enter("/buy", PATIENCE).await.unwrap();
    assert_eq!(again.status, 200, "with a new place");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_use_renews_the_pass_once_it_is_acknowledged_and_never_before() {
    let origin = Origin::start().await;
    let redis = Redis::start().await;
    let plan = Plan::before(&origin)
        .on(&redis)
        .more("[room.pass]\nfirst_use = \"6s\"\nidle = \"20s\"\nttl = \"10m\"\nleeway = \"0s\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    let app = admitted(&ropeline).await;
    let shown = app.pass.clone().unwrap();
    let ask = || Ask::get("/buy/seats").program().with("x-ropeline-pass", &shown).send(ropeline.edge());
    let renewed = eventually("a later answer carries a renewed pass", async || {
        let reply = ask().await.unwrap();
        assert!(!reply.is_ours(), "{}", reply.text());
        Some(reply.header("x-ropeline-pass").to_owned()).filter(|pass| !pass.is_empty())
    })
    .await;
    let (before, after) = (claims(&shown), claims(&renewed));
    assert_eq!(
        (&before["jti"], &before["num"], &before["slot"]),
        (&after["jti"], &after["num"], &after["slot"])
    );
    assert!(after["exp"].as_u64() > before["exp"].as_u64());

    let mut browser = Visitor::of(&ropeline);
    browser.enter("/buy", PATIENCE).await.unwrap();
    let first = browser.pass().unwrap().clone();
    redis.hang();
    let mut last = claims(&first)["exp"].as_u64().unwrap();
    eventually("the pass ends when it says so", async || {
        let reply = browser.open("/buy/seats").await.unwrap();
        if let Some(pass) = browser.pass() {
            last = claims(pass)["exp"].as_u64().unwrap();
        }
        reply.is_ours().then_some(())
    })
    .await;
    assert_eq!(last, claims(&first)["exp"].as_u64().unwrap(), "nothing was acknowledged");
    redis.go_on();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_never_comes_back_is_free_again_and_so_is_one_that_rests() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin)
        .rate("50/s")
        .more("[room.pass]\nfirst_use = \"1s\"\nidle = \"3s\"\nttl = \"10m\"\nleeway = \"0s\"");
    plan.release = "max_active = 1".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let _never_comes_back = admitted(&ropeline).await;
    let second = admitted(&ropeline).await;
    assert!(inside(&second, &ropeline).await, "the first one's place was free after a second");
    let mut third = App::joined(&ropeline).await;
    third.until_admitted(PATIENCE).await;
    assert!(!inside(&second, &ropeline).await, "it rested for longer than idle");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_websocket_is_a_use_and_is_cut_when_the_stay_ends() {
    let origin = Origin::start().await;
    let plan = Plan::before(&origin)
        .more("[room.pass]\nfirst_use = \"3s\"\nidle = \"3s\"\nttl = \"10m\"\nleeway = \"0s\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    let app = admitted(&ropeline).await;
    let header = format!("x-ropeline-pass: {}\r\n", app.pass.as_ref().unwrap());
    let mut socket =
        websocket::open(ropeline.edge(), "/buy/ws", &header).await.unwrap_or_else(|s| panic!("{s}"));
    // Longer than idle, without a word on it: the open connection is what keeps the stay.
    let begun = tokio::time::Instant::now();
    eventually("five seconds have gone by", async || {
        (begun.elapsed() > Duration::from_secs(5)).then_some(())
    })
    .await;
    assert_eq!(socket.echo("still here").await.unwrap(), "still here");
    let reply = ropeline.operate("POST", "/revoke", Some(json!({"all": true}))).await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    eventually("the connection is cut", async || socket.echo("now?").await.is_err().then_some(())).await;
}

fn claims(pass: &str) -> serde_json::Value {
    use base64::Engine as _;
    let body = pass.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(body).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w024_an_admission_that_is_passed_on_is_one_admission_and_dies_with_it() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(lasting(&origin), &origin).await;
    let app = admitted(&ropeline).await;
    let admitted_before = ropeline.operate("GET", "", None).await.unwrap().json()["line"]["admitted"].clone();
    let mut copies = tokio::task::JoinSet::new();
    for _ in 0..50 {
        copies.spawn(opens(app.pass.clone().unwrap(), ropeline.edge()));
    }
    assert_eq!(copies.join_all().await, [true; 50]);
    let now = ropeline.operate("GET", "", None).await.unwrap().json();
    assert_eq!(now["line"]["admitted"], admitted_before, "fifty clients are one admission");
    let jti = claims(app.pass.as_ref().unwrap())["jti"].as_str().unwrap().to_owned();
    let said = ropeline.ctl(&["revoke", ropeline.room, &jti]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(!inside(&app, &ropeline).await, "no copy of it opens anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w027_an_operator_ends_one_stay_and_the_slot_is_free() {
    let origin = Origin::start().await;
    let mut plan = lasting(&origin);
    plan.release = "max_active = 1".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let first = admitted(&ropeline).await;
    let mut second = App::joined(&ropeline).await;
    assert!(second.poll().await.unwrap().json()["pass"].is_null());
    let jti = claims(first.pass.as_ref().unwrap())["jti"].as_str().unwrap().to_owned();
    let reply = ropeline.operate("DELETE", &format!("/passes/{jti}"), None).await.unwrap();
    assert_eq!(reply.status, 204, "{}", reply.text());
    assert!(!inside(&first, &ropeline).await);
    second.until_admitted(PATIENCE).await;
    let mut returner = first.clone();
    let gone = returner.poll().await.unwrap();
    assert_eq!((gone.status, &gone.json()["visitor"]["state"]), (410, &json!("lapsed")), "a clear word");
    assert_eq!(returner.join().await.unwrap().status, 201, "one step to join anew");
    assert!(returner.number > second.number);
}
