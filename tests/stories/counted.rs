//! What the doors did can be read afterwards, in the metrics and in the log; and no token can.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::raw;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::App;

async fn metrics_hold(ropeline: &Ropeline, lines: &[&str]) {
    for line in lines {
        eventually(&format!("{line} in the metrics"), async || {
            let text = Ask::get("/metrics").send(ropeline.admin()).await.ok()?.text();
            text.lines().any(|l| l.starts_with(line)).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_doors_did_is_counted() {
    let mut origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.crowd = true;
    plan.server = "[server.limits]\nheader_timeout = \"1s\"\nconnections_per_address = 30\n".into();
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut first = App::joined(&ropeline).await;
    first.until_admitted(Duration::from_secs(30)).await;
    assert_eq!(first.visit("/buy").await.unwrap().status, 200);
    ropeline.pause("").await;
    App::joined(&ropeline).await;
    assert!(Ask::get("/buy").navigation().send(ropeline.edge()).await.unwrap().is_ours());
    assert_eq!(Ask::get("/buy").script_fetch().send(ropeline.edge()).await.unwrap().status, 503);
    assert_eq!(Ask::get("/open").send(ropeline.edge()).await.unwrap().status, 200);
    Ask::get(&ropeline.path("")).send(ropeline.crowd()).await.unwrap();
    assert_eq!(raw::get(ropeline.edge(), "/open/../buy", "").await.status(), 400);
    for bytes in [&b"GET /open HTTP/1.1\nHost: a\n\n"[..], b"GET /open HT"] {
        let mut stream = TcpStream::connect(ropeline.edge()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
    }
    origin.down().await;
    assert_eq!(Ask::get("/open").send(ropeline.edge()).await.unwrap().status, 502);
    let mut many = Vec::new();
    for _ in 0..40 {
        many.push(TcpStream::connect(ropeline.edge()).await.unwrap());
    }
    metrics_hold(
        &ropeline,
        &[
            "ropeline_requests_total{outcome=\"forwarded\",room=\"sale\"} 1",
            "ropeline_requests_total{outcome=\"forwarded\",room=\"\"} 1",
            "ropeline_requests_total{outcome=\"waiting_page\",room=\"sale\"} 1",
            "ropeline_requests_total{outcome=\"waiting_document\",room=\"sale\"} 1",
            "ropeline_requests_total{outcome=\"endpoint\",room=\"sale\"} ",
            "ropeline_requests_total{outcome=\"refused\",room=\"\"} 1",
            "ropeline_requests_total{outcome=\"error\",room=\"\"} 1",
            "ropeline_origin_requests_total{outcome=\"answered\"} ",
            "ropeline_origin_requests_total{outcome=\"unreachable\"} 1",
            "ropeline_origin_response_duration_seconds_count{outcome=\"answered\"} ",
            "ropeline_connections_refused_total{cause=\"malformed\",door=\"edge\"} 1",
            "ropeline_connections_refused_total{cause=\"slow\",door=\"edge\"} 1",
            "ropeline_connections_refused_total{cause=\"client_full\",door=\"edge\"} ",
            "ropeline_connections_opened_total{door=\"crowd\"} ",
            "ropeline_connections{door=\"crowd\"} 0",
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_says_what_became_of_a_request_and_holds_no_token() {
    let mut origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let mut app = App::joined(&ropeline).await;
    app.until_admitted(Duration::from_secs(30)).await;
    let pass = app.pass.clone().unwrap();
    assert_eq!(app.visit("/buy/seat?pass=in-the-query").await.unwrap().status, 200);
    let lines = format!("x-ropeline-pass: {pass}\r\nCookie: rl_p_sale={pass}\r\n");
    raw::get(ropeline.edge(), &format!("/open?x={pass}"), &lines).await;
    raw::get(ropeline.edge(), &format!("/open/../{pass}"), &lines).await;
    origin.down().await;
    raw::get(ropeline.edge(), "/buy/away", &lines).await;
    let log = eventually("the last request in the log", async || {
        let log = ropeline.log();
        log.contains("/buy/away").then_some(log)
    })
    .await;
    let seat = log.lines().find(|l| l.contains("/buy/seat")).unwrap();
    for part in ["method=\"GET\"", "outcome=\"forwarded\"", "status=200", "room=\"sale\""] {
        assert!(seat.contains(part), "{part}: {seat}");
    }
    for word in [pass.as_str(), "in-the-query", "rl_p_"] {
        assert!(!log.contains(word), "{word} is in the log:\n{log}");
    }
}
