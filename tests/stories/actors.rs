//! The actors themselves, without the product: a story is worth what its shop, store and browser are.

use std::sync::Arc;
use std::time::Duration;

use crate::support::browser::Browser;
use crate::support::http::{Ask, Connection};
use crate::support::origin::Origin;
use crate::support::origin::guard::Guard;
use crate::support::origin::journal::Journal;
use crate::support::redis::Redis;
use crate::support::relay::Relay;
use crate::support::{raw, websocket};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shop_writes_down_every_byte_it_hears() {
    let origin = Origin::start().await;
    let asked = "POST //a/../B%2f;x?q=1 HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a:  2\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3\r\nabc\r\n0\r\n\r\nGET /second HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(raw::send(origin.addr(), asked.as_bytes()).await.unwrap().answers(), 2);
    let entries = origin.journal().entries();
    let first = &entries[0].request;
    assert_eq!((first.method.as_str(), first.target.as_str()), ("POST", "//a/../B%2f;x?q=1"));
    assert_eq!((first.all("x-a"), first.body.as_slice()), (vec!["1", "2"], &b"abc"[..]));
    assert_eq!(entries[1].request.target, "/second");
    assert_eq!(entries[0].connection, entries[1].connection);
    let mut socket = websocket::open(origin.addr(), "/ws", "").await.unwrap_or_else(|s| panic!("{s}"));
    assert_eq!(socket.echo("hello").await.unwrap(), "hello");
    let big = Ask::get("/big").send(origin.addr()).await.unwrap();
    assert_eq!(big.body.len(), 4 << 20);
    assert!(Ask::new("HEAD", "/").send(origin.addr()).await.unwrap().body.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shop_can_close_and_open_again() {
    let mut origin = Origin::start().await;
    let mut kept = Connection::open(origin.addr()).await.unwrap();
    assert_eq!(kept.send(Ask::get("/")).await.unwrap().status, 200);
    origin.down().await;
    assert!(kept.send(Ask::get("/")).await.is_err() && Ask::get("/").send(origin.addr()).await.is_err());
    origin.up().await;
    assert_eq!(Ask::get("/").send(origin.addr()).await.unwrap().status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_pass_does_not_escape_the_journal() {
    let heard = Arc::new(Journal::default());
    let origin = Origin::start().await;
    raw::get(origin.addr(), "/open/..;/%2562uy", "").await;
    heard.note(0, &origin.journal().entries()[0].request);
    heard.guard(Guard { room: "sale".into(), paths: vec!["/buy".into()], ..Guard::default() });
    let judged =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| heard.assert_nothing_without_a_pass()));
    assert!(judged.is_err(), "a leak must fail the story");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_keeps_its_files_through_kill_9() {
    let mut redis = Redis::start().await;
    redis.say(&["SET place 41"]).await.unwrap();
    redis.kill_hard();
    assert!(redis.say(&["PING"]).await.is_err());
    redis.up().await;
    assert!(redis.say(&["GET place"]).await.unwrap().contains("41"));
    redis.say(&["CONFIG SET requirepass other", "AUTH other", "CLIENT KILL TYPE normal"]).await.unwrap();
    assert!(redis.say(&["GET place"]).await.unwrap().contains("NOAUTH"));
    redis.say(&["AUTH other", "CONFIG SET requirepass \"\""]).await.unwrap();
    assert!(redis.say(&["GET place"]).await.unwrap().contains("41"));
    redis.hang();
    let hung = tokio::time::timeout(Duration::from_millis(300), redis.say(&["GET place"])).await;
    assert!(hung.is_err(), "it accepts and says nothing");
    redis.go_on();
    assert!(redis.say(&["GET place"]).await.unwrap().contains("41"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_relay_changes_nothing_and_sees_all() {
    let origin = Origin::start().await;
    let relay = Relay::to(origin.addr()).await;
    let mut kept = Connection::open(relay.addr()).await.unwrap();
    for i in 0..3 {
        assert_eq!(kept.send(Ask::get(&format!("/r{i}"))).await.unwrap().status, 200);
    }
    let posted = kept.send(Ask::new("POST", "/echo").body("twelve bytes")).await.unwrap();
    assert_eq!(posted.text(), "twelve bytes");
    assert_eq!(relay.journal().entries().len(), 4);
    assert_eq!(origin.journal().entries().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_browser_works_with_and_without_scripts() {
    let origin = Origin::start().await;
    for scripts in [true, false] {
        let browser = Browser::start(scripts, "en").await;
        browser.open(&format!("http://{}/", origin.addr())).await;
        browser.until("#shop", Duration::from_secs(30)).await;
        assert!(browser.text().await.contains("The shop"));
        browser.click("#link").await;
        browser.until("#shop", Duration::from_secs(30)).await;
        assert_eq!(browser.client.current_url().await.unwrap().path(), "/buy");
        browser.close().await;
    }
    let heard = origin.journal().of("/buy");
    assert!(heard.iter().all(|e| e.request.header("sec-fetch-mode") == Some("navigate")), "{heard:?}");
}
