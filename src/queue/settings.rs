//! How to reach the store, and what it must promise.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where the line lives.
#[derive(Clone, PartialEq, Eq)]
pub enum Place {
    /// `file:DIR`: the embedded store.
    File(PathBuf),
    /// What [`Address`](super::redis::Address) reads. Kept as text because it holds a password: never print it.
    Redis(String),
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(dir) => f.debug_tuple("File").field(dir).finish(),
            Self::Redis(_) => f.write_str("Redis(..)"),
        }
    }
}

/// What an acknowledged place has survived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// The store's memory; its disk within about a second.
    Memory,
    /// The store's disk.
    Disk,
    /// The memory of so many replicas besides the primary's. What any one of them was promoted to has it, if all that
    /// may be promoted are among them.
    Replicas(u32),
}

/// The `[store]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the line lives.
    pub place: Place,
    /// With TLS: the file of the authorities (PEM) that vouch for the servers; `None`: the system's.
    pub ca_file: Option<PathBuf>,
    /// Longest wait for one answer.
    pub timeout: Duration,
    /// What an acknowledged place has survived.
    pub durability: Durability,
    /// Run on a store without persistence, loudly.
    pub accept_loss: bool,
}
