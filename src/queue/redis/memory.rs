//! The highest state of each room that this instance has seen in its store.
//!
//! It is sent with every call, so that a server that lost writes is found out, and it is what is taken up then
//! (`scripts/takeover.lua`). One entry a room, and rooms are those of the settings.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::queue::Seen;
use crate::room::{Evidence, RoomId, Snapshot};

/// See the top of the file.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<RoomId, Evidence>>);

impl Memory {
    /// Takes in what an answer told, unless more is known: answers of parallel calls may cross.
    pub(super) fn learn(&self, room: &RoomId, told: &Evidence) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if rooms.get(room).is_none_or(|known| seen(&known.snapshot) <= seen(&told.snapshot)) {
            rooms.insert(room.clone(), told.clone());
        }
    }

    /// The highest that was seen of a room.
    pub(super) fn of(&self, room: &RoomId) -> Option<Evidence> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(room).cloned()
    }

    /// The higher of what a caller says and what is known.
    pub(super) fn seen(&self, room: &RoomId, said: Seen) -> Seen {
        let rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.get(room).map_or(said, |known| said.max(seen(&known.snapshot)))
    }
}

fn seen(snapshot: &Snapshot) -> Seen {
    Seen { epoch: snapshot.epoch, version: snapshot.version }
}
