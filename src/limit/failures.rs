//! Slows down who keeps failing to log in, per client network, without costing anything to who succeeds.
//!
//! Each failure moves a network's "clear at" later by `every`; while it lies more than `burst` failures ahead,
//! the network must wait. (GCRA. Not the `governor` crate: its limiters take a unit with every look, so that
//! right tokens would use up the budget too.) Networks that are clear again are forgotten; when too many are not,
//! all further ones share one state, which keeps memory bounded and guessing slow.

use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use dashmap::DashMap;

use super::Network;
use crate::room::Micros;

/// How often a client network may fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailuresSettings {
    /// So many failures in a row cost nothing.
    pub burst: u32,
    /// From then on one try in this time.
    pub every: Duration,
    /// Most networks that are remembered one by one.
    pub networks_max: usize,
}

impl Default for FailuresSettings {
    fn default() -> Self {
        Self { burst: 5, every: Duration::from_secs(6), networks_max: 10_000 }
    }
}

/// The failures of all client networks.
#[derive(Debug)]
pub struct Failures {
    settings: FailuresSettings,
    clear_at: DashMap<Network, Micros>,
    /// The state that networks beyond `networks_max` share, and when the map was last swept.
    rest: Mutex<Rest>,
}

#[derive(Debug, Default)]
struct Rest {
    clear_at: Micros,
    swept: Micros,
}

impl Failures {
    /// None so far.
    #[must_use]
    pub fn new(settings: FailuresSettings) -> Self {
        Self { settings, clear_at: DashMap::new(), rest: Mutex::default() }
    }

    /// Whether `address` may try now; costs nothing. Ask before the token is looked at.
    ///
    /// # Errors
    /// How long it must wait: answer 429 without looking at the token.
    pub fn may_try(&self, address: IpAddr, now: Micros) -> Result<(), Duration> {
        let known = self.clear_at.get(&Network::of(address)).map(|at| *at);
        let clear_at = match known {
            Some(at) => at,
            None if self.clear_at.len() >= self.settings.networks_max => self.rest().clear_at,
            None => return Ok(()),
        };
        match wait(clear_at, &self.settings, now) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// Counts a failure of `address`.
    pub fn failed(&self, address: IpAddr, now: Micros) {
        let network = Network::of(address);
        if let Some(mut at) = self.clear_at.get_mut(&network) {
            *at = later(*at, &self.settings, now);
            return;
        }
        if self.clear_at.len() >= self.settings.networks_max && !self.sweep(now) {
            let mut rest = self.rest();
            rest.clear_at = later(rest.clear_at, &self.settings, now);
            return;
        }
        self.clear_at.insert(network, later(Micros(0), &self.settings, now));
    }

    /// Forgets the networks that are clear again, at most once a second; whether there is room now.
    fn sweep(&self, now: Micros) -> bool {
        {
            let mut rest = self.rest();
            if now.since(rest.swept) < Duration::from_secs(1) {
                return false;
            }
            rest.swept = now;
        }
        self.clear_at.retain(|_, at| *at > now);
        self.clear_at.len() < self.settings.networks_max
    }

    fn rest(&self) -> std::sync::MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// How long a network must wait that is clear at `clear_at`.
fn wait(clear_at: Micros, settings: &FailuresSettings, now: Micros) -> Duration {
    let free = settings.every.saturating_mul(settings.burst.saturating_sub(1));
    clear_at.minus(free).since(now)
}

/// When a network is clear after one more failure. Bounded, so that tries which were let through side by side
/// cannot shut anybody out for long.
fn later(clear_at: Micros, settings: &FailuresSettings, now: Micros) -> Micros {
    let most = settings.every.saturating_mul(settings.burst.max(1));
    clear_at.max(now).plus(settings.every).min(now.plus(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    fn at(seconds: u64) -> Micros {
        Micros(seconds * 1_000_000)
    }

    fn failures(networks_max: usize) -> Failures {
        Failures::new(FailuresSettings { burst: 3, every: Duration::from_secs(6), networks_max })
    }

    #[test]
    fn a_burst_is_free_then_one_try_in_a_while() {
        let failures = failures(10);
        for _ in 0..3 {
            assert_eq!(failures.may_try(ip(1), at(100)), Ok(()));
            failures.failed(ip(1), at(100));
        }
        assert_eq!(failures.may_try(ip(1), at(100)), Err(Duration::from_secs(6)));
        assert_eq!(failures.may_try(ip(2), at(100)), Ok(()), "others are not concerned");
        assert_eq!(failures.may_try(ip(1), at(106)), Ok(()));
        failures.failed(ip(1), at(106));
        assert_eq!(failures.may_try(ip(1), at(106)), Err(Duration::from_secs(6)));
        for _ in 0..100 {
            assert_eq!(failures.may_try(ip(1), at(118)), Ok(()), "looking costs nothing");
        }
    }

    #[test]
    fn many_failures_at_one_moment_shut_nobody_out_for_long() {
        let failures = failures(10);
        (0..1000).for_each(|_| failures.failed(ip(1), at(100)));
        assert_eq!(failures.may_try(ip(1), at(100)), Err(Duration::from_secs(6)));
    }

    #[test]
    fn memory_is_bounded_and_strangers_then_share_one_state() {
        let failures = failures(10);
        for n in 0..200_000 {
            failures.failed(ip(n), at(100));
        }
        assert_eq!(failures.clear_at.len(), 10);
        assert!(failures.may_try(ip(300_000), at(100)).is_err());
        assert_eq!(failures.may_try(ip(0), at(100)), Ok(()), "who is known has a state of its own");
        failures.failed(ip(300_000), at(200));
        assert_eq!(failures.clear_at.len(), 1, "who is clear again is forgotten");
        assert_eq!(failures.may_try(ip(300_001), at(200)), Ok(()));
    }
}
