//! The API over loopback, as an operator's script meets it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::test_support::Served;
use super::{Listener, Settings};

const ROOM: &str = "/v1/rooms/spring-tour";

#[tokio::test]
async fn a_room_shows_its_state_settings_and_line() {
    let api = Served::start().await;
    let got = api.get(ROOM).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.header("cache-control"), "no-store");
    let room = got.json();
    assert_eq!(
        (&room["id"], &room["state"], &room["fresh"]),
        (&json!("spring-tour"), &json!("open"), &json!(true))
    );
    assert_eq!(room["as_of"], "2026-12-24T04:00:00Z");
    assert_eq!(room["line"]["waiting"], 55_310);
    assert_eq!(room["settings"]["rate"], "50/s");
    assert_eq!(room["settings"]["pass_ttl"], "30m");
    assert_eq!(room["overridden"], json!([]));
    let all = api.get("/v1/rooms").await.json();
    assert_eq!(all["rooms"][0], room);
    assert_eq!(all["rooms"][1]["state"], "unavailable", "the store holds no such room");
    assert_eq!(all["rooms"][1]["line"], Value::Null);
}

#[tokio::test]
async fn pause_and_resume_are_answered_with_the_room_after_them() {
    let api = Served::start().await;
    for _ in 0..2 {
        let got = api.act("POST", &format!("{ROOM}/pause"), r#"{"reason":"shop is down"}"#).await;
        assert_eq!((got.status, &got.json()["state"]), (200, &json!("paused")));
        assert_eq!(got.json()["reason"], "shop is down");
    }
    assert_eq!(api.get(ROOM).await.json()["state"], "paused");
    for _ in 0..2 {
        let got = api.act("POST", &format!("{ROOM}/resume"), "").await;
        assert_eq!((got.status, &got.json()["state"]), (200, &json!("open")));
        assert_eq!(got.json()["reason"], Value::Null);
    }
}

#[tokio::test]
async fn settings_are_changed_and_unset() {
    let api = Served::start().await;
    let got = api.act("PATCH", ROOM, r#"{"rate":"90/min","message":"Soon."}"#).await;
    assert_eq!(got.status, 200);
    assert_eq!(got.json()["overridden"], json!(["rate", "message"]));
    assert_eq!(got.json()["settings"]["rate_per_second"], 1.5);
    let got = api.act("PATCH", ROOM, r#"{"rate":null}"#).await;
    assert_eq!(got.json()["settings"]["rate"], "50/s");
    assert_eq!(got.json()["overridden"], json!(["message"]));
}

#[tokio::test]
async fn what_cannot_be_changed_is_named() {
    let api = Served::start().await;
    let got = api.act("PATCH", ROOM, r#"{"rat":"5/s","schedule":{"opens":"soon"}}"#).await;
    assert_eq!((got.status, got.slug().as_str()), (400, "bad-setting"));
    let detail = got.json()["detail"].to_string();
    assert!(detail.contains(r#"\"rat\" is not known"#), "{detail}");
    assert!(detail.contains(r#"\"schedule.opens\" is no time"#), "{detail}");
    for (path, body) in [
        ("pause", r#"{"why":"x"}"#),
        ("pause", "reason=x"),
        ("resume", r#"{"reason":"x"}"#),
        ("create", "[]"),
        ("flush", r#"{"yes":1}"#),
    ] {
        let got = api.act("POST", &format!("{ROOM}/{path}"), body).await;
        assert_eq!((got.status, got.slug().as_str()), (400, "bad-body"), "{path} {body}");
    }
    assert_eq!(api.desk.changes.load(Ordering::SeqCst), 0, "nothing of it was done");
}

#[tokio::test]
async fn a_change_made_on_an_old_view_is_refused() {
    let api = Served::start().await;
    let read = api.get(ROOM).await.header("etag").to_owned();
    let with = |tag: &str| vec![("if-match".to_owned(), tag.to_owned())];
    let patch = async |tag: &str, body: &str| {
        let headers = with(tag);
        let headers: Vec<_> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        api.ask("PATCH", ROOM, "act", &headers, body).await
    };
    let first = patch(&read, r#"{"rate":"60/s"}"#).await;
    assert_eq!(first.status, 200);
    assert_ne!(first.header("etag"), read);
    let second = patch(&read, r#"{"rate":"70/s"}"#).await;
    assert_eq!((second.status, second.slug().as_str()), (412, "changed-meanwhile"));
    assert_eq!(api.get(ROOM).await.json()["settings"]["rate"], "60/s");
    assert_eq!(patch(first.header("etag"), r#"{"rate":"70/s"}"#).await.status, 200);
    assert_eq!(patch("*", r#"{"rate":"80/s"}"#).await.status, 200);
    assert_eq!(patch("60/s", r#"{"rate":"90/s"}"#).await.slug(), "bad-precondition");
}

#[tokio::test]
async fn a_room_is_created_once_and_flushed_into_a_new_life() {
    let api = Served::start().await;
    let got = api.act("POST", "/v1/rooms/new-year/pause", "").await;
    assert_eq!((got.status, got.slug().as_str()), (409, "room-not-created"));
    for _ in 0..2 {
        let got = api.act("POST", "/v1/rooms/new-year/create", "").await;
        assert_eq!((got.status, &got.json()["state"]), (200, &json!("open")));
    }
    let got = api.act("POST", &format!("{ROOM}/flush"), "{}").await;
    assert_eq!(got.json()["line"]["lineage"], "000000000000abcd");
    assert_eq!(got.json()["line"]["last"], 67_310, "numbers go on");
}

#[tokio::test]
async fn roles_are_kept() {
    let api = Served::start().await;
    let pause = format!("{ROOM}/pause");
    for (token, read, act) in [("see", 200, 403), ("act", 200, 200), ("shop", 403, 403), ("", 401, 401)] {
        assert_eq!(api.ask("GET", ROOM, token, &[], "").await.status, read, "{token} reads");
        let got = api.ask("POST", &pause, token, &[], "").await;
        assert_eq!(got.status, act, "{token} acts");
        if act == 401 {
            assert!(got.header("www-authenticate").starts_with("Bearer "));
        }
        if act >= 400 {
            got.slug();
        }
    }
}

#[tokio::test]
async fn stays_are_ended_one_by_one_or_all_at_once_and_never_by_mistake() {
    let api = Served::start().await;
    assert_eq!(api.get(ROOM).await.json()["line"]["active"], 9);
    let pass = |id: &str| format!("{ROOM}/passes/{id}");
    for (token, id, status) in
        [("shop", "seven", 204), ("act", "seven", 204), ("see", "seven", 403), ("shop", "eight", 404)]
    {
        assert_eq!(api.ask("DELETE", &pass(id), token, &[], "").await.status, status, "{token} {id}");
    }
    assert_eq!(api.get(ROOM).await.json()["line"]["active"], 7);
    let revoke = format!("{ROOM}/revoke");
    for body in ["", "{}", r#"{"all":false}"#, r#"{"all":true,"admission":"seven"}"#, r#"{"admission":7}"#] {
        assert_eq!(api.act("POST", &revoke, body).await.slug(), "bad-body", "{body}");
    }
    assert_eq!(api.act("POST", &revoke, r#"{"admission":"eight"}"#).await.slug(), "admission-unknown");
    assert_eq!(api.act("POST", &revoke, r#"{"admission":"seven"}"#).await.status, 200);
    assert_eq!(api.act("POST", &revoke, r#"{"all":true}"#).await.json()["line"]["active"], 0);
    assert_eq!(api.ask("POST", &revoke, "shop", &[], r#"{"all":true}"#).await.status, 403);
}

#[tokio::test]
async fn wrong_tokens_slow_their_address_down() {
    let api = Served::start().await;
    for _ in 0..3 {
        let got = api.ask("GET", ROOM, "guess", &[], "").await;
        assert_eq!((got.status, got.slug().as_str()), (401, "unauthorized"));
    }
    let got = api.ask("GET", ROOM, "guess", &[], "").await;
    assert_eq!((got.status, got.slug().as_str()), (429, "too-many-failures"));
    assert_eq!(got.header("retry-after"), "31");
    assert_eq!(api.ask("GET", ROOM, "act", &[], "").await.status, 200, "a right token is never kept out");
    assert_eq!(api.ask("GET", "/livez", "", &[], "").await.status, 200);
}

#[tokio::test]
async fn while_the_store_is_away_rooms_are_read_and_not_changed() {
    let api = Served::start().await;
    let tag = api.get(ROOM).await.header("etag").to_owned();
    api.desk.store_away.store(true, Ordering::SeqCst);
    let room = api.get(ROOM).await.json();
    assert_eq!((&room["state"], &room["fresh"]), (&json!("unavailable"), &json!(false)));
    assert_eq!(room["line"]["waiting"], 55_310, "the last that was known");
    for headers in [vec![], vec![("if-match", tag.as_str())]] {
        let got = api.ask("POST", &format!("{ROOM}/pause"), "act", &headers, "").await;
        assert_eq!((got.status, got.slug().as_str()), (503, "store-unavailable"));
        let wait: u64 = got.header("retry-after").parse().unwrap();
        assert!((1..=4).contains(&wait));
        assert!(!got.text.contains("connection refused"), "the store's address and errors stay in the log");
    }
}

#[tokio::test]
async fn a_store_that_never_answers_is_given_up() {
    let api = Served::start_with(|s| s.change_timeout = Duration::from_millis(50)).await;
    let _hung = api.desk.hung.lock().await;
    let got = api.act("POST", &format!("{ROOM}/pause"), "").await;
    assert_eq!((got.status, got.slug().as_str()), (503, "store-unavailable"));
    assert!(got.text.contains("may or may not have been made"));
}

#[tokio::test]
async fn a_change_is_finished_though_its_operator_went_away() {
    let api = Served::start().await;
    let hung = api.desk.hung.lock().await;
    let mut gone = TcpStream::connect(api.address).await.unwrap();
    let text = format!("POST {ROOM}/pause HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer act\r\n\r\n");
    gone.write_all(text.as_bytes()).await.unwrap();
    while api.desk.asked.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(gone);
    drop(hung);
    while api.desk.changes.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(api.get(ROOM).await.json()["state"], "paused");
}

/// Collects log lines.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        std::io::Write::write(&mut *self.0.lock().unwrap(), bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn every_change_is_one_line_in_the_log_and_no_token_is() {
    let log = Log::default();
    let writer = log.clone();
    let lines = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _guard = tracing::subscriber::set_default(lines);
    let api = Served::start().await;
    api.act("POST", &format!("{ROOM}/pause"), r#"{"reason":"a\nb"}"#).await;
    api.act("POST", "/v1/rooms/new-year/resume", "").await;
    api.ask("GET", ROOM, "secret-guess", &[], "").await;
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    let ours: Vec<_> = text.lines().filter(|line| line.contains("ropeline::admin")).collect();
    let [paused, resumed, guessed] = ours.as_slice() else { panic!("three lines in {text}") };
    for part in ["INFO", "room changed", "operator=\"act-desk\"", "room=spring-tour", "change=\"pause\""] {
        assert!(paused.contains(part), "{part} is not in {paused}");
    }
    assert!(resumed.contains("WARN") && resumed.contains("room not changed"), "{resumed}");
    assert!(guessed.contains("wrong token") && guessed.contains("client=127.0.0.1"), "{guessed}");
    assert!(!text.contains("secret-guess") && !text.contains("Bearer"), "{text}");
}

#[tokio::test]
async fn probes_and_scrapes_need_no_token() {
    let api = Served::start().await;
    let ask = async |path: &str| api.ask("GET", path, "", &[], "").await;
    assert_eq!(ask("/livez").await.status, 200);
    let ready = ask("/readyz").await;
    assert_eq!((ready.status, &ready.json()["status"]), (200, &json!("degraded")));
    assert_eq!(ready.json()["because"], json!(["room new-year: its store cannot be asked"]));
    api.act("POST", "/v1/rooms/new-year/create", "").await;
    let ready = ask("/readyz").await;
    assert_eq!((ready.status, ready.text.as_str()), (200, r#"{"status":"ok"}"#));
    api.desk.store_away.store(true, Ordering::SeqCst);
    let ready = ask("/readyz").await;
    assert_eq!((ready.status, ready.text.contains("degraded")), (200, true));
    api.desk.stopping.store(true, Ordering::SeqCst);
    assert_eq!(ask("/readyz").await.status, 503);
    let metrics = ask("/metrics").await;
    assert_eq!(metrics.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    assert!(
        metrics
            .text
            .contains("ropeline_admin_changes_total{change=\"create\",outcome=\"ok\",room=\"new-year\"}")
    );
}

#[tokio::test]
async fn whatever_is_wrong_is_a_problem() {
    let api = Served::start().await;
    let big = format!(r#"{{"reason":"{}"}}"#, "x".repeat(70_000));
    let pause = format!("{ROOM}/pause");
    for (method, path, body, status, slug) in [
        ("GET", "/nowhere", "", 404, "not-found"),
        ("GET", "/v1/rooms/other", "", 404, "room-unknown"),
        ("GET", "/v1/rooms/%ff", "", 404, "room-unknown"),
        ("GET", "/v1/rooms/A%2Fb", "", 404, "room-unknown"),
        ("DELETE", ROOM, "", 405, "method-not-allowed"),
        ("GET", pause.as_str(), "", 405, "method-not-allowed"),
        ("POST", pause.as_str(), big.as_str(), 413, "body-too-large"),
        ("POST", pause.as_str(), "\u{0}", 400, "bad-body"),
    ] {
        let got = api.act(method, path, body).await;
        assert_eq!((got.status, got.slug().as_str()), (status, slug), "{method} {path}");
        assert_eq!(got.header("allow").is_empty(), status != 405, "{method} {path}");
    }
    assert_eq!(api.ask("HEAD", ROOM, "see", &[], "").await.status, 200);
}

#[tokio::test]
async fn slow_heads_and_slow_bodies_are_cut() {
    let quick = Duration::from_millis(50);
    let api = Served::start_with(|s| (s.header_timeout, s.body_timeout) = (quick, quick)).await;
    let mut head = TcpStream::connect(api.address).await.unwrap();
    head.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n").await.unwrap();
    let mut idle = TcpStream::connect(api.address).await.unwrap();
    let mut body = TcpStream::connect(api.address).await.unwrap();
    let start = format!(
        "POST {ROOM}/pause HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer act\r\nContent-Length: 9\r\n\r\n"
    );
    body.write_all(start.as_bytes()).await.unwrap();
    let mut text = String::new();
    head.read_to_string(&mut text).await.unwrap();
    idle.read_to_string(&mut text).await.unwrap();
    assert!(!text.contains("200 OK"), "{text}");
    body.read_to_string(&mut text).await.unwrap();
    assert!(text.contains("408 Request Timeout") && text.contains("body-too-slow"), "{text}");
}

#[tokio::test]
async fn connections_are_bounded_and_free_again() {
    let api = Served::start_with(|s| s.connections = 1).await;
    let mut first = TcpStream::connect(api.address).await.unwrap();
    first.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut byte = [0; 1];
    first.read_exact(&mut byte).await.unwrap();
    let mut second = TcpStream::connect(api.address).await.unwrap();
    assert_eq!(second.read(&mut byte).await.unwrap_or(0), 0, "closed without an answer");
    drop(first);
    loop {
        let mut third = TcpStream::connect(api.address).await.unwrap();
        let asked = third.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await;
        if asked.is_ok() && third.read(&mut byte).await.unwrap_or(0) == 1 {
            break;
        }
    }
}

#[tokio::test]
async fn a_stop_ends_idle_connections_and_frees_the_port() {
    let api = Served::start().await;
    let mut idle = TcpStream::connect(api.address).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    idle.read_exact(&mut [0; 1]).await.unwrap();
    api.stop.send(true).unwrap();
    api.done.await.unwrap();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    Listener::bind(Settings::at(api.address)).await.unwrap();
}

#[tokio::test]
async fn a_taken_port_is_one_clear_line() {
    let api = Served::start().await;
    let error = Listener::bind(Settings::at(api.address)).await.unwrap_err().to_string();
    let expected = format!(
        "{} is in use: stop what listens there, or choose another address in the settings",
        api.address
    );
    assert_eq!(error, expected);
}
