//! The edge: the shop's own addresses. Everything that may reach the origin goes through here.
//!
//! pingora does the proxying; we run its `HttpProxy` on an accept loop of our own instead of its `Server`. That
//! gives what its server has not: a total deadline for every request head (its timeouts begin anew with each
//! byte), bounds on heads and connections, strict framing before its tolerant parser sees a byte, ports chosen
//! by the system, a grace period that ends when the last request does, and our own runtime, signals and
//! processes untouched.
//!
//! Life of a request: `listener` reads and checks the head → `phases::request_filter` reads it in the one way that
//! there is, asks the gate, and answers or goes on → `origin` lends a slot and names the peer → `forward` dresses the
//! request → the response passes with its cookies → one log line.

mod conn;
mod ctx;
mod events;
mod failure;
mod fetch;
mod forward;
mod head;
mod listener;
mod origin;
mod phases;
mod reading;
mod reply;
mod service;
mod settings;
mod shared;
mod upgrade;
mod watch;

#[cfg(test)]
mod tests;

pub use fetch::{Fetcher, FetcherError};
pub use origin::{BadOrigin, Origin, OriginSettings};
pub use service::{Edge, Shelf};
pub use settings::Settings;
