//! An instance's side of one room.

use std::sync::Arc;
use std::time::Duration;

use super::StoreError;
use crate::room::{Control, IdentityHash, Number, RoomId, Snapshot, Standing};

/// What an instance knows of a room right now.
#[derive(Debug, Clone)]
pub struct View {
    /// The last snapshot that was read; `None` before the first.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Whether it is recent enough to act on: false means the room is unavailable.
    pub fresh: bool,
}

/// An instance's side of one room: batches, held turns, the snapshot.
pub struct Line;

impl Line {
    /// The room.
    pub fn room(&self) -> &RoomId {
        unreachable!("being built")
    }
    /// What is known right now, from memory.
    pub fn view(&self) -> View {
        unreachable!("being built")
    }
    /// Takes a place.
    pub async fn join(
        &self,
        _identity: Option<IdentityHash>,
    ) -> Result<crate::room::JoinOutcome, StoreError> {
        unreachable!("being built")
    }
    /// Asks where a number stands, and waits for its turn for at most `patience` if that is near.
    pub async fn ask(&self, _number: Number, _patience: Duration) -> Result<Standing, StoreError> {
        unreachable!("being built")
    }
    /// Gives a place up.
    pub async fn leave(&self, _number: Number) -> Result<(), StoreError> {
        unreachable!("being built")
    }
    /// An operator's change; the snapshot after it.
    pub async fn control(&self, _change: Control) -> Result<Arc<Snapshot>, StoreError> {
        unreachable!("being built")
    }
    /// Makes the room if the store holds none.
    pub async fn create(&self) -> Result<Arc<Snapshot>, StoreError> {
        unreachable!("being built")
    }
}
