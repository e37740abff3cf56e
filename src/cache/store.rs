//! Bounded storage: records by key, within a number of entries and of bytes, evicted by use.
//!
//! One weight serves both bounds: a record weighs its bytes, but never less than its even share of
//! `bytes_max`, so that a full store holds neither too many bytes nor too many records. Plain least-recently-used:
//! a policy that may refuse a new record would send its readers back to the origin.

use moka::future::Cache;
use moka::policy::EvictionPolicy;

use super::record::Record;
use super::{Key, Settings};

/// Memory that a record costs besides its contents, estimated.
const OVERHEAD: usize = 512;

/// Records by key.
#[derive(Debug)]
pub(super) struct Store {
    records: Cache<Key, Record>,
}

impl Store {
    /// An empty store with the bounds of `settings`.
    pub(super) fn new(settings: &Settings) -> Self {
        let share = settings.bytes_max / settings.entries_max.max(1);
        let records = Cache::builder()
            .max_capacity(settings.bytes_max)
            .weigher(move |key, record| weight(key, record, share))
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self { records }
    }

    /// What is remembered of `key`; counts as a use.
    pub(super) async fn get(&self, key: &Key) -> Option<Record> {
        self.records.get(key).await
    }

    /// Remembers `record` in place of what was there, or forgets it.
    pub(super) async fn put(&self, key: &Key, record: Option<Record>) {
        match record {
            Some(record) => self.records.insert(key.clone(), record).await,
            None => self.records.invalidate(key).await,
        }
    }

    /// Records and their weight in bytes, as of the last housekeeping.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.records.entry_count(), self.records.weighted_size())
    }

    #[cfg(test)]
    pub(super) async fn settle(&self) {
        self.records.run_pending_tasks().await;
    }
}

fn weight(key: &Key, record: &Record, share: u64) -> u32 {
    let bytes = key.bytes() + record.bytes() + OVERHEAD;
    let share = u32::try_from(share).unwrap_or(u32::MAX);
    u32::try_from(bytes).unwrap_or(u32::MAX).max(share)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::super::Scheme;
    use super::super::record::{Entry, Hold};
    use super::*;
    use crate::room::Micros;

    fn record(bytes: usize) -> Record {
        let entry = Entry {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::from(vec![0; bytes]),
            asked: Micros(0),
            age_before: 0,
            never_stale: false,
        };
        Record { entry: Some(Arc::new(entry)), hold: Hold::None }
    }

    fn key(n: usize) -> Key {
        Key::new(Scheme::Http, "a", &format!("/{n}"))
    }

    #[tokio::test]
    async fn holds_no_more_than_its_entries_and_keeps_what_is_used() {
        let store = Store::new(&Settings { entries_max: 10, bytes_max: 1 << 20, ..Settings::default() });
        for n in 0..200 {
            store.put(&key(n), Some(record(1))).await;
            store.settle().await;
            assert!(store.get(&key(0)).await.is_some(), "the record in use went at {n}");
        }
        store.settle().await;
        assert!(store.size().0 <= 10, "{:?}", store.size());
        assert!(store.get(&key(1)).await.is_none());
    }

    #[tokio::test]
    async fn holds_no_more_than_its_bytes() {
        let store = Store::new(&Settings { entries_max: 1000, bytes_max: 100_000, ..Settings::default() });
        for n in 0..50 {
            store.put(&key(n), Some(record(10_000))).await;
        }
        store.settle().await;
        let (entries, bytes) = store.size();
        assert!(bytes <= 100_000 && entries <= 9, "{entries} entries, {bytes} bytes");
    }
}
