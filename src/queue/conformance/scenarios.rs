//! The scenarios, from the simple to the subtle. Each is told once and played on both stores.

use super::stage::{LONG, START, Stage, id, number, rules, slot};
use crate::queue::{Seen, StoreError};
use crate::room::{
    Admission, Control, JoinOutcome, Lineage, Micros, Number, Patch, Phase, RoomId, Rules, Standing,
};

fn up_to(last: u64) -> Vec<u64> {
    (1..=last).collect()
}

pub(super) async fn a_room_is_made_once_and_never_by_a_join(stage: &mut Stage) {
    assert_eq!(stage.try_join().await, Err(StoreError::NoRoom));
    let advanced = stage.store.advance(&stage.room, Seen::default(), &[]).await;
    assert_eq!(advanced, Err(StoreError::NoRoom));
    let first = stage.create(&rules("1/h")).await;
    assert_eq!((first.last, first.lineage), (Number(0), Lineage(7)));
    assert!(first.epoch > 1_000_000, "newer than all that was seen of a room that was lost");
    stage.join(2).await;
    let again = stage.store.create(&stage.room, &rules("5/s"), Lineage(8)).await.unwrap();
    assert_eq!((again.lineage, again.last, again.rules), (Lineage(7), Number(2), rules("1/h")));
}

pub(super) async fn numbers_come_in_order_over_many_batches(stage: &mut Stage) {
    stage.create(&rules("1/h")).await;
    let mut expected = 1;
    for size in [1, 7, 500, 3] {
        for outcome in stage.join(size).await {
            assert_eq!(number(&outcome), (expected, true));
            expected += 1;
        }
    }
}

pub(super) async fn a_repeated_batch_gets_the_same_numbers(stage: &mut Stage) {
    stage.create(&rules("1/h")).await;
    let first = stage.batch(vec![None, id(3), None, id(3)]);
    let joined = stage.join_batch(&first).await;
    let later = stage.join(5).await;
    assert_eq!(number(&later[0]), (4, true));
    let repeated = stage.join_batch(&first).await;
    assert_eq!(repeated.outcomes, joined.outcomes);
    assert_eq!(repeated.snapshot.last, Number(8));
    assert_eq!(number(&stage.join(1).await[0]), (9, true));
}

pub(super) async fn an_identity_keeps_its_number(stage: &mut Stage) {
    stage.create(&rules("1/h")).await;
    let got = stage.join_as(vec![id(1), None, id(1), id(2)]).await;
    assert_eq!(got.iter().map(number).collect::<Vec<_>>(), [(1, true), (2, true), (1, false), (3, true)]);
    let got = stage.join_as(vec![id(2), id(1), id(9)]).await;
    assert_eq!(got.iter().map(number).collect::<Vec<_>>(), [(3, false), (1, false), (4, true)]);
}

pub(super) async fn in_an_idle_room_one_call_joins_and_enters(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    let standing = Standing::Admitted(Admission {
        number: Number(1),
        slot: Micros(START),
        until: Micros(START).plus(LONG),
    });
    let expected = JoinOutcome::Placed { number: Number(1), new: true, standing };
    assert_eq!(stage.join(1).await, [expected]);
}

pub(super) async fn a_slot_is_picked_up_once(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(1).await;
    let first = stage.slots(&[1]).await;
    stage.wait(500, &[1, 1, 1]).await;
    assert_eq!(stage.slots(&[1, 1]).await, [first[0], first[0]]);
    assert_eq!(stage.advance(&[]).await.snapshot.admitted, 1);
}

pub(super) async fn slots_are_spaced_in_the_order_of_the_numbers(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(20).await;
    let backwards: Vec<u64> = (1..=20).rev().collect();
    stage.wait(2500, &backwards).await;
    let slots: Vec<u64> = stage.slots(&up_to(20)).await.into_iter().map(Option::unwrap).collect();
    assert_eq!(slots, (0..20).map(|n| n * 100_000).collect::<Vec<_>>());
}

pub(super) async fn a_grant_is_picked_up_later(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(10).await;
    stage.step_clock(250_000);
    let granted = stage.advance(&[]).await.snapshot;
    assert!(granted.granted > 0, "{granted:?}");
    let first = granted.admitted + 1;
    stage.step_clock(250_000);
    let slot = stage.slots(&[first]).await[0].unwrap();
    assert!(slot >= 500_000, "the slot is taken at pick-up, not at the grant: {slot}");
}

pub(super) async fn who_went_away_is_passed_over_and_goes_first_on_return(stage: &mut Stage) {
    stage.create(&rules("1/s")).await;
    stage.join(6).await;
    stage.wait(3500, &[3, 4, 5, 6]).await;
    let slots = stage.slots(&[3, 4, 5, 6]).await;
    assert!(slots[0].is_some(), "{slots:?}");
    stage.wait(3500, &[2, 4, 5, 6]).await;
    let slots = stage.slots(&[2, 6]).await;
    assert!(slots[0].is_some(), "{slots:?}");
    assert!(slots[1].is_none_or(|last| slots[0].unwrap() < last), "{slots:?}");
}

