//! How often a store dials: one instance never begins more than ten connections a second, whatever happens and whomever
//! they lead to, and failed attempts wait longer each time, never in step with other instances.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};

/// Shortest time between the beginnings of two connections.
const SPACING: Duration = Duration::from_millis(100);

const BACK_OFF_FIRST: u64 = 100;
const BACK_OFF_MAX: u64 = 500;

/// Turns to dial, shared by everything that dials for one store.
pub(super) struct Pace(Mutex<Option<Instant>>);

impl Pace {
    pub(super) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Waits for a turn; first come, first served.
    pub(super) async fn turn(&self) {
        let mut last = self.0.lock().await;
        if let Some(last) = *last {
            sleep_until(last + SPACING).await;
        }
        *last = Some(Instant::now());
    }
}

/// How long to wait after `failures` attempts in a row, between half and all of a doubling span: 50 to 500 ms.
pub(super) fn back_off(failures: u32, random: u64) -> Duration {
    let span = BACK_OFF_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(3)).min(BACK_OFF_MAX);
    let half = span / 2;
    Duration::from_millis(half + random % (span - half + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_half_a_second_and_are_never_in_step() {
        for failures in 1..20 {
            let waits: Vec<_> = (0..1000).map(|random| back_off(failures, random)).collect();
            assert!(waits.iter().all(|w| (50..=500).contains(&w.as_millis())));
            assert_ne!(waits.first(), waits.last());
        }
        assert!(back_off(9, 0) > back_off(1, 999));
    }

    #[tokio::test]
    async fn turns_of_many_are_apart() {
        let (pace, begun) = (Pace::new(), Instant::now());
        tokio::join!(pace.turn(), pace.turn(), pace.turn());
        assert!(begun.elapsed() >= 2 * SPACING);
    }
}
