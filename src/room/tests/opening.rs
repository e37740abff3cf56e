//! Opening: nothing before the second, everything from it on, by the room alone.

use super::*;

const OPENS_MS: u64 = 20_000;

fn lobby(rate: &str, order: LobbyOrder) -> Play {
    let opens = Some(Micros(START.0 + OPENS_MS * 1000));
    let schedule = Schedule { opens, lobby_order: order, ..Schedule::default() };
    Play::with(Rules { schedule, ..Rules::at(rate.parse().unwrap()) })
}

fn seeded(rate: &str) -> Play {
    let mut play = lobby(rate, LobbyOrder::Draw);
    play.room.control(play.now, &Control::Seed(Lineage(7), Seed([4; 32])));
    play
}

#[test]
fn grants_begin_at_second_0_of_opens_without_pause_or_ramp() {
    for order in [LobbyOrder::Fifo, LobbyOrder::Draw] {
        let mut play = seeded("100/s");
        play.room.control(
            play.now,
            &Control::Rules({
                let mut rules = play.room.snapshot().rules;
                rules.schedule.lobby_order = order;
                rules
            }),
        );
        play.join(300);
        let all: Vec<u64> = (1..=300).collect();
        play.wait(OPENS_MS - 50, &all);
        assert_eq!(play.room.snapshot().admitted, 0);
        play.wait(50, &all);
        let opened = OPENS_MS * 1000;
        assert_eq!(play.slot(1), Some(opened), "{order:?}: the first goes in at the very moment");
        play.wait(3000, &all);
        let slots: Vec<u64> = (1..=300).map(|n| play.slot(n).unwrap()).collect();
        assert!(slots.is_sorted());
        let in_first_second = slots.iter().filter(|slot| **slot < opened + 1_000_000).count();
        assert!((100..=105).contains(&in_first_second), "{order:?}: {in_first_second} at 100/s");
    }
}

#[test]
fn who_comes_at_the_moment_of_opening_does_not_overtake_a_lobby_that_is_still_asking() {
    let mut play = seeded("10/s");
    play.join(50);
    play.wait(OPENS_MS, &[]);
    let late = play.join(20);
    let waits =
        |outcome: &JoinOutcome| matches!(outcome, JoinOutcome::Placed { standing: Standing::Waiting, .. });
    assert!(late.iter().all(waits), "{late:?}");
    play.wait(2000, &(51..=70).collect::<Vec<_>>());
    assert_eq!(play.room.snapshot().admitted, 0, "all slots of the first step are for the lobby");
    play.wait(2000, &(41..=70).collect::<Vec<_>>());
    assert!(play.slot(41).unwrap() < play.slot(51).unwrap());
}

#[test]
fn a_number_of_the_draw_stands_whoever_asks_and_whenever() {
    let mut play = seeded("10/s");
    play.join(1000);
    play.wait(OPENS_MS, &[]);
    let draw = play.room.snapshot().draw;
    let numbers: Vec<_> = (1..=1000).map(|index| draw.number(index).unwrap()).collect();
    let written = serde_json::to_vec(play.room.core()).unwrap();
    let restored = Room::restored(Saved::of(serde_json::from_slice(&written).unwrap()));
    let after = restored.snapshot().draw;
    assert!(
        (1..=1000).all(|index| after.number(index) == Some(numbers[usize::try_from(index).unwrap() - 1]))
    );
    assert_eq!(after.seat(Number(1001)), Seat::Number(Number(1001)));
}

#[test]
fn times_moved_by_an_operator_count_from_then_on() {
    let mut play = lobby("10/s", LobbyOrder::Fifo);
    play.join(5);
    play.wait(1000, &[1]);
    let opens = Some(Micros(play.now.0 + 500_000));
    let change = ScheduleChange { opens, ..ScheduleChange::default() };
    play.room.control(play.now, &Control::Set(Patch { schedule: Some(Some(change)), ..Patch::default() }));
    play.wait(500, &[1]);
    assert_eq!(play.slot(1), Some(1_500_000));
}
