//! Losses told one by one: what a replica lacks, who tells it, and what follows.

use super::*;
use crate::room::{Control, JoinOutcome, Lineage, Rate, Rules};

const START: Micros = Micros(1_790_000_000_000_000);

fn seconds(n: u64) -> Micros {
    Micros(START.0 + n * 1_000_000)
}

fn room() -> Room {
    Room::new(Rules::at(Rate::per_second(2).unwrap()), Lineage(7), START)
}

fn id(byte: u8) -> Option<IdentityHash> {
    Some(IdentityHash([byte; 16]))
}

fn number(outcome: &JoinOutcome) -> u64 {
    match outcome {
        JoinOutcome::Placed { number, .. } => number.0,
        other => panic!("{other:?}"),
    }
}

/// A room with 40 people; what a replica had of it; and the same room when 60 had come.
fn cut_off() -> (Room, Room) {
    let mut room = room();
    room.join(seconds(1), &[None; 40]);
    let replica = room.clone();
    room.advance(seconds(2), &[]);
    room.join(seconds(2), &[id(1); 1]);
    room.join(seconds(2), &[None; 19]);
    (replica, room)
}

#[test]
fn a_replica_that_lagged_goes_on_above_what_any_instance_saw() {
    let (mut replica, lost) = cut_off();
    let early = Evidence::of(replica.snapshot());
    // Whoever takes over has seen no more than the replica has.
    replica.take_over(seconds(5), Loss::Possible, (Number(45), 0), Some(&early));
    assert!(replica.recovers(seconds(7)) && !replica.recovers(seconds(8)));
    let seen = Evidence::of(lost.snapshot());
    assert!(replica.is_behind(seen.snapshot.epoch, seen.snapshot.version));
    replica.recall(seconds(6), &seen);
    let after = replica.snapshot();
    assert_eq!(after.last, Number(60));
    assert!(!after.voids.has(Number(45)), "it was told after all");
    replica.recall(seconds(6), &seen);
    assert_eq!(replica.snapshot(), after, "telling it twice changes nothing");
    let outcomes = replica.join(seconds(9), &[None]);
    assert_eq!(number(&outcomes[0]), 61);
}

#[test]
fn an_older_store_is_told_apart_from_one_that_lost_nothing() {
    let mut room = room();
    room.join(seconds(1), &[None]);
    let at = room.snapshot();
    room.take_over(seconds(2), Loss::Unlikely, (at.last, at.admitted), None);
    assert!(!room.is_behind(at.epoch, at.version) && room.is_behind(at.epoch, at.version + 1));
    let now = room.snapshot();
    assert!(now.epoch > at.epoch && !room.is_behind(now.epoch, now.version));
    assert!(room.is_behind(now.epoch, now.version + 1) && room.is_behind(now.epoch + 1, 0));
    assert!(room.is_behind(at.epoch + 1, 0), "a life between, of which nothing is known here");
    assert!(!room.is_behind(at.epoch - 1, 99), "a room of before this one was made");
    assert!(!room.recovers(seconds(2)), "nothing was lost");
}

#[test]
fn an_operators_pause_and_a_flush_that_were_lost_hold() {
    let (mut replica, mut lost) = cut_off();
    lost.control(seconds(3), &Control::Flush(Lineage(8)));
    lost.join(seconds(3), &[None; 5]);
    lost.control(seconds(3), &Control::Pause { reason: Some("fire".to_owned()) });
    let mut other = replica.clone();
    let seen = Evidence::of(lost.snapshot());
    replica.take_over(seconds(5), Loss::Possible, (Number(50), 0), Some(&seen));
    other.take_over(seconds(5), Loss::Possible, (Number(50), 0), None);
    other.recall(seconds(6), &seen);
    for room in [replica, other] {
        let after = room.snapshot();
        assert_eq!((after.lineage, after.last), (Lineage(8), Number(65)));
        assert_eq!((after.phase, after.reason.as_deref()), (Phase::Paused, Some("fire")));
        assert_eq!(room.standing(seconds(6), Number(61)), Standing::Waiting);
        assert_eq!(room.standing(seconds(6), Number(60)), Standing::Lapsed);
    }
}

