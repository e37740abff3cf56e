//! Lives of the store: what is taken up when one ends, and how writes that it lost are found out and put right.
//!
//! A life is an epoch. Callers say the highest epoch and version that they have seen; whoever has seen more of a
//! life than the store holds is the proof that writes were lost. Then the line goes on above every number that may
//! have been told, takes up what the caller saw (C, D, F, a pause, overrides, the draw), and for a settle of 3 s
//! gives out no place and admits nobody, so that every instance can say what it saw before anything is built on it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::core::Core;
#[cfg(test)]
use super::mutation::{self, Mutation};
use super::turn::AHEAD;
use super::{DrawStage, IdentityHash, Micros, Number, Phase, Room, Snapshot, Standing};

/// How long instances and visitors have to come forward with what was lost.
pub(crate) const SETTLE: Duration = Duration::from_secs(3);

/// Ended lives that are remembered.
const LIVES_MAX: usize = 8;

/// How far a single ticket beyond the last number takes the line: others may follow it.
pub(crate) const BEYOND_TICKET: u64 = 250_000;

/// No number is ever larger: the largest whole number that Lua keeps exact, with room above.
const NUMBER_MAX: u64 = 1 << 52;

/// The highest state of a room that a caller has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// That state.
    pub snapshot: Snapshot,
    /// Whether an operator's pause is in it: `snapshot.phase` tells only while the room is open otherwise.
    pub paused: bool,
    /// How far numbers may have gone, at all instances, until a few seconds after that state.
    pub last: Number,
    /// How far admissions may have gone.
    pub admitted: u64,
}

impl Evidence {
    /// What a snapshot alone tells.
    #[must_use]
    pub fn of(snapshot: Snapshot) -> Self {
        let (paused, last) = (snapshot.phase == Phase::Paused, snapshot.last);
        Self { paused, last, admitted: snapshot.admitted, snapshot }
    }
}

/// What a store may have lost when a life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Nothing: every change was on the disk that it was read from.
    Nothing,
    /// Nothing that was acknowledged, as far as the promises of others hold.
    Unlikely,
    /// The last writes.
    Possible,
}

/// A life that ended, and the highest version of it that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Life {
    epoch: u64,
    version: u64,
}

impl Core {
    /// Whether a caller that has seen this has seen more than is here.
    pub(super) fn is_behind(&self, epoch: u64, version: u64) -> bool {
        if epoch >= self.epoch {
            return (epoch, version) > (self.epoch, self.version);
        }
        match self.lives.iter().find(|life| life.epoch == epoch) {
            Some(life) => version > life.version,
            None => self.lives.first().is_some_and(|oldest| epoch > oldest.epoch),
        }
    }

    /// What only grows. Numbers up to the last that was seen were told, and are in line; admissions that are not
    /// known here are inside until what their passes may print.
    fn take_up(&mut self, now: Micros, snapshot: &Snapshot, admitted: u64) {
        let lost = snapshot.admitted.saturating_sub(self.admitted);
        if lost > 0 {
            let rules = &self.rules;
            let inside = rules.step() + rules.first_use.max(rules.idle).min(rules.pass_ttl);
            self.ghosts += lost;
            self.ghosts_until = self.ghosts_until.max(now.plus(inside));
        }
        if snapshot.last > self.last {
            self.lost.add(self.last, snapshot.last, self.lapsed);
            self.last = snapshot.last;
        }
        self.voids.take_up(&snapshot.voids, snapshot.last);
        self.admitted = self.admitted.max(admitted).max(snapshot.admitted);
        self.departed = self.departed.max(snapshot.departed);
        self.called = self.called.max(snapshot.called);
        self.due = self.due.max(snapshot.due);
        self.frontier = self.frontier.max(snapshot.frontier);
        self.lapsed = self.lapsed.max(snapshot.lapsed);
        self.revoked_before = self.revoked_before.max(snapshot.revoked_before);
        self.clock.go_to(snapshot.slots_to);
        self.latest_slot = self.latest_slot.max(snapshot.slots_to);
    }

    /// The last life may have given out slots up to here: every open grant picked up at once.
    fn furthest_slot(&self, now: Micros) -> Micros {
        let spacing = self.rules.rate.spacing_ns().div_ceil(1000);
        Micros(now.plus(AHEAD).0 + self.grants_max() * spacing)
    }

    fn note_life(&mut self, epoch: u64, version: u64) {
        match self.lives.iter_mut().find(|life| life.epoch == epoch) {
            Some(life) => life.version = life.version.max(version),
            None => self.lives.push(Life { epoch, version }),
        }
        self.lives.sort_by_key(|life| life.epoch);
        let over = self.lives.len().saturating_sub(LIVES_MAX);
        self.lives.drain(..over);
    }
}

impl Room {
    /// Whether a caller that has seen this epoch and version has seen more than is here: writes were lost.
    #[must_use]
    pub fn is_behind(&self, epoch: u64, version: u64) -> bool {
        self.core.is_behind(epoch, version)
    }

    /// Whether what was lost is still being put right: no places and no operator's changes meanwhile.
    #[must_use]
    pub fn recovers(&self, now: Micros) -> bool {
        now < self.core.recovers_until
    }

