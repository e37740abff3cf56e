//! The line in a file: the pure room, made durable by redb.
//!
//! For one machine, the demo and the tests. Callers hand their verbs to one writer thread (`writer`) and
//! wait; what is on the disk and what is not is told in `disk`.

mod disk;
pub(super) mod remembered;
#[cfg(test)]
mod tests;
pub(super) mod verbs;
mod writer;

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot};

use self::verbs::{Reply, Request, Verb};
use self::writer::{Message, Opener, Writer};
use super::presence::{Heard, Shown};
use super::{
    Advanced, Clock, JoinBatch, Place, QueueStore, Restored, Seen, Settings, StoreError, system_clock,
};
use crate::room::{
    Control, IdentityHash, Joined, Lineage, Number, RoomId, Rules, Snapshot, StayReport, Stayed,
};

/// Most calls that wait for the writer; more are refused at once.
const QUEUE_MAX: usize = 4096;

/// The store in a file.
pub struct EmbeddedStore {
    queue: mpsc::Sender<Message>,
    timeout: Duration,
}

impl EmbeddedStore {
    /// Opens the directory of the settings, which is made if it is missing.
    ///
    /// # Errors
    /// `Refused`, with what to do, when another process has it open or it cannot be read or written.
    pub fn open(settings: &Settings) -> Result<Self, StoreError> {
        Self::with_clock(settings, system_clock())
    }

    /// Like [`EmbeddedStore::open`], on another clock than the system's.
    ///
    /// # Errors
    /// As there.
    pub fn with_clock(settings: &Settings, clock: Clock) -> Result<Self, StoreError> {
        let Place::File(dir) = &settings.place else {
            return Err(StoreError::Refused("store.url names no directory".to_owned()));
        };
        let dir: Box<Path> = dir.as_path().into();
        Self::on(Box::new(move || disk::open_in(&dir)), clock, settings.timeout)
    }

    fn on(opener: Opener, clock: Clock, timeout: Duration) -> Result<Self, StoreError> {
        let writer = Writer::open(opener, clock)?;
        let (queue, messages) = mpsc::channel(QUEUE_MAX);
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(messages))
            .map_err(|error| StoreError::Refused(format!("no thread for the store: {error}")))?;
        Ok(Self { queue, timeout })
    }

    async fn ask(&self, room: &RoomId, seen: Seen, verb: Verb) -> Result<Reply, StoreError> {
        let (answer, answered) = oneshot::channel();
        let request = Request { room: room.clone(), seen, verb, answer };
        self.queue.try_send(Message::Do(request)).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Refused("too many calls at once".to_owned()),
            mpsc::error::TrySendError::Closed(_) => closed(),
        })?;
        match tokio::time::timeout(self.timeout, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(closed()),
            Err(_) => Err(StoreError::TimedOut),
        }
    }

    async fn snapshot_after(&self, room: &RoomId, seen: Seen, verb: Verb) -> Result<Snapshot, StoreError> {
        match self.ask(room, seen, verb).await? {
            Reply::Snapshot(snapshot) => Ok(snapshot),
            _ => Err(crossed()),
        }
    }
}

fn closed() -> StoreError {
    StoreError::Unreachable("the store is closed".to_owned())
}

fn crossed() -> StoreError {
    StoreError::Garbled("an answer to something else".to_owned())
}

#[async_trait]
impl QueueStore for EmbeddedStore {
    async fn create(&self, room: &RoomId, rules: &Rules, lineage: Lineage) -> Result<Snapshot, StoreError> {
        self.snapshot_after(room, Seen::default(), Verb::Create(Box::new(rules.clone()), lineage)).await
    }

    async fn join(&self, room: &RoomId, seen: Seen, batch: &JoinBatch) -> Result<Joined, StoreError> {
        match self.ask(room, seen, Verb::Join(batch.clone())).await? {
            Reply::Joined(joined) => Ok(joined),
            _ => Err(crossed()),
        }
    }

    async fn advance(&self, room: &RoomId, seen: Seen, present: &[Number]) -> Result<Advanced, StoreError> {
        match self.ask(room, seen, Verb::Advance(present.to_vec())).await? {
            Reply::Advanced(advanced) => Ok(advanced),
            _ => Err(crossed()),
        }
    }

    async fn leave(&self, room: &RoomId, seen: Seen, numbers: &[Number]) -> Result<Snapshot, StoreError> {
        self.snapshot_after(room, seen, Verb::Leave(numbers.to_vec())).await
    }

    async fn restore(
        &self,
        room: &RoomId,
        seen: Seen,
        places: &[(Number, Option<IdentityHash>)],
    ) -> Result<Restored, StoreError> {
        match self.ask(room, seen, Verb::Restore(places.to_vec())).await? {
            Reply::Restored(restored) => Ok(restored),
            _ => Err(crossed()),
        }
    }

    async fn stays(&self, room: &RoomId, seen: Seen, report: &StayReport) -> Result<Stayed, StoreError> {
        match self.ask(room, seen, Verb::Stays(report.clone())).await? {
            Reply::Stayed(stayed) => Ok(stayed),
            _ => Err(crossed()),
        }
    }

    async fn presence(&self, room: &RoomId, seen: Seen, heard: &Heard) -> Result<Shown, StoreError> {
        match self.ask(room, seen, Verb::Presence(heard.clone())).await? {
            Reply::Shown(shown) => Ok(shown),
            _ => Err(crossed()),
        }
    }

    async fn control(&self, room: &RoomId, seen: Seen, change: &Control) -> Result<Snapshot, StoreError> {
        self.snapshot_after(room, seen, Verb::Control(Box::new(change.clone()))).await
    }

    async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            let _ = closed.await;
        }
    }
}
