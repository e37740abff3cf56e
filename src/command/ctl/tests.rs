//! The verbs against the admin API on loopback.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::super::args::{Args, Command};
use super::*;
use crate::admin::test_support::Served;

/// Types a line; exit code, standard output, standard error.
async fn typed(url: &str, token: Option<&str>, line: &[&str]) -> (u8, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("desk.token");
    if let Some(token) = token {
        std::fs::write(&file, format!("{token}\n")).unwrap();
    }
    let env = |name: &str| match name {
        "ROPELINE_ADMIN_URL" => Some(url.to_owned()),
        "ROPELINE_ADMIN_TOKEN_FILE" => token.map(|_| file.display().to_string()),
        _ => None,
    };
    let args = Args::read(["ropeline", "ctl"].iter().chain(line)).unwrap();
    let Command::Ctl(args) = args.command else { panic!("not ctl") };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = run(args, &mut out, &mut err, &env).await;
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

async fn act(api: &Served, line: &[&str]) -> (u8, String, String) {
    typed(&format!("http://{}", api.address), Some("act"), line).await
}

#[tokio::test]
async fn a_room_is_watched_and_steered_from_the_terminal() {
    let api = Served::start().await;
    let story = [
        (
            vec!["pause", "spring-tour", "--reason", "shop is down"],
            "spring-tour: paused; nobody goes in, 55,310 waiting keep their places\n",
        ),
        (vec!["resume", "spring-tour"], "spring-tour: resumed at 50/s, 55,310 waiting\n"),
        (vec!["rate", "spring-tour", "80/s"], "spring-tour: rate is 80/s, until unset\n"),
        (vec!["rate", "spring-tour", "--unset"], "spring-tour: rate is the file's again: 50/s\n"),
        (vec!["message", "spring-tour", "Soon."], "spring-tour: shows the message, until unset\n"),
        (vec!["set", "spring-tour", "message=", "burst=9"], "spring-tour: changed by operators: burst\n"),
        (vec!["create", "new-year"], "new-year: in the store, open, 0 waiting\n"),
        (vec!["flush", "spring-tour", "--yes"], "spring-tour: flushed; everybody joins anew\n"),
    ];
    for (line, expected) in story {
        assert_eq!(act(&api, &line).await, (OK, expected.to_owned(), String::new()), "{line:?}");
    }
    let (code, out, _) = act(&api, &["status"]).await;
    assert_eq!(code, OK);
    assert!(out.starts_with("ROOM         STATE  WAITING  ADMITTED  RATE  NOTE\nspring-tour  open"), "{out}");
    let (_, out, _) = act(&api, &["status", "spring-tour"]).await;
    assert!(out.contains("burst          9 *"), "{out}");
}

#[tokio::test]
async fn scripts_get_the_json_of_the_api() {
    let api = Served::start().await;
    let (code, out, _) = act(&api, &["status", "--json"]).await;
    let json: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &json["rooms"][0]["id"]), (OK, &json!("spring-tour")));
    let (_, out, _) = act(&api, &["pause", "spring-tour", "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["state"], "paused");
}

#[tokio::test]
async fn refusals_are_told_in_words() {
    let api = Served::start().await;
    let url = format!("http://{}", api.address);
    let (code, out, err) = typed(&url, Some("wrong"), &["status"]).await;
    assert_eq!((code, out.as_str()), (FAILURE, ""));
    assert!(err.contains("No valid token") && err.contains("desk.token"), "{err}");
    assert!(!err.contains("wrong"), "the token is not printed: {err}");
    let (_, _, err) = typed(&url, None, &["status"]).await;
    assert!(err.contains("No token was sent") && err.contains("ROPELINE_ADMIN_TOKEN_FILE"), "{err}");
    let (code, _, err) = typed(&url, Some("see"), &["resume", "spring-tour"]).await;
    assert!(code == FAILURE && err.contains("role operator"), "{err}");
    let (code, _, err) = act(&api, &["set", "spring-tour", "rat=5"]).await;
    assert!(code == FAILURE && err.contains("\"rat\" is not known"), "{err}");
    let (code, _, err) = act(&api, &["status", "other"]).await;
    assert!(code == FAILURE && err.contains("There is no such room"), "{err}");
    api.desk.store_away.store(true, Ordering::SeqCst);
    let (code, _, err) = act(&api, &["pause", "spring-tour"]).await;
    assert!(code == FAILURE && err.contains("The store cannot be asked"), "{err}");
    let (code, out, _) = act(&api, &["status"]).await;
    assert!(code == OK && out.contains("last known"), "{out}");
}

#[tokio::test]
async fn wrong_use_is_told_apart_from_failure() {
    let api = Served::start().await;
    let (code, _, err) = act(&api, &["flush", "spring-tour"]).await;
    assert!(code == USAGE && err.contains("--yes"), "{err}");
    assert_eq!(api.desk.changes.load(Ordering::SeqCst), 0);
    let (code, _, err) = typed("localhost:9090", None, &["status"]).await;
    assert!(code == USAGE && err.contains("is not an address such as"), "{err}");
    let (code, _, err) = act(&api, &["status", "--token-file", "/does/not/exist"]).await;
    assert!(code == USAGE && err.contains("/does/not/exist"), "{err}");
}

#[tokio::test]
async fn nobody_listening_says_what_to_check() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let (code, _, err) = typed(&url, Some("act"), &["status"]).await;
    assert_eq!(code, FAILURE);
    assert!(err.contains(&url) && err.to_lowercase().contains("connection refused"), "{err}");
    assert!(err.contains("Is ropeline running") && err.contains("[admin] listen"), "{err}");
}
