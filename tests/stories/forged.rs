//! Tickets and passes that are forged, foreign or over: as if there were none, and never an error of ours.

use std::time::Duration;

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::tokens;
use crate::support::visitor::{App, Visitor};

/// A pass is tried as an API client would send it and as a browser would.
async fn assert_opens_nothing(ropeline: &Ropeline, name: &str, pass: &str) {
    let fetch = Ask::get("/buy").script_fetch();
    for ask in
        [fetch.clone().with("x-ropeline-pass", pass), fetch.with("cookie", &format!("rl_p_sale={pass}"))]
    {
        let reply = ask.send(ropeline.edge()).await.unwrap();
        assert!(matches!(reply.status, 503 | 400 | 431), "{name}: {} {}", reply.status, reply.text());
        if reply.status == 503 {
            assert_eq!(reply.json()["room"]["state"], "open", "{name}");
            let text = reply.text().to_lowercase();
            assert!(!text.contains("signature") && !text.contains("audience"), "{name} tells why: {text}");
        }
    }
}

async fn admitted(ropeline: &Ropeline) -> String {
    let mut app = App::joined(ropeline).await;
    app.until_admitted(Duration::from_secs(30)).await;
    assert!(!app.visit("/buy").await.unwrap().is_ours(), "the true one opens");
    app.pass.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_pass_opens_nothing() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let pass = admitted(&ropeline).await;
    let jwks = Ask::get("/_ropeline/v1/jwks.json").send(ropeline.edge()).await.unwrap().json();
    let x = jwks["keys"][0]["x"].as_str().unwrap();
    for (name, forged) in tokens::forgeries(&pass, x) {
        assert_opens_nothing(&ropeline, name, &forged).await;
    }
    let both = Ask::get("/buy").script_fetch().with("cookie", &format!("rl_p_sale=junk; rl_p_sale={pass}"));
    assert!(!both.send(ropeline.edge()).await.unwrap().is_ours(), "of duplicates the first valid one counts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_of_another_house_or_room_opens_nothing() {
    let origin = Origin::start().await;
    let second = "[[room]]\nid = \"other\"\npaths = [\"/other/**\"]\n[room.release]\nrate = \"10/s\"";
    let ropeline = Ropeline::start(Plan::before(&origin).more(second), &origin).await;
    let elsewhere = Origin::start().await;
    let neighbour = Ropeline::start(Plan::before(&elsewhere), &elsewhere).await;
    assert_opens_nothing(&ropeline, "another house", &admitted(&neighbour).await).await;

    let mut other = App::new(ropeline.edge(), "other");
    other.join().await.unwrap();
    other.until_admitted(Duration::from_secs(30)).await;
    assert!(!other.visit("/other").await.unwrap().is_ours());
    assert_opens_nothing(&ropeline, "another room", other.pass.as_ref().unwrap()).await;

    let bearer = format!("Bearer {}", other.ticket.unwrap());
    let poll = Ask::get(&ropeline.path("/position")).program().with("authorization", &bearer);
    assert_eq!(poll.send(ropeline.edge()).await.unwrap().status, 401, "a ticket of another room is none");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pass_that_is_over_opens_nothing() {
    let origin = Origin::start().await;
    let times = "[room.pass]\nttl = \"3s\"\nleeway = \"0s\"";
    let ropeline = Ropeline::start(Plan::before(&origin).more(times), &origin).await;
    let pass = admitted(&ropeline).await;
    eventually("the pass is over", async || {
        let ask = Ask::get("/buy").script_fetch().with("x-ropeline-pass", &pass);
        ask.send(ropeline.edge()).await.ok().filter(|r| r.status == 503)
    })
    .await;
    assert_opens_nothing(&ropeline, "over", &pass).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_ticket_is_no_place() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    ropeline.pause("").await;
    let app = App::joined(&ropeline).await;
    let ticket = app.ticket.clone().unwrap();
    let mut changed = ticket.clone().into_bytes();
    let middle = changed.len() / 2;
    changed[middle] = if changed[middle] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    let cut = &ticket[..ticket.len() - 2];
    for (name, forged) in [
        ("changed", changed.as_str()),
        ("cut", cut),
        ("empty", ""),
        ("junk", "x"),
        ("long", &"A".repeat(4000)),
    ] {
        let poll = Ask::get(&ropeline.path("/position")).program();
        let poll = poll.with("authorization", &format!("Bearer {forged}"));
        let status = poll.send(ropeline.edge()).await.unwrap().status;
        assert_eq!(status, 401, "{name}");
        let mut visitor = Visitor::of(&ropeline);
        visitor.cookies.insert("rl_t_sale".into(), forged.into());
        assert_eq!(visitor.open("/buy").await.unwrap().status, 200, "{name}");
        assert!(visitor.number().await > app.number, "{name}: a new place, not the other's");
    }
}
