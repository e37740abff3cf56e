//! Where the load comes from: `wrk` for what is measured over HTTP, a client of our own for everything that
//! has to be set up first.

pub(crate) mod client;
pub(crate) mod origin;
pub(crate) mod visitors;
pub(crate) mod wrk;
