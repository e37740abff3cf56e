//! The rules of a room, told as short histories.

mod bounds;
mod going_in;
mod inside;
mod opening;
mod place;
mod simulation;

use super::*;

/// The moment at which every history begins.
pub(super) const START: Micros = Micros(1_790_000_000_000_000);

/// The pass's own lifetime, where a history is not about what comes before its end.
pub(super) const LONG: std::time::Duration = std::time::Duration::from_secs(1800);

/// A room and its clock.
pub(super) struct Play {
    pub(super) room: Room,
    pub(super) now: Micros,
}

impl Play {
    pub(super) fn at(rate: &str) -> Self {
        Self::with(Rules { first_use: LONG, ..Rules::at(rate.parse().unwrap()) })
    }

    pub(super) fn with(rules: Rules) -> Self {
        Self { room: Room::new(rules, Lineage(7), START), now: START }
    }

    pub(super) fn join(&mut self, count: usize) -> Vec<JoinOutcome> {
        self.room.join(self.now, &vec![None; count])
    }

    /// Time passes with the ticks of an instance; `present` ask at each of them.
    pub(super) fn wait(&mut self, ms: u64, present: &[u64]) -> Vec<Standing> {
        let present: Vec<Number> = present.iter().copied().map(Number).collect();
        let mut standings = Vec::new();
        for _ in 0..ms.div_ceil(50) {
            self.now = Micros(self.now.0 + 50_000);
            standings = self.room.advance(self.now, &present);
        }
        standings
    }

    pub(super) fn slot(&self, number: u64) -> Option<u64> {
        match self.room.standing(self.now, Number(number)) {
            Standing::Admitted(admission) => Some(admission.slot.0 - START.0),
            _ => None,
        }
    }
}
