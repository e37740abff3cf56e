//! The operator's API: its own listener, bearer tokens, and a few verbs on the rooms.
//!
//! It knows rooms only through [`Desk`], tokens only through [`Doorkeeper`] and [`Failures`]; `server` brings
//! all three. Reading comes from memory and never waits; a change is answered once the store has it.
//!
//! There is no check of the `Host` header here, on purpose: a page that reaches this listener by a rebound
//! name has no bearer token, and probes and scrapes come by whatever name the platform uses. Anything that
//! takes a cookie instead of a bearer token needs that check first.

mod access;
mod body;
mod change;
mod desk;
mod document;
mod health;
mod listener;
mod patch;
mod reply;
mod router;
mod schedule;
mod settings;
mod version;

#[cfg(test)]
pub(crate) mod test_support;
#[cfg(test)]
mod tests;

pub use access::{Doorkeeper, Failures, Holder, Role};
pub use desk::Desk;
pub use document::{LineDocument, RoomDocument, RoomsDocument, SettingsDocument, State};
pub use health::Readiness;
pub use listener::Listener;
pub use router::{Parts, router};
pub use settings::Settings;
