//! The second door: for those who wait, and for nothing else.

use serde_json::Value;

use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::App;

const SHOP: &str = "https://shop.example";

async fn with_crowd(origin: &Origin) -> Ropeline {
    let mut plan = Plan::before(origin).rate("1/min");
    plan.crowd = true;
    plan.server = format!("cors_origins = [\"{SHOP}\"]");
    Ropeline::start(plan, origin).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_crowd_door_serves_the_prefix_and_never_forwards() {
    let origin = Origin::start().await;
    let ropeline = with_crowd(&origin).await;
    for path in ["/", "/open", "/buy", "/buy/static/a.css", "/_ropelinex", "//_ropeline/../open"] {
        let reply = Ask::get(path).send(ropeline.crowd()).await.unwrap();
        assert!(matches!(reply.status, 400 | 404 | 421), "{path}: {}", reply.status);
    }
    assert_eq!(Ask::get(&ropeline.path("")).send(ropeline.crowd()).await.unwrap().status, 200);
    assert_eq!(Ask::get("/_ropeline/v1/jwks.json").send(ropeline.crowd()).await.unwrap().status, 200);
    assert!(origin.journal().entries().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_the_shop_polls_the_crowd_door_with_its_ticket() {
    let origin = Origin::start().await;
    let ropeline = with_crowd(&origin).await;
    ropeline.pause("").await;
    let app = App::joined(&ropeline).await;
    let path = ropeline.path("/position");
    let preflight = Ask::new("OPTIONS", &path).with_all(&[
        ("origin", SHOP),
        ("access-control-request-method", "GET"),
        ("access-control-request-headers", "authorization"),
    ]);
    let allowed = preflight.send(ropeline.crowd()).await.unwrap();
    assert!(allowed.status < 300, "{}", allowed.status);
    assert_eq!(allowed.header("access-control-allow-origin"), SHOP);
    assert!(allowed.header("access-control-allow-headers").to_lowercase().contains("authorization"));

    let bearer = format!("Bearer {}", app.ticket.as_ref().unwrap());
    let poll = |from: &str| Ask::get(&path).with("origin", from).with("authorization", &bearer).program();
    let polled = poll(SHOP).send(ropeline.crowd()).await.unwrap();
    assert_eq!(polled.status, 200, "{}", polled.text());
    assert_eq!(polled.json()["visitor"]["number"], app.number);
    assert_eq!(polled.header("access-control-allow-origin"), SHOP);
    assert!(polled.header("vary").to_lowercase().contains("origin"));
    let stranger = poll("https://evil.example").send(ropeline.crowd()).await.unwrap();
    assert!(stranger.header("access-control-allow-origin").is_empty(), "exact, never reflected");
}

/// A turn is announced there; the pass is handed out at the shop's own address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_announced_but_the_pass_is_not_handed_out() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.crowd = true;
    let ropeline = Ropeline::start(plan, &origin).await;
    ropeline.pause("").await;
    let app = App::joined(&ropeline).await;
    ropeline.resume().await;
    let bearer = format!("Bearer {}", app.ticket.as_ref().unwrap());
    let document = crate::support::eventually::eventually("the turn is announced", async || {
        let poll = Ask::get(&ropeline.path("/position")).with("authorization", &bearer).program();
        let document = poll.send(ropeline.crowd()).await.ok()?.json();
        (document["visitor"]["state"] == "admitted").then_some(document)
    })
    .await;
    assert!(document["pass"].get("token").is_none_or(Value::is_null), "{document}");
    let mut at_the_edge = app.clone();
    at_the_edge.until_admitted(std::time::Duration::from_secs(30)).await;
    assert!(!at_the_edge.visit("/buy").await.unwrap().is_ours());
}
