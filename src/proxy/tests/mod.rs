//! The edge as the outside sees it: raw bytes in, a journal behind.

mod bench;
mod clients;
mod framing;
mod origins;
mod reuse;
mod upgrades;
