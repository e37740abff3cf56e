//! `ropeline demo`: a shop, a room and a crowd from one command.

use std::process::Command;
use std::time::Duration;

use fantoccini::Locator;

use crate::support::browser::Browser;
use crate::support::demo::addresses;
use crate::support::eventually::within;
use crate::support::home::Home;
use crate::support::http::Ask;
use crate::support::process::Process;
use crate::support::ropeline::room_path;
use crate::support::visitor::Visitor;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_prints_its_addresses_and_lets_a_visitor_in_within_a_minute() {
    let home = Home::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropeline"));
    command.arg("demo").current_dir(home.path());
    let log = home.path().join("demo.log");
    let mut demo = Process::start("ropeline demo", &mut command, &log, "");
    let shop = within("an address of the demo that sells", Duration::from_secs(30), async || {
        assert!(demo.ended().is_none(), "the demo ended:\n{}", demo.log());
        for at in addresses(&demo.log()) {
            let room = Ask::get(&room_path("demo", "")).send(at).await;
            let page = Ask::get("/").send(at).await;
            let sells = page.is_ok_and(|r| r.status == 200 && r.text().contains("/buy"));
            if sells && room.is_ok_and(|r| r.status == 200) {
                return Ok(at);
            }
        }
        Err(demo.log())
    })
    .await;

    let mut visitor = Visitor::new(shop, "demo");
    let page = visitor.enter("/buy", Duration::from_secs(60)).await.unwrap();
    assert!(page.text().contains("<form"), "{}", page.text());

    demo.signal("TERM");
    let status = demo.wait(Duration::from_secs(30)).await;
    assert!(status.success(), "{status}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|f| f.unwrap().file_name()).collect();
    assert_eq!(left, ["demo.log"], "the demo leaves nothing behind");
}

/// The shop itself, without a room: event, form, order, and the same order when the form is sent again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demos_shop_sells_in_a_browser() {
    let patience = Duration::from_secs(30);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shop = ropeline::demo::shop::start(listener, 100).unwrap();
    let browser = Browser::start(true, "en").await;
    browser.open(&format!("http://{}/", shop.addr())).await;
    browser.until("#buy", patience).await;
    browser.photograph("demo-1-event").await;
    browser.click("#buy").await;
    browser.until("#name", patience).await;
    browser.photograph("demo-2-form").await;
    browser.client.find(Locator::Css("#name")).await.unwrap().send_keys("Ada <b>").await.unwrap();
    browser.click("button").await;
    browser.until("#ticket", patience).await;
    browser.photograph("demo-3-order").await;
    assert!(browser.text().await.contains("Ada <b>"));
    assert_eq!(shop.remaining(), 99);
    browser.client.back().await.unwrap();
    browser.client.forward().await.unwrap();
    browser.until("#ticket", patience).await;
    assert_eq!(shop.remaining(), 99, "one purchase");
    browser.close().await;
}
