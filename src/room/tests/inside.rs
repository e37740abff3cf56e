//! Those who are inside: how long, how many, and when the next may follow.

use std::time::Duration;

use super::*;

fn rules() -> Rules {
    Rules::at("100/s".parse().unwrap())
}

fn used(numbers: &[u64]) -> StayReport {
    StayReport { used: numbers.iter().copied().map(Number).collect(), ..StayReport::default() }
}

fn ended(number: u64, cause: EndCause) -> StayReport {
    StayReport { ended: vec![(Number(number), cause)], ..StayReport::default() }
}

impl Play {
    fn pass(&mut self, seconds: u64) {
        (0..seconds).for_each(|_| drop(self.wait(1000, &[])));
    }

    fn active(&self) -> u64 {
        self.room.snapshot().active
    }
}

fn all(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

#[test]
fn a_pass_that_is_never_presented_ends_early_and_frees_the_place() {
    let mut play = Play::with(Rules { max_active: Some(1), ..rules() });
    play.join(2);
    play.wait(29_900, &[2]);
    assert!(play.slot(1).is_some() && play.slot(2).is_none());
    play.wait(200, &[2]);
    assert!(play.slot(2).is_some());
    assert_eq!(play.wait(50, &[1]), [Standing::Lapsed]);
}

#[test]
fn use_makes_a_stay_last_but_not_beyond_the_pass() {
    let mut play = Play::with(Rules { pass_ttl: Duration::from_secs(700), ..rules() });
    play.join(1);
    let until = |play: &mut Play| play.room.stays(play.now, &used(&[1])).until[0];
    play.pass(20);
    assert_eq!(until(&mut play), Some(START.plus(Duration::from_secs(620))));
    assert_eq!(until(&mut play), Some(START.plus(Duration::from_secs(620))), "said twice, it is the same");
    play.pass(500);
    assert_eq!(until(&mut play), Some(START.plus(Duration::from_secs(700))));
    play.pass(180);
    assert_eq!((until(&mut play), play.active()), (None, 0));
}

#[test]
fn a_shorter_lifetime_never_takes_back_what_was_acknowledged() {
    let mut play = Play::with(rules());
    play.join(1);
    let first = play.room.stays(play.now, &used(&[1])).until[0].unwrap();
    let shorter = Rules { pass_ttl: Duration::from_secs(5), idle: Duration::from_secs(1), ..rules() };
    play.room.control(play.now, &Control::Rules(shorter));
    assert_eq!(play.room.stays(play.now, &used(&[1])).until[0], Some(first));
    play.pass(599);
    assert_eq!(play.active(), 1, "its pass may still be printed");
}

#[test]
fn an_end_frees_the_place_at_once_and_says_who_made_it() {
    let causes = [
        (EndCause::Visitor, Standing::Left),
        (EndCause::Shop, Standing::Left),
        (EndCause::Operator, Standing::Lapsed),
    ];
    for (cause, standing) in causes {
        let mut play = Play::with(Rules { max_active: Some(1), ..rules() });
        play.join(2);
        let first = play.room.stays(play.now, &ended(1, cause));
        let again = play.room.stays(play.now, &ended(1, cause));
        assert_eq!((&first.ended, first.log_to), (&vec![Number(1)], 1));
        assert_eq!((again.ended, again.log_to), (first.ended, 1), "one entry, however often it is said");
        assert_eq!(again.snapshot.departed, 1);
        assert_eq!(play.wait(50, &[1, 2])[0], standing);
        assert!(play.slot(2).is_some(), "the next tick lets the next one in");
        assert_eq!(play.room.stays(play.now, &used(&[1])).until, [None], "it never comes back");
        for _ in 0..5 {
            play.pass(600);
            assert_eq!(play.wait(50, &[1]), [standing]);
            assert_eq!(play.room.snapshot().admitted, 2);
            if play.room.snapshot().lapsed >= Number(1) {
                break;
            }
        }
    }
}

#[test]
fn a_place_that_is_not_inside_cannot_be_ended() {
    let mut play = Play::with(Rules { max_active: Some(1), ..rules() });
    play.join(3);
    for number in [0, 2, 3, 4, u64::MAX] {
        let said = play.room.stays(play.now, &ended(number, EndCause::Shop));
        assert_eq!((said.ended.len(), said.snapshot.departed, said.snapshot.active), (0, 0, 1));
    }
    assert_eq!(play.wait(50, &[2]), [Standing::Waiting]);
}

#[test]
fn no_more_grants_are_open_than_the_cap_could_honour() {
    let mut play = Play::with(Rules { max_active: Some(7), ..rules() });
    play.join(3);
    play.room.control(play.now, &Control::Pause { reason: None });
    play.join(300);
    play.room.control(play.now, &Control::Resume);
    let mut granted = 0;
    for _ in 0..40 {
        play.wait(50, &[]);
        let at = play.room.snapshot();
        assert!(at.granted + at.active <= 7, "{at:?}");
        granted = granted.max(at.granted);
    }
    assert_eq!(granted, 4);
}

#[test]
fn a_cap_that_is_lowered_takes_grants_back_and_one_that_is_raised_is_used_at_once() {
    let set = |most| Control::Set(Patch { max_active: Some(Some(most)), ..Patch::default() });
    let mut play = Play::at("100/s");
    play.room.control(play.now, &set(20));
    play.join(50);
    play.wait(1000, &all(20));
    assert_eq!(play.active(), 20);
    play.room.control(play.now, &set(30));
    play.wait(50, &[]);
    assert!(play.room.snapshot().granted > 0);
    play.room.control(play.now, &set(5));
    let standings = play.wait(50, &all(50));
    assert_eq!(standings.iter().filter(|s| **s == Standing::Waiting).count(), 30, "nobody of them is lost");
    assert_eq!(play.active(), 20, "who is inside stays");
    play.room.control(play.now, &set(40));
    play.wait(1000, &all(50));
    assert_eq!(play.active(), 40);
    assert!((1..=40).all(|n| play.slot(n).is_some()), "in order");
}

#[test]
fn a_revocation_ends_all_and_what_comes_later_is_not_of_them() {
    let mut play = Play::at("10/s");
    play.join(10);
    play.wait(300, &all(5));
    play.room.control(play.now, &Control::RevokeBefore);
    let at = play.room.snapshot();
    assert!((1..9).contains(&at.admitted));
    assert_eq!((at.active, at.departed), (0, at.admitted));
    assert!(at.revoked_before > play.now);
    let standings = play.wait(1000, &all(10));
    for (number, standing) in all(10).iter().zip(standings) {
        match standing {
            Standing::Lapsed => assert!(*number <= at.admitted),
            Standing::Admitted(admission) => assert!(admission.slot >= at.revoked_before),
            other => panic!("{number} {other:?}"),
        }
    }
    assert_eq!(play.active(), 10 - at.departed);
}

#[test]
fn a_clock_that_is_set_back_revives_nobody_who_was_revoked() {
    let mut play = Play::at("10/s");
    play.join(20);
    play.wait(500, &all(4));
    play.room.control(play.now, &Control::RevokeBefore);
    let revoked = play.room.snapshot().admitted;
    play.wait(500, &all(10));
    let later = play.room.snapshot().admitted;
    assert!(revoked < later && later < 18, "{revoked} {later}");
    play.now = Micros(play.now.0 - 3_600_000_000);
    let log = play.room.stays(play.now, &StayReport::default());
    assert_eq!(log.snapshot.revoked_before, play.now, "or the slots to come would be void");
    let dead: Vec<u64> = log.ended.iter().map(|n| n.0).collect();
    assert_eq!(dead, all(revoked));
    play.wait(15_000, &all(20));
    let standings = play.wait(50, &all(20));
    let inside = standings.iter().map(|s| matches!(s, Standing::Admitted(_)));
    assert!(
        inside.zip(1..).all(|(inside, n)| inside == (n > revoked)),
        "and going in goes on: {standings:?}"
    );
}

#[test]
fn stock_lets_in_as_many_as_it_can_serve_and_what_comes_back_in_order() {
    let stock = StockRules {
        per_visitor_milli: 1000,
        reserve: 0,
        when_short: WhenShort::Waitlist,
        stale_after: Duration::from_secs(30),
    };
    let mut play = Play::with(Rules { stock: Some(stock), first_use: LONG, ..rules() });
    let read = |play: &mut Play, remaining| play.room.control(play.now, &Control::StockRead { remaining });
    read(&mut play, 5);
    play.join(20);
    play.wait(1000, &all(20));
    assert_eq!(play.active(), 5);
    assert_eq!(play.room.snapshot().beyond_stock(1), Some(true));
    read(&mut play, 0);
    play.wait(10_000, &all(20));
    read(&mut play, 0);
    assert!(play.room.snapshot().sold_out());
    play.wait(10_000, &all(20));
    assert_eq!((play.active(), play.room.snapshot().admitted), (5, 5));
    // All five leave; two of them did not pay, and their tickets come back.
    for number in 1..=5 {
        play.room.stays(play.now, &ended(number, EndCause::Visitor));
    }
    read(&mut play, 2);
    play.wait(8000, &all(20));
    assert!(play.slot(6).is_some() && play.slot(7).is_some() && play.slot(8).is_none());
}

#[test]
fn stock_that_was_never_read_or_long_ago_bounds_nobody() {
    let stock = StockRules {
        per_visitor_milli: 1000,
        reserve: 0,
        when_short: WhenShort::Close,
        stale_after: Duration::from_secs(30),
    };
    let mut play = Play::with(Rules { stock: Some(stock), first_use: LONG, ..rules() });
    play.join(100);
    play.wait(200, &all(100));
    assert!(play.active() > 10 && play.room.snapshot().beyond_stock(1).is_none());
    play.room.control(play.now, &Control::StockRead { remaining: 0 });
    let before = play.active();
    assert!(play.room.snapshot().closed_by_stock());
    play.wait(29_000, &all(100));
    assert_eq!(play.active(), before);
    play.wait(5000, &all(100));
    assert!(play.room.snapshot().stock_is_stale() && !play.room.snapshot().closed_by_stock());
    assert_eq!(play.active(), 100);
}

#[test]
fn a_flush_empties_the_inside_and_goes_on_with_the_log() {
    let mut play = Play::at("100/s");
    play.join(3);
    play.wait(500, &all(3));
    play.room.stays(play.now, &ended(1, EndCause::Shop));
    play.room.control(play.now, &Control::Flush(Lineage(8)));
    let at = play.room.snapshot();
    assert_eq!((at.active, at.departed, at.ended_to, at.stock), (0, 0, 1, None));
    assert_eq!(play.room.stays(play.now, &StayReport::default()).ended, []);
    play.join(1);
    let said = play.room.stays(play.now, &StayReport { log_from: 1, ..ended(4, EndCause::Shop) });
    assert_eq!((said.ended, said.log_to), (vec![Number(4)], 2));
}

#[test]
fn many_stays_that_end_at_once_are_counted_off_within_a_few_calls() {
    let mut play = Play::with(Rules { burst: 20_000, ..Rules::at("10000/s".parse().unwrap()) });
    for _ in 0..10 {
        play.join(500);
    }
    play.wait(500, &[]);
    let inside = play.active();
    assert!(inside > 3000, "{inside}");
    play.now = play.now.plus(Duration::from_secs(31));
    let calls = (0..).take_while(|_| play.room.stays(play.now, &StayReport::default()).snapshot.active > 0);
    assert!(calls.count() as u64 <= inside / 1000 + 1);
}

#[test]
fn what_expired_unseen_does_not_come_back_with_an_older_clock() {
    let mut play = Play::with(rules());
    play.join(1);
    play.now = play.now.plus(Duration::from_secs(31));
    play.room.control(play.now, &Control::Resume);
    assert_eq!(play.room.standing(play.now, Number(1)), Standing::Lapsed);
    play.now = Micros(play.now.0 - 10_000_000);
    assert_eq!(play.wait(50, &[1]), [Standing::Lapsed]);
}

/// Sixty seconds of a crowd of which some never ask; those inside stay for `stay_ms`. The admissions, and the
/// mean of those inside, in the last forty.
fn crowd(cap: u64, stay_ms: u64, gone_percent: u64) -> (u64, f64) {
    let rules = Rules { max_active: Some(cap), ..Rules::at("20/s".parse().unwrap()) };
    let mut play = Play::with(rules);
    (0..10).for_each(|_| drop(play.join(500)));
    let here: Vec<u64> = (1..=5000).filter(|n| n * 37 % 100 >= gone_percent).collect();
    let (mut inside, mut sum, mut first) = (std::collections::BTreeMap::new(), 0, 0);
    for tick in 0..1200_u64 {
        // Each asks as often as it is told to near the front: a quarter of them at each tick.
        let called = play.room.snapshot().called.0;
        let asking: Vec<u64> = here
            .iter()
            .copied()
            .filter(|n| *n <= called && n % 4 == tick % 4 && !inside.contains_key(n))
            .collect();
        for (number, standing) in asking.iter().zip(play.wait(50, &asking)) {
            if let Standing::Admitted(admission) = standing {
                inside.insert(*number, Some(admission.slot.0 + stay_ms * 1000));
            }
        }
        let over: Vec<u64> = inside
            .iter()
            .filter(|(_, end)| end.is_some_and(|end| end <= play.now.0))
            .map(|(n, _)| *n)
            .collect();
        let report = StayReport {
            ended: over.iter().map(|n| (Number(*n), EndCause::Shop)).collect(),
            ..StayReport::default()
        };
        play.room.stays(play.now, &report);
        inside.extend(over.iter().map(|n| (*n, None)));
        if tick == 400 {
            first = play.room.snapshot().admitted;
        }
        if tick >= 400 {
            sum += play.active();
        }
    }
    #[expect(clippy::cast_precision_loss)]
    (play.room.snapshot().admitted - first, sum as f64 / 800.0)
}

#[test]
fn a_cap_costs_no_rate_that_it_allows_and_is_used_where_it_is_the_bound() {
    for gone in [0, 40, 70] {
        let (admissions, _) = crowd(100, 3000, gone);
        println!("{gone} % gone: {admissions} admissions in 40 s at 20/s");
        assert!(admissions >= if gone == 70 { 720 } else { 760 }, "{gone}: {admissions}");
        let (_, inside) = crowd(100, 10_000, gone);
        println!("{gone} % gone: {inside:.1} of 100 inside");
        assert!((90.0..=100.0).contains(&inside), "{gone}: {inside}");
    }
}
