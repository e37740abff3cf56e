//! ropeline: a virtual waiting room in front of an existing ticket shop.
//!
//! The parts, from the inside out. Arrows point one way; `tests/layout.rs` holds them.
//!
//! | part | owns |
//! | --- | --- |
//! | [`room`] | the rules of a line, pure: no I/O, no clock, no chance |
//! | [`token`] | tickets, passes and the keys that sign them |
//! | [`route`] | one reading of a request: host, path, and what they lead to |
//! | [`queue`] | the line made durable and shared: `QueueStore`, its two drivers, the batches of an instance |
//! | [`cache`], [`limit`], [`page`] | responses in memory; bounds on clients; the waiting page |
//! | [`identity`] | who a visitor is by the shop's word: a cookie, a header of a proxy, a verified token |
//! | [`answer`] | everything we answer ourselves, free of any HTTP library |
//! | [`listen`] | ports, the accept loop and the bounds that both doors share |
//! | [`proxy`], [`crowd`] | the two doors: pingora for the shop's addresses, hyper for those who wait |
//! | [`admin`] | the operator's API |
//! | [`command`] | what may be typed, and `ctl` |
//! | [`config`] | the TOML document as everybody's settings |
//! | [`command`] | what the command line does besides serving |
//! | [`server`] | wires the parts |
//! | [`demo`] | a shop, a room and a crowd to look at |

pub mod admin;
pub mod answer;
pub mod cache;
pub mod command;
pub mod config;
pub mod crowd;
pub mod demo;
pub mod identity;
pub mod limit;
pub mod listen;
pub mod metrics;
pub mod page;
pub mod proxy;
pub mod queue;
pub mod room;
pub mod route;
pub mod server;
pub mod token;
