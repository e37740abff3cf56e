//! How soon a visitor should ask again: seldom when far away, in time to be called, and just before the turn.

use std::time::Duration;

use super::{Number, Phase, Snapshot};

/// The shortest interval that is ever asked for.
const SHORTEST: Duration = Duration::from_millis(250);

impl Snapshot {
    /// When the holder of `number` should ask again. `chance` in [0, 1) spreads the answers over the last
    /// fifth of the interval: it only ever shortens, so that nobody is asked too late.
    #[must_use]
    pub fn next_poll(&self, number: Number, poll_max: Duration, chance: f64) -> Duration {
        self.poll_within(number, poll_max).mul_f64(0.8 + 0.2 * chance.clamp(0.0, 1.0))
    }

    fn poll_within(&self, number: Number, poll_max: Duration) -> Duration {
        let shortest = self.rules.poll_min;
        if number <= self.called {
            return self.before_turn(number).clamp(SHORTEST.min(shortest), shortest);
        }
        // C moves at most `reach` in a step, and everybody called must ask within the step that follows.
        let steps = (number.0 - self.called.0 - 1) / self.reach.max(1);
        let until_called = self.rules.step().saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX));
        until_called.clamp(shortest, poll_max.max(shortest))
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
        number <= self.called && goes_in && self.turn_in(number) <= self.rules.hold
    }
}
