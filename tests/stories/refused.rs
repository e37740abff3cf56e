//! Bad input of the operator: told all at once, with places and remedies.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use crate::support::home::Home;
use crate::support::origin::Origin;
use crate::support::plan::{Plan, Ports};
use crate::support::ports;
use crate::support::process::{self, Said};
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, make_keys};

const WRONG: &str = r#"[server]
listen = ["127.0.0.1:8080"]
prefxi = "/_ropeline"
[origin]
url = "http://127.0.0.1:3000"
[[room]]
id = "Spring Tour"
paths = ["buy/**"]
[room.release]
rate = "0/s"
[[room]]
id = "twice"
paths = ["/a/**"]
[room.release]
rate = "10/s"
[[room]]
id = "twice"
paths = ["/b/**"]
[room.release]
rate = "10/fortnight"
"#;

fn assert_all_told(said: &Said) {
    assert_eq!(said.code, 64, "{}", said.text);
    for (what, line) in
        [("prefxi", 3), ("id", 7), ("paths", 8), ("release.rate", 10), ("twice", 17), ("fortnight", 20)]
    {
        let told = |text: &str| text.contains(what) && text.contains(&line.to_string());
        assert!(said.text.lines().any(told), "{what} of line {line} is not told:\n{}", said.text);
    }
}

#[tokio::test]
async fn every_wrong_setting_is_told_at_once_with_its_line() {
    let home = Home::new();
    home.file("wrong.toml", WRONG);
    assert_all_told(&process::ropeline(home.path(), &["run", "--config", "wrong.toml"]).await);
    assert_all_told(&process::ropeline(home.path(), &["check", "--config", "wrong.toml"]).await);
}

#[tokio::test]
async fn wrong_usage_is_64() {
    let home = Home::new();
    for args in [&["run", "--rate", "ten"][..], &["run", "--config", "absent.toml"], &["sprint"]] {
        let said = process::ropeline(home.path(), args).await;
        assert_eq!(said.code, 64, "{args:?}: {}", said.text);
    }
}

#[tokio::test]
async fn a_good_file_passes_the_check_and_is_shown_without_its_secrets() {
    let home = Home::new();
    let mut plan = Plan::before_address(ports::at(3000));
    plan.redis = Some("redis://:very-secret@127.0.0.1:6379".into());
    let ports = Ports { edge: 18080, crowd: 0, admin: 19090 };
    home.file("good.toml", &plan.document(home.path(), ports, &home.token_hashes()));
    let said = process::ropeline(home.path(), &["check", "--config", "good.toml", "--print"]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    assert!(said.text.contains("10/s") && said.text.contains("return_within"), "defaults too: {}", said.text);
    assert!(!said.text.contains("very-secret"), "{}", said.text);
}

/// Keys whose feature does not exist yet are refused, never ignored.
#[tokio::test]
async fn the_shipped_files_pass_the_check() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in ["config/ropeline.toml", "config/minimal.toml"] {
        let said = process::ropeline(here, &["check", "--config", file]).await;
        assert_eq!(said.code, 0, "{file}: {}", said.text);
    }
}

async fn run_planned(plan: &Plan, home: &Home, ports: Ports) -> Said {
    home.file("ropeline.toml", &plan.document(home.path(), ports, &home.token_hashes()));
    process::ropeline(home.path(), &["run", "--config", "ropeline.toml"]).await
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let origin = Origin::start().await;
    let home = Home::new();
    let edge = ports::free();
    let _taken = TcpListener::bind(ports::at(edge)).unwrap();
    let said =
        run_planned(&Plan::before(&origin), &home, Ports { edge, crowd: 0, admin: ports::free() }).await;
    assert_eq!(said.code, 1, "{}", said.text);
    assert!(said.text.contains(&format!("127.0.0.1:{edge}")), "{}", said.text);
    assert!(!said.text.contains("panicked"), "{}", said.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_file_that_others_may_read_is_refused() {
    let origin = Origin::start().await;
    let plan = Plan::before(&origin);
    let home = Arc::new(Home::new());
    let mut first = Ropeline::planned(&plan, &home);
    first.up().await;
    first.terminate().await;
    let keys = home.path().join("keys");
    let mut opened = Vec::new();
    for file in std::fs::read_dir(&keys).unwrap().map(|f| f.unwrap().path()).filter(|f| f.is_file()) {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} was made with mode {mode:o}", file.display());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        opened.push(file.file_name().unwrap().to_string_lossy().into_owned());
    }
    let said = run_planned(&plan, &home, Ports { edge: ports::free(), crowd: 0, admin: ports::free() }).await;
    assert!(said.code == 1 || said.code == 64, "{}", said.text);
    assert!(opened.iter().any(|name| said.text.contains(name)), "names the file: {}", said.text);
    assert!(said.text.contains("600") || said.text.contains("chmod"), "says what to do: {}", said.text);
}

/// On a shared store nobody makes keys by accident: instances with keys of their own would not know each other's.
#[tokio::test]
async fn keys_are_not_made_by_themselves_for_a_shared_store() {
    let redis = Redis::start().await;
    let origin = Origin::start().await;
    let home = Home::new();
    let ports = Ports { edge: ports::free(), crowd: 0, admin: ports::free() };
    let said = run_planned(&Plan::before(&origin).on(&redis), &home, ports).await;
    assert!(said.code == 1 || said.code == 64, "{}", said.text);
    assert!(said.text.contains("keys new"), "says what to do: {}", said.text);
    make_keys(&home).await;
    let again = process::ropeline(home.path(), &["keys", "new", "keys"]).await;
    assert!(again.code == 0 || again.text.contains("keys"), "{}", again.text);
}

/// The bound on bodies was read, printed and not kept.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_beyond_its_bound_reached_the_shop() {
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.server = format!("{}\n[server.limits]\nbody_bytes = 1000\n", plan.server);
    let ropeline = Ropeline::start(plan, &origin).await;
    let host = ropeline.edge();
    let post = |framing: &str, body: &str| {
        format!("POST /open/post HTTP/1.1\r\nHost: {host}\r\n{framing}\r\n\r\n{body}")
    };
    let chunked =
        |n: usize| post("Transfer-Encoding: chunked", &format!("{n:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(n)));
    for (name, request) in [("announced", post("Content-Length: 1001", "")), ("in chunks", chunked(1001))] {
        let heard = crate::support::raw::send(ropeline.edge(), request.as_bytes()).await.unwrap();
        assert_eq!(heard.status(), 413, "{name}: {}", heard.text);
    }
    let fits = crate::support::raw::send(ropeline.edge(), chunked(1000).as_bytes()).await.unwrap();
    assert_eq!(fits.status(), 200, "{}", fits.text);
}