#[test]
fn what_is_told_after_the_settle_changes_no_operators_word() {
    let (mut replica, mut lost) = cut_off();
    lost.control(seconds(3), &Control::Pause { reason: None });
    replica.take_over(seconds(5), Loss::Possible, (Number(45), 0), None);
    replica.recall(seconds(9), &Evidence::of(lost.snapshot()));
    let after = replica.snapshot();
    assert_eq!((after.last, after.phase), (Number(60), Phase::Open));
}

#[test]
fn a_ticket_gives_an_account_its_place_back() {
    let (mut replica, _) = cut_off();
    replica.take_over(seconds(5), Loss::Possible, (Number(50), 0), None);
    assert_eq!(number(&replica.join(seconds(9), &[id(1)])[0]), 51, "its row was lost");
    assert_eq!(replica.restore(seconds(9), &[(Number(41), id(1))]), [Number(41)]);
    assert_eq!(replica.standing(seconds(9), Number(51)), Standing::Left);
    assert_eq!(number(&replica.join(seconds(9), &[id(1)])[0]), 41);
    assert_eq!(replica.restore(seconds(9), &[(Number(41), id(1)), (Number(3), id(3))])[1], Number(3));
    assert_eq!(number(&replica.join(seconds(9), &[id(3)])[0]), 52, "3 was never lost: nothing to put back");
}

#[test]
fn a_ticket_beyond_the_last_number_is_proof() {
    let mut room = room();
    room.join(seconds(1), &[None; 5]);
    assert_eq!(room.restore(seconds(2), &[(Number(900), None)]), [Number(900)]);
    assert_eq!(room.standing(seconds(2), Number(900)), Standing::Waiting);
    let last = room.snapshot().last.0;
    assert_eq!(number(&room.join(seconds(2), &[None])[0]), last + 1);
    assert_eq!(room.restore(seconds(2), &[(Number(u64::MAX), None)]), [Number(u64::MAX)]);
    assert_eq!(room.snapshot().last.0, last + 1, "no such number was ever signed");
}

#[test]
fn lost_admissions_count_as_inside_until_their_passes_must_have_expired() {
    let mut rules = Rules::at(Rate::per_second(2).unwrap());
    rules.max_active = Some(3);
    let mut room = Room::new(rules, Lineage(7), START);
    room.join(seconds(1), &[None; 1]);
    let mut replica = room.clone();
    let numbers = [Number(1), Number(2), Number(3)];
    room.join(seconds(1), &[None; 2]);
    (2..6).for_each(|at| drop(room.advance(seconds(at), &numbers)));
    assert_eq!((room.snapshot().admitted, replica.snapshot().admitted), (3, 1));
    replica.take_over(seconds(7), Loss::Possible, (Number(3), 0), Some(&Evidence::of(room.snapshot())));
    let after = replica.snapshot();
    assert_eq!((after.admitted, after.active), (3, 3));
    replica.advance(seconds(4000), &[]);
    assert_eq!(replica.snapshot().active, 0);
}

#[test]
fn many_lives_while_nobody_goes_in_fill_no_line() {
    let mut rules = Rules::at(Rate::per_second(2).unwrap());
    rules.max_waiting = 200;
    rules.first_use = rules.pass_ttl;
    let mut room = Room::new(rules, Lineage(7), START);
    room.control(START, &Control::Pause { reason: None });
    let mut told = Vec::new();
    for life in 1..=100 {
        let at = seconds(life * 10);
        told.push(number(&room.join(at, &[None])[0]));
        let last = Number(room.snapshot().last.0 + 250_000);
        room.take_over(at, Loss::Possible, (last, 0), None);
        room.advance(seconds(life * 10 + 4), &[]);
    }
    assert!(room.snapshot().waiting() <= 100, "{} wait", room.snapshot().waiting());
    room.control(seconds(1010), &Control::Resume);
    let told: Vec<Number> = told.into_iter().map(Number).collect();
    for tick in 0..400 {
        room.advance(Micros(seconds(1011).0 + tick * 250_000), &told);
    }
    let slot = |number: &Number| match room.standing(seconds(1111), *number) {
        Standing::Admitted(admission) => admission.slot,
        other => panic!("{number} was there all the time and is {other:?}"),
    };
    let slots: Vec<Micros> = told.iter().map(slot).collect();
    assert!(slots.is_sorted(), "in order: {slots:?}");
}
