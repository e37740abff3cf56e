//! How far numbers and admissions may have gone by the time that a lost second could not be told: the
//! `raise_ceilings` of the Redis scripts, word for word.

use super::plan::Kept;
use crate::room::{Micros, Number, Snapshot};

const CEILING_US: u64 = 3_000_000;
const CEILING_STEP: u64 = 250_000;
/// Where a replica may lag behind by more than ceilings cover, so that sales of a few people get there.
const SHORT_STEP: u64 = 3;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ceilings {
    step: u64,
    last_max: u64,
    last_pending: u64,
    admitted_max: u64,
    admitted_pending: u64,
    pending_since: u64,
    raised_from: u64,
}

impl Ceilings {
    pub(super) fn new(kept: Kept) -> Self {
        let step = if kept == Kept::Lagging { SHORT_STEP } else { CEILING_STEP };
        Self { step, ..Self::default() }
    }

    pub(super) fn pending(&self) -> Number {
        Number(self.last_pending)
    }

    pub(super) fn raise(&mut self, now: Micros, room: &Snapshot, joining: u64) {
        let step = room.rules.rate.slots_in(room.rules.step());
        if self.last_max == 0 {
            let admitted = 6 * step + room.rules.burst;
            (self.last_max, self.last_pending) = (self.step, self.step);
            (self.admitted_max, self.admitted_pending, self.pending_since) = (admitted, admitted, now.0);
        }
        let waited = now.0.saturating_sub(self.pending_since);
        self.pending_since = self.pending_since.min(now.0);
        if waited >= CEILING_US {
            (self.last_max, self.admitted_max) = (self.last_pending, self.admitted_pending);
        }
        if self.last_pending > self.last_max || self.admitted_pending > self.admitted_max {
            return;
        }
        let (last, admitted) = (room.last.0, room.admitted);
        let joined = 4 * CEILING_US * last.saturating_sub(self.raised_from) / waited.max(1000);
        let more = if self.step == SHORT_STEP { SHORT_STEP } else { joined.max(self.step) };
        if last + joining + more / 2 > self.last_max {
            (self.last_pending, self.raised_from) = (self.last_max.max(last) + more, last);
            self.pending_since = now.0;
        }
        if admitted + 3 * step > self.admitted_max {
            self.admitted_pending = admitted + 6 * step + room.rules.burst;
            self.pending_since = now.0;
        }
    }

    /// Whether so many more numbers stay below the ceiling that is in force.
    pub(super) fn allow(&self, last: Number, joining: u64) -> bool {
        joining == 0 || last.0 + joining <= self.last_max
    }

    /// Where a lost life can at most have been.
    pub(super) fn highest(&mut self, now: Micros, last: Number, admitted: u64) -> (Number, u64) {
        let highest = (last.0.max(self.last_pending), admitted.max(self.admitted_pending));
        (self.last_max, self.last_pending) = (highest.0, highest.0 + self.step);
        (self.admitted_max, self.admitted_pending) = (highest.1, highest.1);
        (self.pending_since, self.raised_from) = (now.0, highest.0);
        (Number(highest.0), highest.1)
    }
}
