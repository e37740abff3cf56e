//! What goes on to the shop and back: bytes as they came, headers of our own that nobody can forge, upgrades, failures.

use std::time::Duration;

use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::raw;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, Visitor};
use crate::support::websocket;

async fn admitted(ropeline: &Ropeline) -> App {
    let mut app = App::joined(ropeline).await;
    app.until_admitted(Duration::from_secs(30)).await;
    app
}

fn with_pass(ask: Ask, app: &App) -> Ask {
    ask.with("x-ropeline-pass", app.pass.as_ref().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_stream_both_ways_and_targets_stay_byte_for_byte() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let app = admitted(&ropeline).await;
    let sent: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
    let echoed = with_pass(Ask::new("POST", "/buy/echo").body(sent.clone()), &app);
    assert_eq!(echoed.send(ropeline.edge()).await.unwrap().body, sent);
    let big = app.visit("/buy/big").await.unwrap();
    assert_eq!(big.body.len(), 4 << 20);
    for target in ["/open/a%2Fb?x=%20", "/open?a=1;b=2", "/open?u=http://x/../y", "/open/%E7%A5%A8?q=a+b"] {
        assert_eq!(raw::get(ropeline.edge(), target, "").await.status(), 200, "{target}");
        assert_eq!(origin.journal().of(target).len(), 1, "{target} byte for byte");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_to_the_shop_are_used_again() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    for _ in 0..20 {
        assert_eq!(Ask::get("/open").send(ropeline.edge()).await.unwrap().status, 200);
    }
    let mut connections: Vec<u64> = origin.journal().of("/open").iter().map(|e| e.connection).collect();
    assert_eq!(connections.len(), 20);
    connections.dedup();
    assert!(connections.len() < 20, "a connection for every request: {connections:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_header_of_ours_never_reaches_the_shop() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let app = admitted(&ropeline).await;
    let forged = "X-RopeLine-Room: evil\r\nx-ropeline-visitor: evil\r\nX-ROPELINE-VISITOR: evil2\r\n\
                  x-ropeline-secret: evil\r\nx_ropeline_room: evil\r\nX-Ropeline-Anything: evil\r\n";
    assert_eq!(
        raw::get(ropeline.edge(), "/open/forged", &format!("{forged}x-ropeline-pass: evil\r\n"))
            .await
            .status(),
        200
    );
    let pass =
        format!("{forged}x-ropeline-pass: {}\r\nConnection: x-ropeline-room\r\n", app.pass.as_ref().unwrap());
    raw::get(ropeline.edge(), "/buy/forged", &pass).await;
    for entry in [origin.journal().of("/open/forged"), origin.journal().of("/buy/forged")].concat() {
        let told = format!("{entry:?}");
        assert!(!told.contains("evil"), "{told}");
        for name in ["x-ropeline-room", "x-ropeline-visitor", "x-ropeline-pass"] {
            let wanted = usize::from(entry.request.target.starts_with("/buy"));
            assert_eq!(entry.request.all(name).len(), wanted, "{name}: {told}");
        }
    }
    assert_eq!(origin.journal().of("/buy/forged").len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shop_learns_the_true_client() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let lies = [
        ("x-forwarded-for", "6.6.6.6"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil.example"),
    ];
    Ask::get("/open/one").with_all(&lies).send(ropeline.edge()).await.unwrap();
    let heard = origin.journal().of("/open/one").pop().unwrap().request;
    assert_eq!(heard.all("x-forwarded-for"), ["127.0.0.1"], "nobody's word is believed");
    assert_eq!(heard.all("x-forwarded-proto"), ["http"]);
    assert_eq!(heard.all("x-forwarded-host"), [ropeline.edge().to_string()]);

    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.server = "trusted_proxies = [\"127.0.0.0/8\"]".into();
    let behind = Ropeline::start(plan, &origin).await;
    let told = [("x-forwarded-for", "6.6.6.6, 7.7.7.7"), ("x-forwarded-proto", "https")];
    let page = Ask::get("/buy").navigation().with_all(&told).send(behind.edge()).await.unwrap();
    let cookies = page.cookies();
    assert!(
        cookies.iter().all(|(n, _, a)| n.starts_with("__Host-rl_") && a.contains("Secure")),
        "{cookies:?}"
    );
    Ask::get("/open/two").with_all(&told).send(behind.edge()).await.unwrap();
    let heard = origin.journal().of("/open/two").pop().unwrap().request;
    assert_eq!(heard.all("x-forwarded-proto"), ["https"]);
    let line = heard.all("x-forwarded-for").join(", ");
    assert!(line.ends_with("7.7.7.7, 127.0.0.1") || line.ends_with("7.7.7.7"), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_websocket_is_gated_before_and_echoes_after() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    for more in ["", "x-ropeline-pass: a.b.c\r\n", "Cookie: rl_p_sale=a.b.c\r\n"] {
        let refused = websocket::open(ropeline.edge(), "/buy/ws", more).await;
        assert!(refused.is_err(), "no upgrade without a pass ({more})");
    }
    assert!(origin.journal().of("/buy/ws").is_empty());
    let app = admitted(&ropeline).await;
    let pass = format!("x-ropeline-pass: {}\r\n", app.pass.as_ref().unwrap());
    let mut socket =
        websocket::open(ropeline.edge(), "/buy/ws", &pass).await.unwrap_or_else(|s| panic!("{s}"));
    for text in ["one", "two", "three"] {
        assert_eq!(socket.echo(text).await.unwrap(), text);
    }
    let mut open = websocket::open(ropeline.edge(), "/open/ws", "").await.unwrap_or_else(|s| panic!("{s}"));
    assert_eq!(open.echo("open").await.unwrap(), "open");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_is_away_costs_nobody_a_place_or_a_pass() {
    let mut origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut inside = Visitor::of(&ropeline);
    inside.enter("/buy", Duration::from_secs(30)).await.unwrap();
    let pass = inside.pass().cloned();

    origin.down().await;
    for _ in 0..5 {
        let reply = inside.open("/buy").await.unwrap();
        assert_eq!(reply.status, 502, "{}", reply.text());
        assert_eq!(reply.header("content-type"), "application/problem+json");
        assert!(reply.json()["type"].as_str().unwrap().starts_with("urn:ropeline:problem:"));
    }
    assert_eq!(inside.pass().is_some(), pass.is_some(), "the pass is not taken away");
    let mut waiting = App::joined(&ropeline).await;
    assert!(waiting.poll().await.unwrap().status == 200, "the line goes on");

    origin.up().await;
    assert!(!inside.open("/buy").await.unwrap().is_ours());
    assert_eq!(inside.open("/buy").await.unwrap().status, 200);
}
