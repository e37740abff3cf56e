//! How many more may go in: `max_total`, `max_active` and the shop's stock, each by itself and all together.

use super::core::Core;
#[cfg(test)]
use super::mutation::{self, Mutation};
use super::{Micros, Room};

impl Core {
    /// Admissions that `max_total` still allows.
    pub(super) fn left_in_total(&self) -> u64 {
        let most = self.rules.max_total;
        #[cfg(test)]
        let most = most.map(|most| most + u64::from(mutation::is(Mutation::OneAboveTheCap)));
        most.map_or(u64::MAX, |most| most.saturating_sub(self.admitted))
    }

    /// Whether stock is known to be gone. While it is, the room rests as if it were paused: nobody's turn comes
    /// and nobody's lapses.
    pub(super) fn out_of_stock(&self, now: Micros) -> bool {
        self.places_by_stock(now, 0) == 0
    }

    /// Slots lie at `now` or later, and after the last revocation.
    pub(super) fn slots_from(&self, now: Micros) -> Micros {
        now.max(self.revoked_before)
    }

    /// Visitors whom stock can serve besides `active` inside; no bound while stock is not known.
    fn places_by_stock(&self, now: Micros, active: u64) -> u64 {
        let known = self.rules.stock.as_ref().zip(self.stock.as_ref());
        let in_force = known.filter(|(rules, stock)| !stock.is_stale(rules, now));
        in_force.map_or(u64::MAX, |(rules, stock)| stock.places(rules, active, self.departed))
    }
}

impl Room {
    /// Stays that live, and after a loss those that may have been lost.
    pub(super) fn active(&self) -> u64 {
        self.stays.len() + self.core.ghosts
    }

    /// How many more may be admitted right now. Open grants are to be taken off by whoever grants.
    pub(super) fn places(&self, now: Micros) -> u64 {
        let (core, active) = (&self.core, self.active());
        #[cfg(test)]
        let active = active.saturating_sub(u64::from(mutation::is(Mutation::OneTooManyInside)));
        let by_active = core.rules.max_active.map_or(u64::MAX, |max| max.saturating_sub(active));
        core.left_in_total().min(by_active).min(core.places_by_stock(now, active))
    }
}
