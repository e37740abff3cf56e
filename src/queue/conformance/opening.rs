//! Scenarios of the schedule and the draw, played on both stores.

use std::collections::BTreeMap;

use super::stage::{START, Stage, id, number, rules, slot};
use crate::room::{
    Control, DrawStage, JoinOutcome, Lineage, LobbyOrder, Micros, Number, Phase, Rules, Schedule, Seed,
    Snapshot, Standing,
};

/// A moment in milliseconds after the start.
fn at(ms: u64) -> Option<Micros> {
    Some(Micros(START + ms * 1000))
}

fn scheduled(rate: &str, doors: u64, opens: u64, closes: u64) -> Rules {
    let schedule = Schedule { doors: at(doors), opens: at(opens), closes: at(closes), ..Schedule::default() };
    Rules { schedule, ..rules(rate) }
}

fn drawn(rate: &str, opens: u64) -> Rules {
    let schedule = Schedule { opens: at(opens), lobby_order: LobbyOrder::Draw, ..Schedule::default() };
    Rules { schedule, ..rules(rate) }
}

fn seed() -> Control {
    Control::Seed(Lineage(7), Seed([5; 32]))
}

/// The numbers of places 1 to `last`.
fn numbers(snapshot: &Snapshot, last: u64) -> Vec<u64> {
    (1..=last).map(|place| snapshot.draw.number_of(Number(place)).0).collect()
}

pub(super) async fn before_the_doors_nobody_joins_and_in_the_lobby_nobody_goes_in(stage: &mut Stage) {
    stage.create(&scheduled("10/s", 5_000, 20_000, 60_000)).await;
    assert_eq!(stage.advance(&[]).await.snapshot.phase, Phase::Scheduled);
    assert_eq!(stage.join_as(vec![None, id(1)]).await, [JoinOutcome::NotOpen, JoinOutcome::NotOpen]);
    stage.wait(5_000, &[]).await;
    assert_eq!(stage.advance(&[]).await.snapshot.phase, Phase::Lobby);
    let got = stage.join_as(vec![None, id(1)]).await;
    assert_eq!(got.iter().map(number).collect::<Vec<_>>(), [(1, true), (2, true)], "the refused took none");
    let standings = stage.wait(14_750, &[1, 2]).await;
    assert_eq!(standings, [Standing::Waiting, Standing::Waiting]);
    let snapshot = stage.advance(&[1, 2]).await.snapshot;
    assert_eq!((snapshot.admitted, snapshot.granted, snapshot.phase), (0, 0, Phase::Lobby));
    stage.step_clock(250_000);
    assert_eq!(stage.slots(&[1, 2]).await[0], Some(20_000_000), "the moment of opening is open");
}

pub(super) async fn the_first_slot_is_at_second_0_and_there_is_no_ramp(stage: &mut Stage) {
    stage.create(&scheduled("10/s", 0, 20_000, 90_000)).await;
    stage.join(40).await;
    let all: Vec<u64> = (1..=40).collect();
    stage.wait(8_000, &all).await;
    // An outage in the lobby delays nothing that opens later, and nobody was let in who could come back at once.
    stage.step_clock(4_000_000);
    stage.wait(8_000, &all).await;
    let mut slots: Vec<u64> = stage.slots(&all).await.into_iter().flatten().collect();
    assert_eq!(slots[..2], [20_000_000, 20_100_000], "at the second, and at the rate at once");
    stage.wait(3_750, &all).await;
    slots = stage.slots(&all).await.into_iter().flatten().collect();
    assert_eq!(slots, (0..40).map(|n| 20_000_000 + n * 100_000).collect::<Vec<_>>());
}

pub(super) async fn after_closing_there_are_no_places_and_nobody_goes_in(stage: &mut Stage) {
    stage.create(&scheduled("10/s", 0, 0, 3_000)).await;
    stage.join_as([vec![id(9)], vec![None; 99]].concat()).await;
    let all: Vec<u64> = (1..=100).collect();
    stage.wait(2_750, &all).await;
    stage.step_clock(250_000);
    let closed = stage.advance(&all).await;
    assert_eq!(closed.snapshot.phase, Phase::Closed);
    let before = closed.snapshot.admitted;
    assert!((25..=35).contains(&before), "{before}");
    stage.wait(20_000, &all).await;
    let got = stage.join_as(vec![None, id(9), id(8)]).await;
    assert_eq!((got[0], got[2]), (JoinOutcome::Closed, JoinOutcome::Closed));
    assert_eq!(number(&got[1]), (1, false), "who has a place keeps it");
    assert_eq!(stage.advance(&[]).await.snapshot.admitted, before);
}

