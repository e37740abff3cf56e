//! The command line: what may be typed (`args`), and the commands that need nothing of a running server.
//!
//! `ctl` speaks to the admin API of a running instance. Commands that start one are in `main`, the only
//! place that sees `server`.

pub mod args;
mod check;
pub mod ctl;
pub mod draw;
mod health;
pub mod keys;
pub mod pass;

pub use check::{Check, check};
pub use health::{DEFAULT_URL as HEALTH_URL, health};

/// What a process ends with.
pub mod exit {
    /// All went well.
    pub const OK: u8 = 0;
    /// A failure while running.
    pub const FAILURE: u8 = 1;
    /// Wrong usage or bad settings.
    pub const USAGE: u8 = 64;
}
