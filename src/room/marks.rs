//! Numbers with a time each, found both by number and by time: the checked in, the granted, the admitted.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::{Micros, Number};

/// A map from number to time, ordered both ways.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    by_number: BTreeMap<Number, Micros>,
    by_time: BTreeSet<(Micros, Number)>,
}

impl FromIterator<(Number, Micros)> for Marks {
    fn from_iter<T: IntoIterator<Item = (Number, Micros)>>(all: T) -> Self {
        let mut marks = Self::default();
        all.into_iter().for_each(|(number, time)| marks.set(number, time));
        marks
    }
}

impl Marks {
    pub(super) fn set(&mut self, number: Number, time: Micros) {
        if let Some(old) = self.by_number.insert(number, time) {
            self.by_time.remove(&(old, number));
        }
        self.by_time.insert((time, number));
    }

    pub(super) fn remove(&mut self, number: Number) -> Option<Micros> {
        let time = self.by_number.remove(&number)?;
        self.by_time.remove(&(time, number));
        Some(time)
    }

    pub(super) fn get(&self, number: Number) -> Option<Micros> {
        self.by_number.get(&number).copied()
    }

    pub(super) fn has(&self, number: Number) -> bool {
        self.by_number.contains_key(&number)
    }

    pub(super) fn len(&self) -> u64 {
        self.by_number.len() as u64
    }

    /// The smallest number, if it is at most `up_to`.
    pub(super) fn smallest(&self, up_to: Number) -> Option<Number> {
        self.by_number.first_key_value().map(|(n, _)| *n).filter(|n| *n <= up_to)
    }

    #[cfg(test)]
    pub(super) fn largest(&self) -> Option<Number> {
        self.by_number.last_key_value().map(|(n, _)| *n)
    }

    pub(super) fn count(&self, range: RangeInclusive<Number>) -> u64 {
        if range.is_empty() { 0 } else { self.by_number.range(range).count() as u64 }
    }

    /// How many have a time after `time`.
    pub(super) fn count_since(&self, time: Micros) -> u64 {
        self.by_time.range((time, Number(u64::MAX))..).count() as u64
    }

    /// Takes out those whose time is before `time`, at most `limit` of them, the oldest first.
    pub(super) fn take_before(&mut self, time: Micros, limit: usize) -> Vec<Number> {
        self.take_old(time, limit, |_| true)
    }

    /// The same for those of them that are `needless`.
    pub(super) fn take_old(
        &mut self,
        time: Micros,
        limit: usize,
        needless: impl Fn(Number) -> bool,
    ) -> Vec<Number> {
        let old = self.by_time.range(..(time, Number(0))).take(limit);
        let old: Vec<_> = old.filter(|(_, number)| needless(*number)).copied().collect();
        old.into_iter()
            .map(|(time, number)| {
                self.by_time.remove(&(time, number));
                self.by_number.remove(&number);
                number
            })
            .collect()
    }

    /// Those with a time from `from` on and before `to`, by time.
    pub(super) fn between(&self, from: Micros, to: Micros) -> Vec<(Micros, Number)> {
        self.by_time.range((from, Number(0))..(to, Number(0))).copied().collect()
    }

    pub(super) fn clear(&mut self) {
        self.by_number.clear();
        self.by_time.clear();
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Number, Micros)> + '_ {
        self.by_number.iter().map(|(n, t)| (*n, *t))
    }
}
