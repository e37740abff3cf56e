//! Counting admissions in windows, exactly, and allowing for nothing but the stalls of this machine.
//!
//! Slots are spaced on the store's clock; what we can see is when a request reached the shop, later by a scheduling
//! delay. So a window of t seconds of arrivals holds at most the slots of t plus the longest delay seen, and that is
//! what [`Metronome`] measures while a story runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// The largest number of these moments in any half-open window of this length.
pub fn most_in_any(window: Duration, moments: &[Duration]) -> usize {
    let mut sorted = moments.to_vec();
    sorted.sort_unstable();
    let mut from = 0;
    let mut most = 0;
    for to in 0..sorted.len() {
        while sorted[to] - sorted[from] >= window {
            from += 1;
        }
        most = most.max(to + 1 - from);
    }
    most
}

/// Fails if any window of 1 s or 10 s holds more than `per_second` x window + `burst`, given stalls of `lag`.
pub fn assert_kept(per_second: f64, burst: usize, moments: &[Duration], lag: Duration) {
    for seconds in [1.0, 10.0] {
        let most = most_in_any(Duration::from_secs_f64(seconds), moments);
        let allowed = (per_second * (seconds + lag.as_secs_f64())).floor() as usize + burst;
        assert!(
            most <= allowed,
            "{most} admissions reached the origin in some {seconds} s; allowed are {allowed} \
             ({per_second}/s, burst {burst}, this machine stalled for up to {lag:?})"
        );
    }
}

/// Measures how late this machine wakes whoever should run.
pub struct Metronome {
    worst_us: Arc<AtomicU64>,
    task: tokio::task::JoinHandle<()>,
}

impl Metronome {
    /// Starts measuring.
    pub fn start() -> Self {
        let worst_us = Arc::new(AtomicU64::new(0));
        let worst = Arc::clone(&worst_us);
        let task = tokio::spawn(async move {
            let beat = Duration::from_millis(5);
            loop {
                let before = Instant::now();
                sleep(beat).await;
                let late = before.elapsed().saturating_sub(beat);
                worst.fetch_max(late.as_micros() as u64, Ordering::Relaxed);
            }
        });
        Self { worst_us, task }
    }

    /// The longest delay that three hand-overs in a row (visitor, door, shop) can have had.
    pub fn lag(&self) -> Duration {
        Duration::from_micros(self.worst_us.load(Ordering::Relaxed) * 3)
    }
}

impl Drop for Metronome {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[test]
fn windows_are_counted_exactly() {
    let ms = |list: &[u64]| list.iter().map(|m| Duration::from_millis(*m)).collect::<Vec<_>>();
    assert_eq!(most_in_any(Duration::from_secs(1), &ms(&[])), 0);
    assert_eq!(most_in_any(Duration::from_secs(1), &ms(&[0, 1000, 2000])), 1);
    assert_eq!(most_in_any(Duration::from_secs(1), &ms(&[2000, 0, 999, 1000, 1998])), 3);
}
