//! Responses of the origin kept in memory, so that it is asked once however many readers come.
//!
//! Three layers, each of which can be read alone: `policy` holds the rules (what may be kept, how long it is
//! fresh, what a reader is told), pure, with time as an argument; `store` keeps records within a bound of
//! entries and bytes; `flight` lets one reader's question stand for all who ask the same. [`Cache`] joins them.
//!
//! Knows nothing of visitors: no header of a reader ever reaches the origin through here, and no answer that
//! was made for one reader ever reaches another. It does no I/O; the caller brings a [`Fetch`].

mod counts;
mod fetch;
mod flight;
mod key;
mod memory;
mod policy;
mod record;
mod settings;
mod store;
#[cfg(test)]
mod tests;

pub use counts::Tally;
pub use fetch::{Ask, Fetch, FetchError, Fetched};
pub use key::{Key, Scheme};
pub use memory::{Cache, Clock, Served, monotonic};
pub use policy::{Refusal, applies};
pub use settings::{Rule, RuleId, Settings};
