//! What an instance knows of a room: the newest snapshot, and whether it is fresh enough to act on.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::Instant;

use super::There;
use crate::queue::{Seen, StoreError};
use crate::room::{Number, Phase, Rate, Snapshot};

/// Added to `store.timeout`: how old the last good snapshot may be.
const GRACE: Duration = Duration::from_secs(1);

/// What an instance knows of a room right now.
#[derive(Debug, Clone)]
pub struct View {
    /// The last snapshot that was read; `None` before the first.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Whether it is recent enough to act on: false means the room is unavailable.
    pub fresh: bool,
    /// What the store's last failure was, if nothing has worked since.
    pub fault: Option<StoreError>,
    /// How many were let in a second of late; `None` while unknown.
    pub speed: Option<f64>,
    /// Who is there, in the version that all instances use now; `None` before the first.
    pub there: Option<Arc<There>>,
}

impl View {
    /// What is known right after a call that worked.
    #[must_use]
    pub fn just_read(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot: Some(snapshot), fresh: true, fault: None, speed: None, there: None }
    }
}

impl View {
    /// The position of a number: 1 for the next to go in. Never grows for whoever stays.
    #[must_use]
    pub fn position(&self, number: Number) -> Option<u64> {
        let snapshot = self.snapshot.as_deref()?;
        let counted = self.there.as_ref().map(|there| there.ahead(number, &snapshot.voids) + 1);
        Some(counted.unwrap_or_else(|| snapshot.position(number)))
    }

    /// How many wait.
    #[must_use]
    pub fn waiting(&self) -> Option<u64> {
        let snapshot = self.snapshot.as_deref()?;
        let counted = self.there.as_ref().map(|there| there.waiting(snapshot.last, &snapshot.voids));
        Some(counted.unwrap_or_else(|| snapshot.waiting()))
    }

    /// How many before a number will probably be there when the turn comes.
    #[must_use]
    pub fn live_ahead(&self, number: Number) -> Option<u64> {
        let snapshot = self.snapshot.as_deref()?;
        let live = self.there.as_ref().map(|there| there.live_ahead(number, &snapshot.voids));
        Some(live.unwrap_or_else(|| snapshot.position(number) - 1))
    }
}

#[derive(Clone, Default)]
struct State {
    snapshot: Option<Arc<Snapshot>>,
    read_at: Option<Instant>,
    fault: Option<StoreError>,
    speed: Speed,
}

/// Admissions a second over about half a minute, while people wait and the rate stays.
#[derive(Clone, Copy, Default)]
struct Speed {
    from: Option<(u64, u64, Rate)>,
    per_second: Option<f64>,
}

impl Speed {
    /// Smoothed over windows of 5 s of the store's clock. A window in which nobody waited or nobody was let in on
    /// purpose says nothing; nor does what another rate did.
    fn seen(self, snapshot: &Snapshot) -> Self {
        let rate = snapshot.rules.rate;
        let here = (snapshot.now.0, snapshot.admitted, rate);
        if snapshot.phase != Phase::Open || snapshot.waiting() == 0 {
            return Self { from: None, ..self };
        }
        let Some((time, admitted, before)) = self.from.filter(|(time, ..)| *time <= here.0) else {
            return Self { from: Some(here), ..self };
        };
        if before != rate {
            return Self { from: Some(here), per_second: None };
        }
        if here.0 - time < 5_000_000 {
            return self;
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
        let now = here.1.saturating_sub(admitted) as f64 * 1e6 / (here.0 - time) as f64;
        let per_second = Some(self.per_second.map_or(now, |before| before * 0.7 + now * 0.3));
        Self { from: Some(here), per_second }
    }
}

/// The shared memory of a line's tasks. Readers take no lock.
pub(super) struct Known {
    state: ArcSwap<State>,
    fresh_for: Duration,
    /// The fingerprint of this instance's keys.
    keys: String,
}

impl Known {
    pub(super) fn new(timeout: Duration, keys: String) -> Self {
        Self { state: ArcSwap::default(), fresh_for: timeout + GRACE, keys }
    }

    pub(super) fn view(&self) -> View {
        let state = self.state.load();
        let fresh = state.read_at.is_some_and(|at| at.elapsed() <= self.fresh_for);
        View {
            snapshot: state.snapshot.clone(),
            fresh,
            fault: state.fault.clone(),
            speed: state.speed.per_second,
            there: None,
        }
    }

    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.state.load().snapshot.clone()
    }

    /// The highest state seen, to be sent with every call.
    pub(super) fn seen(&self) -> Seen {
        self.state.load().snapshot.as_deref().map(seen_of).unwrap_or_default()
    }

    /// Whether a room belongs to instances with other keys.
    pub(super) fn is_others(&self, snapshot: &Snapshot) -> bool {
        !self.keys.is_empty() && !snapshot.keys.is_empty() && self.keys != snapshot.keys
    }

    /// Takes a snapshot in, unless a newer one came first: answers of parallel calls may cross. One of a room that
    /// belongs to others tells nothing.
    pub(super) fn learn(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        if self.is_others(&snapshot) {
            self.failed(&StoreError::OtherKeys);
            return snapshot;
        }
        self.state.rcu(|state| {
            let newer = state.snapshot.as_deref().is_none_or(|old| seen_of(old) <= seen_of(&snapshot));
            let kept = if newer { Some(Arc::clone(&snapshot)) } else { state.snapshot.clone() };
            let speed = if newer { state.speed.seen(&snapshot) } else { state.speed };
            State { snapshot: kept, read_at: Some(Instant::now()), fault: None, speed }
        });
        snapshot
    }

    /// Takes a snapshot in whatever was seen before: the room was created anew.
    pub(super) fn replace(&self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        self.state.store(Arc::new(State {
            snapshot: Some(Arc::clone(&snapshot)),
            read_at: Some(Instant::now()),
            ..State::default()
        }));
        snapshot
    }

    pub(super) fn failed(&self, error: &StoreError) {
        self.state.rcu(|state| State { fault: Some(error.clone()), ..State::clone(state) });
    }
}

fn seen_of(snapshot: &Snapshot) -> Seen {
    Seen { epoch: snapshot.epoch, version: snapshot.version }
}
