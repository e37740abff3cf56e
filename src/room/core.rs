//! A room's state: the few numbers that describe it, the sets around its head, and what must be written
//! down for it to survive.

use std::collections::{BTreeSet, HashMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::clock::Spacing;
use super::ended::EndLog;
use super::lives::Life;
use super::marks::Marks;
use super::{
    Control, Draw, Forced, IdentityHash, Lineage, Micros, Number, Overrides, Phase, Rules, SlotClock,
    Snapshot, Stock, Voids,
};

/// The numbers that describe a room. A copy of this and the durable sets is a copy of the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    pub(super) lineage: Lineage,
    pub(super) epoch: u64,
    pub(super) version: u64,
    /// The rules of the file, and the operator's on top; `rules` follows from both.
    pub(super) file: Rules,
    pub(super) overrides: Overrides,
    pub(super) rules: Rules,
    pub(super) phase: Phase,
    pub(super) reason: Option<String>,
    /// The operator's word over the schedule.
    #[serde(default)]
    pub(super) forced: Option<Forced>,
    /// The draw of this lineage.
    #[serde(default)]
    pub(super) draw: Draw,
    /// The last number handed out.
    pub(super) last: Number,
    /// C, D, F of the design, and the number up to which missed turns have lapsed.
    pub(super) called: Number,
    pub(super) due: Number,
    pub(super) frontier: Number,
    pub(super) lapsed: Number,
    /// The rate's clock, and the latest slot that was taken from it.
    pub(super) clock: SlotClock,
    pub(super) latest_slot: Micros,
    /// When C and D last moved.
    pub(super) stepped: Micros,
    /// When the room was last touched: a gap is an outage, a step back is a clock that was set.
    pub(super) touched: Micros,
    /// Nothing is granted before this: called visitors get a step to check in again.
    pub(super) settled_at: Micros,
    /// Where the ramp after an outage begins; 0 without one.
    pub(super) ramp_from: Micros,
    /// How many of those called check in, per mille.
    pub(super) show: u64,
    /// Time spent releasing, in microseconds: `return_within` runs on it.
    pub(super) released: u64,
    /// Admissions since creation or flush.
    pub(super) admitted: u64,
    /// (released, frontier) from time to time, so that missed turns can lapse.
    pub(super) lapses: VecDeque<(u64, Number)>,
    /// Numbers that nobody was told of.
    #[serde(default)]
    pub(super) voids: Voids,
    /// Numbers whose identities may have been lost with the last writes of a life.
    #[serde(default)]
    pub(super) lost: Voids,
    /// The lives that ended, the oldest first.
    #[serde(default)]
    pub(super) lives: Vec<Life>,
    /// Tells the keys of the instances apart; empty until the first has said.
    #[serde(default)]
    pub(super) keys: String,
    /// Until then what was lost is put right.
    #[serde(default)]
    pub(super) recovers_until: Micros,
    /// Stays that ended or expired since creation or flush.
    pub(super) departed: u64,
    /// Admissions that a store has lost: inside all the same, until their passes must have expired.
    #[serde(default)]
    pub(super) ghosts: u64,
    #[serde(default)]
    pub(super) ghosts_until: Micros,
    /// The sequence of the first entry of the end log.
    pub(super) log_first: u64,
    /// Passes whose slot lies before this are void.
    pub(super) revoked_before: Micros,
    /// The shop's stock as last read.
    pub(super) stock: Option<Stock>,
}

/// What has changed since the last [`Room::take_changes`], for a store that keeps the room on disk. The
/// checked in and the granted are not in it: after a restart they check in again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Everything before these changes is void: a flush.
    pub cleared: bool,
    /// Whether anything but the passing of time changed.
    pub material: bool,
    /// Admissions made: number and slot.
    pub admitted: Vec<(Number, Micros)>,
    /// Admissions whose memory is no longer needed.
    pub forgotten: Vec<Number>,
    /// Places given up.
    pub left: Vec<Number>,
    /// Places of a lobby that were given up, and are marked by their drawn number from now on.
    pub left_undone: Vec<Number>,
    /// Left marks whose memory is no longer needed: all up to this number.
    pub left_forgotten: Option<Number>,
    /// Identities and their numbers.
    pub identities: Vec<(IdentityHash, Number)>,
    /// Identities that got a smaller number back: what is known of them above it no longer counts.
    pub put_back: Vec<(IdentityHash, Number)>,
    /// Stays in the order of what happened to them: the acknowledged expiry, or `None` once they are over.
    pub stays: Vec<(Number, Option<Micros>)>,
    /// Numbers whose stay was ended by the visitor or the shop; known for as long as their admission.
    pub gone: Vec<Number>,
    /// Entries of the end log: sequence, number, until when it is kept. What lies before the core's `log_first` is
    /// not needed any longer.
    pub log: Vec<(u64, Number, Micros)>,
}

