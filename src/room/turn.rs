//! Going in: grants in the order of the numbers, and the slot at pick-up.

use std::collections::BTreeSet;
use std::time::Duration;

use super::clock::Spacing;
#[cfg(test)]
use super::mutation::{self, Mutation};
use super::types::micros;
use super::{Admission, Micros, Number, Room, Standing};

/// Slots are given out at most this far ahead, so that the head of the line is never idle between two ticks
/// and a pause is in force at once.
pub(super) const AHEAD: Duration = Duration::from_millis(250);

/// A grant younger than this is probably about to be picked up by the instance that holds its visitor, and
/// stands for a slot; an older one waits for a visitor who asks now and then, or never again.
const FRESH: Duration = Duration::from_millis(150);

/// The most that one call grants.
const GRANTS_MAX: usize = 500;

impl Room {
    /// One tick. `present` are numbers whose holders are asking right now: they check in, and those whose
    /// turn it is pick their slot up. One standing per number, in order.
    pub fn advance(&mut self, now: Micros, present: &[Number]) -> Vec<Standing> {
        let now = self.enter(now);
        self.sweep(now);
        for number in present {
            self.check_in(now, *number);
        }
        self.step(now);
        self.go_in(now, present);
        self.settle(now);
        self.core.version += 1;
        present.iter().map(|number| self.standing(now, *number)).collect()
    }

    /// Grants and pick-ups, after everybody who is asking has checked in.
    pub(super) fn go_in(&mut self, now: Micros, present: &[Number]) {
        if !self.core.releasing(now) {
            return;
        }
        let present: BTreeSet<Number> = present.iter().copied().collect();
        let spacing = Spacing::at(now, &self.core.rules, self.core.ramp_from);
        for number in &present {
            if !self.grants.has(*number) {
                continue;
            }
            self.grants.remove(*number);
            // A cap that was lowered since, or stock that shrank: back to the line, where nobody overtakes.
            if self.places(now) == 0 {
                self.ready.set(*number, now);
            } else {
                self.admit(now, *number, spacing);
            }
        }
        let mut fresh = self.grants.count_since(now.minus(FRESH));
        let old = self.grants.len() - fresh;
        for _ in 0..GRANTS_MAX {
            let Some(number) = self.grantable(now, spacing, &present, (fresh, old)) else { break };
            self.ready.remove(number);
            if present.contains(&number) {
                self.admit(now, number, spacing);
            } else {
                self.grants.set(number, now);
                fresh += 1;
            }
        }
    }

    /// The next number to be granted, if there is one and the slots, the cap and the open grants allow it.
    /// It is always the smallest: if that one may not be granted, nobody is.
    fn grantable(
        &self,
        now: Micros,
        spacing: Spacing,
        present: &BTreeSet<Number>,
        (fresh, old): (u64, u64),
    ) -> Option<Number> {
        let number = self.ready.smallest(self.core.due)?;
        #[cfg(test)]
        let number = if mutation::is(Mutation::LargestFirst) { self.ready.largest()? } else { number };
        let ahead = Micros(now.0 + micros(AHEAD));
        // The more grants lie unused, the less a fresh one is worth.
        let most = self.core.grants_max();
        let expected = fresh * most / (most + 6 * old);
        #[cfg(test)]
        let expected = if mutation::is(Mutation::GrantsHoardSlots) { fresh + old } else { expected };
        let in_time = self.core.clock.after(expected, self.core.slots_from(now), spacing) <= ahead;
        let within_caps = self.grants.len() < self.places(now);
        let open = present.contains(&number) || fresh + old < most;
        (in_time && within_caps && open).then_some(number)
    }

    /// Takes the next slot for a number. The only place where an admission is made.
    fn admit(&mut self, now: Micros, number: Number, spacing: Spacing) {
        let from = self.core.slots_from(now);
        let slot = self.core.clock.take(from, spacing);
        self.core.latest_slot = self.core.latest_slot.max(slot);
        self.core.admitted += 1;
        self.admissions.set(number, slot);
        self.begin_stay(number, slot);
        self.changes.admitted.push((number, slot));
        self.changes.material = true;
    }

    /// A sign of life of a called number.
    pub(super) fn check_in(&mut self, now: Micros, number: Number) {
        let core = &self.core;
        let handed_out = number.0 >= 1 && number <= core.called;
        let settled = self.admissions.has(number) || self.grants.has(number) || self.left.contains(&number);
        #[cfg(test)]
        let settled = settled && !(mutation::is(Mutation::SecondSlot) && self.admissions.has(number));
        let returns = number > core.lapsed || self.ready.has(number);
        if handed_out && !settled && returns {
            self.ready.set(number, now);
        }
    }

    /// Where a number stands.
    #[must_use]
    pub fn standing(&self, now: Micros, number: Number) -> Standing {
        if number.0 == 0 || number > self.core.last {
            return Standing::Unknown;
        }
        if let Some(slot) = self.admissions.get(number) {
            return match self.lives_until(now, number) {
                Some(until) => Standing::Admitted(Admission { number, slot, until }),
                None if self.gone.contains(&number) => Standing::Left,
                None => Standing::Lapsed,
            };
        }
        if self.left.contains(&number) {
            return Standing::Left;
        }
        let waits = number > self.core.lapsed || self.ready.has(number) || self.grants.has(number);
        if waits { Standing::Waiting } else { Standing::Lapsed }
    }
}
