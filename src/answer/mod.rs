//! Everything that we answer ourselves, and the one place that decides whether a request may go on.
//!
//! Transport-neutral: request parts in, a [`Verdict`] or an [`Answer`] out. The doors (`proxy`, `crowd`) are
//! thin adapters; nothing here knows pingora or hyper.

mod account;
mod cookies;
mod desk;
mod document;
mod draw;
mod events;
mod finish;
mod gated;
mod intent;
mod problem;
mod query;
mod reply;
mod reserved;
mod room;
mod settings;
mod sharing;
mod stay;
mod stock;
mod types;

pub use desk::{Clock, Desk};
pub use events::Events;
pub(crate) use finish::finish;
pub use problem::{Problem, problem};
pub use settings::{Accounts, RoomSettings, SameSite, Settings};
pub use stay::Stay;
pub use types::{Answer, Door, Gate, Permit, Reply, Request, Verdict};
