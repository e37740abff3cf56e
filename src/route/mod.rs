//! One reading of a request: its host, its path, and what they lead to. Pure: no I/O, no clock.
//!
//! The gate and the origin must never read one request differently. So a target is forwarded byte for byte,
//! matched on one normalised copy, and every other reading that a common server may make of it is tried too
//! (the list stands in `reading.rs`): unless all of them lead to the same place, the request is refused. A target that is
//! odd but harmless (`/open/a%2Fb` outside all rooms) therefore passes untouched.

mod client;
mod host;
mod pattern;
mod reading;
mod routes;
mod target;

#[cfg(test)]
mod leak_tests;

pub use client::{Client, Trusted};
pub use host::{BadHost, Host};
pub use pattern::{BadPattern, Pattern};
pub use routes::{BadRoutes, Found, RoomPaths, Routes, RoutesSettings};
pub use target::{Ambiguous, Target};
