//! A real browser goes from a link of the shop to the waiting page and into the shop; screenshots under
//! `target/screenshots`.

use std::time::Duration;

use crate::support::browser::Browser;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::{App, join_many};

const IN: Duration = Duration::from_secs(90);

/// A room that is busy for a while: the visitor sees the waiting page first.
async fn busy(origin: &Origin) -> (Ropeline, Vec<App>) {
    let ropeline = Ropeline::start(Plan::before(origin).rate("2/s"), origin).await;
    ropeline.pause("Doors open in a moment").await;
    let ahead = join_many(&ropeline, 5).await;
    (ropeline, ahead)
}

async fn from_link_to_shop(browser: Browser, ropeline: &Ropeline, ahead: Vec<App>, name: &str) {
    browser.open(&format!("http://{}/", ropeline.edge())).await;
    browser.until("#shop", IN).await;
    browser.photograph(&format!("{name}-1-shop")).await;
    browser.click("#link").await;
    browser.until("body", IN).await;
    assert!(!browser.shows("#shop").await, "the waiting page, not the shop: {}", browser.text().await);
    let text = browser.text().await;
    assert!(text.contains("Doors open in a moment"), "the operator's reason is shown: {text}");
    browser.photograph(&format!("{name}-2-paused")).await;

    ropeline.resume().await;
    let mut crowd = tokio::task::JoinSet::new();
    for mut app in ahead {
        crowd.spawn(async move { app.until_admitted(IN).await });
    }
    browser.until("#shop", IN).await;
    browser.photograph(&format!("{name}-3-inside")).await;
    assert_eq!(browser.client.current_url().await.unwrap().path(), "/buy");
    crowd.join_all().await;

    browser.client.back().await.unwrap();
    browser.client.forward().await.unwrap();
    browser.until("#shop", IN).await;
    browser.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_goes_from_a_link_through_the_line_into_the_shop() {
    let origin = Origin::start().await;
    let (ropeline, ahead) = busy(&origin).await;
    let browser = Browser::start(true, "en").await;
    from_link_to_shop(browser, &ropeline, ahead, "scripts").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_without_scripts_gets_in_too() {
    let origin = Origin::start().await;
    let (ropeline, ahead) = busy(&origin).await;
    let browser = Browser::start(false, "en").await;
    from_link_to_shop(browser, &ropeline, ahead, "no-scripts").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_speaks_traditional_chinese_and_calls_nobody_else() {
    let origin = Origin::start().await;
    let (ropeline, _ahead) = busy(&origin).await;
    let browser = Browser::start(true, "zh-TW").await;
    browser.open(&format!("http://{}/buy", ropeline.edge())).await;
    browser.until("html[lang^=zh]", IN).await;
    browser.photograph("chinese").await;
    let script = "return performance.getEntriesByType('resource').map(e => e.name)";
    let asked = browser.client.execute(script, vec![]).await.unwrap();
    let here = format!("http://{}/", ropeline.edge());
    for name in asked.as_array().unwrap() {
        assert!(name.as_str().unwrap().starts_with(&here), "{name} is somebody else's");
    }
    browser.close().await;
}
