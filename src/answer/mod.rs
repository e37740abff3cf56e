//! Everything that we answer ourselves, and the one place that decides whether a request may go on.
//!
//! Transport-neutral: request parts in, a [`Verdict`] or an [`Answer`] out. The doors (`proxy`, `crowd`) are
//! thin adapters; nothing here knows pingora or hyper.

mod types;

mod problem;

pub use problem::{Problem, problem};
pub use types::{Answer, Door, Gate, Permit, Request, Verdict};
