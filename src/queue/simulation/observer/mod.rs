//! Watches a sale and keeps books of its own: what was asked for, what was answered, and what visitors were
//! told. Of the room it reads only who holds a grant; everything else it judges by what went in and out.

mod busy;
mod calm;
mod ledger;
mod order;
mod rate;
mod steady;

use std::collections::BTreeSet;

use self::busy::Busy;
use self::calm::Calm;
use self::ledger::Ledger;
use self::order::Order;
use self::rate::RateKept;
use self::steady::Steady;
use super::plan::Plan;
use super::rule::{Broken, Rule};
use crate::queue::embedded::verbs::{Reply, Verb};
use crate::queue::{Seen, StoreError};
use crate::room::{Admission, JoinOutcome, Lineage, Micros, Number, Phase, Room, Rules, Snapshot, Standing};

/// The first rule that was seen broken.
#[derive(Default)]
pub(super) struct Finds {
    at: u64,
    found: Option<Broken>,
}

impl Finds {
    fn say(&mut self, rule: Rule, what: String) {
        let at = self.at;
        self.found.get_or_insert(Broken { rule, at, what });
    }
}

/// A verb that the store has done.
pub(super) struct Event<'a> {
    /// True time, in microseconds since the sale began.
    pub(super) at: u64,
    pub(super) seen: Seen,
    pub(super) verb: &'a Verb,
    pub(super) taken_over: bool,
    pub(super) answer: &'a Result<Reply, StoreError>,
    pub(super) room: &'a Room,
}

/// What one call did, as all the books need it.
struct Step<'a> {
    at: u64,
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// Numbers shown to the store and still in line.
    present: Vec<Number>,
    granted: &'a BTreeSet<Number>,
    granted_before: &'a BTreeSet<Number>,
    newly_granted: Vec<Number>,
    admitted: Vec<Admission>,
    /// The room was interrupted just before this call.
    interrupted: bool,
}

impl Step<'_> {
    fn now(&self) -> Micros {
        self.after.now
    }

    fn rules(&self) -> &Rules {
        &self.after.rules
    }
}

pub(super) struct Observer {
    finds: Finds,
    last: Option<Snapshot>,
    granted: BTreeSet<Number>,
    ledger: Ledger,
    order: Order,
    rate: RateKept,
    calm: Calm,
    steady: Steady,
    busy: Busy,
}

