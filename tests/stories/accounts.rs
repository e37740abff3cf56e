//! Rooms that know the shop's accounts: one account has one place, on whatever device it comes.

use serde_json::Value;

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::tokens::claims;
use crate::support::visitor::Visitor;

const BY_COOKIE: &str = "kind = \"cookie\", name = \"session\", login_url = \"/login?next={return}\"";

fn of(ropeline: &Ropeline, account: &str) -> Visitor {
    Visitor::of(ropeline).with_cookie("session", account)
}

/// The document's number.
fn number(document: &Value) -> u64 {
    document["visitor"]["number"].as_u64().unwrap_or_else(|| panic!("no number: {document}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_account_has_one_place_on_all_its_devices_and_instances() {
    let (redis, origin) = (Redis::start().await, Origin::start().await);
    let plan = || Plan::before(&origin).rate("1/min").identity(BY_COOKIE);
    let embedded = Ropeline::start(plan(), &origin).await;
    let shared = Ropeline::start_many(plan().on(&redis), &origin, 2).await;
    for (one, other) in [(&embedded, &embedded), (&shared[0], &shared[1])] {
        one.pause("").await;
        let (mut phone, mut desk) = (of(one, "anna"), of(other, "anna"));
        let first = phone.join().await.unwrap();
        assert_eq!(first.status, 201, "{}", first.text());
        let again = desk.join().await.unwrap();
        assert_eq!(again.status, 200, "{}", again.text());
        assert_eq!(number(&again.json()), number(&first.json()), "one place");
        assert_ne!(phone.ticket().unwrap(), desk.ticket().unwrap(), "each device has its own ticket");
        assert!(again.json().get("ticket").is_none_or(Value::is_null), "not for scripts of a page");
        // A third device only opens the page.
        let mut laptop = of(other, "anna");
        assert_eq!(laptop.open("/buy").await.unwrap().status, 200);
        assert_eq!(laptop.number().await, number(&first.json()));
        let mut bert = of(other, "bert");
        let next = bert.join().await.unwrap();
        assert_eq!((next.status, number(&next.json())), (201, number(&first.json()) + 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_goes_in_once_and_with_any_of_its_devices() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).identity(BY_COOKIE), &origin).await;
    for device in 0..3 {
        let mut anna = of(&ropeline, "anna");
        assert!(!anna.open("/buy").await.unwrap().is_ours(), "device {device}");
        assert!(!anna.open("/buy/seats").await.unwrap().is_ours());
    }
    assert_eq!(origin.journal().arrivals().len(), 1, "one admission");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_shows_no_account_is_told_where_to_log_in() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).identity(BY_COOKIE), &origin).await;
    let mut stranger = Visitor::of(&ropeline);
    let page = stranger.open("/buy/seats?row=1&x=%22").await.unwrap();
    assert_eq!((page.status, page.is_ours()), (401, true));
    assert!(page.header("content-type").starts_with("text/html") && page.header("location").is_empty());
    let link = "href=\"/login?next=/buy/seats%3Frow%3D1%26x%3D%2522\"";
    assert!(page.text().contains(link), "{}", page.text());
    assert!(page.cookies().is_empty(), "no place");
    for ask in [
        Ask::new("POST", &ropeline.path("/tickets")).program(),
        Ask::get("/buy").program(),
        Ask::get("/buy").script_fetch(),
        Ask::new("POST", "/buy").program().body("x"),
        Ask::new("HEAD", "/buy"),
    ] {
        let told = format!("{ask:?}");
        let reply = ask.send(ropeline.edge()).await.unwrap();
        assert_eq!(reply.status, 401, "{told}");
        assert!(reply.header("cache-control").contains("no-store"), "{told}");
        if !reply.body.is_empty() {
            assert_eq!(reply.json()["type"], "urn:ropeline:problem:identity-required", "{told}");
            assert!(reply.json()["login_url"].as_str().unwrap().starts_with("/login?next=/"), "{told}");
        }
    }
    assert!(origin.journal().of("/buy").is_empty());
    let open = Ask::get("/buy/static/a.css").send(ropeline.edge()).await.unwrap();
    assert!(!open.is_ours(), "open paths ask nobody");
    let mut two = of(&ropeline, "anna");
    two.cookies.insert("session ".into(), "bert".into());
    assert_eq!(two.open("/buy").await.unwrap().status, 401, "two accounts at once are none");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn browsers_without_an_account_may_have_places_too_and_keep_them_when_they_log_in() {
    let origin = Origin::start().await;
    let plan = Plan::before(&origin)
        .rate("1/min")
        .identity("kind = \"cookie\", name = \"session\", missing = \"browser\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    ropeline.pause("").await;
    let mut browser = Visitor::of(&ropeline);
    assert_eq!(browser.open("/buy").await.unwrap().status, 200);
    let first = browser.number().await;
    browser.cookies.insert("session".into(), "anna".into());
    browser.open("/buy").await.unwrap();
    assert_eq!(browser.number().await, first, "logged in, and still there");
    browser.cookies.remove("session");
    browser.open("/buy").await.unwrap();
    assert_eq!(browser.number().await, first, "logged out, and still there");

    let mut phone = of(&ropeline, "bert");
    assert_eq!(phone.join().await.unwrap().status, 201);
    let berts = phone.number().await;
    phone.cookies.remove("session");
    assert_eq!(phone.number().await, berts, "a poll takes the ticket for an answer");
    phone.open("/buy").await.unwrap();
    let as_browser = phone.number().await;
    assert!(as_browser > berts, "the place is the account's, so this is another one");
    let mut desk = of(&ropeline, "bert");
    assert_eq!(desk.join().await.unwrap().status, 200);
    assert_eq!(desk.number().await, berts, "and the account still has it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_in_a_header_counts_from_a_trusted_proxy_alone() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min").identity("kind = \"header\", name = \"x-account\"");
    plan.server = "trusted_proxies = [\"127.0.0.2\"]".into();
    let strangers = Ropeline::start(plan.clone(), &origin).await;
    plan.server = "trusted_proxies = [\"127.0.0.1\"]".into();
    let proxied = Ropeline::start(plan, &origin).await;
    let join = |ropeline: &Ropeline, account: &str| {
        let ask = Ask::new("POST", &ropeline.path("/tickets")).program().with("x-account", account);
        ask.send(ropeline.edge())
    };
    assert_eq!(join(&strangers, "anna").await.unwrap().status, 401, "anybody can write a header");
    let first = join(&proxied, "anna").await.unwrap();
    assert_eq!(first.status, 201, "{}", first.text());
    let again = join(&proxied, "anna").await.unwrap();
    assert_eq!((again.status, number(&again.json())), (200, number(&first.json())));
    assert_eq!(join(&proxied, "bert").await.unwrap().status, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewed_pass_stays_its_accounts_and_who_left_the_shop_joins_anew() {
    let origin = Origin::start().await;
    let plan = Plan::before(&origin)
        .identity(BY_COOKIE)
        .more("[room.pass]\nfirst_use = \"3s\"\nidle = \"3s\"\nttl = \"10m\"\nleeway = \"0s\"");
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut anna = of(&ropeline, "anna");
    assert!(!anna.open("/buy").await.unwrap().is_ours());
    let first = anna.pass().unwrap().clone();
    eventually("use renews the pass", async || {
        assert!(!anna.open("/buy/seats").await.unwrap().is_ours());
        (anna.pass() != Some(&first)).then_some(())
    })
    .await;
    let number = claims(&first).unwrap()["num"].clone();
    let renewed = claims(anna.pass().unwrap()).unwrap();
    assert_eq!((&renewed["num"], &renewed["idn"]), (&number, &claims(&first).unwrap()["idn"]));
    assert!(renewed["idn"].is_string());
    let seen = origin.journal().of("/buy/seats").len();
    let by = |account: &str| {
        let cookies = format!("session={account}; rl_p_sale={}", anna.pass().unwrap());
        Ask::get("/buy/seats").script_fetch().with("cookie", &cookies).send(ropeline.edge())
    };
    assert_eq!(by("bert").await.unwrap().status, 503, "renewed for Anna alone");
    assert_eq!(origin.journal().of("/buy/seats").len(), seen);
    assert!(!by("anna").await.unwrap().is_ours());

    let left = anna.send(Ask::new("DELETE", &ropeline.path("/pass")).script_fetch()).await.unwrap();
    assert_eq!(left.status, 204, "{}", left.text());
    let mut phone = of(&ropeline, "anna");
    let joined = phone.join().await.unwrap();
    assert_eq!(joined.status, 201, "the stay is over, so this is a new place: {}", joined.text());
    assert!(phone.number().await > number.as_u64().unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_finds_its_place_after_every_crash_and_not_after_a_flush() {
    let (mut redis, origin) = (Redis::start().await, Origin::start().await);
    let plan = || Plan::before(&origin).rate("1/min").identity(BY_COOKIE);
    let mut instances =
        [Ropeline::start(plan(), &origin).await, Ropeline::start(plan().on(&redis), &origin).await];
    for ropeline in &instances {
        ropeline.pause("").await;
        for (account, place) in [("anna", 1), ("bert", 2)] {
            assert_eq!(number(&of(ropeline, account).join().await.unwrap().json()), place);
        }
    }
    redis.kill_hard();
    redis.up().await;
    for ropeline in &mut instances {
        ropeline.kill_hard();
        ropeline.up().await;
        ropeline.until_state("paused").await;
        // A Redis that was started anew takes no places for some seconds.
        let again = eventually("places are told again", async || {
            Some(of(ropeline, "anna").join().await.unwrap()).filter(|reply| reply.status != 503)
        })
        .await;
        assert_eq!((again.status, number(&again.json())), (200, 1), "{}", again.text());
        let third = number(&of(ropeline, "carl").join().await.unwrap().json());
        assert!(third > 2, "{third}");
        let flushed = ropeline.operate("POST", "/flush", None).await.unwrap();
        assert!(flushed.status < 300, "{} {}", flushed.status, flushed.text());
        let anew = of(ropeline, "anna").join().await.unwrap();
        assert_eq!((anew.status, number(&anew.json())), (201, third + 1), "numbers go on: {}", anew.text());
    }
}
