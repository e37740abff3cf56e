//! The verbs that every store has, and what is promised of them.

use async_trait::async_trait;

use super::StoreError;
use super::presence::{Heard, Shown};
use crate::room::{
    Control, IdentityHash, Joined, Lineage, Number, RoomId, Rules, Snapshot, Standing, StayReport, Stayed,
};

/// One running ropeline, drawn at random at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstanceId(pub u64);

/// The highest state of a room that a caller has seen. A store that shows less has lost writes: it takes up what this
/// process has seen of them, or refuses with [`StoreError::RolledBack`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Seen {
    /// The epoch of that state.
    pub epoch: u64,
    /// Its version within the room's life.
    pub version: u64,
}

/// Joins collected by one instance, at most [`JoinBatch::MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinBatch {
    /// Whose batch this is.
    pub instance: InstanceId,
    /// Counts the batches of that instance and room from 1. A repeat with the same sequence gets the first
    /// answer again: the store remembers the last [`JoinBatch::REMEMBERED`] of each instance.
    pub sequence: u64,
    /// One entry a visitor: the identity, where one number per identity is kept.
    pub entries: Vec<Option<IdentityHash>>,
}

impl JoinBatch {
    /// Most joins in one call: beyond it only the latency grows.
    pub const MAX: usize = 500;
    /// Batches of one instance that a store can answer again.
    pub const REMEMBERED: u64 = 8;
}

/// The answer to [`QueueStore::advance`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advanced {
    /// One standing per number asked for, in order.
    pub standings: Vec<Standing>,
    /// The room after the call.
    pub snapshot: Snapshot,
}

/// The answer to [`QueueStore::restore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The place of each ticket, in order.
    pub places: Vec<Number>,
    /// The room after the call.
    pub snapshot: Snapshot,
}

/// Where lines live. Every verb is one atomic step of the room on the store's own clock; every verb may be
/// repeated after a timeout.
#[async_trait]
pub trait QueueStore: Send + Sync + 'static {
    /// Makes the room if there is none, with `lineage` as its life; otherwise changes nothing. Only a start
    /// or an operator calls this, never a join: a line that vanished must not silently begin again at 1.
    async fn create(&self, room: &RoomId, rules: &Rules, lineage: Lineage) -> Result<Snapshot, StoreError>;

    /// Hands out numbers, in the order of the entries; the joiner is present, so that in an idle room the
    /// same call also admits.
    async fn join(&self, room: &RoomId, seen: Seen, batch: &JoinBatch) -> Result<Joined, StoreError>;

    /// One tick of going in. `present` are numbers whose holders are asking right now: they check in, and
    /// those whose turn it is pick their slot up. An empty list is a plain tick.
    async fn advance(&self, room: &RoomId, seen: Seen, present: &[Number]) -> Result<Advanced, StoreError>;

    /// Gives places up, as the joins named them.
    async fn leave(&self, room: &RoomId, seen: Seen, places: &[Number]) -> Result<Snapshot, StoreError>;

    /// Shows signed tickets whose places the store may have lost: each gets its own number back, or the one that its
    /// identity has. A number above the last is the proof of a loss, and the line goes on above it.
    async fn restore(
        &self,
        room: &RoomId,
        seen: Seen,
        places: &[(Number, Option<IdentityHash>)],
    ) -> Result<Restored, StoreError>;

    /// Uses and ends of stays, and the end log from where the caller has read it. An empty report only reads the
    /// log.
    async fn stays(&self, room: &RoomId, seen: Seen, report: &StayReport) -> Result<Stayed, StoreError>;

    /// Who was heard of, and who is there as far as all instances know: see [`super::presence`].
    async fn presence(&self, room: &RoomId, seen: Seen, heard: &Heard) -> Result<Shown, StoreError>;

    /// An operator's change, or new rules from the file.
    async fn control(&self, room: &RoomId, seen: Seen, change: &Control) -> Result<Snapshot, StoreError>;

    /// Closes what must be closed before another process may open it. Calls after it fail.
    async fn close(&self);
}
