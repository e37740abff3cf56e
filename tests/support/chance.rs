//! A little chance for names and orders.

use std::hash::{BuildHasher, Hasher, RandomState};

/// 64 random bits.
pub fn bits() -> u64 {
    RandomState::new().build_hasher().finish()
}
