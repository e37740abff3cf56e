//! The last batches of joins of each instance, so that a repeat gets the same numbers.
//!
//! In memory only: the instances of an embedded store are in its own process and end with it.

use std::collections::{HashMap, VecDeque};

use crate::queue::{InstanceId, JoinBatch};
use crate::room::{JoinOutcome, RoomId};

/// Most rooms and instances that are remembered: more than ever share one process.
const LINES_MAX: usize = 1024;

type Key = (RoomId, InstanceId);

/// The last batches of each room and instance.
#[derive(Default, Clone)]
pub(in crate::queue) struct Remembered {
    batches: HashMap<Key, VecDeque<(u64, Vec<JoinOutcome>)>>,
    unsure: Vec<(Key, u64)>,
}

impl Remembered {
    pub(in crate::queue) fn find(&self, room: &RoomId, batch: &JoinBatch) -> Option<&[JoinOutcome]> {
        let last = self.batches.get(&(room.clone(), batch.instance))?;
        last.iter().find(|(sequence, _)| *sequence == batch.sequence).map(|(_, placed)| placed.as_slice())
    }

    /// Remembers a batch that is not on the disk yet.
    pub(in crate::queue) fn add(&mut self, room: &RoomId, batch: &JoinBatch, outcomes: &[JoinOutcome]) {
        let key = (room.clone(), batch.instance);
        if self.batches.len() >= LINES_MAX && !self.batches.contains_key(&key) {
            self.batches.clear();
        }
        let last = self.batches.entry(key.clone()).or_default();
        last.push_back((batch.sequence, outcomes.to_vec()));
        while last.len() as u64 > JoinBatch::REMEMBERED {
            last.pop_front();
        }
        self.unsure.push((key, batch.sequence));
    }

    /// Everything that was added is on the disk now.
    pub(in crate::queue) fn keep(&mut self) {
        self.unsure.clear();
    }

    /// What was added since the last commit never happened.
    pub(in crate::queue) fn drop_unsure(&mut self) {
        for (key, sequence) in self.unsure.drain(..) {
            if let Some(last) = self.batches.get_mut(&key) {
                last.retain(|(known, _)| *known != sequence);
            }
        }
    }
}
