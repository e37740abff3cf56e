//! What the cache did, as counters. They only grow, so that whoever reads them can take differences.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start. Every reader is counted once, under the way in which it was answered.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) fresh: AtomicU64,
    pub(super) stale: AtomicU64,
    pub(super) filled: AtomicU64,
    pub(super) forwarded: AtomicU64,
    pub(super) unavailable: AtomicU64,
    pub(super) fetches: AtomicU64,
    pub(super) failures: AtomicU64,
}

/// A reading of the counters and of the size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Readers answered with a fresh entry.
    pub fresh: u64,
    /// Readers answered with a stale entry.
    pub stale: u64,
    /// Readers who waited for the origin and got its answer.
    pub filled: u64,
    /// Readers whose own request is forwarded because the answer may not be shared.
    pub forwarded: u64,
    /// Readers told to come again.
    pub unavailable: u64,
    /// Requests to the origin.
    pub fetches: u64,
    /// Requests to the origin that failed.
    pub failures: u64,
    /// Keys that the origin is being asked for at this moment.
    pub in_flight: usize,
    /// Records in memory.
    pub entries: u64,
    /// Their weight in bytes.
    pub bytes: u64,
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Counts {
    /// The counters as they are now.
    pub(super) fn read(&self, in_flight: usize, (entries, bytes): (u64, u64)) -> Tally {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Tally {
            fresh: of(&self.fresh),
            stale: of(&self.stale),
            filled: of(&self.filled),
            forwarded: of(&self.forwarded),
            unavailable: of(&self.unavailable),
            fetches: of(&self.fetches),
            failures: of(&self.failures),
            in_flight,
            entries,
            bytes,
        }
    }
}
