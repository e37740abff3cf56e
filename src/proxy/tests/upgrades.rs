//! Upgrades: gated like anything else, then bytes both ways for as long as either side has something to say.

use std::time::Duration;

use tokio::io::AsyncWriteExt;

use super::bench::{Bench, Plan, rest, until};
use crate::proxy::{OriginSettings, Settings};

const HANDSHAKE: &str = "GET /buy/live HTTP/1.1\r\nHost: shop.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";

#[tokio::test]
async fn a_websocket_needs_a_pass_and_then_echoes() {
    let bench = Bench::new().await;
    let mut stranger = bench.connect().await;
    stranger.write_all(format!("{HANDSHAKE}\r\n").as_bytes()).await.unwrap();
    assert!(until(&mut stranger, "\r\n\r\n").await.starts_with("HTTP/1.1 503"));
    assert!(bench.entries().is_empty());
    for _ in 0..20 {
        let mut visitor = bench.connect().await;
        visitor.write_all(format!("{HANDSHAKE}Cookie: rl_p_a=ok\r\n\r\n").as_bytes()).await.unwrap();
        assert!(until(&mut visitor, "\r\n\r\n").await.starts_with("HTTP/1.1 101"));
        for word in ["one", "two"] {
            visitor.write_all(word.as_bytes()).await.unwrap();
            until(&mut visitor, word).await;
        }
    }
}

/// As short as a setting could be; silence on an upgraded connection is measured by another one.
const SHORT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn a_silent_websocket_outlives_the_other_bounds_on_silence() {
    let mut plan = Plan { settings: Settings::default(), ..Plan::default() };
    plan.settings.limits.idle_timeout = SHORT;
    plan.settings.limits.body_timeout = SHORT;
    plan.settings.limits.header_timeout = SHORT;
    plan.origin = OriginSettings {
        url: String::new(),
        response_timeout: SHORT,
        idle_timeout: SHORT,
        total_timeout: SHORT,
        ..OriginSettings::default()
    };
    let bench = Bench::with(plan).await;
    let mut visitor = bench.connect().await;
    visitor.write_all(format!("{HANDSHAKE}Cookie: rl_p_a=ok\r\n\r\n").as_bytes()).await.unwrap();
    assert!(until(&mut visitor, "\r\n\r\n").await.starts_with("HTTP/1.1 101"));
    tokio::time::sleep(SHORT * 6).await;
    visitor.write_all(b"still here").await.unwrap();
    until(&mut visitor, "still here").await;
}

#[tokio::test]
async fn a_websocket_that_is_silent_for_too_long_is_closed() {
    let mut plan = Plan { settings: Settings::default(), ..Plan::default() };
    plan.settings.limits.upgrade_idle = SHORT;
    let bench = Bench::with(plan).await;
    let mut visitor = bench.connect().await;
    visitor.write_all(format!("{HANDSHAKE}Cookie: rl_p_a=ok\r\n\r\n").as_bytes()).await.unwrap();
    assert!(rest(&mut visitor).await.starts_with("HTTP/1.1 101"));
}

#[tokio::test]
async fn a_refused_upgrade_is_an_answer_like_any_other() {
    let bench = Bench::new().await;
    let asked = HANDSHAKE.replace("/buy/live", "/no-upgrade");
    let mut visitor = bench.connect().await;
    for _ in 0..5 {
        visitor.write_all(format!("{asked}\r\n").as_bytes()).await.unwrap();
        assert!(until(&mut visitor, "the shop").await.starts_with("HTTP/1.1 200"));
    }
}
