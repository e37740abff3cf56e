//! The actors of the stories: stores, instances, the shop, visitors, a browser.

pub mod browser;
pub mod chance;
pub mod cluster;
pub mod demo;
pub mod events;
pub mod eventually;
pub mod home;
pub mod http;
pub mod operator;
pub mod origin;
pub mod plan;
pub mod ports;
pub mod process;
pub mod rate;
pub mod raw;
pub mod redis;
pub mod relay;
pub mod ropeline;
pub mod secure;
pub mod sentinel;
pub mod signpost;
pub mod tokens;
pub mod visitor;
pub mod websocket;

/// Whether to play with many people (`ROPELINE_LONG=1`) or few.
pub fn people(few: usize, many: usize) -> usize {
    if std::env::var_os("ROPELINE_LONG").is_some_and(|v| v == "1") { many } else { few }
}