pub(super) async fn a_missed_turn_lapses(stage: &mut Stage) {
    let return_within = std::time::Duration::from_secs(30);
    stage.create(&Rules { return_within, ..rules("1/s") }).await;
    stage.join(2).await;
    stage.wait(5000, &[]).await;
    stage.control(Control::Pause { reason: None }).await;
    stage.wait(40_000, &[]).await;
    assert_eq!(stage.advance(&[2]).await.standings, [Standing::Waiting], "no time runs while paused");
    stage.control(Control::Resume).await;
    stage.wait(45_000, &[]).await;
    assert_eq!(stage.advance(&[2]).await.standings, [Standing::Lapsed]);
}

pub(super) async fn a_place_can_be_given_up(stage: &mut Stage) {
    stage.create(&rules("1/h")).await;
    stage.join_as(vec![None, id(5), id(6)]).await;
    stage.leave(&[2, 2, 99, 0]).await;
    stage.leave(&[2]).await;
    assert_eq!(
        stage.advance(&[2, 3, 99]).await.standings,
        [Standing::Left, Standing::Waiting, Standing::Unknown]
    );
    let again = stage.join_as(vec![id(5), id(6)]).await;
    assert_eq!((number(&again[0]), number(&again[1])), ((4, true), (3, false)));
}

pub(super) async fn a_pause_sends_grants_back_and_survives_a_restart(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(100).await;
    stage.step_clock(250_000);
    assert!(stage.advance(&[]).await.snapshot.granted > 0);
    let paused = stage.control(Control::Pause { reason: Some("sound check".to_owned()) }).await;
    assert_eq!((paused.phase, paused.granted), (Phase::Paused, 0));
    let before = paused.admitted;
    stage.wait(5000, &up_to(100)).await;
    stage.restart().await;
    stage.wait(10_000, &up_to(100)).await;
    let still = stage.advance(&[]).await.snapshot;
    assert_eq!((still.phase, still.admitted), (Phase::Paused, before));
    assert_eq!(still.reason.as_deref(), Some("sound check"));
}

pub(super) async fn a_resume_makes_up_for_nothing(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(100).await;
    stage.wait(1000, &up_to(100)).await;
    let before = stage.control(Control::Pause { reason: None }).await.admitted;
    stage.wait(20_000, &up_to(100)).await;
    stage.control(Control::Resume).await;
    stage.wait(1000, &up_to(100)).await;
    let gained = stage.advance(&[]).await.snapshot.admitted - before;
    assert!((8..=15).contains(&gained), "{gained}");
}

pub(super) async fn no_window_exceeds_rate_and_burst(stage: &mut Stage) {
    for (name, rate, per_second, burst) in [("one", "100/s", 100, 1), ("two", "20/s", 20, 8)] {
        stage.room = RoomId::new(name).unwrap();
        stage.seen = Seen::default();
        stage.create(&Rules { burst, ..rules(rate) }).await;
        stage.join(400).await;
        let all = up_to(400);
        let mut slots = Vec::new();
        for _ in 0..24 {
            let standings = stage.wait(250, &all).await;
            slots = standings.iter().filter_map(slot).collect();
            slots.sort_unstable();
        }
        assert!(slots.len() > 80, "{rate}: {}", slots.len());
        for width in [200_000_u64, 1_000_000, 3_000_000] {
            let most = (per_second * width).div_ceil(1_000_000) + burst;
            for (i, from) in slots.iter().enumerate() {
                let seen = slots[i..].iter().take_while(|s| **s < from + width).count() as u64;
                assert!(seen <= most, "{rate}: {seen} in {width} us");
            }
        }
    }
}

pub(super) async fn the_total_is_never_exceeded(stage: &mut Stage) {
    stage.create(&Rules { max_total: Some(3), ..rules("100/s") }).await;
    stage.join(10).await;
    stage.wait(3000, &up_to(10)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.admitted, 3);
    let more = Patch { max_total: Some(Some(5)), ..Patch::default() };
    stage.control(Control::Set(more)).await;
    stage.wait(8000, &up_to(10)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.admitted, 5);
}

pub(super) async fn a_full_line_takes_nobody(stage: &mut Stage) {
    stage.create(&Rules { max_waiting: 2, ..rules("1/h") }).await;
    stage.join(1).await;
    let got = stage.join_as(vec![None, id(4), None, id(4)]).await;
    assert!(matches!(got[0], JoinOutcome::Placed { .. }), "the first went in and is not waiting");
    assert_eq!(got[2], JoinOutcome::Full);
    assert_eq!(number(&got[3]), (3, false), "who has a place keeps it");
}

pub(super) async fn a_clock_that_steps_neither_stalls_nor_bursts(stage: &mut Stage) {
    for (name, step) in [("a", -3_600_000_000_i64), ("b", -1_000_000), ("c", 3_600_000_000)] {
        stage.room = RoomId::new(name).unwrap();
        stage.seen = Seen::default();
        stage.create(&rules("50/s")).await;
        stage.join(500).await;
        let all = up_to(400);
        stage.wait(1000, &all).await;
        let before = stage.advance(&[]).await.snapshot.admitted;
        stage.step_clock(step);
        stage.wait(5000, &all).await;
        let gained = stage.advance(&[]).await.snapshot.admitted - before;
        assert!((6..=270).contains(&gained), "{step}: {gained}");
    }
}

