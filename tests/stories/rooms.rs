//! Several rooms in one place: independent lines, cookies and passes (field report W028).

use std::sync::Arc;
use std::time::Duration;

use crate::support::home::Home;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor};

const PATIENCE: Duration = Duration::from_secs(40);

fn room(id: &str, lines: &str) -> String {
    format!("[[room]]\nid = \"{id}\"\n{lines}\n[room.release]\nrate = \"1/min\"\n")
}

/// The state of a room as anybody sees it.
async fn state(ropeline: &Ropeline, room: &str, host: Option<&str>) -> serde_json::Value {
    let ask = Ask::get(&crate::support::ropeline::room_path(room, "")).program();
    let ask = host.iter().fold(ask, |ask, host| ask.with("host", host));
    ask.send(ropeline.edge()).await.unwrap().json()["room"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w028_two_events_on_one_host_and_one_on_a_sibling_host_do_not_mix() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.server = "hosts = [\"127.0.0.1\"]".into();
    plan.hosts = vec!["shop.example", "127.0.0.1"];
    let second = room("sale-2", "hosts = [\"shop.example\"]\npaths = [\"/second/**\"]");
    let sibling = room("sale-3", "hosts = [\"m.shop.example\"]\npaths = [\"/buy/**\"]");
    let plan = plan.more(&second).more(&sibling);
    let ropeline = Ropeline::start(plan, &origin).await;
    let on = |path: &str, host: &str| Ask::get(path).navigation().with("host", host);
    // Somebody is inside each room already, so that all who come now wait.
    for (path, host) in [("/buy", "shop.example"), ("/second", "shop.example"), ("/buy", "m.shop.example")] {
        assert!(!Visitor::of(&ropeline).send(on(path, host)).await.unwrap().is_ours(), "{host}{path}");
        for _ in 0..2 {
            assert!(Visitor::of(&ropeline).send(on(path, host)).await.unwrap().is_ours());
        }
    }
    // One browser: its jar for each host. At the sibling one more came before.
    assert!(Visitor::of(&ropeline).send(on("/buy", "m.shop.example")).await.unwrap().is_ours());
    let (mut jar, mut sibling_jar) = (Visitor::of(&ropeline), Visitor::of(&ropeline));
    assert!(jar.send(on("/buy", "shop.example")).await.unwrap().is_ours());
    assert!(jar.send(on("/second", "shop.example")).await.unwrap().is_ours());
    assert!(sibling_jar.send(on("/buy", "m.shop.example")).await.unwrap().is_ours());
    for (room, host, number) in [
        ("sale", "shop.example", 4),
        ("sale-2", "shop.example", 4),
        ("sale-3", "m.shop.example", 5),
        ("sale", "shop.example", 4),
    ] {
        let visitor = if host == "shop.example" { &mut jar } else { &mut sibling_jar };
        let path = crate::support::ropeline::room_path(room, "/position");
        let reply = visitor.send(Ask::get(&path).script_fetch().with("host", host)).await.unwrap();
        let document = reply.json();
        assert_eq!((reply.status, document["visitor"]["number"].as_u64()), (200, Some(number)), "{document}");
        assert_eq!(document["room"]["id"], room);
    }
    assert_eq!(jar.cookies.len(), 2, "a ticket each: {:?}", jar.cookies.keys());
    let elsewhere = Ask::get(&crate::support::ropeline::room_path("sale-3", "/position"));
    let elsewhere = jar.send(elsewhere.script_fetch().with("host", "shop.example")).await.unwrap();
    assert_eq!(elsewhere.status, 404, "a room is on its own hosts alone");

    // One goes in; that opens nothing else.
    let rate = Some(serde_json::json!({"rate": "50/s"}));
    assert!(ropeline.operate("PATCH", "", rate).await.unwrap().status < 300);
    ropeline.pause("").await;
    assert_eq!(state(&ropeline, "sale", None).await["state"], "paused");
    assert_eq!(state(&ropeline, "sale-2", Some("shop.example")).await["state"], "open");
    assert_eq!(state(&ropeline, "sale-3", Some("m.shop.example")).await["state"], "open");
    ropeline.resume().await;
    let end = tokio::time::Instant::now() + PATIENCE;
    while jar.send(on("/buy", "shop.example")).await.unwrap().is_ours() {
        assert!(tokio::time::Instant::now() < end, "never in");
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(jar.send(on("/second", "shop.example")).await.unwrap().is_ours(), "another event");
    let pass = jar.pass().unwrap().clone();
    for name in ["rl_p_sale", "rl_p_sale-3", "rl_p_sale-2"] {
        let mut copied = Visitor::of(&ropeline).with_cookie(name, &pass);
        assert!(copied.send(on("/buy", "m.shop.example")).await.unwrap().is_ours(), "{name}");
        let mut copied = Visitor::of(&ropeline).with_cookie(name, &pass);
        assert!(copied.send(on("/second", "shop.example")).await.unwrap().is_ours(), "{name}");
    }
    let seen: Vec<_> = origin.journal().of("/second").iter().map(|e| e.request.target.clone()).collect();
    assert_eq!(seen.len(), 1, "only the first of all");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_site_wide_room_around_a_stricter_one() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("50/s");
    plan.room = "site";
    plan.paths = vec!["/**"];
    plan.open_paths = vec!["/about/**", "/events/42/buy/terms"];
    let inner =
        room("event-42", "paths = [\"/events/42/buy/**\"]\nopen_paths = [\"/events/42/buy/static/**\"]");
    let mut ropeline = Ropeline::planned(&plan.more(&inner), &Arc::new(Home::new()));
    ropeline.up().await;
    ropeline.until_state("open").await;
    let journal = origin.journal();
    ropeline.watch_paths(&["/**"], &["/about", "/events/42/buy"], journal).await;
    ropeline.room = "event-42";
    ropeline
        .watch_paths(&["/events/42/buy"], &["/events/42/buy/terms", "/events/42/buy/static"], journal)
        .await;
    let mut first = Visitor::of(&ropeline);
    assert!(!first.open("/").await.unwrap().is_ours());
    assert!(!first.open("/events/42").await.unwrap().is_ours(), "one pass for the site");
    assert!(!first.open("/events/42/buy").await.unwrap().is_ours());
    assert_eq!(first.cookies.len(), 4, "ticket and pass of both: {:?}", first.cookies.keys());

    let mut second = Visitor::of(&ropeline);
    assert!(!second.open("/events/42").await.unwrap().is_ours());
    let waiting = second.open("/events/42/buy/seats").await.unwrap();
    assert!(waiting.is_ours(), "the pass of the site does not open the event");
    assert!(second.cookies.contains_key("rl_t_event-42") && !second.cookies.contains_key("rl_p_event-42"));
    let inside = first.cookies["rl_p_event-42"].clone();
    let mut only_inner = Visitor::of(&ropeline).with_cookie("rl_p_event-42", &inside);
    let seats = only_inner.open("/events/42/buy/seats").await.unwrap();
    assert!(!seats.is_ours(), "and on its paths the event's pass is enough: each path has one room");
    for open in ["/about/us", "/events/42/buy/terms", "/events/42/buy/static/a.css"] {
        let reply = Ask::get(open).send(ropeline.edge()).await.unwrap();
        assert!(!reply.is_ours() && reply.status == 200, "{open}: {}", reply.status);
    }
    assert_eq!(
        Ask::get("/x").send(ropeline.edge()).await.unwrap().status,
        503,
        "and the rest of the site waits"
    );
    let told: Vec<_> = origin.journal().of("/events/42/buy/seats");
    assert!(told.iter().all(|e| e.request.header("x-ropeline-room") == Some("event-42")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_rooms_share_a_store_and_nothing_else() {
    let (redis, origin) = (Redis::start().await, Origin::start().await);
    let plan = || {
        let ids = (1..20).map(|i| room(&format!("sale-{i}"), &format!("paths = [\"/e{i}/**\"]")));
        ids.fold(Plan::before(&origin).rate("1/min"), |plan, table| plan.more(&table))
    };
    let instances =
        [Ropeline::start(plan(), &origin).await, Ropeline::start(plan().on(&redis), &origin).await];
    for ropeline in &instances {
        ropeline.pause("").await;
        for i in 1..20 {
            let mut apps = Vec::new();
            for _ in 0..i {
                let mut app = App::new(ropeline.edge(), &format!("sale-{i}"));
                assert_eq!(app.join().await.unwrap().status, 201);
                apps.push(app);
            }
            assert_eq!(apps.last().unwrap().number, i, "numbers of a room are its own");
        }
        assert_eq!(App::joined(ropeline).await.number, 1);
        for i in 1..20 {
            let told = state(ropeline, &format!("sale-{i}"), None).await;
            assert_eq!(told["state"], "open", "pausing one leaves the others: {told}");
        }
        assert_eq!(state(ropeline, "sale", None).await["state"], "paused");
    }
}
