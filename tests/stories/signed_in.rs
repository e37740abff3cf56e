//! Accounts by signed tokens of the shop (field reports W022 and W023): no other token makes an account, and the
//! shop's keys are asked for seldom, whatever is presented.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::eventually::eventually;
use crate::support::home::Home;
use crate::support::http::{Ask, Reply};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::secure;
use crate::support::tokens::{ShopKey, forgeries, seconds_from_now};
use crate::support::visitor::{App, Visitor};

const BY_TOKEN: &str = "kind = \"jwt\", jwks = \"/keys.json\", issuer = \"shop\", audience = \"line\"";

async fn shop(keys: &[Value]) -> Origin {
    let origin = Origin::start().await;
    origin.publish(keys);
    origin
}

async fn join(ropeline: &Ropeline, token: &str) -> Reply {
    let ask = Ask::new("POST", &ropeline.path("/tickets")).program();
    ask.with("authorization", &format!("Bearer {token}")).send(ropeline.edge()).await.unwrap()
}

fn asked_for_keys(origin: &Origin) -> usize {
    origin.journal().of("/keys.json").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w023_no_forged_token_makes_an_account() {
    let key = ShopKey::new("spring");
    let origin = shop(&[key.public()]).await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").identity(BY_TOKEN), &origin).await;
    ropeline.pause("").await;
    let good = key.token_of("anna");
    for (name, forged) in forgeries(&good, &key.x) {
        let reply = join(&ropeline, &forged).await;
        assert_eq!(reply.status, 401, "{name}: {}", reply.text());
        assert_eq!(reply.json()["type"], "urn:ropeline:problem:identity-required", "{name}");
        assert!(
            !reply.text().contains("signature") && !reply.text().contains("alg"),
            "{name}: says no cause"
        );
    }
    let long = Ask::new("POST", &ropeline.path("/tickets")).program();
    let long = long.with("authorization", &format!("Bearer {}", "A".repeat(65_536)));
    assert_eq!(long.send(ropeline.edge()).await.unwrap().status, 431);
    let first = join(&ropeline, &good).await;
    assert_eq!(first.status, 201, "{}", first.text());
    assert_eq!(first.json()["visitor"]["number"], 1, "no forged one took a number");
    let again = join(&ropeline, &key.token_of("anna")).await;
    assert_eq!((again.status, &again.json()["visitor"]["number"]), (200, &json!(1)));
    assert!(asked_for_keys(&origin) <= 2, "{}", asked_for_keys(&origin));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w022_a_token_for_others_or_without_an_end_makes_no_account() {
    let key = ShopKey::new("spring");
    let origin = shop(&[key.public()]).await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").identity(BY_TOKEN), &origin).await;
    let good = json!({"sub": "anna", "exp": seconds_from_now(600), "iss": "shop", "aud": ["other", "line"]});
    for (name, value) in [
        ("aud", Value::Null),
        ("aud", json!("other")),
        ("aud", json!(["other"])),
        ("iss", Value::Null),
        ("iss", json!("shop.evil")),
        ("exp", Value::Null),
        ("exp", json!(seconds_from_now(0) - 60)),
        ("nbf", json!(seconds_from_now(3600))),
        ("sub", Value::Null),
        ("sub", json!(["anna"])),
    ] {
        let mut claims = good.clone();
        claims[name] = value.clone();
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(join(&ropeline, &key.sign(&claims)).await.status, 401, "{claims}");
    }
    assert_eq!(join(&ropeline, &key.sign(&good)).await.status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_keys_are_no_storm_for_the_shop_and_a_new_key_is_found() {
    let (old, new) = (ShopKey::new("old"), ShopKey::new("new"));
    let origin = shop(&[old.public()]).await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").identity(BY_TOKEN), &origin).await;
    ropeline.pause("").await;
    let mut asking = tokio::task::JoinSet::new();
    for i in 0..300 {
        let token = ShopKey::new(&format!("kid-{i}")).token_of("anna");
        let ask = Ask::get("/buy").program().with("authorization", &format!("Bearer {token}"));
        asking.spawn(ask.send(ropeline.edge()));
        if asking.len() >= 50 {
            assert_eq!(asking.join_next().await.unwrap().unwrap().unwrap().status, 401);
        }
    }
    assert!(asking.join_all().await.iter().all(|reply| reply.as_ref().is_ok_and(|r| r.status == 401)));
    assert!(asked_for_keys(&origin) <= 3, "{} times for 300 unknown keys", asked_for_keys(&origin));
    assert_eq!(join(&ropeline, &old.token_of("anna")).await.status, 201, "and the others were not held up");
    origin.publish(&[old.public(), new.public()]);
    eventually("the new key counts", async || {
        (join(&ropeline, &new.token_of("bert")).await.status == 201).then_some(())
    })
    .await;
    assert!(asked_for_keys(&origin) <= 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_any_keys_nobody_is_guessed_at_and_it_heals() {
    let key = ShopKey::new("spring");
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").identity(BY_TOKEN), &origin).await;
    let away = join(&ropeline, &key.token_of("anna")).await;
    assert_eq!(away.status, 503, "{}", away.text());
    assert_eq!(away.json()["type"], "urn:ropeline:problem:identity-unavailable");
    assert!(away.header("retry-after").parse::<u64>().is_ok());
    assert_eq!(Ask::get("/buy").program().send(ropeline.edge()).await.unwrap().status, 401);
    assert!(!Ask::get("/about").send(ropeline.edge()).await.unwrap().is_ours());
    assert!(ropeline.log().contains("identity.jwks cannot be used"));
    origin.publish(&[key.public()]);
    eventually("it heals", async || {
        (join(&ropeline, &key.token_of("anna")).await.status == 201).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_waits_by_its_ticket_and_goes_in_by_its_account() {
    let key = ShopKey::new("spring");
    let origin = shop(&[key.public()]).await;
    let plan = Plan::before(&origin).identity(&format!("{BY_TOKEN}, name = \"x-shop-token\""));
    let ropeline = Ropeline::start(plan, &origin).await;
    ropeline.pause("").await;
    let token = key.token_of("anna");
    let ask = Ask::new("POST", &ropeline.path("/tickets")).program().with("x-shop-token", &token);
    let joined = ask.send(ropeline.edge()).await.unwrap();
    assert_eq!(joined.status, 201, "{}", joined.text());
    let mut app = App::of(&ropeline);
    app.ticket = joined.json()["ticket"].as_str().map(str::to_owned);
    assert_eq!(app.poll().await.unwrap().status, 200, "the ticket alone asks");
    ropeline.resume().await;
    app.until_admitted(Duration::from_secs(30)).await;
    let enter = |token: Option<&str>| {
        let ask = Ask::get("/buy").program().with("x-ropeline-pass", app.pass.as_ref().unwrap());
        let ask = token.iter().fold(ask, |ask, token| ask.with("x-shop-token", token));
        ask.send(ropeline.edge())
    };
    assert_eq!(enter(None).await.unwrap().status, 401, "the pass alone opens nothing");
    ropeline.pause("").await;
    assert!(enter(Some(&key.token_of("bert"))).await.unwrap().is_ours(), "nor with another account");
    assert!(!enter(Some(&token)).await.unwrap().is_ours());
    assert!(
        !enter(Some(&key.token_of("anna"))).await.unwrap().is_ours(),
        "a renewed token is the same account"
    );
    let browser = Visitor::of(&ropeline).with_cookie("x-shop-token", &token);
    assert!(
        !browser.with_cookie("rl_p_sale", app.pass.as_ref().unwrap()).open("/buy").await.unwrap().is_ours()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_come_by_https_from_whom_the_system_trusts_and_from_nobody_else() {
    let key = ShopKey::new("spring");
    let document = Arc::new(Mutex::new(json!({"keys": [key.public()]}).to_string()));
    let port = secure::serve(document).await;
    let origin = Origin::start().await;
    for (host, trusted, status) in
        [("localhost", true, 201), ("127.0.0.1", true, 201), ("localhost", false, 503)]
    {
        let table = format!("kind = \"jwt\", jwks = \"https://{host}:{port}/keys\", audience = \"line\"");
        let plan = Plan::before(&origin).rate("1/min").identity(&table);
        let mut ropeline = Ropeline::planned(&plan, &Arc::new(Home::new()));
        if trusted {
            ropeline.env = vec![("SSL_CERT_FILE", secure::AUTHORITY.to_owned())];
        }
        ropeline.up().await;
        ropeline.until_state("open").await;
        let joined = join(&ropeline, &key.token_of("anna")).await;
        assert_eq!(joined.status, status, "{host} {trusted}: {} {}", joined.text(), ropeline.log());
    }
}