/// A room as it was written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The numbers.
    pub core: Core,
    /// Admissions: number and slot.
    pub admissions: Vec<(Number, Micros)>,
    /// Places given up.
    pub left: Vec<Number>,
    /// Identities and their numbers.
    pub identities: Vec<(IdentityHash, Number)>,
    /// Stays: number and acknowledged expiry.
    pub stays: Vec<(Number, Micros)>,
    /// Numbers whose stay was ended by the visitor or the shop.
    pub gone: Vec<Number>,
    /// The end log in order: sequence, number, until when it is kept.
    pub log: Vec<(u64, Number, Micros)>,
}

impl Saved {
    /// A room of which nothing but the numbers is written down.
    #[must_use]
    pub fn of(core: Core) -> Self {
        let (admissions, left, identities) = (vec![], vec![], vec![]);
        Self { core, admissions, left, identities, stays: vec![], gone: vec![], log: vec![] }
    }
}

/// A room. Every verb is one atomic step at the time that the caller names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    pub(super) core: Core,
    /// Checked in and not granted: number and last sign of life. Seconds of rate, however long the line.
    pub(super) ready: Marks,
    /// Granted and not picked up: number and time of the grant.
    pub(super) grants: Marks,
    /// Picked up: number and slot.
    pub(super) admissions: Marks,
    /// Admissions that live: number and acknowledged expiry.
    pub(super) stays: Marks,
    /// Admissions that were ended on purpose.
    pub(super) gone: BTreeSet<Number>,
    pub(super) log: EndLog,
    pub(super) left: BTreeSet<Number>,
    pub(super) identities: HashMap<IdentityHash, Number>,
    pub(super) changes: Changes,
}

impl Core {
    /// The sequence of the first entry of the end log that is still needed.
    #[must_use]
    pub fn log_first(&self) -> u64 {
        self.log_first
    }
}

impl Room {
    /// A new room with nobody in it.
    #[must_use]
    pub fn new(rules: Rules, lineage: Lineage, now: Micros) -> Self {
        let core = Core {
            lineage,
            // The first epoch is the time: a room that is made anew after its data was lost is newer than
            // anything that an instance has seen of the old one.
            epoch: now.seconds().max(1),
            version: 1,
            file: rules.clone(),
            overrides: Overrides::default(),
            rules,
            phase: Phase::Open,
            reason: None,
            forced: None,
            draw: Draw::default(),
            last: Number(0),
            called: Number(0),
            due: Number(0),
            frontier: Number(0),
            lapsed: Number(0),
            clock: SlotClock::default(),
            latest_slot: Micros(0),
            stepped: now,
            touched: now,
            settled_at: Micros(0),
            ramp_from: Micros(0),
            show: 500,
            released: 0,
            admitted: 0,
            lapses: VecDeque::new(),
            voids: Voids::default(),
            lost: Voids::default(),
            lives: Vec::new(),
            keys: String::new(),
            recovers_until: Micros(0),
            departed: 0,
            ghosts: 0,
            ghosts_until: Micros(0),
            log_first: 1,
            revoked_before: Micros(0),
            stock: None,
        };
        let mut room = Self::restored(Saved::of(core));
        room.changes.material = true;
        room
    }

    /// The room as it was written down.
    #[must_use]
    pub fn restored(saved: Saved) -> Self {
        let first = saved.core.log_first;
        let log = saved.log.into_iter().filter(|(sequence, ..)| *sequence >= first);
        let log = EndLog::restored(first, log.map(|(_, number, kept)| (number, kept)).collect());
        Self {
            core: saved.core,
            ready: Marks::default(),
            grants: Marks::default(),
            admissions: saved.admissions.into_iter().collect(),
            stays: saved.stays.into_iter().collect(),
            gone: saved.gone.into_iter().collect(),
            log,
            left: saved.left.into_iter().collect(),
            identities: saved.identities.into_iter().collect(),
            changes: Changes::default(),
        }
    }

