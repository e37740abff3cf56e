//! The line, durable and shared.
//!
//! [`QueueStore`] is what a driver must do: a few verbs, each a batch, each atomic, each safe to repeat, for
//! a command that timed out may still have run. `embedded` keeps the pure room in a file; `redis` does the
//! same in Lua. [`Line`] is an instance's side of one room: it collects single joins and check-ins into
//! batches, holds those whose turn is near, and keeps the snapshot that everything else reads.

mod clock;
#[cfg(test)]
mod conformance;
pub mod embedded;
mod error;
mod line;
mod measured;
pub mod presence;
pub mod redis;
mod settings;
#[cfg(test)]
mod simulation;
mod store;

pub use crate::room::{EndCause, StayReport, Stayed};
pub use clock::{Clock, system_clock};
pub use error::StoreError;
pub use line::{Line, LineSettings, There, View};
pub use measured::Measured;
pub use settings::{Durability, Place, Settings};
pub use store::{Advanced, InstanceId, JoinBatch, QueueStore, Restored, Seen};
