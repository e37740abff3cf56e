//! A store with every call counted and timed. Drivers need not know that anybody measures.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;

use super::presence::{Heard, Shown};
use super::{Advanced, JoinBatch, QueueStore, Restored, Seen, StoreError};
use crate::metrics;
use crate::room::{
    Control, IdentityHash, Joined, Lineage, Number, RoomId, Rules, Snapshot, StayReport, Stayed,
};

/// Counts the calls of the store inside.
pub struct Measured(Arc<dyn QueueStore>);

impl Measured {
    /// The same store, measured.
    #[must_use]
    pub fn new(store: Arc<dyn QueueStore>) -> Self {
        Self(store)
    }
}

async fn timed<T>(
    verb: &'static str,
    call: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    let answer = call.await;
    let outcome = answer.as_ref().map_or_else(StoreError::label, |_| "ok");
    metrics::store_call(verb, outcome, begun.elapsed());
    answer
}

#[async_trait]
impl QueueStore for Measured {
    async fn create(&self, room: &RoomId, rules: &Rules, lineage: Lineage) -> Result<Snapshot, StoreError> {
        timed("create", self.0.create(room, rules, lineage)).await
    }

    async fn join(&self, room: &RoomId, seen: Seen, batch: &JoinBatch) -> Result<Joined, StoreError> {
        metrics::store_batch("join", batch.entries.len());
        timed("join", self.0.join(room, seen, batch)).await
    }

    async fn advance(&self, room: &RoomId, seen: Seen, present: &[Number]) -> Result<Advanced, StoreError> {
        metrics::store_batch("advance", present.len());
        timed("advance", self.0.advance(room, seen, present)).await
    }

    async fn leave(&self, room: &RoomId, seen: Seen, numbers: &[Number]) -> Result<Snapshot, StoreError> {
        timed("leave", self.0.leave(room, seen, numbers)).await
    }

    async fn restore(
        &self,
        room: &RoomId,
        seen: Seen,
        places: &[(Number, Option<IdentityHash>)],
    ) -> Result<Restored, StoreError> {
        metrics::store_batch("restore", places.len());
        timed("restore", self.0.restore(room, seen, places)).await
    }

    async fn stays(&self, room: &RoomId, seen: Seen, report: &StayReport) -> Result<Stayed, StoreError> {
        metrics::store_batch("stays", report.used.len() + report.ended.len());
        timed("stays", self.0.stays(room, seen, report)).await
    }

    async fn presence(&self, room: &RoomId, seen: Seen, heard: &Heard) -> Result<Shown, StoreError> {
        timed("presence", self.0.presence(room, seen, heard)).await
    }

    async fn control(&self, room: &RoomId, seen: Seen, change: &Control) -> Result<Snapshot, StoreError> {
        timed("control", self.0.control(room, seen, change)).await
    }

    async fn close(&self) {
        self.0.close().await;
    }
}