    /// A new life on a store that started or took over: numbers and admissions go on from where the old life can at
    /// most have been, as far as the store itself (`last`, `admitted`) and the caller know, and whoever is called
    /// gets a step to check in again.
    pub fn take_over(
        &mut self,
        now: Micros,
        loss: Loss,
        (last, admitted): (Number, u64),
        evidence: Option<&Evidence>,
    ) {
        #[cfg(test)]
        let last = if mutation::is(Mutation::NumberReused) { Number(0) } else { last };
        let seen = evidence.filter(|seen| self.is_behind(seen.snapshot.epoch, seen.snapshot.version));
        self.pass_time(now);
        let core = &mut self.core;
        let kept = if loss == Loss::Nothing { u64::MAX } else { core.version };
        let ended = core.epoch;
        core.note_life(ended, kept);
        core.epoch = (ended + 1).max(now.seconds());
        if let Some(Evidence { snapshot, .. }) = seen {
            core.note_life(snapshot.epoch, snapshot.version);
            core.epoch = core.epoch.max(snapshot.epoch + 1);
        }
        let unsure = loss == Loss::Possible || seen.is_some();
        core.recovers_until = if unsure { now.plus(SETTLE) } else { Micros(0) };
        self.ready.clear();
        self.grants.clear();
        if unsure {
            self.log.jump();
            self.core.log_first = self.log.first();
        }
        if let Some(seen) = seen {
            self.take_up(now, seen);
        }
        self.core.skip_to(last);
        self.core.admitted = self.core.admitted.max(admitted);
        if loss == Loss::Possible && evidence.is_none() {
            self.core.clock.go_to(self.core.furthest_slot(now));
        }
        self.settle_from(now);
        let core = &mut self.core;
        core.settled_at = core.settled_at.max(core.recovers_until);
        if unsure {
            core.ramp_from = if core.is_early(now) { Micros(0) } else { core.settled_at };
        }
        self.touch();
    }

    /// What an instance that has seen everything could tell.
    #[cfg(test)]
    pub(crate) fn evidence(&self) -> Evidence {
        let paused = self.core.phase == Phase::Paused;
        Evidence { paused, ..Evidence::of(self.snapshot()) }
    }

    /// What another caller has seen of a life that ended, and nobody has told yet.
    pub fn recall(&mut self, now: Micros, evidence: &Evidence) {
        let Evidence { snapshot, .. } = evidence;
        if snapshot.epoch >= self.core.epoch || !self.is_behind(snapshot.epoch, snapshot.version) {
            return;
        }
        self.core.note_life(snapshot.epoch, snapshot.version);
        self.take_up(now, evidence);
        self.touch();
    }

    /// Takes up what was seen: what only grows at any time, an operator's word only while nobody could say another.
    fn take_up(&mut self, now: Micros, evidence: &Evidence) {
        let Evidence { snapshot, paused, last, admitted } = evidence;
        #[cfg(test)]
        if mutation::is(Mutation::EvidenceIgnored) {
            return;
        }
        let said = now < self.core.recovers_until;
        if said && self.core.lineage != snapshot.lineage {
            self.flush(snapshot.lineage);
            let core = &mut self.core;
            (core.called, core.due) = (snapshot.called, snapshot.due);
            (core.frontier, core.lapsed) = (snapshot.frontier, snapshot.lapsed);
        }
        if self.core.lineage == snapshot.lineage {
            self.core.take_up(now, snapshot, *admitted);
            if said {
                self.obey_again(now, snapshot, *paused);
            }
        }
        self.core.skip_to((*last).max(snapshot.last));
    }

    /// An operator's word that was lost, and the draw.
    fn obey_again(&mut self, now: Micros, snapshot: &Snapshot, paused: bool) {
        let core = &mut self.core;
        core.phase = if paused { Phase::Paused } else { Phase::Open };
        core.reason.clone_from(&snapshot.reason);
        core.forced = snapshot.forced;
        let drawn = core.draw.stage == DrawStage::Drawn;
        core.draw.clone_from(&snapshot.draw);
        if core.draw.stage == DrawStage::Drawn && !drawn {
            // Made again, and the same: the places that were given up in the lobby are not renumbered yet.
            core.draw.stage = DrawStage::Frozen;
        }
        core.file.clone_from(&snapshot.rules_written);
        core.overrides.clone_from(&snapshot.overrides);
        self.rules_changed(now);
    }

    /// Signed tickets whose places the store may have lost: each gets its place, which is its own number unless its
    /// identity has a smaller one or is inside already. A number that was never handed out here is the proof that
    /// this one and others were lost.
    pub fn restore(&mut self, now: Micros, places: &[(Number, Option<IdentityHash>)]) -> Vec<Number> {
        let now = self.enter(now);
        let restored = places.iter().map(|(place, identity)| self.put_back(now, *place, *identity)).collect();
        self.touch();
        restored
    }

    fn put_back(&mut self, now: Micros, place: Number, identity: Option<IdentityHash>) -> Number {
        let lost = place > self.core.last && place.0 < NUMBER_MAX;
        #[cfg(test)]
        let lost = lost && !mutation::is(Mutation::EvidenceIgnored);
        if lost {
            self.core.skip_to(Number(place.0 + BEYOND_TICKET));
        }
        let Some(identity) = identity.filter(|_| self.core.lost.has(place)) else { return place };
        let other = self.identities.get(&identity).copied().filter(|other| *other != place);
        if let Some(other) = other {
            let inside = matches!(self.standing_of(now, other), Standing::Admitted(_));
            let kept = if inside { other } else { other.min(place) };
            let gone = if kept == place { other } else { place };
            self.give_up(self.core.draw.number_of(gone));
            if kept == other {
                return other;
            }
        }
        self.identities.insert(identity, place);
        self.changes.put_back.push((identity, place));
        self.changes.identities.push((identity, place));
        place
    }
}

#[cfg(test)]
mod tests;
