//! Tokens that got to where they must not be, and admissions that got lost on their way to the visitor.

use crate::support::eventually::eventually;
use crate::support::http::{Ask, Reply};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::Visitor;

/// What a script on the shop's page may send: it never sees the cookies, but the browser adds them.
fn script(method: &str, target: &str) -> Ask {
    Ask::new(method, target).script_fetch().with("authorization", "Bearer not-a-ticket")
}

fn assert_shows_no_token(reply: &Reply, cookies: &Visitor) {
    for (name, token) in &cookies.cookies {
        assert!(!reply.text().contains(token.as_str()), "{name} is shown to a script: {}", reply.text());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_script_with_an_invented_bearer_read_the_tokens_of_its_visitor() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    ropeline.pause("").await;
    let mut visitor = Visitor::of(&ropeline);
    visitor.open("/buy").await.unwrap();
    assert!(visitor.ticket().is_some(), "the ticket is a cookie");
    let again = visitor.send(script("POST", &ropeline.path("/tickets"))).await.unwrap();
    assert_eq!(again.status, 200, "{}", again.text());
    assert_shows_no_token(&again, &visitor);
    ropeline.resume().await;
    eventually("the pass comes as a cookie", async || {
        let reply = visitor.send(script("GET", &ropeline.path("/position"))).await.unwrap();
        assert_shows_no_token(&reply, &visitor);
        visitor.pass().cloned()
    })
    .await;
    assert!(!visitor.open("/buy").await.unwrap().is_ours(), "it opens");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_bearer_of_the_shop_was_admitted_anew_with_each_request() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let ask = || Ask::get("/buy/api").program().with("authorization", "Bearer a-session-of-the-shop");
    let mut visitor = Visitor::of(&ropeline);
    for _ in 0..3 {
        assert!(!visitor.send(ask()).await.unwrap().is_ours(), "nobody waits");
        assert!(visitor.ticket().is_some() && visitor.pass().is_some(), "ticket and pass come as cookies");
    }
    let arrivals = origin.journal().arrivals();
    assert!(arrivals.iter().all(|a| a.number == arrivals[0].number), "one admission for all: {arrivals:?}");
    ropeline.pause("").await;
    let mut next = Visitor::of(&ropeline);
    assert_eq!(next.send(ask()).await.unwrap().status, 503);
    let number = next.send(ask()).await.unwrap().json()["visitor"]["number"].clone();
    assert_eq!(next.send(ask()).await.unwrap().json()["visitor"]["number"], number, "one place");
}
