//! A store that can lose its last writes, hang, go silent, restart and step its clock. What it does with a verb
//! is the embedded store's own code on the pure room; how a new life begins follows the Redis takeover.

use std::collections::{HashMap, VecDeque};

use tokio::sync::oneshot;

use super::ceilings::Ceilings;
use super::plan::Kept;
use crate::queue::embedded::remembered::Remembered;
use crate::queue::embedded::verbs::{self, Reply, Request, Verb};
use crate::queue::{Seen, StoreError};
use crate::room::{Evidence, Loss, Micros, Number, Room, RoomId, Snapshot};

/// The moment at which every sale begins, on the store's clock.
pub(super) const START: u64 = 1_790_000_000_000_000;
/// How often a state is kept to fall back to, and how many of them.
const KEEP_EVERY: u64 = 150_000;
const KEPT_MOST: usize = 60;

/// Everything that a server holds.
#[derive(Clone, Default)]
struct State {
    rooms: HashMap<RoomId, Room>,
    remembered: Remembered,
    ceilings: Ceilings,
    /// The server that the epoch began on.
    owner: u64,
}

/// How the store behaves just now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    Well,
    /// Takes calls in, and does them later.
    Hangs,
    /// Does them, and answers nothing.
    Mute,
    /// Does them, and the connection breaks.
    Breaks,
    Away,
}

pub(super) struct Store {
    pub(super) room: RoomId,
    pub(super) mood: Mood,
    /// Calls that were taken in while it hung.
    pub(super) taken_in: Vec<usize>,
    kept: Kept,
    live: State,
    past: VecDeque<(u64, State)>,
    /// The state at which it was last heard.
    heard: Option<(u64, State)>,
    server: u64,
    offset: i64,
    may_lose: bool,
}

/// What a verb led to.
pub(super) struct Done {
    pub(super) answer: Result<Reply, StoreError>,
    /// A new life of the room began with this call.
    pub(super) taken_over: bool,
}

impl Store {
    pub(super) fn new(kept: Kept, may_lose: bool) -> Self {
        Self {
            room: RoomId::new("hall").unwrap(),
            mood: Mood::Well,
            taken_in: Vec::new(),
            kept,
            live: State { ceilings: Ceilings::new(kept), ..State::default() },
            past: VecDeque::new(),
            heard: None,
            server: 0,
            offset: 0,
            may_lose,
        }
    }

    /// The store's own clock.
    pub(super) fn clock(&self, at: u64) -> Micros {
        Micros((START + at).saturating_add_signed(self.offset))
    }

    pub(super) fn step_clock(&mut self, by: i64) {
        self.offset += by;
    }

    pub(super) fn room(&self) -> Option<&Room> {
        self.live.rooms.get(&self.room)
    }

    /// How far numbers may go before the next ceiling is in force.
    pub(super) fn ceiling(&self, last: Number) -> Number {
        if self.kept == Kept::Acknowledged { last } else { self.live.ceilings.pending().max(last) }
    }

    /// Does a verb at the true time `at`, for a caller with this to tell.
    pub(super) fn call(&mut self, at: u64, evidence: Option<&Evidence>, seen: Seen, verb: &Verb) -> Done {
        self.keep(at);
        let now = self.clock(at);
        let taken_over = !matches!(verb, Verb::Create(..)) && self.take_over(now, seen, evidence);
        let state = &mut self.live;
        if let Some(room) = state.rooms.get(&self.room).filter(|_| self.kept != Kept::Acknowledged) {
            let joining = if let Verb::Join(batch) = verb { batch.entries.len() as u64 } else { 0 };
            let snapshot = room.snapshot();
            state.ceilings.raise(now, &snapshot, joining);
            if !state.ceilings.allow(snapshot.last, joining) {
                let answer = Err(StoreError::Refused("numbers are not leased yet".to_owned()));
                return Done { answer, taken_over };
            }
        }
        let (answer, _unheard) = oneshot::channel();
        let request = Request { room: self.room.clone(), seen, verb: verb.clone(), answer };
        let answer = verbs::apply(&mut state.rooms, &mut state.remembered, now, &request);
        if let Some(room) = state.rooms.get_mut(&self.room) {
            let _written = room.take_changes();
        }
        Done { answer, taken_over }
    }

    /// A server that the epoch did not begin on begins another, and takes up what the caller has seen of the last.
    fn take_over(&mut self, now: Micros, seen: Seen, evidence: Option<&Evidence>) -> bool {
        let Some(room) = self.live.rooms.get_mut(&self.room) else { return false };
        let behind = room.is_behind(seen.epoch, seen.version);
        if self.live.owner == self.server {
            evidence.filter(|_| behind).into_iter().for_each(|evidence| room.recall(now, evidence));
            return false;
        }
        let Snapshot { last, admitted, .. } = room.snapshot();
        self.live.owner = self.server;
        let loss = if self.kept == Kept::Acknowledged { Loss::Unlikely } else { Loss::Possible };
        let (last, admitted) = match self.kept {
            Kept::Acknowledged => (last, admitted),
            Kept::Lagging => (self.live.ceilings.highest(now, last, admitted).0, admitted),
            Kept::Memory => self.live.ceilings.highest(now, last, admitted),
        };
        room.take_over(now, loss, (last, admitted), evidence);
        true
    }

    fn keep(&mut self, at: u64) {
        let old = self.past.back().is_none_or(|(kept, _)| kept + KEEP_EVERY <= at);
        if self.may_lose && self.kept != Kept::Acknowledged && old {
            self.past.push_back((at, self.live.clone()));
            if self.past.len() > KEPT_MOST {
                self.past.pop_front();
            }
        }
    }

    /// From now on nothing that is done is heard; the server will end.
    pub(super) fn fall_silent(&mut self, at: u64) {
        self.mood = Mood::Mute;
        self.heard = Some((at + 1, self.live.clone()));
    }

    /// The server has ended: what the next one holds is as of the time that is returned.
    pub(super) fn end(&mut self, at: u64, keeps: bool, loses: u64) -> u64 {
        self.mood = Mood::Away;
        self.server += 1;
        let heard = self.heard.take();
        let past = std::mem::take(&mut self.past);
        if self.kept != Kept::Acknowledged && loses > 0 {
            let old = past.iter().rposition(|(kept, _)| kept + loses <= at).unwrap_or(0);
            if let Some((kept, state)) = past.into_iter().nth(old) {
                self.live = state;
                return kept;
            }
        }
        match heard {
            Some((since, state)) if !keeps => {
                self.live = state;
                since
            }
            _ => at + 1,
        }
    }
}
