//! Who in line is really there, as two bitmaps by number that all instances agree on.
//!
//! `shown`: its bits only ever fall, so that a position, which is a rank in it, never grows for whoever stays. `live`:
//! its bits come back with their people; it tells how many wait. A number counts from joining for a while, so that its
//! first poll can come, and then while it is heard of. Each instance tells the store about once a second what it
//! heard; whoever comes first in a second folds it all into the next version, which everybody uses from the same
//! moment on. So what an instance asks of the store does not depend on how many wait, and costs one call a second.

mod bits;
mod fold;
mod rank;

use std::time::Duration;

pub use bits::Bits;
pub use fold::{Around, Kept, Presence};
pub use rank::Ranked;

use crate::room::{Micros, Number};

/// What an instance has to say, and which version it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Numbers that were heard of since the last call.
    pub heard: Bits,
    /// Numbers that gave their place up, at most [`Heard::LEFT_MAX`].
    pub left: Vec<Number>,
    /// The version that the instance has; 0 for none.
    pub version: u64,
    /// How long a number counts after it was last heard of.
    pub absent_after: Duration,
}

impl Heard {
    /// Most leaves in one call.
    pub const LEFT_MAX: usize = 500;

    /// The length of a part of what was heard, in microseconds.
    pub(crate) fn part_us(&self) -> u64 {
        (u64::try_from(self.absent_after.as_micros()).unwrap_or(u64::MAX) / PARTS).max(1)
    }
}

/// One version of who is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Counts the versions.
    pub version: u64,
    /// F of this version: positions are ranks beyond it.
    pub frontier: Number,
    /// The last number that this version knows.
    pub last: Number,
    /// From when all instances use it, on the store's clock.
    pub use_from: Micros,
    /// The two bitmaps from the byte of `frontier` on; `None` if the caller has this version already.
    pub bits: Option<(Bits, Bits)>,
    /// The store's clock when it answered.
    pub now: Micros,
}

/// A number counts for so long after joining before it was heard of.
pub(crate) const YOUNG: Duration = Duration::from_secs(15);
/// Between two versions.
pub(crate) const EVERY: Duration = Duration::from_secs(1);
/// What was heard is kept in so many parts of `absent_after`.
pub(crate) const PARTS: u64 = 6;
/// The most that the clock of presence goes on between two versions: an outage makes nobody absent.
pub(crate) const STRIDE_MAX: Duration = Duration::from_secs(2);
/// Most leaves that are kept for the next version, or because they are young; more of them age out instead.
pub(crate) const LEFT_KEPT_MAX: usize = 10_000;
