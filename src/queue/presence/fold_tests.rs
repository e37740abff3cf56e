//! Histories of people and instances from seeds: all agree, positions never grow, who left is not counted.

use std::collections::BTreeMap;

use super::*;
use crate::queue::presence::Ranked;

const ABSENT: Duration = Duration::from_secs(60);
const SECOND: u64 = 1_000_000;

struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// One who waits: asks every so many seconds, until gone.
struct Person {
    every: u64,
    next: u64,
    gone: Option<u64>,
    shown_at: Option<u64>,
}

fn heard(numbers: &[u64]) -> Bits {
    let mut bits = Bits::at(0);
    numbers.iter().for_each(|n| bits.set(Number(*n)));
    bits
}

fn told(numbers: &[u64], left: &[u64], version: u64) -> Heard {
    let left = left.iter().map(|n| Number(*n)).collect();
    Heard { heard: heard(numbers), left, version, absent_after: ABSENT }
}

fn around(frontier: u64, last: u64) -> Around {
    Around {
        frontier: Number(frontier),
        last: Number(last),
        drawn: None,
        voids: Voids::default(),
        ahead: Duration::ZERO,
    }
}

/// A position as an instance tells it.
fn position(shown: &Shown, number: u64) -> u64 {
    let ranked = Ranked::new(shown.bits.as_ref().unwrap().0.clone());
    let beyond = number.saturating_sub(1).saturating_sub(shown.last.0);
    ranked.between(shown.frontier, Number(number)) + beyond + 1
}

#[test]
fn positions_never_grow_and_who_went_away_is_not_counted_in_the_end() {
    for seed in 0..60 {
        one_history(seed);
    }
}

fn one_history(seed: u64) {
    let mut dice = Dice(seed);
    let mut presence = Presence::default();
    let mut people: BTreeMap<u64, Person> = BTreeMap::new();
    let (mut frontier, mut last, mut now) = (0, 0, 1_000 * SECOND);
    let mut told_before: BTreeMap<u64, u64> = BTreeMap::new();
    for second in 0..240 {
        now += SECOND + dice.below(3) * 1000;
        if dice.below(60) == 0 {
            // An outage: nobody is heard, and nobody becomes absent by it.
            now += dice.below(300) * SECOND;
        }
        for _ in 0..if second < 60 { dice.below(30) } else { 0 } {
            last += 1;
            let gone = (dice.below(3) == 0).then(|| second + dice.below(100));
            let person =
                Person { every: 2 + dice.below(25), next: second + dice.below(10), gone, shown_at: None };
            people.insert(last, person);
        }
        frontier = (frontier + dice.below(8)).min(last);
        let mut asked = Vec::new();
        let mut left = Vec::new();
        for (number, person) in &mut people {
            if person.gone == Some(second) && number % 2 == 0 && left.len() < 400 {
                left.push(*number);
            }
            if person.next == second && person.gone.is_none_or(|gone| gone > second) {
                asked.push(*number);
                person.next = second + person.every;
            }
        }
        // Two instances tell their halves; the first of them makes the version.
        let (one, two): (Vec<u64>, Vec<u64>) = asked.iter().partition(|n| *n % 3 == 0);
        presence.tell(Micros(now), &around(frontier, last), &told(&one, &left, 0));
        let seen = presence.tell(Micros(now + 1000), &around(frontier, last), &told(&two, &[], 0));
        if dice.below(40) == 0 {
            presence = Presence::restored(presence.kept());
        }
        for (number, person) in people.range_mut(seen.frontier.0 + 1..) {
            if person.gone.is_some_and(|gone| gone <= second) {
                continue;
            }
            let at = position(&seen, *number);
            let before = told_before.insert(*number, at);
            assert!(
                before.is_none_or(|b| at <= b),
                "seed {seed}: {number} moved back from {before:?} to {at}"
            );
            person.shown_at = Some(at);
        }
    }
    // Everybody who stays has been heard of within the last minute; the others are long gone.
    let there: Vec<u64> =
        people.range(frontier + 1..).filter(|(_, p)| p.gone.is_none()).map(|(n, _)| *n).collect();
    for _ in 0..90 {
        now += SECOND;
        presence.tell(Micros(now), &around(frontier, last), &told(&there, &[], 0));
    }
    let seen = presence.tell(Micros(now + 1), &around(frontier, last), &told(&[], &[], 0));
    for (ahead, number) in there.iter().enumerate() {
        assert_eq!(position(&seen, *number), ahead as u64 + 1, "seed {seed}: {number}");
    }
    let live = Ranked::new(seen.bits.unwrap().1);
    assert_eq!(live.between(seen.frontier, Number(last + 1)), there.len() as u64, "seed {seed}");
}

#[test]
fn a_number_counts_from_joining_and_then_while_it_is_heard_of() {
    let mut presence = Presence::default();
    let mut at = |second: u64, heard: &[u64], left: &[u64]| {
        presence.tell(Micros((100 + second) * SECOND), &around(0, 3), &told(heard, left, 0))
    };
    assert_eq!(position(&at(0, &[], &[]), 3), 3);
    assert_eq!(position(&at(1, &[], &[1]), 3), 2, "who leaves is not counted in the next version");
    for second in 2..14 {
        at(second, &[3], &[]);
    }
    let seen = (14..20).map(|second| position(&at(second, &[3], &[]), 3)).last();
    assert_eq!(seen, Some(1), "2 never asked within its first seconds");
    let live = |shown: Shown, n| Ranked::new(shown.bits.unwrap().1).has(Number(n));
    assert!(!live(at(20, &[], &[]), 2));
    at(21, &[2], &[]);
    let back = at(22, &[], &[]);
    assert_eq!(position(&back, 3), 1, "a position never grows again");
    assert!(live(back, 2), "but who is back is counted as waiting");
}

#[test]
fn an_outage_makes_nobody_absent() {
    let mut presence = Presence::default();
    for second in 0..30 {
        presence.tell(Micros((100 + second) * SECOND), &around(0, 2), &told(&[1, 2], &[], 0));
    }
    let seen = presence.tell(Micros(10_000 * SECOND), &around(0, 2), &told(&[], &[], 0));
    assert_eq!(position(&seen, 2), 2);
}

#[test]
fn after_a_draw_all_of_the_lobby_count_anew() {
    let mut presence = Presence::default();
    for second in 0..30 {
        presence.tell(Micros((100 + second) * SECOND), &around(0, 9), &told(&[5], &[], 0));
    }
    let drawn = Around { drawn: Some((Number(0), Number(9))), ..around(0, 9) };
    let seen = presence.tell(Micros(131 * SECOND), &drawn, &told(&[], &[], 0));
    assert_eq!(position(&seen, 9), 9);
}
