//! Tickets, passes, and the keys that make them worth something.
//!
//! A ticket is ours alone (HMAC, 60 characters); a pass is a JWT that anyone may verify (EdDSA). Everything
//! in a pass follows from the room, its lineage and the admission, so that asking twice gives the same pass.
//! A [`Keyring`] is the one thing that other parts hold: it reads the key directory, takes keys in and out
//! while running, and remembers what it has verified. See [`keyring`] for the files and for rotation.

pub mod admin;
mod admission;
mod bound;
mod check;
mod claims;
mod error;
mod files;
mod hash;
pub mod inspect;
pub mod keyring;
mod keys;
mod kid;
mod make;
mod memory;
mod pem;
pub mod random;
mod ticket;

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod rotation;
#[cfg(test)]
mod testing;

pub use bound::Binding;
pub use claims::{IssuedPass, Pass, PassClaims};
pub use error::{CannotSign, KeyError, TokenFault};
pub use keyring::{Keyring, Settings};
pub use make::{NewKeys, add_keys};
pub(crate) use memory::{Digest, Memory};
pub use ticket::Ticket;
