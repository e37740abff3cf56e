//! The one thread that changes rooms: it takes what is queued, applies it in memory, writes the changes in one
//! durable commit, and only then answers everybody.
//!
//! While a commit waits for the disk, the next group gathers; that is all the batching there is. If a commit
//! fails, the rooms in memory are thrown away and read from the disk again, so that they never run ahead
//! of it; until that works, every call is refused.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use redb::Database;
use tokio::sync::{mpsc, oneshot};

use super::disk::Disk;
use super::remembered::Remembered;
use super::verbs::{self, Reply, Request, Verb};
use crate::queue::presence::{Kept, Presence};
use crate::queue::{Clock, StoreError};
use crate::room::{Loss, Number, Room, RoomId};

/// Most joins in one commit.
const JOINS_MAX: usize = 1000;
/// Most requests in one commit.
const REQUESTS_MAX: usize = 1000;
/// Shortest time between two attempts to open the file again after an error.
const REOPEN_EVERY: Duration = Duration::from_millis(500);

/// How the file is opened, at the start and after an error.
pub(super) type Opener = Box<dyn Fn() -> Result<Database, StoreError> + Send>;

/// What the thread is told.
pub(super) enum Message {
    Do(Request),
    Close(oneshot::Sender<()>),
}

type Answers = Vec<(oneshot::Sender<Result<Reply, StoreError>>, Result<Reply, StoreError>)>;

/// The thread's state.
pub(super) struct Writer {
    opener: Opener,
    clock: Clock,
    open: Option<Open>,
    tried: Instant,
    remembered: Remembered,
}

struct Open {
    disk: Disk,
    rooms: HashMap<RoomId, Room>,
    /// Who is there, and what of it is on the disk.
    presence: HashMap<RoomId, Presence>,
    kept: HashMap<RoomId, Kept>,
    /// C, D, F and the lapsed as they are on the disk: a move of these is worth a commit.
    written: HashMap<RoomId, [Number; 4]>,
}

impl Writer {
    /// Opens the file and begins a new epoch of each room in it.
    pub(super) fn open(opener: Opener, clock: Clock) -> Result<Self, StoreError> {
        let open = Open::new(&opener, &clock)?;
        let (tried, remembered) = (Instant::now(), Remembered::default());
        Ok(Self { opener, clock, open: Some(open), tried, remembered })
    }

    /// Serves until it is told to close or nobody is left to tell.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        while let Some(first) = queue.blocking_recv() {
            let mut closing = None;
            let mut group = Vec::new();
            let mut joins = 0;
            let mut next = Some(first);
            while let Some(message) = next {
                match message {
                    Message::Close(done) => {
                        closing = Some(done);
                        break;
                    }
                    Message::Do(request) => {
                        joins += request.joins();
                        group.push(request);
                    }
                }
                let more = joins < JOINS_MAX && group.len() < REQUESTS_MAX;
                next = if more { queue.try_recv().ok() } else { None };
            }
            self.serve(group);
            if let Some(done) = closing {
                self.end();
                let _ = done.send(());
                return;
            }
        }
    }

    /// Writes down even what only the passing of time changed, so that a planned restart loses nothing at all.
    fn end(mut self) {
        let Some(open) = self.open.as_mut() else { return };
        let all = open.rooms.keys().cloned().collect();
        if let Err(error) = open.commit(&all, true) {
            tracing::error!("the last changes could not be written: {error}");
        }
    }

    fn serve(&mut self, group: Vec<Request>) {
        if let Err(error) = self.reopen() {
            for request in group {
                let _ = request.answer.send(Err(error.clone()));
            }
            return;
        }
        let Some(open) = self.open.as_mut() else { return };
        let mut touched = BTreeSet::new();
        let mut answers: Answers = Vec::with_capacity(group.len());
        for request in group {
            let now = (self.clock)();
            let answer = match &request.verb {
                Verb::Presence(heard) => {
                    verbs::presence(&open.rooms, &mut open.presence, now, &request, heard)
                }
                _ => verbs::apply(&mut open.rooms, &mut self.remembered, now, &request),
            };
            touched.insert(request.room);
            answers.push((request.answer, answer));
        }
        match open.commit(&touched, false) {
            Ok(()) => self.remembered.keep(),
            Err(error) => {
                tracing::error!("{error}; the line is unavailable until it can be written again");
                self.open = None;
                self.remembered.drop_unsure();
                answers.iter_mut().for_each(|(_, answer)| *answer = Err(error.clone()));
            }
        }
        for (to, answer) in answers {
            // Whoever stopped waiting will ask again; the answer is the same then.
            let _ = to.send(answer);
        }
    }

    fn reopen(&mut self) -> Result<(), StoreError> {
        if self.open.is_some() {
            return Ok(());
        }
        if self.tried.elapsed() < REOPEN_EVERY {
            return Err(StoreError::Refused("the disk failed a moment ago".to_owned()));
        }
        self.tried = Instant::now();
        self.open = Some(Open::new(&self.opener, &self.clock)?);
        tracing::info!("the line can be written again");
        Ok(())
    }
}

impl Open {
    fn new(opener: &Opener, clock: &Clock) -> Result<Self, StoreError> {
        let (disk, mut rooms, kept) = Disk::load(opener()?)?;
        for room in rooms.values_mut() {
            let at = room.snapshot();
            room.take_over(clock(), Loss::Nothing, (at.last, at.admitted), None);
        }
        let all = rooms.keys().cloned().collect();
        let restored = |(id, kept): (&RoomId, &Kept)| (id.clone(), Presence::restored(kept.clone()));
        let presence = kept.iter().map(restored).collect();
        let mut open = Self { disk, rooms, presence, kept, written: HashMap::new() };
        open.commit(&all, true)?;
        Ok(open)
    }

    /// Writes the rooms of a group that changed in more than the passing of time, or all of it.
    fn commit(&mut self, touched: &BTreeSet<RoomId>, everything: bool) -> Result<(), StoreError> {
        let mut changed = Vec::new();
        for id in touched {
            let Some(room) = self.rooms.get_mut(id) else { continue };
            let at = room.snapshot();
            let horizons = [at.called, at.due, at.frontier, at.lapsed];
            if everything || room.changes().material || self.written.get(id) != Some(&horizons) {
                self.written.insert(id.clone(), horizons);
                changed.push((id.clone(), room.core().clone(), room.take_changes()));
            }
        }
        let there = self.presence_changed(touched);
        if changed.is_empty() && there.is_empty() { Ok(()) } else { self.disk.write(changed, &there) }
    }

    /// Bits that fell, which must not come back with a restart: nobody's position may grow by it.
    fn presence_changed(&mut self, touched: &BTreeSet<RoomId>) -> Vec<(RoomId, Kept)> {
        let mut changed = Vec::new();
        for id in touched {
            let Some(kept) = self.presence.get(id).map(Presence::kept) else { continue };
            let same = self.kept.get(id).is_some_and(|old| old.shown == kept.shown && old.last == kept.last);
            if !same {
                self.kept.insert(id.clone(), kept.clone());
                changed.push((id.clone(), kept));
            }
        }
        changed
    }
}
