//! Numbers that nobody was told of: a new life of the store began above them, because its last writes may be lost.
//!
//! They cost nobody anything: the called horizon jumps over them, and no position, no count and no bound of the
//! line includes them. If some were told after all, their holders come with signed tickets and are let in at their
//! own number.

use serde::{Deserialize, Serialize};

use super::Number;

/// Ranges that are remembered. Of more, the two with the fewest numbers between them become one: whoever holds these
/// keeps place and order, and is only called as soon as those before the range, and not counted.
const VOIDS_MAX: usize = 32;

/// Ranges in ascending order, none touching another: numbers after the first up to the second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Voids(Vec<(Number, Number)>);

impl Voids {
    /// From ranges in ascending order.
    #[must_use]
    pub fn of(ranges: Vec<(Number, Number)>) -> Self {
        Self(ranges)
    }

    /// The ranges.
    #[must_use]
    pub fn ranges(&self) -> &[(Number, Number)] {
        &self.0
    }

    /// Adds a range above all others; what is settled already is forgotten.
    pub(super) fn add(&mut self, from: Number, to: Number, settled: Number) {
        self.0.retain(|(_, end)| *end > settled);
        match self.0.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.0.push((from, to)),
        }
        if self.0.len() > VOIDS_MAX {
            let between = self.0.windows(2).map(|pair| match pair {
                [(_, to), (from, _)] => from.0.saturating_sub(to.0),
                _ => u64::MAX,
            });
            if let Some((at, _)) = between.enumerate().min_by_key(|(_, between)| *between) {
                let (_, to) = self.0.remove(at + 1);
                if let Some(range) = self.0.get_mut(at) {
                    range.1 = to;
                }
            }
        }
    }

    /// What a caller knows who saw the numbers up to `told`: these were told, but for the ranges that it brings.
    pub(super) fn take_up(&mut self, known: &Self, told: Number) {
        let below =
            known.0.iter().filter(|(from, _)| *from < told).map(|(from, to)| (*from, (*to).min(told)));
        let above = self.0.iter().filter(|(_, to)| *to > told).map(|(from, to)| ((*from).max(told), *to));
        let mut all = Self::default();
        below.chain(above).for_each(|(from, to)| all.add(from, to, Number(0)));
        *self = all;
    }

    /// A horizon that reaches into a range goes on behind it.
    pub(super) fn beyond(&self, called: Number) -> Number {
        let within = self.0.iter().find(|(from, to)| called >= *from && called < *to);
        within.map_or(called, |(_, to)| *to)
    }

    /// How many of the numbers after `from` up to `to` are void.
    #[must_use]
    pub fn between(&self, from: Number, to: Number) -> u64 {
        let inside =
            |(first, last): &(Number, Number)| (*last).min(to).0.saturating_sub((*first).max(from).0);
        self.0.iter().map(inside).sum()
    }

    /// Whether a number lies in a range.
    #[must_use]
    pub fn has(&self, number: Number) -> bool {
        self.0.iter().any(|(from, to)| number > *from && number <= *to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voids(ranges: &[(u64, u64)]) -> Voids {
        let mut voids = Voids::default();
        ranges.iter().for_each(|(from, to)| voids.add(Number(*from), Number(*to), Number(0)));
        voids
    }

    #[test]
    fn several_ranges_are_counted_and_jumped_over() {
        let voids = voids(&[(10, 20), (25, 30), (30, 40)]);
        assert_eq!(voids.ranges(), [(Number(10), Number(20)), (Number(25), Number(40))]);
        let beyond = |n| voids.beyond(Number(n)).0;
        assert_eq!([9, 10, 15, 20, 24, 25, 39, 40].map(beyond), [9, 20, 20, 20, 24, 40, 40, 40]);
        let between = |from, to| voids.between(Number(from), Number(to));
        assert_eq!([between(0, 9), between(0, 15), between(15, 30), between(0, 99)], [0, 5, 10, 25]);
        let has = |n| voids.has(Number(n));
        assert_eq!([10, 11, 20, 21, 40, 41].map(has), [false, true, true, false, true, false]);
    }

    #[test]
    fn what_was_told_after_all_is_no_longer_void() {
        let mut own = voids(&[(10, 20), (40, 300)]);
        own.take_up(&voids(&[(10, 20), (60, 70)]), Number(100));
        assert_eq!(own, voids(&[(10, 20), (60, 70), (100, 300)]));
        own.take_up(&voids(&[]), Number(300));
        assert_eq!(own, Voids::default());
    }

    #[test]
    fn ranges_that_are_settled_go_first_and_then_the_nearest_become_one() {
        let mut ranges = voids(&[(10, 20), (25, 40)]);
        ranges.add(Number(50), Number(60), Number(20));
        assert_eq!(ranges.ranges().len(), 2);
        let mut many = Voids::default();
        for i in 0..=VOIDS_MAX as u64 {
            many.add(Number(100 * i), Number(100 * i + if i == 7 { 98 } else { 50 }), Number(0));
        }
        assert_eq!(many.ranges().len(), VOIDS_MAX);
        assert_eq!(many.ranges()[7], (Number(700), Number(850)), "{many:?}");
        assert_eq!(many.ranges()[31], (Number(3200), Number(3250)));
    }
}
