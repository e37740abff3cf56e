//! Random histories of a Redis that falls back, again and again, to what it held some steps ago: what was seen since is
//! taken up exactly as the pure room takes it up.

use super::histories::{History, seeds};
use super::stage::Stage;
use crate::room::Loss;

/// Plays a history in which the server falls back, again and again, to what it held some steps ago; the store takes
/// up what was seen since.
async fn play_with_losses(mut stage: Stage, seed: u64, steps: u32) {
    let mut history = History::begin(&mut stage, seed).await;
    let mut kept = history.oracle.room.clone();
    history.stage.keep();
    for step in 1..=steps {
        history.step().await;
        if step % 40 == 10 {
            kept = history.oracle.room.clone();
            history.stage.keep();
        }
        if step % 40 == 12 + u32::try_from(seed % 25).unwrap() {
            let seen = history.oracle.room.evidence();
            history.stage.fall_back();
            history.batches.clear();
            history.oracle.batches.clear();
            let (now, at) = (history.stage.now(), kept.snapshot());
            history.oracle.room = kept.clone();
            history.oracle.room.take_over(now, Loss::Unlikely, (at.last, at.admitted), Some(&seen));
            let ticked = history.stage.advance(&[]).await;
            history.oracle.room.advance(now, &[]);
            assert_eq!(ticked.snapshot, history.oracle.room.snapshot(), "step {step}");
            history.restore().await;
            history.stage.step_clock(3_000_000);
            let now = history.stage.now();
            let settled = history.stage.advance(&[]).await;
            history.oracle.room.advance(now, &[]);
            assert_eq!(settled.snapshot, history.oracle.room.snapshot(), "step {step}");
        }
    }
    let snapshot = history.oracle.room.snapshot();
    println!(
        "seed {seed}: {} joined, {} voids, {} lost",
        snapshot.last,
        snapshot.voids.ranges().len(),
        snapshot.lost.ranges().len()
    );
}

#[tokio::test]
async fn redis_takes_up_what_was_lost_as_the_room_does() {
    for seed in seeds(8) {
        play_with_losses(Stage::redis().await, seed, 400).await;
    }
}