impl Observer {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            finds: Finds::default(),
            last: None,
            granted: BTreeSet::new(),
            ledger: Ledger::default(),
            order: Order::default(),
            rate: RateKept::default(),
            calm: Calm::default(),
            steady: Steady::default(),
            busy: Busy::new(plan),
        }
    }

    pub(super) fn found(&self) -> bool {
        self.finds.found.is_some()
    }

    /// A verb was done. The store may have refused it.
    pub(super) fn done(&mut self, event: &Event<'_>, waiting: u64) {
        self.finds.at = event.at;
        let fresh;
        let after = match event.answer {
            Ok(Reply::Snapshot(snapshot)) => snapshot,
            Ok(Reply::Joined(joined)) => &joined.snapshot,
            Ok(Reply::Advanced(advanced)) => &advanced.snapshot,
            Ok(Reply::Stayed(stayed)) => &stayed.snapshot,
            Ok(Reply::Restored(restored)) => &restored.snapshot,
            Err(_) if event.taken_over => {
                fresh = event.room.snapshot();
                &fresh
            }
            Ok(Reply::Shown(_)) | Err(_) => return,
        };
        let Some(before) = self.last.replace(after.clone()) else {
            // A room that is made, or made anew after it was lost as a whole, knows of no slot before.
            self.rate = RateKept::default();
            return self.ledger.turn_to(after.lineage);
        };
        self.calm.trusted(&mut self.finds, event.seen, if event.taken_over { after } else { &before });
        if after.lineage != before.lineage {
            self.ledger.turn_to(after.lineage);
            self.order.forget();
            self.granted.clear();
        }
        let standings = self.standings(event);
        if let Verb::Leave(numbers) = event.verb {
            for number in numbers {
                self.order.left(*number);
                self.ledger.left(*number);
            }
        }
        if let (Verb::Stays(report), Ok(Reply::Stayed(stayed))) = (event.verb, event.answer) {
            self.ledger.stays(&mut self.finds, report, stayed);
        }
        let admitted = self.ledger.new_admissions(&mut self.finds, event.at, &standings);
        let granted: BTreeSet<Number> = event.room.granted().collect();
        let newly_granted = granted.difference(&self.granted).copied().collect();
        let mut present = Vec::new();
        if matches!(event.verb, Verb::Advance(_)) {
            present.extend(standings.iter().filter(|(_, s)| *s == Standing::Waiting).map(|(n, _)| *n));
        }
        let interrupted = interrupted(&before, after, event.taken_over);
        let step = Step {
            at: event.at,
            before: &before,
            after,
            present,
            granted: &granted,
            granted_before: &self.granted,
            newly_granted,
            admitted,
            interrupted,
        };
        self.ledger.check_cap(&mut self.finds, &step);
        self.order.check(&mut self.finds, &step);
        self.rate.check(&mut self.finds, &step);
        self.calm.check(&mut self.finds, &step);
        self.busy.note(&step, waiting);
        self.granted = granted;
    }

    /// Numbers and where they stand, as the answer says; for joins, the batch is written down too.
    fn standings(&mut self, event: &Event<'_>) -> Vec<(Number, Standing)> {
        match (event.verb, event.answer) {
            (Verb::Join(batch), Ok(Reply::Joined(joined))) => {
                self.ledger.batch(&mut self.finds, event.at, batch, &joined.outcomes);
                let placed = joined.outcomes.iter().filter_map(|outcome| match outcome {
                    JoinOutcome::Placed { number, standing, .. } => Some((*number, *standing)),
                    _ => None,
                });
                placed.collect()
            }
            (Verb::Advance(numbers), Ok(Reply::Advanced(advanced))) => {
                numbers.iter().copied().zip(advanced.standings.iter().copied()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The store holds what it held at the true time `since`; `told` when somebody had been told of what is lost.
    pub(super) fn lost(&mut self, since: u64, room: Option<&Room>, told: bool) {
        self.last = room.map(Room::snapshot);
        self.granted = room.map(|room| room.granted().collect()).unwrap_or_default();
        if let Some(room) = &self.last {
            self.ledger.turn_to(room.lineage);
        }
        let untold = self.ledger.lost(since, told);
        self.rate.untold(&untold);
        self.order.forget();
        self.steady.lost(told);
    }

    /// The store's clock was set.
    pub(super) fn clock_set(&mut self, at: u64, by: i64) {
        self.rate.clock_set(at, by);
    }

    /// A visitor was told their number.
    pub(super) fn placed(&mut self, at: u64, holder: Holder, lineage: Lineage, number: Number) {
        self.finds.at = at;
        let room = self.last.as_ref();
        self.ledger.placed(&mut self.finds, holder, lineage, number, room);
    }

    /// A visitor was told of their admission.
    pub(super) fn admitted(&mut self, at: u64, lineage: Lineage, admission: Admission) {
        self.finds.at = at;
        self.ledger.told(&mut self.finds, at, lineage, admission);
    }

    /// A visitor was shown their position by an instance that knows this of the room.
    pub(super) fn shown(&mut self, at: u64, viewer: (usize, usize), number: Number, known: &Snapshot) {
        self.finds.at = at;
        self.steady.shown(&mut self.finds, viewer, number, known);
    }

    /// Somebody who did what they were told was sent away.
    pub(super) fn sent_away(&mut self, at: u64, lineage: Lineage, number: Number, standing: Standing) {
        self.finds.at = at;
        let lives = self.last.as_ref().is_some_and(|room| room.lineage == lineage);
        if lives && !self.ledger.was_admitted(number) {
            let what = format!("number {number} was there all the time and is {standing:?}");
            self.finds.say(Rule::Closed, what);
        }
    }

    /// The sale is over.
    pub(super) fn end(&mut self, at: u64) -> Option<Broken> {
        self.finds.at = at;
        if self.finds.found.is_none() {
            self.busy.check(&mut self.finds);
        }
        self.finds.found.take()
    }
}

/// Whose number it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Visitor(usize),
    Account(u8),
}

/// Whether nobody could ask for a while before this call, so that the called must check in anew.
fn interrupted(before: &Snapshot, after: &Snapshot, taken_over: bool) -> bool {
    let forward = after.now.0.saturating_sub(before.now.0);
    let back = before.now.since(after.now);
    taken_over || forward > 1_500_000 || back > before.rules.step()
}

/// Whether the room may release anybody.
fn open(snapshot: &Snapshot) -> bool {
    snapshot.phase == Phase::Open
}
