//! Bounds on what clients may cost, by address, and on what reaches the origin at once.
//!
//! | type | bounds |
//! | --- | --- |
//! | [`Connections`] | open connections, in all and per client network |
//! | [`Bulkhead`] | requests in flight to the origin, and the line before that |
//! | [`Failures`] | how often one client network may fail to log in |
//!
//! Everything that is taken is given back by dropping a guard, so a panic or a cancelled future leaks nothing.
//! Memory is bounded whatever addresses come: state is per [`Network`], and each kind has its own cap.

mod bulkhead;
mod connections;
mod failures;
mod network;

pub use bulkhead::{Bulkhead, BulkheadSettings, Busy, Permit};
pub use connections::{Connections, ConnectionsSettings, Guard};
pub use failures::{Failures, FailuresSettings};
pub use network::Network;
