//! The document of contract section 3, key by key, and what a poll says to those without a place.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor, join_many};

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> =
        value.as_object().map(|o| o.keys().map(String::as_str).collect()).unwrap_or_default();
    keys.sort_unstable();
    keys
}

const ROOM: [&str; 9] =
    ["draw", "id", "message", "opens_at", "rate_per_second", "remaining", "server_time", "state", "waiting"];
const VISITOR: [&str; 6] = ["ahead", "likely", "number", "position", "state", "wait_seconds"];

fn assert_room(room: &Value) {
    assert_eq!(keys(room), ROOM);
    assert_eq!((&room["id"], &room["state"]), (&json!("sale"), &json!("open")));
    assert!(room["waiting"].is_u64());
    assert_eq!(room["rate_per_second"].as_f64(), Some(0.1), "6/min");
    assert!(room["server_time"].as_str().unwrap().ends_with('Z'));
    for null in ["remaining", "message", "opens_at", "draw"] {
        assert_eq!(room[null], Value::Null, "{null}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_document_is_as_the_contract_says() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("6/min"), &origin).await;
    let mut apps = join_many(&ropeline, 20).await;

    let again = apps[19].join().await.unwrap();
    assert_eq!(again.status, 200, "joining again");
    let last = apps[19].poll().await.unwrap();
    assert_eq!(last.status, 200);
    assert!(last.header("cache-control").contains("no-store"));
    let document = last.json();
    assert_room(&document["room"]);
    let visitor = &document["visitor"];
    assert_eq!(keys(visitor), VISITOR);
    assert_eq!(visitor["state"], "waiting");
    assert_eq!(visitor["number"], apps[19].number);
    let position = visitor["position"].as_u64().unwrap();
    assert!((2..=20).contains(&position));
    assert_eq!(visitor["ahead"], position - 1);
    assert_eq!(visitor["likely"], Value::Null, "stock is not known");
    if !visitor["wait_seconds"].is_null() {
        let (low, high) = (&visitor["wait_seconds"]["low"], &visitor["wait_seconds"]["high"]);
        assert!(low.as_u64().unwrap() <= high.as_u64().unwrap());
    }
    let next = document["next_poll_ms"].as_u64().unwrap();
    assert!((1..=30_000).contains(&next), "{next}");
    assert!(document.get("pass").is_none_or(Value::is_null), "no pass before the turn");

    let public = Ask::get(&ropeline.path("")).send(ropeline.edge()).await.unwrap();
    assert_eq!(keys(&public.json()), ["room"]);
    assert_room(&public.json()["room"]);
    assert!(public.header("cache-control").contains("max-age=1"), "{:?}", public.headers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_poll_is_soon_and_the_pass_comes_with_the_turn() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut app = App::of(&ropeline);
    let joined = app.join().await.unwrap();
    assert_eq!(joined.status, 201);
    assert!(joined.json()["next_poll_ms"].as_u64().unwrap() <= 10_000);
    app.until_admitted(Duration::from_secs(30)).await;
    let admitted = app.poll().await.unwrap().json();
    assert_eq!(admitted["visitor"]["state"], "admitted");
    let (pass, expires) = (&admitted["pass"]["token"], &admitted["pass"]["expires_at"]);
    assert_eq!(pass.as_str(), app.pass.as_deref(), "asking again gives the same admission");
    assert!(expires.as_str().unwrap().ends_with('Z'));

    let claims = crate::support::tokens::claims(pass.as_str().unwrap()).unwrap();
    assert_eq!(
        (&claims["iss"], &claims["aud"], &claims["num"]),
        (&json!("ropeline"), &json!("sale"), &json!(app.number))
    );
    for claim in ["sub", "jti", "adm", "iat", "nbf", "exp"] {
        assert!(!claims[claim].is_null(), "{claim} is missing in {claims}");
    }
    app.visit("/buy").await.unwrap();
    let heard = &origin.journal().of("/buy")[0].request;
    assert_eq!(heard.header("x-ropeline-room"), Some("sale"));
    assert_eq!(heard.header("x-ropeline-visitor"), claims["sub"].as_str());
}

/// A browser's tokens stay in cookies; they are in no body and no address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browsers_tokens_are_in_its_cookies_alone() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut visitor = Visitor::of(&ropeline);
    let joined = visitor.send(Ask::new("POST", &ropeline.path("/tickets")).script_fetch()).await.unwrap();
    assert_eq!(joined.status, 201, "{}", joined.text());
    assert!(joined.json().get("ticket").is_none_or(Value::is_null));
    let ticket = visitor.ticket().unwrap().clone();
    let polled = visitor.poll().await.unwrap();
    assert!(!polled.text().contains(&ticket));
    visitor.enter("/buy", Duration::from_secs(30)).await.unwrap();
    let pass = visitor.pass().unwrap().clone();
    let polled = visitor.poll().await.unwrap();
    assert!(!polled.text().contains(&pass));
    let heard = origin.journal().of("/buy").pop().unwrap().request;
    assert!(
        heard.all("cookie").iter().all(|c| !c.contains("rl_")),
        "our cookies never reach the shop: {heard:?}"
    );
    assert!(heard.all("authorization").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaving_frees_the_place_and_may_be_said_twice() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    let mut app = join_many(&ropeline, 10).await.pop().unwrap();
    for _ in 0..3 {
        let left = app.call("DELETE", "/ticket").await.unwrap();
        assert_eq!(left.status, 204, "{}", left.text());
    }
    let gone = app.poll().await.unwrap();
    assert_eq!(gone.status, 410, "{}", gone.text());
    assert_eq!(gone.json()["visitor"]["state"], "left");
    let nobody = Ask::new("DELETE", &ropeline.path("/ticket")).send(ropeline.edge()).await.unwrap();
    assert!(nobody.status == 204 || nobody.status == 401, "{}", nobody.status);
    let mut anew = App::of(&ropeline);
    anew.join().await.unwrap();
    assert!(anew.number > app.number);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_ticket_a_poll_is_401_and_an_unknown_room_404() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let nothing = Ask::get(&ropeline.path("/position")).program();
    let reply = nothing.clone().send(ropeline.edge()).await.unwrap();
    assert_eq!(reply.status, 401);
    assert_eq!(reply.header("content-type"), "application/problem+json");
    assert!(reply.json()["type"].as_str().unwrap().starts_with("urn:ropeline:problem:"));
    let forged = nothing.with("authorization", "Bearer AAAA.BBBB").send(ropeline.edge()).await.unwrap();
    assert_eq!(forged.status, 401);
    let unknown = Ask::get("/_ropeline/v1/rooms/other/position").send(ropeline.edge()).await.unwrap();
    assert_eq!(unknown.status, 404);
    let beside = Ask::get("/_ropeline/else").send(ropeline.edge()).await.unwrap();
    assert_eq!(beside.status, 404);
    assert!(origin.journal().entries().is_empty(), "nothing under the prefix reaches the shop");
}
