//! How soon a visitor should ask again: seldom when far away, in time to be called, and just before the turn.

use std::time::Duration;

use super::{Number, Phase, Seat, Snapshot};

/// The shortest interval that is ever asked for.
const SHORTEST: Duration = Duration::from_millis(250);

impl Snapshot {
    /// When the holder of a place should ask again. `chance` in [0, 1) spreads the answers over the last
    /// fifth of the interval, and of those who are not called yet over the last two fifths, so that a crowd that came
    /// together does not go on asking together. It only ever shortens, so that nobody is asked too late.
    #[must_use]
    pub fn next_poll(&self, place: Number, poll_max: Duration, chance: f64) -> Duration {
        let number = match self.seat(place) {
            Seat::Number(number) => Some(number),
            Seat::Lobby(_) => None,
        };
        if let Some(early) = self.early_poll(number, poll_max, chance) {
            return early;
        }
        let number = number.unwrap_or(place);
        let spread = if number <= self.called { 0.2 } else { 0.4 };
        self.poll_within(number, poll_max).mul_f64(1.0 - spread * chance.clamp(0.0, 1.0))
    }

    fn poll_within(&self, number: Number, poll_max: Duration) -> Duration {
        let shortest = self.rules.poll_min;
        if number <= self.called {
            return self.before_turn(number).clamp(SHORTEST.min(shortest), shortest);
        }
        // C moves at most `reach` in a step, and everybody called must ask within the step that follows.
        let steps = self.before_called(number) / self.reach.max(1);
        let until_called = self.rules.step().saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
        until_called.clamp(shortest, poll_max.max(shortest))
    }

    /// How many who may be there are to be called before this number is, which is not called yet.
    fn before_called(&self, number: Number) -> u64 {
        let before = Number(number.0.saturating_sub(1));
        before.0.saturating_sub(self.called.0).saturating_sub(self.voids.between(self.called, before))
    }

    /// Whether a number is called, or will be with the next step.
    #[must_use]
    pub fn is_called_soon(&self, number: Number) -> bool {
        number <= self.called || self.before_called(number) < self.reach
    }

    /// Half a `hold` before the turn at the set rate: then the request itself waits for it.
    fn before_turn(&self, number: Number) -> Duration {
        if self.phase == Phase::Paused || self.sold_out() {
            return self.rules.poll_min;
        }
        self.turn_in(number).saturating_sub(self.rules.hold / 2)
    }

    /// How long until the turn of `number` at the set rate, if everybody before it is there.
    #[must_use]
    pub fn turn_in(&self, number: Number) -> Duration {
        let ahead = self.position(number) - 1;
        Duration::from_nanos(self.rules.rate.spacing_ns().saturating_mul(ahead))
    }

    /// Whether the turn may come within `hold`, so that the request waits for it.
    #[must_use]
    pub fn is_near(&self, number: Number) -> bool {
        let goes_in = self.phase == Phase::Open && !self.sold_out();
        let soon = goes_in && self.turn_in(number) <= self.rules.hold;
        number <= self.called && (soon || self.opens_near(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Lineage, Micros, Rate, Room, Rules};

    /// 10,000 people join in one second and ask as told: after five rounds no tenth of a second holds three times
    /// the mean (field report W037).
    #[test]
    fn w037_a_crowd_that_came_together_does_not_ask_together() {
        let mut room = Room::new(Rules::at(Rate::per_second(1).unwrap()), Lineage(1), Micros(1_000_000));
        room.join(Micros(1_000_001), &[None; 500]);
        let far = Number(20_000);
        let snapshot = Snapshot { last: far, ..room.snapshot() };
        for most in [10, 30].map(Duration::from_secs) {
            let mut seed = 7_u64;
            let mut chance = || {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (seed >> 40) as f64 / (1_u64 << 24) as f64
            };
            let mut rounds: Vec<f64> = Vec::new();
            for person in 0..10_000 {
                let mut at = f64::from(person) / 10_000.0;
                at += snapshot.next_poll(far, most.min(Duration::from_secs(10)), chance()).as_secs_f64();
                for _ in 0..5 {
                    at += snapshot.next_poll(far, most, chance()).as_secs_f64();
                }
                rounds.push(at);
            }
            let mean = 10_000.0 / (most.as_secs_f64() * 0.8 * 10.0);
            let mut bins = std::collections::BTreeMap::new();
            rounds.iter().for_each(|at| *bins.entry((at * 10.0) as u64).or_insert(0.0) += 1.0);
            let busiest = bins.values().copied().fold(0.0, f64::max);
            assert!(busiest < 3.0 * mean, "{most:?}: {busiest} in a tenth of a second, {mean} on average");
        }
    }
}
