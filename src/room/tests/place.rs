//! Taking and giving up places.

use super::*;

fn id(byte: u8) -> Option<IdentityHash> {
    Some(IdentityHash([byte; 16]))
}

fn number(outcome: &JoinOutcome) -> (u64, bool) {
    match outcome {
        JoinOutcome::Placed { number, new, .. } => (number.0, *new),
        other => panic!("no place: {other:?}"),
    }
}

#[test]
fn numbers_are_handed_out_in_order_and_an_identity_keeps_its_own() {
    let mut play = Play::at("1/h");
    let got = play.room.join(START, &[id(1), None, id(1), id(2)]);
    assert_eq!(got.iter().map(number).collect::<Vec<_>>(), [(1, true), (2, true), (1, false), (3, true)]);
}

#[test]
fn an_identity_that_left_gets_a_new_number() {
    let mut play = Play::at("1/h");
    play.room.join(START, &[id(9), id(1)]);
    play.room.leave(START, &[Number(2)]);
    assert_eq!(play.room.standing(START, Number(2)), Standing::Left);
    assert_eq!(number(&play.room.join(START, &[id(1)])[0]), (3, true));
}

#[test]
fn a_full_line_takes_nobody() {
    let mut play = Play::with(Rules { max_waiting: 2, ..Rules::at("1/h".parse().unwrap()) });
    play.join(1);
    let got = play.join(3);
    assert!(matches!(got[1], JoinOutcome::Placed { .. }), "the first went in and is not waiting");
    assert_eq!(got[2], JoinOutcome::Full);
}

#[test]
fn a_flush_starts_another_life_and_goes_on_counting() {
    let mut play = Play::at("1/h");
    play.room.join(START, &[id(1), id(2)]);
    play.room.control(START, &Control::Flush(Lineage(8)));
    let snapshot = play.room.snapshot();
    assert_eq!((snapshot.lineage, snapshot.waiting()), (Lineage(8), 0));
    assert_eq!(number(&play.room.join(START, &[id(2)])[0]), (3, true));
}

#[test]
fn numbers_that_were_never_handed_out_are_unknown() {
    let mut play = Play::at("10/s");
    play.join(1);
    assert_eq!(play.wait(50, &[0, 2, u64::MAX]), [Standing::Unknown; 3]);
}
