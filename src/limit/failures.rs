//! Slows down who keeps failing to log in, per client network. Whoever succeeds is never asked.
//!
//! A keyed limiter takes one unit for each failure. Networks that are clear again are forgotten; when too many
//! are not, all share one state, which keeps memory bounded and guessing slow.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::Network;

/// With a full memory, every so many failures it is looked through for networks that are clear again.
const SWEEP_EVERY: u32 = 256;

/// How often a client network may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailuresSettings {
    /// So many failures in a row cost nothing.
    pub burst: NonZeroU32,
    /// From then on one in this time; more than zero.
    pub every: Duration,
    /// Most networks that are remembered one by one.
    pub networks_max: usize,
}

impl Default for FailuresSettings {
    fn default() -> Self {
        let burst = NonZeroU32::MIN.saturating_add(4);
        Self { burst, every: Duration::from_secs(6), networks_max: 10_000 }
    }
}

/// A network, or all that there is no memory for.
type Who = Option<Network>;

/// The failures of all client networks.
pub struct Failures<C: Clock = DefaultClock> {
    limiter: RateLimiter<Who, DashMapStateStore<Who>, C, NoOpMiddleware<C::Instant>>,
    clock: C,
    networks_max: usize,
    overflows: AtomicU32,
}

impl Failures {
    /// None so far.
    #[must_use]
    pub fn new(settings: &FailuresSettings) -> Self {
        Self::with_clock(settings, DefaultClock::default())
    }
}

impl<C: Clock + Clone> Failures<C> {
    /// None so far, by a clock of the caller's.
    #[must_use]
    pub fn with_clock(settings: &FailuresSettings, clock: C) -> Self {
        let every = settings.every.max(Duration::from_nanos(1));
        let quota = Quota::with_period(every).unwrap_or_else(|| Quota::per_minute(settings.burst));
        let limiter = RateLimiter::dashmap_with_clock(quota.allow_burst(settings.burst), clock.clone());
        Self { limiter, clock, networks_max: settings.networks_max, overflows: AtomicU32::new(0) }
    }

    /// Counts a failure of `address`. With too many of them, how long the next must wait: answer 429.
    pub fn failed(&self, address: IpAddr) -> Option<Duration> {
        let who = Some(Network::of(address)).filter(|_| self.has_memory());
        match self.limiter.check_key(&who) {
            Ok(()) => None,
            Err(until) => Some(until.wait_time_from(self.clock.now())),
        }
    }

    fn has_memory(&self) -> bool {
        if self.limiter.len() < self.networks_max {
            return true;
        }
        if self.overflows.fetch_add(1, Ordering::Relaxed).is_multiple_of(SWEEP_EVERY) {
            self.limiter.retain_recent();
        }
        self.limiter.len() < self.networks_max
    }
}

#[cfg(test)]
mod tests {
    use governor::clock::FakeRelativeClock;

    use super::*;

    fn ip(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    fn failures(networks_max: usize) -> (Failures<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let burst = NonZeroU32::new(3).unwrap();
        let settings = FailuresSettings { burst, every: Duration::from_secs(6), networks_max };
        (Failures::with_clock(&settings, clock.clone()), clock)
    }

    #[test]
    fn a_burst_is_free_then_one_in_a_while() {
        let (failures, clock) = failures(10);
        for _ in 0..3 {
            assert_eq!(failures.failed(ip(1)), None);
        }
        assert_eq!(failures.failed(ip(1)), Some(Duration::from_secs(6)));
        assert_eq!(failures.failed(ip(2)), None, "others are not concerned");
        clock.advance(Duration::from_secs(6));
        assert_eq!(failures.failed(ip(1)), None);
        assert_eq!(failures.failed(ip(1)), Some(Duration::from_secs(6)));
    }

    #[test]
    fn many_failures_at_one_moment_shut_nobody_out_for_long() {
        let (failures, _clock) = failures(10);
        let waits: Vec<_> = (0..1000).filter_map(|_| failures.failed(ip(1))).collect();
        assert!(waits.iter().all(|wait| *wait == Duration::from_secs(6)));
    }

    #[test]
    fn memory_is_bounded_and_strangers_then_share_one_state() {
        let (failures, clock) = failures(10);
        for n in 0..200_000 {
            failures.failed(ip(n));
        }
        assert!(failures.limiter.len() <= 11, "{}", failures.limiter.len());
        assert!(failures.failed(ip(300_000)).is_some());
        clock.advance(Duration::from_secs(60));
        for n in 0..=SWEEP_EVERY {
            failures.failed(ip(300_000 + n));
            clock.advance(Duration::from_secs(6));
        }
        assert_eq!(failures.failed(ip(400_000)), None, "who is clear again is forgotten");
    }
}