pub(super) async fn the_operator_wins_over_the_schedule_until_it_is_undone(stage: &mut Stage) {
    stage.create(&scheduled("10/s", 600_000, 700_000, 800_000)).await;
    assert_eq!(stage.control(Control::Open).await.phase, Phase::Open);
    stage.join(30).await;
    let all: Vec<u64> = (1..=30).collect();
    stage.wait(1_000, &all).await;
    stage.restart().await;
    assert_eq!(stage.advance(&all).await.snapshot.phase, Phase::Open, "it survives a restart");
    assert!(stage.advance(&[]).await.snapshot.admitted >= 10);
    let closed = stage.control(Control::Close).await;
    assert_eq!((closed.phase, closed.granted), (Phase::Closed, 0), "grants go back to the line");
    stage.restart().await;
    stage.wait(10_000, &all).await;
    assert_eq!(stage.advance(&all).await.snapshot.admitted, closed.admitted);
    assert_eq!(stage.join(1).await, [JoinOutcome::Closed]);
    assert_eq!(stage.control(Control::Follow).await.phase, Phase::Scheduled);
    assert_eq!(stage.join(1).await, [JoinOutcome::NotOpen]);
    stage.control(Control::Pause { reason: None }).await;
    stage.step_clock(720_000_000);
    stage.wait(20_000, &all).await;
    let paused = stage.advance(&all).await.snapshot;
    assert_eq!((paused.phase, paused.admitted), (Phase::Paused, closed.admitted), "a pause wins over opens");
    assert_eq!(stage.control(Control::Resume).await.phase, Phase::Open);
}

pub(super) async fn a_lobby_is_drawn_once_and_everybody_keeps_the_number(stage: &mut Stage) {
    stage.create(&drawn("10/s", 20_000)).await;
    stage.control(seed()).await;
    stage.control(Control::Seed(Lineage(7), Seed([6; 32]))).await;
    stage.join(40).await;
    stage.wait(8_000, &[]).await;
    stage.restart().await;
    stage.join(10).await;
    let lobby = stage.wait(11_750, &[]).await;
    assert!(lobby.is_empty());
    let before = stage.advance(&[]).await.snapshot;
    assert_eq!((before.draw.stage, before.called), (DrawStage::Lobby, Number(0)));
    stage.step_clock(250_000);
    // The first call at `opens` is the join of somebody who is too late for the draw.
    assert_eq!(number(&stage.join(1).await[0]), (51, true));
    let snapshot = stage.advance(&[]).await.snapshot;
    assert_eq!((snapshot.draw.stage, snapshot.draw.size), (DrawStage::Drawn, 50));
    let drawn = numbers(&snapshot, 51);
    let mut sorted = drawn.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (1..=51).collect::<Vec<_>>());
    assert_ne!(drawn, sorted, "not by the order of coming");
    assert_eq!(drawn[50], 51, "late comers follow");
    stage.advance(&sorted).await;
    stage.wait(6_000, &sorted).await;
    let slots: Vec<u64> = stage.slots(&sorted).await.into_iter().map(Option::unwrap).collect();
    assert!(
        slots.is_sorted() && slots[0] == 20_000_000,
        "in the order of the draw, from second 0: {slots:?}"
    );
    stage.restart().await;
    assert_eq!(numbers(&stage.advance(&[]).await.snapshot, 51), drawn, "as it was, after a restart");
}

