//! A bounded memory of verified passes, so that only the first use of a pass pays for its signature.
//!
//! Two halves: new entries go to the young one; when it is full it becomes the old one, and what was old and
//! not used since is forgotten. That bounds it without a clock, a list or a lock over the whole. Only genuine
//! passes get in, so nobody can flush it with rubbish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use dashmap::DashMap;

use super::claims::Pass;

/// A SHA-256 of the token: entries are small whatever the visitor sent.
pub(super) type Digest = [u8; 32];
type Half = DashMap<Digest, Entry>;

#[derive(Clone)]
struct Entry {
    generation: u64,
    pass: Arc<Pass>,
}

struct Halves {
    young: Arc<Half>,
    old: Arc<Half>,
    young_len: AtomicUsize,
}

/// See the top of the file.
pub(super) struct Memory {
    half_max: usize,
    halves: ArcSwap<Halves>,
}

impl Memory {
    /// A memory of at most about `entries_max`, and at least 2.
    pub(super) fn new(entries_max: usize) -> Self {
        let halves = Halves { young: Arc::default(), old: Arc::default(), young_len: AtomicUsize::new(0) };
        Self { half_max: (entries_max / 2).max(1), halves: ArcSwap::from_pointee(halves) }
    }

    /// What was remembered, if it was verified with this generation of keys.
    pub(super) fn get(&self, digest: &Digest, generation: u64) -> Option<Arc<Pass>> {
        let halves = self.halves.load();
        let found = |half: &Half| half.get(digest).map(|entry| entry.clone());
        if let Some(entry) = found(&halves.young) {
            return (entry.generation == generation).then_some(entry.pass);
        }
        let entry = found(&halves.old).filter(|entry| entry.generation == generation)?;
        self.put(*digest, generation, entry.pass.clone());
        Some(entry.pass)
    }

    /// Remembers a pass that was verified with this generation of keys.
    pub(super) fn put(&self, digest: Digest, generation: u64, pass: Arc<Pass>) {
        let halves = self.halves.load();
        if halves.young.insert(digest, Entry { generation, pass }).is_some() {
            return;
        }
        // Exactly one caller sees the count at the bound, so the halves move on once.
        if halves.young_len.fetch_add(1, Ordering::Relaxed) + 1 == self.half_max {
            let young = Arc::default();
            let old = halves.young.clone();
            self.halves.store(Arc::new(Halves { young, old, young_len: AtomicUsize::new(0) }));
        }
    }

    /// Forgets one.
    pub(super) fn forget(&self, digest: &Digest) {
        let halves = self.halves.load();
        // Counts stay as they are: that only makes the halves move on a little sooner.
        halves.young.remove(digest);
        halves.old.remove(digest);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        let halves = Halves { young: Arc::default(), old: Arc::default(), young_len: AtomicUsize::new(0) };
        self.halves.store(Arc::new(halves));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        let halves = self.halves.load();
        halves.young.len() + halves.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Lineage, Micros, Number, RoomId};

    fn pass(number: u64) -> Arc<Pass> {
        Arc::new(Pass {
            room: RoomId::new("r").unwrap(),
            lineage: Lineage(1),
            number: Number(number),
            visitor: "v".into(),
            admission: "a".into(),
            not_before: Micros(1),
            expires: Micros(2),
            issued: Micros(1),
            bound: None,
        })
    }

    fn digest(number: u64) -> Digest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    #[test]
    fn it_stays_within_its_bound_and_keeps_what_is_used() {
        let memory = Memory::new(100);
        memory.put(digest(0), 1, pass(0));
        for number in 1..10_000 {
            memory.put(digest(number), 1, pass(number));
            assert!(memory.len() <= 100);
            assert!(memory.get(&digest(0), 1).is_some(), "used at every step, gone at {number}");
        }
        assert!(memory.get(&digest(9_999), 1).is_some());
        assert!(memory.get(&digest(1), 1).is_none());
    }

    #[test]
    fn what_other_keys_verified_does_not_count() {
        let memory = Memory::new(10);
        memory.put(digest(1), 1, pass(1));
        assert!(memory.get(&digest(1), 2).is_none());
        memory.put(digest(1), 2, pass(1));
        assert!(memory.get(&digest(1), 2).is_some());
        memory.forget(&digest(1));
        assert!(memory.get(&digest(1), 2).is_none());
    }

    #[test]
    fn many_writers_do_not_outgrow_it() {
        let memory = Memory::new(64);
        std::thread::scope(|scope| {
            for writer in 0..4u64 {
                let memory = &memory;
                scope
                    .spawn(move || (0..5_000).for_each(|n| memory.put(digest(writer << 32 | n), 1, pass(n))));
            }
        });
        assert!(memory.len() <= 64 + 4, "{}", memory.len());
    }
}
