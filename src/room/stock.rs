//! The shop's stock as far as ropeline knows it, and how many visitors it can still serve.
//!
//! Buyers who hold an unpaid ticket are inside but no longer in `remaining`, so those inside who have not
//! taken theirs yet are what counts against it. The shop's own claim is always the last word: a reading that
//! is missing or old bounds nobody. Everything is reckoned in thousandths of a ticket, whole and exact.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Micros, Snapshot};

/// How the shop's stock bounds admissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StockRules {
    /// Tickets that one visitor takes on average, in thousandths; at least 1, at most [`StockRules::PER_VISITOR_MAX`].
    pub per_visitor_milli: u64,
    /// Visitors who may be inside beyond what stock can serve, because some leave without a ticket.
    pub reserve: u64,
    /// What becomes of those behind what stock can serve.
    pub when_short: WhenShort,
    /// A reading older than this bounds nobody.
    pub stale_after: Duration,
}

impl StockRules {
    /// The largest `per_visitor_milli`: a thousand tickets.
    pub const PER_VISITOR_MAX: u64 = 1_000_000;
    /// The largest `reserve`.
    pub const RESERVE_MAX: u64 = 1_000_000_000;

    /// The values that the rooms reckon with: within their bounds, so that every product stays below 2^53.
    pub(crate) fn bounded(&self) -> (u64, u64) {
        (self.per_visitor_milli.clamp(1, Self::PER_VISITOR_MAX), self.reserve.min(Self::RESERVE_MAX))
    }
}

/// What becomes of those who stand behind what stock can serve. Nobody is admitted beyond it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenShort {
    /// They are told, and wait on.
    #[default]
    Warn,
    /// They wait for tickets that come back.
    Waitlist,
    /// There are no new places.
    Close,
}

/// What the shop said of its stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// The largest reading since the room was created or flushed.
    pub first: u64,
    /// The last reading.
    pub remaining: u64,
    /// When it was taken in, on the store's clock.
    pub read_at: Micros,
}

impl Stock {
    /// The largest reading that is told apart from more.
    pub const MAX: u64 = 1_000_000_000_000;

    /// The stock after a reading.
    pub(super) fn read(before: Option<Self>, remaining: u64, now: Micros) -> Self {
        let remaining = remaining.min(Self::MAX);
        let first = before.map_or(remaining, |stock| stock.first.max(remaining));
        Self { first, remaining, read_at: now }
    }

    pub(super) fn is_stale(&self, rules: &StockRules, now: Micros) -> bool {
        now.since(self.read_at) > rules.stale_after
    }

    /// How many more visitors may be inside than are: they are admitted while
    /// `active - max(0, claimed - departed) < remaining / per_visitor + reserve`, and nobody while nothing
    /// remains.
    pub(super) fn places(&self, rules: &StockRules, active: u64, departed: u64) -> u64 {
        if self.remaining == 0 {
            return 0;
        }
        let (each, reserve) = rules.bounded();
        let claimed = 1000 * (self.first - self.remaining.min(self.first));
        let taken_inside = claimed.saturating_sub(departed.saturating_mul(each));
        let serves = (1000 * self.remaining + reserve * each + taken_inside).div_ceil(each);
        serves.saturating_sub(active)
    }
}

impl Snapshot {
    /// The stock that bounds admissions right now: `None` where none is read, or it was never read or is old.
    fn stock_in_force(&self) -> Option<(&StockRules, &Stock)> {
        let (rules, stock) = (self.rules.stock.as_ref()?, self.stock.as_ref()?);
        (!stock.is_stale(rules, self.now)).then_some((rules, stock))
    }

    /// Whether there is a reading, and it is too old to go by.
    #[must_use]
    pub fn stock_is_stale(&self) -> bool {
        let rules = self.rules.stock.as_ref();
        rules.zip(self.stock.as_ref()).is_some_and(|(rules, stock)| stock.is_stale(rules, self.now))
    }

    /// How many more visitors stock can serve besides those inside; `None` while stock is not known.
    #[must_use]
    pub fn stock_places(&self) -> Option<u64> {
        let (rules, stock) = self.stock_in_force()?;
        Some(stock.places(rules, self.active, self.departed))
    }

    /// Whether whoever stands at `position` (from 1) is behind what stock can serve; `None` while stock is
    /// not known.
    #[must_use]
    pub fn beyond_stock(&self, position: u64) -> Option<bool> {
        self.stock_places().map(|places| position > places)
    }

    /// Whether nothing remains, as far as known.
    #[must_use]
    pub fn sold_out(&self) -> bool {
        self.stock_in_force().is_some_and(|(_, stock)| stock.remaining == 0)
    }

    /// Whether there are no new places, because whoever joins now would stand behind what stock can serve.
    #[must_use]
    pub fn closed_by_stock(&self) -> bool {
        let closes = self.rules.stock.is_some_and(|rules| rules.when_short == WhenShort::Close);
        closes && self.beyond_stock(self.waiting() + 1) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(first: u64, remaining: u64, active: u64, departed: u64, each: u64, reserve: u64) -> u64 {
        let rules = StockRules {
            per_visitor_milli: each,
            reserve,
            when_short: WhenShort::Warn,
            stale_after: Duration::from_secs(30),
        };
        Stock { first, remaining, read_at: Micros(1) }.places(&rules, active, departed)
    }

    #[test]
    fn those_inside_who_have_not_taken_theirs_count_against_what_remains() {
        assert_eq!(places(100, 100, 0, 0, 1000, 0), 100);
        assert_eq!(places(100, 100, 30, 0, 1000, 0), 70);
        assert_eq!(places(100, 80, 30, 0, 1000, 0), 70, "twenty of those inside have theirs");
        assert_eq!(places(100, 80, 10, 20, 1000, 0), 70, "the twenty are gone");
        assert_eq!(places(100, 100, 10, 20, 1000, 0), 90, "twenty left without one");
        assert_eq!(places(100, 1, 0, 99, 1000, 5), 6);
    }

    #[test]
    fn nobody_goes_in_while_nothing_remains_whatever_the_reserve() {
        assert_eq!(places(100, 0, 0, 0, 1000, 1_000_000), 0);
    }

    #[test]
    fn visitors_may_take_more_or_less_than_one() {
        assert_eq!(places(100, 100, 0, 0, 2500, 0), 40);
        assert_eq!(places(101, 101, 0, 0, 2500, 0), 41, "the last may find too few, and is told by the shop");
        assert_eq!(places(100, 100, 0, 0, 500, 0), 200);
    }

    #[test]
    fn the_largest_numbers_stay_exact() {
        let most = places(Stock::MAX, Stock::MAX, 0, 0, 1, StockRules::RESERVE_MAX);
        assert_eq!(most, 1000 * Stock::MAX + StockRules::RESERVE_MAX);
        assert!(most < 1 << 53);
    }

    #[test]
    fn a_larger_reading_raises_the_first() {
        let stock = Stock::read(None, 10, Micros(1));
        let stock = Stock::read(Some(stock), 4, Micros(2));
        assert_eq!(stock, Stock { first: 10, remaining: 4, read_at: Micros(2) });
        assert_eq!(Stock::read(Some(stock), 12, Micros(3)).first, 12);
    }
}
