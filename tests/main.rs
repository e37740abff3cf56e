//! The product told as stories: every test starts the real binary, real stores and a shop that writes down all it
//! hears, and says in a few lines what a visitor or an operator would see.
//!
//! `support/` holds the actors; `stories/` holds the tests, one file per theme. Nothing here sleeps to let things
//! happen: tests wait on conditions with patience, and times count only where the contract names them.
//! `ROPELINE_LONG=1` plays the same stories with more people.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a test that meets the unexpected should stop and say so; its helpers are no interface"
)]

mod layout;
mod stories;
mod support;
