//! Field reports W024 and W025: places and admissions that are passed on, sold, copied or claimed twice.

use std::time::Duration;

use crate::support::eventually::{eventually, within};
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor};

const PATIENCE: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w024_a_link_carries_nobodys_place_and_no_admission_is_in_an_address_a_page_or_the_log() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("2/s"), &origin).await;
    let mut anna = Visitor::of(&ropeline);
    let mut said = String::new();
    ropeline.pause("").await;
    let waiting = anna.open("/buy/seats?row=1").await.unwrap();
    said += &waiting.text();
    let annas = anna.number().await;
    // The address that Anna sees is all that she can pass on by a link.
    let mut clean = Visitor::of(&ropeline);
    said += &clean.open("/buy/seats?row=1").await.unwrap().text();
    assert_ne!(clean.number().await, annas, "a new place, not Anna's");
    ropeline.resume().await;
    let shop = anna.enter("/buy/seats?row=1", PATIENCE).await.unwrap();
    let (ticket, pass) = (anna.ticket().unwrap().clone(), anna.pass().unwrap().clone());
    assert!(shop.header("location").is_empty() && !shop.text().contains(&pass));
    said += &anna.poll().await.unwrap().text();
    assert!(!anna.open("/buy/pay").await.unwrap().is_ours());
    let log = eventually("the last request in the log", async || {
        Some(ropeline.log()).filter(|log| log.contains("/buy/pay"))
    })
    .await;
    for secret in [&ticket, &pass] {
        assert!(!said.contains(secret.as_str()), "in a page or a document of the browser's");
        assert!(!log.contains(secret.as_str()), "in the log");
        for entry in origin.journal().entries() {
            assert!(!entry.request.target.contains(secret.as_str()), "in an address");
            assert!(entry.request.header("referer").is_none_or(|r| !r.contains(secret.as_str())));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w024_fifty_clients_with_one_pass_are_one_admission_and_are_seen() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.server = "trusted_proxies = [\"127.0.0.1\"]".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut anna = App::joined(&ropeline).await;
    anna.until_admitted(PATIENCE).await;
    let pass = anna.pass.clone().unwrap();
    let mut clients = tokio::task::JoinSet::new();
    for i in 0..50 {
        let ask = Ask::get("/buy/seats").navigation().with("cookie", &format!("rl_p_sale={pass}"));
        let ask = ask.with("x-forwarded-for", &format!("192.0.2.{}", i % 10));
        let edge = ropeline.edge();
        clients.spawn(async move { ask.send(edge).await.unwrap() });
    }
    assert!(clients.join_all().await.iter().all(|reply| !reply.is_ours()));
    assert_eq!(origin.journal().arrivals().len(), 1, "one admission, whoever carries it");
    let counted = [
        "ropeline_room_admitted{room=\"sale\"} 1",
        "ropeline_pass_networks_total{room=\"sale\"} 10",
        "ropeline_passes_shared_total{room=\"sale\"} 1",
    ];
    within("ten networks and one shared pass in the metrics", Duration::from_secs(30), async || {
        let reply = Ask::get("/metrics").send(ropeline.admin()).await.map_err(|e| e.to_string())?;
        let text = reply.text();
        let missing: Vec<_> = counted.iter().filter(|line| !text.lines().any(|l| l == **line)).collect();
        let told: Vec<_> = text.lines().filter(|line| line.contains("room=\"sale\"")).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!("{missing:?} not in {} {told:#?}", reply.status))
        }
    })
    .await;
    assert!(ropeline.log().contains("a pass is used from many places"));

    // Sixteen addresses go on; the seventeenth is told, and nobody is sent to the end for it.
    let from = async |address: u8| {
        let ask = Ask::get("/buy/seats").navigation().with("cookie", &format!("rl_p_sale={pass}"));
        ask.with("x-forwarded-for", &format!("198.51.100.{address}")).send(ropeline.edge()).await.unwrap()
    };
    for address in 0..6 {
        assert!(!from(address).await.is_ours(), "{address}");
    }
    let refused = from(6).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert_eq!(refused.json()["type"], "urn:ropeline:problem:pass-shared");
    assert!(!from(5).await.is_ours(), "whoever was there before goes on");
    assert_eq!(origin.journal().arrivals().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w024_what_belongs_to_an_account_opens_nothing_for_another() {
    let origin = Origin::start().await;
    let plan = Plan::before(&origin).rate("2/s").identity("kind = \"cookie\", name = \"session\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut anna = Visitor::of(&ropeline).with_cookie("session", "anna");
    ropeline.pause("").await;
    anna.open("/buy").await.unwrap();
    let annas = anna.number().await;

    // Bert bought Anna's ticket.
    let mut bert = anna.clone().with_cookie("session", "bert");
    let refused = bert.poll().await.unwrap();
    assert_eq!(refused.status, 401, "{}", refused.text());
    assert_eq!(refused.json()["type"], "urn:ropeline:problem:no-ticket");
    bert.open("/buy").await.unwrap();
    assert_eq!(bert.number().await, annas + 1, "his own place, at the end");
    let left = anna.clone().with_cookie("session", "carl");
    let gone = left.clone().send(Ask::new("DELETE", &ropeline.path("/ticket")).script_fetch()).await.unwrap();
    assert_eq!(gone.status, 204);
    assert_eq!(anna.number().await, annas, "nobody else gives her place up");
    ropeline.resume().await;
    anna.enter("/buy", PATIENCE).await.unwrap();
    let seen = origin.journal().of("/buy").len();

    // And her pass, too; with no account at all it opens nothing either.
    let mut thief = anna.clone().with_cookie("session", "dora");
    thief.cookies.remove("rl_t_sale");
    ropeline.pause("").await;
    assert!(thief.open("/buy").await.unwrap().is_ours());
    let mut nobody = anna.clone();
    nobody.cookies.remove("session");
    assert_eq!(nobody.open("/buy").await.unwrap().status, 401);
    let by_header = Ask::get("/buy").program().with("x-ropeline-pass", anna.pass().unwrap());
    assert_eq!(by_header.send(ropeline.edge()).await.unwrap().status, 401);
    assert_eq!(origin.journal().of("/buy").len(), seen);
    assert!(!anna.open("/buy/seats").await.unwrap().is_ours(), "hers it still is");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_is_sent_everywhere_is_not_told_to_the_shop_and_its_own_bearer_is() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut anna = App::joined(&ropeline).await;
    anna.until_admitted(PATIENCE).await;
    let bearer = |token: &str| format!("Bearer {token}");
    for path in ["/buy/seats", "/buy/static/a.css", "/about"] {
        for (sent, told) in [(anna.ticket.as_deref().unwrap(), false), ("the-shop-s.own.token", true)] {
            let ask = Ask::get(path).program().with("x-ropeline-pass", anna.pass.as_ref().unwrap());
            let ask = ask.with("authorization", &bearer(sent));
            assert!(!ask.send(ropeline.edge()).await.unwrap().is_ours(), "{path}");
            let entries = origin.journal().of(path);
            let heard = entries.last().unwrap().request.header("authorization");
            assert_eq!(heard, told.then(|| bearer(sent)).as_deref(), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w025_a_hundred_claims_of_one_turn_are_one_admission() {
    let (redis, origin) = (Redis::start().await, Origin::start().await);
    let plan =
        Plan::before(&origin).rate("50/s").on(&redis).identity("kind = \"cookie\", name = \"session\"");
    let two = Ropeline::start_many(plan, &origin, 2).await;
    two[0].pause("").await;
    let mut people = Vec::new();
    for i in 0..11 {
        let mut visitor = Visitor::of(&two[i % 2]).with_cookie("session", &format!("account-{i}"));
        assert_eq!(visitor.join().await.unwrap().status, 201);
        people.push(visitor);
    }
    let mut claims = tokio::task::JoinSet::new();
    for i in 0..200 {
        // The first one asks a hundred times at once, the ten others ten times each, by tickets and by accounts.
        let mut visitor = people[if i < 100 { 0 } else { 1 + i % 10 }].clone();
        if i % 3 == 0 {
            visitor.cookies.retain(|name, _| name == "session");
        }
        visitor.at = two[i % 2].edge();
        claims.spawn(async move { visitor.enter("/buy", PATIENCE).await.map(|_| visitor) });
    }
    two[0].resume().await;
    for claim in claims.join_all().await {
        let visitor = claim.unwrap();
        assert!(visitor.pass().is_some());
    }
    let arrivals = origin.journal().arrivals();
    assert_eq!(arrivals.len(), 11, "one admission each: {arrivals:?}");
    let mut again = people[0].clone();
    assert!(!again.enter("/buy/again", PATIENCE).await.unwrap().is_ours());
    assert_eq!(origin.journal().arrivals().len(), 11, "claimed later, it is the same one");
    eventually("eleven in the metrics", async || {
        let text = Ask::get("/metrics").send(two[1].admin()).await.ok()?.text();
        text.lines().any(|l| l == "ropeline_room_admitted{room=\"sale\"} 11").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_crowd_door_the_ticket_alone_asks_and_takes_no_place() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min").identity("kind = \"cookie\", name = \"session\"");
    plan.crowd = true;
    let ropeline = Ropeline::start(plan, &origin).await;
    ropeline.pause("").await;
    let ask = Ask::new("POST", &ropeline.path("/tickets")).program().with("cookie", "session=anna");
    let joined = ask.send(ropeline.edge()).await.unwrap();
    let mut app = App::new(ropeline.crowd(), "sale");
    app.ticket = joined.json()["ticket"].as_str().map(str::to_owned);
    let polled = app.poll().await.unwrap();
    assert_eq!((polled.status, app.number), (200, 1), "{}", polled.text());
    app.ticket = None;
    assert_eq!(app.join().await.unwrap().status, 401);
}
