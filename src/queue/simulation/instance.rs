//! What one instance knows and holds: the last snapshot, the joins that wait for their batch, the turns.
//!
//! The same as `queue::line` does on a runtime, as a machine that a world of virtual time can drive.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::queue::conformance::chance::Chance;
use crate::queue::{InstanceId, JoinBatch, Seen};
use crate::room::{Evidence, IdentityHash, Number, Snapshot};

/// As in `line::joins` and `line::turns`.
pub(super) const JOIN_WINDOW: u64 = 3_000;
pub(super) const ASK_WINDOW: u64 = 5_000;
pub(super) const JOINS_IN_FLIGHT: usize = 2;
const CYCLE: u64 = 50_000;
const TICK: u64 = 250_000;
const REFRESH: u64 = 1_000_000;
const NEXT: Duration = Duration::from_millis(500);
const TABS_MAX: usize = 8;
/// `store.timeout`.
pub(super) const TIMEOUT: u64 = 500_000;
/// How old a snapshot may be to be acted on.
const FRESH: u64 = TIMEOUT + 1_000_000;

/// Who asks: the visitor and which of their tabs.
pub(super) type Asker = (usize, usize);

/// A request that waits for its turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) asker: Asker,
    pub(super) until: u64,
    /// When the visitor closes the connection.
    pub(super) hangs_up: u64,
}

pub(super) struct Held {
    pub(super) asks: Vec<Ask>,
    pub(super) shown: Option<u64>,
}

pub(super) struct Instance {
    /// Counts its starts; an answer to an earlier life is nobody's.
    pub(super) life: u32,
    pub(super) up: bool,
    pub(super) stalled_until: u64,
    pub(super) cut_until: u64,
    pub(super) id: InstanceId,
    pub(super) opened: bool,
    pub(super) known: Option<Arc<Snapshot>>,
    /// How far numbers may have gone as of then.
    ceiling: Number,
    pub(super) read_at: u64,
    sequence: u64,
    pub(super) joining: Vec<(Asker, Option<IdentityHash>)>,
    pub(super) joins_out: usize,
    pub(super) held: BTreeMap<Number, Held>,
    /// A call of the turns is under way.
    pub(super) turning: bool,
    pub(super) cycle_at: u64,
    pub(super) chance: Chance,
}

impl Instance {
    pub(super) fn new(index: usize, life: u32, seed: u64) -> Self {
        let mut chance = Chance::new(seed ^ (index as u64 * 7919 + u64::from(life) * 104_729));
        Self {
            life,
            up: true,
            stalled_until: 0,
            cut_until: 0,
            id: InstanceId(chance.next()),
            opened: false,
            known: None,
            ceiling: Number(0),
            read_at: 0,
            sequence: 0,
            joining: Vec::new(),
            joins_out: 0,
            held: BTreeMap::new(),
            turning: false,
            cycle_at: 0,
            chance,
        }
    }

    pub(super) fn seen(&self) -> Seen {
        self.known.as_deref().map(seen_of).unwrap_or_default()
    }

    /// What it can tell a store that has lost writes.
    pub(super) fn evidence(&self) -> Option<Evidence> {
        let snapshot = self.known.as_deref()?.clone();
        Some(Evidence { last: self.ceiling, ..Evidence::of(snapshot) })
    }

    pub(super) fn fresh(&self, at: u64) -> bool {
        self.known.is_some() && at <= self.read_at + FRESH
    }

    /// Takes a snapshot in, unless a newer one came first.
    pub(super) fn learn(&mut self, at: u64, snapshot: Snapshot, ceiling: Number) -> Arc<Snapshot> {
        self.read_at = at;
        self.ceiling = self.ceiling.max(ceiling);
        let snapshot = Arc::new(snapshot);
        if self.known.as_deref().is_none_or(|old| seen_of(old) <= seen_of(&snapshot)) {
            self.known = Some(Arc::clone(&snapshot));
        }
        snapshot
    }

    /// The joins that go out now, with whose they are.
    pub(super) fn batch(&mut self) -> (JoinBatch, Vec<Asker>) {
        let joining = std::mem::take(&mut self.joining);
        self.sequence += 1;
        let entries = joining.iter().map(|(_, identity)| *identity).collect();
        let batch = JoinBatch { instance: self.id, sequence: self.sequence, entries };
        (batch, joining.into_iter().map(|(asker, _)| asker).collect())
    }

    /// Holds a request; the oldest of too many tabs, which is answered at once.
    pub(super) fn hold(&mut self, number: Number, ask: Ask) -> Option<Asker> {
        let held = self.held.entry(number).or_insert(Held { asks: Vec::new(), shown: None });
        held.shown = None;
        let oldest = (held.asks.len() >= TABS_MAX).then(|| held.asks.remove(0).asker);
        held.asks.push(ask);
        oldest
    }

    /// Forgets who hung up, and names the numbers to show to the store.
    pub(super) fn present(&mut self, at: u64) -> Vec<Number> {
        self.held.retain(|_, held| {
            held.asks.retain(|ask| ask.hangs_up > at);
            !held.asks.is_empty()
        });
        let known = self.known.as_deref();
        let next = |number: Number| known.is_some_and(|s| s.turn_in(number) <= NEXT);
        let due = |(number, held): &(&Number, &Held)| {
            held.shown.is_none_or(|shown| shown + REFRESH <= at) || next(**number)
        };
        self.held.iter().filter(due).map(|(number, _)| *number).collect()
    }

    /// Whoever has waited for as long as they would, or is not near any more.
    pub(super) fn out_of_patience(&mut self, at: u64, snapshot: &Snapshot) -> Vec<Asker> {
        let mut told = Vec::new();
        self.held.retain(|number, held| {
            let near = snapshot.is_near(*number);
            if held.shown.is_some() {
                told.extend(held.asks.extract_if(.., |ask| ask.until <= at || !near).map(|ask| ask.asker));
            }
            !held.asks.is_empty()
        });
        told
    }

    /// When the turns are to be asked for again.
    pub(super) fn pause(&self) -> u64 {
        if self.held.values().any(|held| held.shown.is_none()) {
            ASK_WINDOW
        } else if self.held.is_empty() {
            TICK
        } else {
            CYCLE
        }
    }

    /// The same after a failure.
    pub(super) fn pause_after_failure(&mut self) -> u64 {
        CYCLE / 2 + self.chance.below(CYCLE / 2)
    }

    /// How soon a visitor is told to ask again, as `answer::reply` tells it.
    pub(super) fn next_poll(&mut self, at: u64, number: Option<Number>, new: bool, poll_max: u64) -> u64 {
        let first_max = poll_max.min(10_000_000);
        let fresh = self.fresh(at);
        let share = self.chance.below(1_000_000);
        let spread = |most: u64| most * 33 / 100 + most * 67 / 100 * share / 1_000_000;
        let (Some(snapshot), Some(number)) = (self.known.as_deref(), number) else {
            return spread(first_max);
        };
        if !fresh {
            let soon = number.0 <= snapshot.called.0 + snapshot.reach;
            let shortest = u64::try_from(snapshot.rules.poll_min.as_micros()).unwrap();
            return spread(if soon { shortest } else { first_max });
        }
        let longest = Duration::from_micros(if new { first_max } else { poll_max });
        #[expect(clippy::cast_precision_loss, reason = "below a million")]
        let poll = snapshot.next_poll(number, longest, share as f64 / 1e6);
        u64::try_from(poll.as_micros()).unwrap()
    }
}

fn seen_of(snapshot: &Snapshot) -> Seen {
    Seen { epoch: snapshot.epoch, version: snapshot.version }
}
