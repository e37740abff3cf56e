//! The clock that slots are taken from: spaced 1/rate, some of them at once if the burst allows.
//!
//! It is the only keeper of the rate. A slot is never earlier than now, and time that passed unused is not
//! remembered beyond the burst, so that no pause, stall or clock step is ever made up for.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use super::mutation::{self, Mutation};
use super::{Micros, Rules};

/// How long a ramp after an outage takes.
const RAMP_MS: u64 = 10_000;

/// The largest whole number that Lua keeps exact.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// The earliest moment at which a room with no burst could give its next slot. Microseconds and the
/// nanoseconds below them are kept apart, because nanoseconds since 1970 do not fit into 53 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SlotClock {
    us: u64,
    ns: u64,
}

/// How slots are spaced at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spacing {
    ns: u64,
    ahead_ns: u64,
}

impl Spacing {
    /// The spacing at `now`, wider during the ramp that begins at `ramp_from` and narrows to the rate.
    pub(super) fn at(now: Micros, rules: &Rules, ramp_from: Micros) -> Self {
        #[cfg(test)]
        let ramp_from = if mutation::is(Mutation::NoRamp) { Micros(0) } else { ramp_from };
        let base = rules.rate.spacing_ns();
        let elapsed_ms = now.since(ramp_from).as_millis().min(u128::from(RAMP_MS)) as u64;
        if ramp_from == Micros(0) || elapsed_ms == RAMP_MS {
            let ahead_ns = (rules.burst_slots() - 1).saturating_mul(base).min(EXACT_MAX);
            return Self { ns: base, ahead_ns };
        }
        let tenths = (RAMP_MS * 10 / elapsed_ms.max(1)).clamp(10, 100);
        Self { ns: base * tenths / 10, ahead_ns: 0 }
    }
}

impl SlotClock {
    /// The slot that would be taken now.
    pub(super) fn next(self, now: Micros, spacing: Spacing) -> Micros {
        let earliest = self.minus_ns(spacing.ahead_ns);
        Micros(now.0.max(earliest.us + u64::from(earliest.ns > 0)))
    }

    /// The slot that would be taken after `others` more were taken now.
    pub(super) fn after(self, others: u64, now: Micros, spacing: Spacing) -> Micros {
        self.not_before(now).plus_ns((others * spacing.ns).min(EXACT_MAX)).next(now, spacing)
    }

    /// Takes the next slot.
    pub(super) fn take(&mut self, now: Micros, spacing: Spacing) -> Micros {
        let slot = self.next(now, spacing);
        *self = self.not_before(now).plus_ns(spacing.ns);
        slot
    }

    /// Moves the clock with a store whose own clock stepped back.
    pub(super) fn shift_back(&mut self, by: u64) {
        self.us = self.us.saturating_sub(by);
    }

    /// After a change of rate: waits at most as long as the new rate with an empty burst asks for.
    pub(super) fn cut_to(&mut self, latest_slot: Micros, spacing: Spacing) {
        let empty = Self { us: latest_slot.0, ns: 0 }.plus_ns(spacing.ahead_ns + spacing.ns);
        if (empty.us, empty.ns) < (self.us, self.ns) {
            *self = empty;
        }
    }

    /// Every slot so far lies before this.
    pub(super) fn taken_to(self) -> Micros {
        Micros(self.us + u64::from(self.ns > 0))
    }

    /// Slots before this were taken by a life of which no more is known.
    pub(super) fn go_to(&mut self, taken_to: Micros) {
        if self.taken_to() < taken_to {
            *self = Self { us: taken_to.0, ns: 0 };
        }
    }

    /// Time that passed unused is lost.
    fn not_before(self, now: Micros) -> Self {
        #[cfg(test)]
        if mutation::is(Mutation::TimeMadeUpFor) && self.us > 0 {
            return self;
        }
        if self.us >= now.0 { self } else { Self { us: now.0, ns: 0 } }
    }

    fn plus_ns(self, ns: u64) -> Self {
        let below = self.ns + ns % 1000;
        Self { us: self.us + ns / 1000 + below / 1000, ns: below % 1000 }
    }

    fn minus_ns(self, ns: u64) -> Self {
        let (us, below) = (ns / 1000, ns % 1000);
        let borrow = u64::from(below > self.ns);
        if self.us < us + borrow {
            return Self::default();
        }
        Self { us: self.us - us - borrow, ns: self.ns + borrow * 1000 - below }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Rate;

    fn rules(rate: &str, burst: u64) -> Rules {
        Rules { burst, ..Rules::at(rate.parse::<Rate>().unwrap()) }
    }

    /// The most slots in any window of `width`.
    fn densest(slots: &[u64], width: u64) -> usize {
        (0..slots.len())
            .map(|i| slots[i..].iter().take_while(|s| **s < slots[i] + width).count())
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn slots_keep_the_rate_in_every_window_whatever_the_rate() {
        for (rate, burst) in [("3/s", 1), ("7/s", 8), ("300000/s", 1), ("1000/s", 100), ("1/min", 1)] {
            let rules = rules(rate, burst);
            let mut clock = SlotClock::default();
            let mut slots = Vec::new();
            let mut now = 1_790_000_000_000_000;
            for i in 0..3000_u64 {
                now += (i * 7919) % 5;
                slots.push(clock.take(Micros(now), Spacing::at(Micros(now), &rules, Micros(0))).0);
            }
            assert!(slots.is_sorted());
            let width = rules.rate.spacing_ns() / 1000 * 50 + 1;
            #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let allowed = (rules.rate.as_per_second() * width as f64 / 1e6 + burst as f64 + 1e-9) as usize;
            assert!(
                densest(&slots, width) <= allowed + 1,
                "{rate} {burst}: {} > {allowed}",
                densest(&slots, width)
            );
        }
    }

    #[test]
    fn unused_time_is_lost_but_for_the_burst() {
        let rules = rules("10/s", 4);
        let mut clock = SlotClock::default();
        let at = |us| (Micros(us), Spacing::at(Micros(us), &rules, Micros(0)));
        let (now, spacing) = at(1_000_000_000);
        let first: Vec<u64> = (0..4).map(|_| clock.take(now, spacing).0 - now.0).collect();
        assert_eq!(first, [0, 0, 100_000, 200_000], "half the burst of 4 is for the slots");
        let (later, spacing) = at(1_060_000_000);
        let then: Vec<u64> = (0..4).map(|_| clock.take(later, spacing).0 - later.0).collect();
        assert_eq!(then, first);
    }

    #[test]
    fn a_ramp_starts_at_a_tenth_and_ends_at_the_rate() {
        let rules = rules("100/s", 10);
        let from = Micros(50_000_000);
        let ns = |ms: u64| Spacing::at(Micros(from.0 + ms * 1000), &rules, from).ns;
        assert_eq!(
            [ns(0), ns(1000), ns(5000), ns(10_000)],
            [100_000_000, 100_000_000, 20_000_000, 10_000_000]
        );
    }
}
