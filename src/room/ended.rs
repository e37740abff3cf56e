//! The end log: numbers whose stay was ended or revoked before its pass expired, in the order of the ends.
//!
//! Every instance follows it from the last sequence that it has seen, so that an admitted request asks nobody
//! and an ended pass is dead all the same. An entry is kept until the printed expiry of its pass has passed.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Micros, Number};

/// Kept for so long after the acknowledged expiry: more than any leeway and what clocks may differ.
const KEPT_AFTER: Duration = Duration::from_secs(120);

/// Most entries that are kept; beyond it the oldest go early. A thousand ends a second with ten minutes of `idle`
/// are 600,000.
pub(crate) const LOG_MAX: usize = 1_000_000;

/// Most entries in one answer.
pub(crate) const LOG_READ_MAX: usize = 1000;

/// The log. The sequence of the first entry kept is `first`, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndLog {
    first: u64,
    entries: VecDeque<(Number, Micros)>,
}

impl Default for EndLog {
    fn default() -> Self {
        Self { first: 1, entries: VecDeque::new() }
    }
}

impl EndLog {
    /// The log as it was written down: where it begins, and its entries.
    pub(super) fn restored(first: u64, entries: Vec<(Number, Micros)>) -> Self {
        Self { first: first.max(1), entries: entries.into() }
    }

    /// The sequence of the last entry that was ever made.
    pub(super) fn to(&self) -> u64 {
        self.first + self.entries.len() as u64 - 1
    }

    /// The sequence of the first entry that is kept, or will be.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Adds a number whose stay was to last `until`; the entry.
    pub(super) fn add(&mut self, number: Number, until: Micros) -> (u64, Number, Micros) {
        let kept = until.plus(KEPT_AFTER);
        self.entries.push_back((number, kept));
        if self.entries.len() > LOG_MAX {
            self.entries.pop_front();
            self.first += 1;
        }
        (self.to(), number, kept)
    }

    /// Takes out what need not be kept any longer, at most `limit` of it. An entry is held by those before it.
    pub(super) fn trim(&mut self, now: Micros, limit: usize) {
        for _ in 0..limit {
            if self.entries.front().is_none_or(|(_, kept)| *kept > now) {
                return;
            }
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Forgets everything and goes on counting.
    pub(super) fn clear(&mut self) {
        self.first = self.to() + 1;
        self.entries.clear();
    }

    /// Ends that were lost had sequences: goes on above all of them, so that whoever follows reads everything anew.
    pub(super) fn jump(&mut self) {
        self.first += LOG_MAX as u64;
    }

    /// Entries after a sequence, and the sequence of the last of them. From a sequence that was never given, and
    /// from before what is kept: everything.
    pub(super) fn after(&self, from: u64) -> (Vec<Number>, u64) {
        let from = if from > self.to() { 0 } else { from };
        let skip = usize::try_from((from + 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        let found: Vec<Number> =
            self.entries.iter().skip(skip).take(LOG_READ_MAX).map(|(number, _)| *number).collect();
        let to = self.first + skip as u64 + found.len() as u64 - 1;
        (found, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64) -> EndLog {
        let mut log = EndLog::default();
        for n in 1..=count {
            log.add(Number(100 + n), Micros(n));
        }
        log
    }

    fn numbers(log: &EndLog, from: u64) -> (Vec<u64>, u64) {
        let (numbers, to) = log.after(from);
        (numbers.into_iter().map(|n| n.0).collect(), to)
    }

    #[test]
    fn it_is_followed_from_the_last_sequence_seen() {
        let mut log = log(3);
        assert_eq!(numbers(&log, 0), (vec![101, 102, 103], 3));
        assert_eq!(numbers(&log, 2), (vec![103], 3));
        assert_eq!(numbers(&log, 3), (vec![], 3));
        assert_eq!(numbers(&log, 99), (vec![101, 102, 103], 3), "a sequence of another life");
        log.clear();
        assert_eq!((numbers(&log, 0), numbers(&log, 3)), ((vec![], 3), (vec![], 3)));
        log.add(Number(7), Micros(9));
        assert_eq!((numbers(&log, 1), numbers(&log, 3)), ((vec![7], 4), (vec![7], 4)));
    }

    #[test]
    fn answers_are_bounded_and_go_on_where_they_stopped() {
        let log = log(2500);
        let (mut from, mut all) = (0, Vec::new());
        for size in [1000, 1000, 500, 0] {
            let (some, to) = numbers(&log, from);
            assert_eq!(some.len(), size);
            all.extend(some);
            from = to;
        }
        assert_eq!(all, (101..=2600).collect::<Vec<_>>());
    }

    #[test]
    fn it_is_bounded_and_goes_on_counting() {
        let log = log(LOG_MAX as u64 + 2);
        assert_eq!((log.entries.len(), log.first(), log.to()), (LOG_MAX, 3, LOG_MAX as u64 + 2));
        assert_eq!(numbers(&log, 0).0[0], 103);
    }

    #[test]
    fn entries_are_kept_until_their_passes_are_long_expired() {
        let mut log = log(3);
        let second = KEPT_AFTER.as_micros() as u64;
        log.trim(Micros(second), 100);
        assert_eq!(numbers(&log, 0).0.len(), 3);
        log.trim(Micros(second + 2), 1);
        assert_eq!(numbers(&log, 0), (vec![102, 103], 3));
        log.trim(Micros(second + 2), 100);
        assert_eq!(numbers(&log, 0), (vec![103], 3));
    }
}
