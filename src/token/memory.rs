//! A bounded memory of verified tokens, so that only the first use of one pays for its signature.
//!
//! Two halves: new entries go to the young one; when it is full it becomes the old one, and what was old and
//! not used since is forgotten. That bounds it without a clock, a list or a lock over the whole. Only genuine
//! tokens get in, so nobody can flush it with rubbish.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use dashmap::DashMap;

/// A SHA-256 of the token: entries are small whatever the visitor sent.
pub(crate) type Digest = [u8; 32];
type Half<T> = DashMap<Digest, Entry<T>>;

struct Entry<T> {
    generation: u64,
    value: Arc<T>,
}

struct Halves<T> {
    young: Arc<Half<T>>,
    old: Arc<Half<T>>,
    young_len: AtomicUsize,
}

impl<T> Halves<T> {
    fn after(old: Arc<Half<T>>) -> Self {
        Self { young: Arc::default(), old, young_len: AtomicUsize::new(0) }
    }
}

/// See the top of the file.
pub(crate) struct Memory<T> {
    half_max: usize,
    halves: ArcSwap<Halves<T>>,
}

impl<T> Memory<T> {
    /// A memory of at most about `entries_max`, and at least 2.
    pub(crate) fn new(entries_max: usize) -> Self {
        let halves = Halves::after(Arc::default());
        Self { half_max: (entries_max / 2).max(1), halves: ArcSwap::from_pointee(halves) }
    }

    /// What was remembered, if it was verified with this generation of keys.
    pub(crate) fn get(&self, digest: &Digest, generation: u64) -> Option<Arc<T>> {
        let halves = self.halves.load();
        let found =
            |half: &Half<T>| half.get(digest).map(|entry| (entry.generation, Arc::clone(&entry.value)));
        if let Some((made, value)) = found(&halves.young) {
            return (made == generation).then_some(value);
        }
        let (_, value) = found(&halves.old).filter(|(made, _)| *made == generation)?;
        self.put(*digest, generation, Arc::clone(&value));
        Some(value)
    }

    /// Remembers what was verified with this generation of keys.
    pub(crate) fn put(&self, digest: Digest, generation: u64, value: Arc<T>) {
        let halves = self.halves.load();
        if halves.young.insert(digest, Entry { generation, value }).is_some() {
            return;
        }
        // Exactly one caller sees the count at the bound, so the halves move on once.
        if halves.young_len.fetch_add(1, Ordering::Relaxed) + 1 == self.half_max {
            self.halves.store(Arc::new(Halves::after(Arc::clone(&halves.young))));
        }
    }

    /// Forgets one.
    pub(crate) fn forget(&self, digest: &Digest) {
        let halves = self.halves.load();
        // Counts stay as they are: that only makes the halves move on a little sooner.
        halves.young.remove(digest);
        halves.old.remove(digest);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        self.halves.store(Arc::new(Halves::after(Arc::default())));
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
    use crate::token::Pass;

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
