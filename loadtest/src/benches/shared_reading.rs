//! What the shop's book of arrivals says about rate, use and order.

use std::collections::HashSet;
use std::time::Duration;

use super::shared::RATE;
use crate::load::origin::Arrival;

/// See [`reading`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) admitted: usize,
    /// Numbers that came in twice.
    pub(super) twice: usize,
    pub(super) slots_in_1s: u64,
    pub(super) arrivals_in_1s: u64,
    pub(super) arrivals_in_10s: u64,
    /// The share of the rate's slots that were taken in the worst 30 s, from one step after the first slot on.
    pub(super) least_use: f64,
    pub(super) overtaken: usize,
    pub(super) late: usize,
    pub(super) stall: Duration,
}

const SECOND: u64 = 1_000_000;
/// The time of a step: after it everybody called has had a chance to answer.
const STEP: u64 = 3 * SECOND;

/// Reads a book; `late` are the numbers of visitors who were slower than told.
pub(super) fn reading(arrivals: &[Arrival], late: &HashSet<u64>, stall: Duration) -> Reading {
    let micros = |at: Duration| u64::try_from(at.as_micros()).unwrap_or(u64::MAX);
    let mut slots: Vec<(u64, u64)> = arrivals.iter().map(|a| (a.slot, a.number)).collect();
    slots.sort_unstable();
    let moments: Vec<u64> = slots.iter().map(|(slot, _)| *slot).collect();
    let mut times: Vec<u64> = arrivals.iter().map(|a| micros(a.at)).collect();
    times.sort_unstable();
    let numbers: HashSet<u64> = arrivals.iter().map(|a| a.number).collect();
    Reading {
        admitted: arrivals.len(),
        twice: arrivals.len() - numbers.len(),
        slots_in_1s: most_in(SECOND, &moments),
        arrivals_in_1s: most_in(SECOND, &times),
        arrivals_in_10s: most_in(10 * SECOND, &times),
        least_use: least_use(&moments),
        overtaken: overtaken(&slots, late),
        late: late.len(),
        stall,
    }
}

/// The most of these sorted moments in any half-open window.
fn most_in(window: u64, moments: &[u64]) -> u64 {
    let mut from = 0;
    let mut most = 0;
    for (to, moment) in moments.iter().enumerate() {
        while moments.get(from).is_some_and(|first| first + window <= *moment) {
            from += 1;
        }
        most = most.max(to + 1 - from);
    }
    most as u64
}

/// The least share used in windows of 30 s that begin at each tenth of a second.
fn least_use(slots: &[u64]) -> f64 {
    let (Some(first), Some(last)) = (slots.first(), slots.last()) else { return 0.0 };
    let window = 30 * SECOND;
    let mut least = f64::INFINITY;
    let mut begin = first + STEP;
    while begin + window <= *last {
        let from = slots.partition_point(|slot| *slot < begin);
        let to = slots.partition_point(|slot| *slot < begin + window);
        least = least.min((to - from) as f64 / (RATE * 30) as f64);
        begin += SECOND / 10;
    }
    if least.is_finite() { least } else { 0.0 }
}

/// Visitors who were there in time and went in after a larger number.
fn overtaken(slots: &[(u64, u64)], late: &HashSet<u64>) -> usize {
    let mut largest = 0;
    let mut count = 0;
    for (_, number) in slots.iter().filter(|(_, number)| !late.contains(number)) {
        count += usize::from(*number < largest);
        largest = largest.max(*number);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn book(entries: &[(u64, u64)]) -> Vec<Arrival> {
        entries
            .iter()
            .map(|(slot, number)| Arrival { number: *number, slot: *slot, at: Duration::from_micros(*slot) })
            .collect()
    }

    #[test]
    fn a_perfect_minute_reads_as_one() {
        let entries: Vec<_> = (0..60_000).map(|i| (i * 1000, i + 1)).collect();
        let seen = reading(&book(&entries), &HashSet::new(), Duration::ZERO);
        assert_eq!((seen.admitted, seen.twice, seen.overtaken), (60_000, 0, 0));
        assert_eq!((seen.slots_in_1s, seen.arrivals_in_10s), (1_000, 10_000));
        assert!(seen.least_use >= 0.9999 && seen.least_use <= 1.0, "{}", seen.least_use);
    }

    #[test]
    fn what_is_wrong_is_counted() {
        let mut entries: Vec<_> =
            (0..60_000).filter(|i| !(20_000..25_000).contains(i)).map(|i| (i * 1000, i + 1)).collect();
        entries.extend([(5_000_000, 50_000), (6_000_500, 100)]);
        let late = HashSet::from([100]);
        let seen = reading(&book(&entries), &late, Duration::ZERO);
        assert_eq!(seen.twice, 2);
        assert_eq!(seen.slots_in_1s, 1_001);
        assert!((0.83..0.84).contains(&seen.least_use), "{}", seen.least_use);
        assert!(
            seen.overtaken > 10_000,
            "all who stood between were overtaken by 50,000: {}",
            seen.overtaken
        );
    }
}