pub(super) async fn a_draw_numbers_those_who_left_and_those_who_come_again(stage: &mut Stage) {
    stage.create(&drawn("5/s", 10_000)).await;
    stage.control(seed()).await;
    stage.join_as((0..20).map(id).collect()).await;
    stage.leave(&[3, 8]).await;
    stage.wait(9_750, &[]).await;
    assert_eq!(number(&stage.join_as(vec![id(4)]).await[0]), (5, false));
    stage.step_clock(250_000);
    let snapshot = stage.advance(&[]).await.snapshot;
    assert_eq!(snapshot.draw.stage, DrawStage::Drawn);
    let drawn: BTreeMap<u64, u64> = (1..).zip(numbers(&snapshot, 20)).collect();
    let gone = stage.advance(&[drawn[&3], drawn[&8]]).await.standings;
    assert_eq!(gone, [Standing::Left, Standing::Left]);
    // Identities come again by the place of their row; it is their number that checks in.
    let again = stage.join_as((0..20).map(id).collect()).await;
    for (place, outcome) in (1_u64..).zip(&again) {
        let expected = if place == 3 || place == 8 { None } else { Some((place, false)) };
        assert_eq!(expected.unwrap_or(number(outcome)), number(outcome), "{place}");
    }
    assert_eq!((number(&again[2]), number(&again[7])), ((21, true), (22, true)), "who left joins anew");
    // Giving up after the draw is by place too, and takes nobody else's number.
    let (last, _) =
        drawn.iter().filter(|(place, _)| ![3, 8].contains(*place)).max_by_key(|(_, n)| **n).unwrap();
    stage.leave(&[*last]).await;
    stage.restart().await;
    assert_eq!(stage.advance(&[drawn[last], drawn[&3]]).await.standings, [Standing::Left, Standing::Left]);
    let here: Vec<u64> =
        drawn.iter().filter(|(place, _)| ![3, 8, *last].contains(*place)).map(|(_, n)| *n).collect();
    stage.wait(15_000, &here).await;
    let mut slots: Vec<(u64, u64)> =
        stage.advance(&here).await.standings.iter().zip(&here).map(|(s, n)| (*n, slot(s).unwrap())).collect();
    slots.sort_unstable();
    assert!(slots.is_sorted_by_key(|(_, slot)| *slot), "{slots:?}");
    let admitted = stage.join_as(vec![id(0)]).await;
    let JoinOutcome::Placed { number, standing: Standing::Admitted(admission), .. } = admitted[0] else {
        panic!("{admitted:?}")
    };
    assert_eq!((number, admission.number), (Number(1), Number(drawn[&1])));
}

pub(super) async fn a_batch_of_the_lobby_is_repeated_after_the_draw(stage: &mut Stage) {
    stage.create(&drawn("1/s", 1_000)).await;
    stage.control(seed()).await;
    let batch = stage.batch(vec![None, id(1), None]);
    let first = stage.join_batch(&batch).await;
    stage.wait(1_000, &[]).await;
    let again = stage.join_batch(&batch).await;
    assert_eq!(again.outcomes.iter().map(number).collect::<Vec<_>>(), [(1, true), (2, true), (3, true)]);
    assert_eq!(again.outcomes, first.outcomes);
    assert_eq!(again.snapshot.last, Number(3));
}

pub(super) async fn a_draw_waits_for_its_seed_and_its_public_value(stage: &mut Stage) {
    let mut rules = drawn("10/s", 2_000);
    rules.schedule.public = Some("the number of the evening news".to_owned());
    stage.create(&rules).await;
    stage.join(10).await;
    stage.control(Control::DrawValue("early".to_owned())).await;
    stage.wait(2_000, &[]).await;
    let waits = stage.control(Control::DrawValue("31".to_owned())).await;
    assert_eq!((waits.draw.stage, waits.draw.size, waits.phase), (DrawStage::Frozen, 10, Phase::Lobby));
    assert_eq!(waits.draw.value.as_deref(), Some("31"), "not one that was told before the lobby ended");
    assert_eq!(number(&stage.join(1).await[0]), (11, true), "late comers are taken, and are not drawn");
    stage.leave(&[4]).await;
    stage.control(Control::DrawValue("32".to_owned())).await;
    stage.control(seed()).await;
    let drawn = stage.advance(&[]).await.snapshot;
    assert_eq!((drawn.draw.stage, drawn.draw.size, drawn.phase), (DrawStage::Drawn, 10, Phase::Open));
    assert_eq!(drawn.draw.value.as_deref(), Some("31"));
    let left = drawn.draw.number_of(Number(4));
    assert_eq!(stage.advance(&[left.0]).await.standings, [Standing::Left]);
}

pub(super) async fn a_flush_is_the_end_of_a_draw(stage: &mut Stage) {
    stage.create(&drawn("10/s", 2_000)).await;
    stage.control(seed()).await;
    stage.join(10).await;
    let flushed = stage.control(Control::Flush(Lineage(8))).await;
    assert_eq!((flushed.draw.stage, flushed.draw.seed), (DrawStage::None, None));
    stage.control(seed()).await;
    stage.control(Control::Seed(Lineage(8), Seed([9; 32]))).await;
    assert_eq!(number(&stage.join(1).await[0]), (11, true));
    stage.join(4).await;
    stage.wait(2_000, &[]).await;
    let drawn = stage.advance(&[]).await.snapshot;
    assert_eq!((drawn.draw.base, drawn.draw.size), (Number(10), 5));
    assert_eq!(drawn.draw.seed, Some(Seed([9; 32])), "a seed of another life is not taken");
    assert!((11..=15).contains(&drawn.draw.number_of(Number(11)).0));
}