    /// The numbers of the room, to be written down with [`Room::take_changes`].
    #[must_use]
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// What changed since the last [`Room::take_changes`].
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// What changed since the last call.
    pub fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    /// An operator's change.
    pub fn control(&mut self, now: Micros, change: &Control) {
        let now = self.enter(now);
        match change {
            Control::Pause { reason } => {
                self.core.phase = Phase::Paused;
                self.core.reason.clone_from(reason);
                self.return_grants();
            }
            Control::Resume => {
                self.core.phase = Phase::Open;
                self.core.reason = None;
            }
            Control::Set(patch) => {
                self.core.overrides = self.core.overrides.patched(patch);
                self.rules_changed(now);
            }
            Control::Rules(rules) => {
                self.core.file = rules.clone();
                self.rules_changed(now);
            }
            Control::Flush(lineage) => self.flush(*lineage),
            Control::RevokeBefore => self.revoke_all(now),
            Control::StockRead { remaining } => {
                self.core.stock = Some(Stock::read(self.core.stock, *remaining, now));
            }
            Control::Open => self.force(Some(Forced::Open)),
            Control::Close => self.force(Some(Forced::Closed)),
            Control::Follow => self.force(None),
            Control::Seed(lineage, seed) => self.take_seed(*lineage, seed),
            Control::DrawValue(value) => self.take_value(value),
            Control::Keys(keys) if self.core.keys.is_empty() => self.core.keys.clone_from(keys),
            Control::Keys(_) => {}
        }
        self.touch();
    }

    /// What instances see.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let core = &self.core;
        Snapshot {
            lineage: core.lineage,
            epoch: core.epoch,
            version: core.version,
            now: core.touched,
            phase: core.rules.schedule.phase(
                core.forced,
                core.phase == Phase::Paused,
                core.draw.stage,
                core.touched,
            ),
            reason: core.reason.clone(),
            forced: core.forced,
            draw: core.draw.clone(),
            last: core.last,
            called: core.called,
            due: core.due,
            frontier: core.frontier,
            lapsed: core.lapsed,
            voids: core.voids.clone(),
            lost: core.lost.clone(),
            reach: core.reach(),
            slots_to: core.clock.taken_to(),
            admitted: core.admitted,
            granted: self.grants.len(),
            active: self.active(),
            departed: core.departed,
            ended_to: self.log.to(),
            revoked_before: core.revoked_before,
            stock: core.stock.filter(|_| core.rules.stock.is_some()),
            rules: core.rules.clone(),
            overrides: core.overrides.clone(),
            rules_written: core.file.clone(),
            keys: core.keys.clone(),
        }
    }

    /// The numbers that hold a grant, for those who watch that it went by the order.
    #[cfg(test)]
    pub(crate) fn granted(&self) -> impl Iterator<Item = Number> + '_ {
        self.grants.iter().map(|(number, _)| number)
    }

    pub(super) fn touch(&mut self) {
        self.core.version += 1;
        self.changes.material = true;
    }

    pub(super) fn return_grants(&mut self) {
        for (number, granted) in std::mem::take(&mut self.grants).iter() {
            self.ready.set(number, granted);
        }
    }

    pub(super) fn rules_changed(&mut self, now: Micros) {
        let core = &mut self.core;
        core.rules = core.overrides.over(&core.file);
        let spacing = Spacing::at(now, &core.rules, Micros(0));
        core.clock.cut_to(now.max(core.latest_slot), spacing);
    }

    pub(super) fn flush(&mut self, lineage: Lineage) {
        let core = &mut self.core;
        core.lineage = lineage;
        core.draw = Draw::default();
        (core.called, core.due, core.frontier, core.lapsed) = (core.last, core.last, core.last, core.last);
        (core.admitted, core.departed, core.ghosts) = (0, 0, 0);
        (core.revoked_before, core.stock) = (Micros(0), None);
        core.lapses.clear();
        core.keys.clear();
        (core.voids, core.lost) = (Voids::default(), Voids::default());
        self.ready.clear();
        self.grants.clear();
        self.admissions.clear();
        self.stays.clear();
        self.gone.clear();
        self.log.clear();
        self.core.log_first = self.log.first();
        self.left.clear();
        self.identities.clear();
        self.changes = Changes { cleared: true, ..Changes::default() };
    }
}
