//! Going in: order, spacing, once; no-shows, lapses, pauses, outages and clocks that step.

use super::*;

#[test]
fn in_an_idle_room_one_call_joins_and_enters() {
    let mut play = Play::at("10/s");
    let got = play.join(1);
    let standing = Standing::Admitted(Admission { number: Number(1), slot: START, until: START.plus(LONG) });
    assert_eq!(got, [JoinOutcome::Placed { number: Number(1), new: true, standing }]);
}

#[test]
fn slots_are_spaced_and_in_the_order_of_the_numbers() {
    let mut play = Play::at("10/s");
    play.join(20);
    play.wait(2500, &(1..=20).rev().collect::<Vec<_>>());
    let slots: Vec<u64> = (1..=20).map(|n| play.slot(n).unwrap()).collect();
    assert_eq!(slots, (0..20).map(|n| n * 100_000).collect::<Vec<_>>());
}

#[test]
fn picking_up_twice_is_one_admission() {
    let mut play = Play::at("10/s");
    play.join(1);
    let slot = play.slot(1);
    play.wait(500, &[1, 1, 1]);
    assert_eq!((play.slot(1), play.room.snapshot().admitted), (slot, 1));
}

#[test]
fn who_went_away_costs_no_slot_and_goes_first_on_return() {
    let mut play = Play::at("1/s");
    play.join(6);
    play.wait(2500, &[3, 4, 5, 6]);
    assert!(play.slot(2).is_none() && play.slot(3).is_some() && play.slot(5).is_none());
    play.wait(3000, &[2, 5, 6]);
    assert!(play.slot(2).unwrap() < play.slot(5).unwrap());
}

#[test]
fn a_turn_missed_for_too_long_lapses_but_not_while_paused() {
    let mut play = Play::with(Rules {
        return_within: std::time::Duration::from_secs(30),
        ..Rules::at("1/s".parse().unwrap())
    });
    play.join(2);
    play.wait(5000, &[]);
    play.room.control(play.now, &Control::Pause { reason: None });
    play.wait(60_000, &[]);
    assert_eq!(play.room.standing(play.now, Number(2)), Standing::Waiting);
    play.room.control(play.now, &Control::Resume);
    play.wait(40_000, &[]);
    assert_eq!(play.wait(50, &[2]), [Standing::Lapsed]);
}

#[test]
fn an_admission_ends_with_its_pass_and_is_never_made_twice() {
    let mut play = Play::at("10/s");
    play.join(1);
    play.wait(1_799_000, &[1]);
    assert!(play.slot(1).is_some());
    assert_eq!(play.wait(2000, &[1]), [Standing::Lapsed]);
    assert_eq!(play.room.snapshot().admitted, 1);
}

#[test]
fn a_pause_stops_pick_ups_and_makes_up_for_nothing() {
    let mut play = Play::at("10/s");
    play.join(100);
    let all: Vec<u64> = (1..=100).collect();
    play.wait(1000, &all);
    play.room.control(play.now, &Control::Pause { reason: Some("sound check".into()) });
    let before = play.room.snapshot().admitted;
    play.wait(20_000, &all);
    assert_eq!(play.room.snapshot().admitted, before);
    play.room.control(play.now, &Control::Resume);
    play.wait(1000, &all);
    let gained = play.room.snapshot().admitted - before;
    assert!((10..=14).contains(&gained), "{gained}");
}

#[test]
fn the_total_is_never_exceeded() {
    let mut play = Play::with(Rules { max_total: Some(3), ..Rules::at("100/s".parse().unwrap()) });
    play.join(10);
    play.wait(3000, &(1..=10).collect::<Vec<_>>());
    assert_eq!(play.room.snapshot().admitted, 3);
}

#[test]
fn after_an_outage_the_order_is_the_same_and_the_release_ramps_up() {
    let mut play = Play::at("100/s");
    play.join(500);
    let all: Vec<u64> = (1..=500).collect();
    play.wait(1000, &all);
    play.now = Micros(play.now.0 + 60_000_000);
    let before = play.room.snapshot().admitted;
    // The last of the line asks first: it must not go in before the others had a chance to.
    play.wait(1000, &[500]);
    assert_eq!(play.room.snapshot().admitted, before);
    play.wait(7_000, &all);
    let slots: Vec<u64> = (1..=500).filter_map(|n| play.slot(n)).collect();
    assert!(slots.is_sorted() && slots.len() > 150 && slots.len() < 300, "{}", slots.len());
}

#[test]
fn a_clock_that_steps_neither_stalls_nor_bursts() {
    for step in [-3_600_000_000_i64, -1_000_000, 3_600_000_000] {
        let mut play = Play::at("100/s");
        play.join(2000);
        let all: Vec<u64> = (1..=2000).collect();
        play.wait(1000, &all);
        let before = play.room.snapshot().admitted;
        play.now = Micros(play.now.0.checked_add_signed(step).unwrap());
        play.wait(5000, &all);
        let gained = play.room.snapshot().admitted - before;
        assert!((15..=530).contains(&gained), "{step}: {gained}");
    }
}

#[test]
fn a_pause_longer_than_the_memory_of_admissions_admits_nobody_twice() {
    let mut play = Play::at("10/s");
    play.join(20);
    play.wait(1000, &(1..=20).collect::<Vec<_>>());
    let admitted = play.room.snapshot().admitted;
    play.room.control(play.now, &Control::Pause { reason: None });
    for _ in 0..3600 {
        play.wait(50, &[]);
        play.now = Micros(play.now.0 + 1_000_000);
    }
    play.room.control(play.now, &Control::Resume);
    play.wait(500, &[1, 2, 3]);
    assert_eq!(play.room.snapshot().admitted, admitted);
}

#[test]
fn w026_places_of_those_who_left_hold_nobody_up_and_are_not_shown_for_ever() {
    let mut play = Play::at("10/s");
    play.join(30);
    play.wait(1000, &(1..=10).collect::<Vec<_>>());
    assert!((1..=10).all(|n| play.slot(n).is_some()));
    // 11 to 20 never ask again.
    play.wait(5000, &(21..=30).collect::<Vec<_>>());
    assert!((21..=30).all(|n| play.slot(n).is_some()) && (11..=20).all(|n| play.slot(n).is_none()));
    assert_eq!(play.room.snapshot().waiting(), 0);
    play.wait(500, &[11]);
    assert!(play.slot(11).is_some(), "who returns within the grace goes in first");
}