pub(super) async fn a_flush_starts_another_life_and_goes_on_counting(stage: &mut Stage) {
    stage.create(&rules("1/h")).await;
    stage.join_as(vec![id(1), id(2), None]).await;
    stage.leave(&[3]).await;
    let flushed = stage.control(Control::Flush(Lineage(u64::MAX))).await;
    assert_eq!((flushed.lineage, flushed.waiting(), flushed.admitted), (Lineage(u64::MAX), 0, 0));
    assert_eq!(number(&stage.join_as(vec![id(2)]).await[0]), (4, true));
    let repeated = stage.control(Control::Flush(Lineage(u64::MAX))).await;
    assert_eq!(repeated.last, Number(4));
    assert_eq!(number(&stage.join_as(vec![id(2)]).await[0]), (4, false), "the repeat did nothing");
    stage.restart().await;
    assert_eq!(number(&stage.join_as(vec![id(2), id(1)]).await[0]), (4, false));
}

pub(super) async fn settings_of_the_operator_survive_a_restart(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    let patch = Patch {
        rate: Some("7/min".parse().ok()),
        message: Some(Some("doors at \"noon\"".to_owned())),
        ..Patch::default()
    };
    let set = stage.control(Control::Set(patch)).await;
    assert_eq!(set.rules.rate.to_string(), "7/min");
    stage.restart().await;
    let after = stage.control(Control::Rules(rules("99/s"))).await;
    assert_eq!(after.rules.rate.to_string(), "7/min", "the operator wins over the file");
    assert_eq!(after.overrides.message.as_deref(), Some("doors at \"noon\""));
    assert_eq!(after.rules_written, rules("99/s"));
    let unset = stage.control(Control::Set(Patch { rate: Some(None), ..Patch::default() })).await;
    assert_eq!(unset.rules, rules("99/s"));
}

pub(super) async fn a_store_that_shows_less_than_was_seen_is_refused(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join(3).await;
    let truth = stage.seen;
    for ahead in [Seen { version: truth.version + 1, ..truth }, Seen { epoch: truth.epoch + 1, version: 0 }] {
        stage.seen = ahead;
        assert_eq!(stage.try_join().await, Err(StoreError::RolledBack));
        let advanced = stage.store.advance(&stage.room, ahead, &[]).await;
        assert_eq!(advanced, Err(StoreError::RolledBack));
    }
    stage.seen = truth;
    assert_eq!(stage.try_join().await.unwrap().snapshot.last, Number(4), "nothing was done by the refused");
}

pub(super) async fn nothing_is_lost_by_a_restart(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join_as(vec![id(1), id(2)]).await;
    stage.join(48).await;
    stage.leave(&[40]).await;
    stage.wait(1500, &up_to(30)).await;
    let slots = stage.slots(&up_to(30)).await;
    let before = stage.advance(&[]).await.snapshot;
    assert!(before.admitted > 10, "{before:?}");
    stage.restart().await;
    assert_eq!(number(&stage.join_as(vec![id(1), None]).await[1]), (51, true));
    let advanced = stage.advance(&up_to(30)).await;
    let admitted = usize::try_from(before.admitted).unwrap();
    let after: Vec<_> = advanced.standings.iter().map(slot).collect();
    assert_eq!(after[..admitted], slots[..admitted], "each admission as it was");
    assert_eq!(advanced.snapshot.admitted, before.admitted, "nobody goes in before all could check in");
    assert_eq!(advanced.snapshot.epoch, before.epoch + 1);
    assert!(advanced.snapshot.frontier >= before.frontier);
    assert_eq!(stage.advance(&[40]).await.standings, [Standing::Left]);
    let present: Vec<u64> = (1..=51).filter(|n| *n != 40).collect();
    stage.wait(25_000, &present).await;
    let slots: Vec<u64> = stage.slots(&present).await.into_iter().map(Option::unwrap).collect();
    assert!(slots.is_sorted() && slots.windows(2).all(|two| two[0] < two[1]), "{slots:?}");
}

pub(super) async fn rooms_do_not_touch_each_other(stage: &mut Stage) {
    stage.create(&rules("10/s")).await;
    stage.join_as(vec![id(1), id(2)]).await;
    let seen = stage.seen;
    stage.room = RoomId::new("other").unwrap();
    stage.seen = Seen::default();
    assert_eq!(stage.try_join().await, Err(StoreError::NoRoom));
    stage.create(&rules("10/s")).await;
    assert_eq!(number(&stage.join_as(vec![id(2)]).await[0]), (1, true));
    stage.control(Control::Flush(Lineage(3))).await;
    (stage.room, stage.seen) = (RoomId::new("hall").unwrap(), seen);
    assert_eq!(number(&stage.join_as(vec![id(2)]).await[0]), (2, false));
}
