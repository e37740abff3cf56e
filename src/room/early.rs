//! How soon to ask again before a room opens: now and then at first, in good time for the front, and never all
//! in the instant of opening.
//!
//! Whoever is called by number (a lobby in the order of coming) asks once within the last step, which checks them
//! in, and then just before the turn. Everybody else asks within a time after opening that grows with their
//! number: a lobby with a draw learns its numbers then, and nobody could be told before who is in front.

use std::time::Duration;

use super::{DrawStage, Micros, Number, Phase, Seat, Snapshot};

/// A lobby of this many asks within each second after opening, as long as that takes not longer than
/// [`SPREAD_MAX`].
const ASK_PER_SECOND: u64 = 10_000;

/// The longest time within which a lobby asks after opening.
const SPREAD_MAX: Duration = Duration::from_secs(10);

impl Snapshot {
    /// When the room opens, while that is to come and the schedule is in force.
    #[must_use]
    pub fn opens_at(&self) -> Option<Micros> {
        let early = self.forced.is_none() && self.phase != Phase::Closed;
        self.rules.schedule.opens.filter(|opens| early && *opens > self.now)
    }

    /// What a place is to its holder: an index in the lobby, or a number in line.
    #[must_use]
    pub fn seat(&self, place: Number) -> Seat {
        self.draw.seat(place)
    }

    /// When somebody should ask again before the room opens, or before the draw is made; `None` once the line is
    /// what matters. `number`: of those who have one. `chance` in [0, 1) spreads a crowd.
    pub(super) fn early_poll(
        &self,
        number: Option<Number>,
        poll_max: Duration,
        chance: f64,
    ) -> Option<Duration> {
        let often = poll_max.mul_f64(0.8 + 0.2 * chance);
        if self.phase == Phase::Scheduled {
            let doors = self.rules.schedule.doors?.since(self.now);
            return Some(after(doors, self.rules.poll_min * 2, often, poll_max, chance));
        }
        let Some(left) = self.opens_at().map(|opens| opens.since(self.now)) else {
            // Open but not drawn yet: by then everybody may be in front.
            let waits = self.draw.stage == DrawStage::Frozen && number.is_none();
            return waits.then(|| self.spread().mul_f64(0.5 + 0.5 * chance).min(poll_max));
        };
        match number.filter(|number| *number <= self.called) {
            Some(number) => Some(self.front_poll(number, left, often, chance)),
            None => Some(after(left, self.spread(), often, poll_max, chance)),
        }
    }

    /// For those who are called before the room opens: once in the last step, then at the turn.
    fn front_poll(&self, number: Number, left: Duration, often: Duration, chance: f64) -> Duration {
        let (step, shortest) = (self.rules.step(), self.rules.poll_min);
        if left > step {
            return often.min(left - step.mul_f64(1.0 - 0.6 * chance));
        }
        let turn = (left + self.turn_in(number)).saturating_sub(self.rules.hold / 2);
        turn.clamp(Duration::from_millis(250).min(shortest), shortest).mul_f64(0.8 + 0.2 * chance)
    }

    /// The time after opening within which a lobby of this size asks.
    fn spread(&self) -> Duration {
        let lobby = if self.draw.size > 0 { self.draw.size } else { self.waiting() };
        Duration::from_millis(lobby * 1000 / ASK_PER_SECOND).clamp(self.rules.poll_min, SPREAD_MAX)
    }

    /// Whether the turn comes within `hold` of now although the room opens only then.
    pub(super) fn opens_near(&self, number: Number) -> bool {
        let left = self.opens_at().map(|opens| opens.since(self.now));
        self.phase == Phase::Lobby && left.is_some_and(|left| left + self.turn_in(number) <= self.rules.hold)
    }
}

/// Some time within `spread` after what is `left`; until that is near, as often as ever.
fn after(left: Duration, spread: Duration, often: Duration, poll_max: Duration, chance: f64) -> Duration {
    if left > poll_max { often.min(left) } else { left + spread.mul_f64(chance) }
}
