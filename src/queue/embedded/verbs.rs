//! The verbs as requests to the writer, and what each does to the room in memory.

use std::collections::HashMap;
use std::time::Duration;

use tokio::sync::oneshot;

use super::remembered::Remembered;
use crate::queue::presence::{Around, Heard, Presence, Shown};
use crate::queue::{Advanced, JoinBatch, Restored, Seen, StoreError};
#[cfg(test)]
use crate::room::mutation::{self, Mutation};
use crate::room::{
    Control, IdentityHash, JoinOutcome, Joined, Lineage, Micros, Number, Room, RoomId, Rules, Snapshot,
    StayReport, Stayed,
};

/// What a caller wants.
#[derive(Clone)]
pub(in crate::queue) enum Verb {
    Create(Box<Rules>, Lineage),
    Join(JoinBatch),
    Advance(Vec<Number>),
    Leave(Vec<Number>),
    Restore(Vec<(Number, Option<IdentityHash>)>),
    Stays(StayReport),
    Control(Box<Control>),
    Presence(Heard),
}

/// A verb on its way to the writer.
pub(in crate::queue) struct Request {
    pub(in crate::queue) room: RoomId,
    pub(in crate::queue) seen: Seen,
    pub(in crate::queue) verb: Verb,
    pub(in crate::queue) answer: oneshot::Sender<Result<Reply, StoreError>>,
}

/// What a verb answers.
pub(in crate::queue) enum Reply {
    Snapshot(Snapshot),
    Joined(Joined),
    Advanced(Advanced),
    Restored(Restored),
    Stayed(Stayed),
    Shown(Shown),
}

impl Request {
    /// How many joins it carries, which is what a commit is bounded by.
    pub(in crate::queue) fn joins(&self) -> usize {
        match &self.verb {
            Verb::Join(batch) => batch.entries.len(),
            _ => 0,
        }
    }
}

/// Does one verb in memory.
pub(in crate::queue) fn apply(
    rooms: &mut HashMap<RoomId, Room>,
    remembered: &mut Remembered,
    now: Micros,
    request: &Request,
) -> Result<Reply, StoreError> {
    if let Verb::Create(rules, lineage) = &request.verb {
        let make = || Room::new((**rules).clone(), *lineage, now);
        return Ok(Reply::Snapshot(rooms.entry(request.room.clone()).or_insert_with(make).snapshot()));
    }
    let room = rooms.get_mut(&request.room).ok_or(StoreError::NoRoom)?;
    let before = room.snapshot();
    if room.is_behind(request.seen.epoch, request.seen.version) {
        return Err(StoreError::RolledBack);
    }
    if room.recovers(now) && waits(&request.verb) {
        return Err(StoreError::Refused("what was lost is being put right".to_owned()));
    }
    match &request.verb {
        // Presence is not the room's: see below.
        Verb::Create(..) | Verb::Presence(_) => {}
        Verb::Join(batch) => {
            let outcomes = join(room, remembered, now, &request.room, batch);
            return Ok(Reply::Joined(Joined { outcomes, snapshot: room.snapshot() }));
        }
        Verb::Advance(present) => {
            let standings = room.advance(now, present);
            return Ok(Reply::Advanced(Advanced { standings, snapshot: room.snapshot() }));
        }
        Verb::Restore(places) => {
            let places = room.restore(now, places);
            return Ok(Reply::Restored(Restored { places, snapshot: room.snapshot() }));
        }
        Verb::Stays(report) => return Ok(Reply::Stayed(room.stays(now, report))),
        Verb::Leave(numbers) => room.leave(now, numbers),
        // A flush to the lineage that the room already has is the repeat of one that was done.
        Verb::Control(change) if matches!(**change, Control::Flush(to) if to == before.lineage) => {}
        Verb::Control(change) => room.control(now, change),
    }
    Ok(Reply::Snapshot(room.snapshot()))
}

/// What has to wait until a loss is put right.
fn waits(verb: &Verb) -> bool {
    match verb {
        Verb::Join(_) => true,
        Verb::Control(change) => !matches!(**change, Control::StockRead { .. }),
        _ => false,
    }
}

/// Takes what was heard, and tells who is there.
pub(super) fn presence(
    rooms: &HashMap<RoomId, Room>,
    there: &mut HashMap<RoomId, Presence>,
    now: Micros,
    request: &Request,
    heard: &Heard,
) -> Result<Reply, StoreError> {
    let room = rooms.get(&request.room).ok_or(StoreError::NoRoom)?.snapshot();
    if request.seen > (Seen { epoch: room.epoch, version: room.version }) {
        return Err(StoreError::RolledBack);
    }
    let there = there.entry(request.room.clone()).or_default();
    // One instance alone has this store, so a version can be used at once.
    Ok(Reply::Shown(there.tell(now, &Around::of(&room, Duration::ZERO), heard)))
}

/// A batch of joins; a repeat gets the numbers of the first time, with their standing of now.
fn join(
    room: &mut Room,
    remembered: &mut Remembered,
    now: Micros,
    id: &RoomId,
    batch: &JoinBatch,
) -> Vec<JoinOutcome> {
    let placed = remembered.find(id, batch);
    #[cfg(test)]
    let placed = placed.filter(|_| !mutation::is(Mutation::BatchDoneAgain));
    if let Some(placed) = placed {
        let outcome = |outcome: &JoinOutcome| outcome.standing_now(|place| room.standing_of(now, place));
        return placed.iter().map(outcome).collect();
    }
    let outcomes = room.join(now, &batch.entries);
    remembered.add(id, batch, &outcomes);
    outcomes
}
