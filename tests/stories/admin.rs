//! The operator's side: the API's roles, and the same verbs from the command line.

use serde_json::{Value, json};

use crate::support::eventually::eventually;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::process;
use crate::support::ropeline::Ropeline;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_is_needed_and_a_viewer_only_reads() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let path = "/v1/rooms/sale";
    let ask = |method: &str, rest: &str, token: &str| {
        Ask::new(method, &format!("{path}{rest}")).with("authorization", &format!("Bearer {token}"))
    };
    assert_eq!(Ask::get(path).send(ropeline.admin()).await.unwrap().status, 401);
    assert_eq!(ask("GET", "", "wrong").send(ropeline.admin()).await.unwrap().status, 401);
    let viewer = &ropeline.home.viewer;
    assert_eq!(ask("GET", "", viewer).send(ropeline.admin()).await.unwrap().status, 200);
    let paused =
        ask("POST", "/pause", viewer).json(&json!({"reason": "x"})).send(ropeline.admin()).await.unwrap();
    assert_eq!(paused.status, 403);
    assert_eq!(ropeline.room_now().await.unwrap()["state"], "open");
    assert_eq!(ask("GET", "", &ropeline.home.operator).send(ropeline.admin()).await.unwrap().status, 200);
    let absent = Ask::get("/v1/rooms/none").with("authorization", &format!("Bearer {viewer}"));
    assert_eq!(absent.send(ropeline.admin()).await.unwrap().status, 404);
    for open in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(Ask::get(open).send(ropeline.admin()).await.unwrap().status, 200, "{open}");
    }
    let metrics = Ask::get("/metrics").send(ropeline.admin()).await.unwrap().text();
    assert!(metrics.contains("ropeline_"), "{metrics}");
    let edge = Ask::get(path).send(ropeline.edge()).await.unwrap();
    assert!(!edge.is_ours(), "the admin API is not on the shop's address: the shop answers");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rate_changes_while_it_runs_and_outlives_a_restart() {
    let origin = Origin::start().await;
    let mut ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let changed = ropeline.operate("PATCH", "", Some(json!({"rate": "20/s"}))).await.unwrap();
    assert!(changed.status < 300, "{} {}", changed.status, changed.text());
    let rate = async |r: &Ropeline| r.room_now().await.ok()?["rate_per_second"].as_f64();
    eventually("20/s", async || (rate(&ropeline).await == Some(20.0)).then_some(())).await;
    ropeline.terminate().await;
    ropeline.up().await;
    eventually("still 20/s", async || (rate(&ropeline).await == Some(20.0)).then_some(())).await;
    let wrong = ropeline.operate("PATCH", "", Some(json!({"rate": "0/s"}))).await.unwrap();
    assert!(matches!(wrong.status, 400 | 422), "{}", wrong.status);
    let unset = ropeline.operate("PATCH", "", Some(json!({"rate": Value::Null}))).await.unwrap();
    assert!(unset.status < 300, "{} {}", unset.status, unset.text());
    eventually("the file's again", async || (rate(&ropeline).await == Some(10.0)).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_command_line_says_and_does_the_same() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let status = ropeline.ctl(&["status", "--json"]).await;
    assert_eq!(status.code, 0, "{}", status.text);
    assert!(status.text.contains("sale") && status.text.contains("open"), "{}", status.text);
    assert!(serde_json::from_str::<Value>(&status.text).is_ok(), "{}", status.text);

    let paused = ropeline.ctl(&["pause", "sale", "--reason", "till"]).await;
    assert_eq!(paused.code, 0, "{}", paused.text);
    ropeline.until_state("paused").await;
    assert!(ropeline.ctl(&["status"]).await.text.contains("paused"));
    assert_eq!(ropeline.ctl(&["resume", "sale"]).await.code, 0);
    ropeline.until_state("open").await;
    assert_eq!(ropeline.ctl(&["rate", "sale", "30/s"]).await.code, 0);
    eventually("30/s", async || (ropeline.room_now().await.ok()?["rate_per_second"] == 30.0).then_some(()))
        .await;

    assert_eq!(ropeline.ctl(&["rate", "sale", "fast"]).await.code, 64);
    let absent = ropeline.ctl(&["pause", "none"]).await;
    assert_eq!(absent.code, 1, "{}", absent.text);
    assert!(!ropeline.log().contains(&ropeline.home.operator), "no token in the log");
}

#[tokio::test]
async fn a_token_is_made_and_its_entry_holds_only_its_hash() {
    let home = crate::support::home::Home::new();
    let said = process::ropeline(home.path(), &["keys", "token", "desk"]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    let hash = said.text.split("sha256 = \"").nth(1).and_then(|t| t.split('"').next()).unwrap_or_default();
    assert_eq!(hash.len(), 64, "{}", said.text);
    let words = said.text.split(|c: char| c.is_whitespace() || c == '"');
    let token = words.into_iter().find(|w| crate::support::home::sha256_hex(w) == hash);
    assert!(token.is_some_and(|t| t.len() >= 32), "the token itself is shown once: {}", said.text);
}
