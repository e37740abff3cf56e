//! How much may be under way to the origin at once, and how many may wait for that, for how long.
//!
//! First come, first served. Who cannot be served within the bound is told at once or after a bounded wait, so a
//! slow origin costs us a known number of waiting requests and never a growing one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// The bounds of a bulkhead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkheadSettings {
    /// Most requests in flight. What the origin was measured to bear, divided by the number of instances.
    pub in_flight_max: usize,
    /// Most requests that wait for one of these to end.
    pub queue_max: usize,
    /// Longest wait for it.
    pub wait_max: Duration,
}

impl Default for BulkheadSettings {
    fn default() -> Self {
        Self { in_flight_max: 256, queue_max: 1024, wait_max: Duration::from_secs(5) }
    }
}

/// Why there is no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Busy {
    /// As many wait as may.
    #[error("too many requests wait for the origin")]
    Full,
    /// None became free in time.
    #[error("no request to the origin ended in time")]
    TimedOut,
}

/// A bounded number of requests in flight. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct Bulkhead(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: BulkheadSettings,
    free: Arc<Semaphore>,
    waiting: AtomicUsize,
}

impl Bulkhead {
    /// None in flight.
    #[must_use]
    pub fn new(settings: BulkheadSettings) -> Self {
        let free = Arc::new(Semaphore::new(settings.in_flight_max.min(Semaphore::MAX_PERMITS)));
        Self(Arc::new(Inner { settings, free, waiting: AtomicUsize::new(0) }))
    }

    /// Takes a permit, after those who came before. Keep it until the response has ended. Dropping the future
    /// gives up the place in the queue.
    ///
    /// # Errors
    /// [`Busy`] when the queue is full or the wait too long.
    pub async fn enter(&self) -> Result<Permit, Busy> {
        let inner = &self.0;
        if let Ok(permit) = inner.free.clone().try_acquire_owned() {
            return Ok(Permit(permit));
        }
        let _place = Place::take(inner)?;
        match timeout(inner.settings.wait_max, inner.free.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Permit(permit)),
            Ok(Err(_)) => Err(Busy::Full),
            Err(_) => Err(Busy::TimedOut),
        }
    }

    /// How many are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        let max = self.0.settings.in_flight_max.min(Semaphore::MAX_PERMITS);
        max.saturating_sub(self.0.free.available_permits())
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.0.waiting.load(Ordering::Relaxed)
    }
}

/// The right to be in flight; dropping it lets the next in.
#[derive(Debug)]
pub struct Permit(#[expect(dead_code, reason = "held, never read")] OwnedSemaphorePermit);

/// A place among those who wait; dropping it gives it back.
struct Place<'a>(&'a Inner);

impl<'a> Place<'a> {
    fn take(inner: &'a Inner) -> Result<Self, Busy> {
        let below = |n: usize| (n < inner.settings.queue_max).then_some(n + 1);
        match inner.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below) {
            Ok(_) => Ok(Self(inner)),
            Err(_) => Err(Busy::Full),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulkhead(in_flight_max: usize, queue_max: usize) -> Bulkhead {
        Bulkhead::new(BulkheadSettings { in_flight_max, queue_max, wait_max: Duration::from_secs(5) })
    }

    async fn until_waiting(bulkhead: &Bulkhead, count: usize) {
        while bulkhead.waiting() != count {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_beyond_the_bound_wait_in_order() {
        let bulkhead = bulkhead(1, 10);
        let held = bulkhead.enter().await.unwrap();
        let order = Arc::new(std::sync::Mutex::new(Vec::new()));
        let mut crowd = tokio::task::JoinSet::new();
        for n in 0..5 {
            let (bulkhead, order) = (bulkhead.clone(), order.clone());
            crowd.spawn({
                let bulkhead = bulkhead.clone();
                async move {
                    let _permit = bulkhead.enter().await.unwrap();
                    assert_eq!(bulkhead.in_flight(), 1);
                    order.lock().unwrap().push(n);
                }
            });
            until_waiting(&bulkhead, n + 1).await;
        }
        drop(held);
        crowd.join_all().await;
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
        assert_eq!((bulkhead.in_flight(), bulkhead.waiting()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_and_the_wait_are_bounded() {
        let bulkhead = bulkhead(1, 1);
        let _held = bulkhead.enter().await.unwrap();
        let waits = tokio::spawn({
            let bulkhead = bulkhead.clone();
            async move { bulkhead.enter().await }
        });
        until_waiting(&bulkhead, 1).await;
        assert_eq!(bulkhead.enter().await.unwrap_err(), Busy::Full);
        let began = tokio::time::Instant::now();
        assert_eq!(waits.await.unwrap().unwrap_err(), Busy::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 5);
        assert_eq!(bulkhead.waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_leaves_no_place_behind() {
        let bulkhead = bulkhead(1, 1);
        let held = bulkhead.enter().await.unwrap();
        for _ in 0..10 {
            let gave_up = tokio::time::timeout(Duration::from_millis(1), bulkhead.enter()).await;
            assert!(gave_up.is_err());
            assert_eq!(bulkhead.waiting(), 0);
        }
        drop(held);
        assert!(bulkhead.enter().await.is_ok());
    }
}
