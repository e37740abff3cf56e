//! Who is there, in both stores: the same versions as the pure rules give, and nothing that comes back.

use std::time::Duration;

use super::chance::Chance;
use super::stage::{Stage, rules};
use crate::queue::presence::{Around, Bits, Heard, Presence, Shown};
use crate::room::{Control, Number};

const ABSENT: Duration = Duration::from_secs(24);

fn heard(numbers: &[u64], left: &[u64], version: u64) -> Heard {
    let mut bits = Bits::at(numbers.iter().min().map_or(0, |n| n / 8));
    numbers.iter().for_each(|n| bits.set(Number(*n)));
    let left = left.iter().map(|n| Number(*n)).collect();
    Heard { heard: bits, left, version, absent_after: ABSENT }
}

/// Without bytes of nothing at the end, of which stores may have more or fewer.
fn plain(mut shown: Shown) -> Shown {
    if let Some((one, two)) = &mut shown.bits {
        for bits in [one, two] {
            let used = bits.bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
            bits.bytes.truncate(used);
        }
    }
    shown
}

pub(super) async fn presence_is_what_its_rules_say(stage: &mut Stage) {
    for seed in 0..4 {
        let mut chance = Chance::new(seed);
        stage.room = crate::room::RoomId::new(&format!("hall-{seed}")).unwrap();
        stage.seen = crate::queue::Seen::default();
        stage.create(&rules("5/s")).await;
        let mut pure = Presence::default();
        let (mut version, mut last) = (0, 0);
        for step in 0..60 {
            stage.step_clock(300_000 + chance.below(1_500_000) as i64);
            if chance.below(12) == 0 {
                stage.step_clock(1_000_000 * chance.below(100) as i64);
            }
            let joins = if chance.below(3) == 0 { chance.below(40) } else { 0 };
            if joins > 0 {
                stage.join(joins as usize).await;
                last += joins;
            }
            let mut some = |most: u64| {
                (0..chance.below(most)).map(|_| 1 + chance.below(last.max(1))).collect::<Vec<_>>()
            };
            let (asking, left) = (some(30), some(3));
            let snapshot = stage.advance(&[]).await.snapshot;
            let told = heard(&asking, &left, version);
            let got = stage.store.presence(&stage.room, stage.seen, &told).await.unwrap();
            let wanted =
                pure.tell(stage.now(), &Around::of(&snapshot, got.use_from.since(stage.now())), &told);
            assert_eq!(plain(got.clone()), plain(wanted), "seed {seed}, step {step}");
            version = got.version;
        }
    }
}

pub(super) async fn who_left_stays_away_over_a_restart(stage: &mut Stage) {
    stage.create(&rules("1/s")).await;
    stage.control(Control::Pause { reason: None }).await;
    stage.join(40).await;
    let mut version = 0;
    for second in 0..30 {
        stage.step_clock(1_000_000);
        stage.advance(&[]).await;
        let left = if second == 0 { vec![20] } else { vec![] };
        let told = heard(&(10..40).filter(|n| *n != 20 && *n != 30).collect::<Vec<_>>(), &left, version);
        version = stage.store.presence(&stage.room, stage.seen, &told).await.unwrap().version;
    }
    let before = stage.store.presence(&stage.room, stage.seen, &heard(&[], &[], 0)).await.unwrap();
    stage.restart().await;
    stage.step_clock(1_000_000);
    stage.advance(&[]).await;
    let after = stage.store.presence(&stage.room, stage.seen, &heard(&[], &[], 0)).await.unwrap();
    assert!(after.version > before.version);
    let (shown_before, shown_after) = (before.bits.unwrap().0, after.bits.unwrap().0);
    assert_eq!(after.frontier, Number(0));
    for number in (1..=40).map(Number) {
        assert_eq!(shown_after.get(number), shown_before.get(number), "{number}");
    }
    assert!(!shown_after.get(Number(20)) && !shown_after.get(Number(30)) && shown_after.get(Number(31)));
}
