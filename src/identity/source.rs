//! Keeps a key set at hand: fetched in the background from time to time, the last good one staying in force
//! whatever happens. A token that names an unknown key may have it fetched out of turn; however many such
//! tokens come, that happens once in a while, and few requests wait for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

pub use super::fetch::Place;
use super::fetch::fetch;
use super::keyset::KeySet;
use crate::metrics;
use crate::room::RoomId;

/// Requests that may wait for a fetch at once; others are answered as if it had brought nothing.
const WAITING_MAX: usize = 256;

/// When a key set is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefreshSettings {
    /// How often, while all is well.
    pub every: Duration,
    /// How soon after a failure.
    pub retry: Duration,
    /// Two fetches lie at least so far apart, whatever tokens name.
    pub apart: Duration,
    /// How long a request waits for a fetch.
    pub patience: Duration,
    /// How long a fetch may take.
    pub longest: Duration,
}

impl Default for RefreshSettings {
    fn default() -> Self {
        let s = Duration::from_secs;
        Self { every: s(300), retry: s(5), apart: s(10), patience: s(2), longest: s(5) }
    }
}

/// One attempt.
#[derive(Debug, Clone, Copy)]
struct Tried {
    begun: Instant,
    ok: bool,
}

struct Shared {
    room: RoomId,
    place: Place,
    settings: RefreshSettings,
    set: ArcSwapOption<KeySet>,
    tried: watch::Sender<Option<Tried>>,
    nudge: Notify,
    waiting: AtomicUsize,
}

/// The keys of a room's tokens. Dropping it ends the task that fetches them.
pub(super) struct Keys {
    shared: Arc<Shared>,
    task: AbortHandle,
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Keys {
    /// Starts fetching on the current runtime.
    pub(super) fn start(room: RoomId, place: Place, settings: RefreshSettings) -> Self {
        let shared = Arc::new(Shared {
            room,
            place,
            settings,
            set: ArcSwapOption::empty(),
            tried: watch::Sender::new(None),
            nudge: Notify::new(),
            waiting: AtomicUsize::new(0),
        });
        let task = tokio::spawn(keep(Arc::clone(&shared))).abort_handle();
        Self { shared, task }
    }

    /// The last good set.
    pub(super) fn set(&self) -> Option<Arc<KeySet>> {
        self.shared.set.load_full()
    }

    /// Whether what is there is what the source held when it was last asked.
    pub(super) fn is_current(&self) -> bool {
        self.shared.tried.borrow().is_some_and(|tried| tried.ok)
    }

    /// Has the set fetched out of turn, unless that was done a moment ago, and waits for it a little.
    pub(super) async fn look_again(&self) {
        let shared = &*self.shared;
        let mut tried = shared.tried.subscribe();
        let recent = tried.borrow().is_some_and(|tried| tried.begun.elapsed() < shared.settings.apart);
        if recent {
            return;
        }
        let Some(_place) = Waiting::enter(&shared.waiting) else { return };
        shared.nudge.notify_one();
        let _too_late_or_ended = timeout(shared.settings.patience, tried.changed()).await;
    }
}

/// A place among the requests that wait.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn enter(count: &'a AtomicUsize) -> Option<Self> {
        let more = |n: usize| (n < WAITING_MAX).then_some(n + 1);
        count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self(count))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn keep(shared: Arc<Shared>) {
    let settings = shared.settings;
    let mut failing = false;
    loop {
        let begun = Instant::now();
        let told = once(&shared).await;
        let ok = told.is_ok();
        metrics::identity_keys_ok(&shared.room, ok);
        match told {
            Ok(Some(count)) => {
                tracing::info!(room = %shared.room, count, "the keys of the shop's tokens are new")
            }
            Ok(None) => {}
            Err(why) if !failing => {
                let kept = shared.set.load().is_some();
                tracing::warn!(room = %shared.room, place = ?shared.place, why, kept, "identity.jwks cannot be used");
            }
            Err(_) => {}
        }
        failing = !ok;
        shared.tried.send_replace(Some(Tried { begun, ok }));
        tokio::select! {
            () = sleep(if ok { settings.every } else { settings.retry }) => {}
            () = shared.nudge.notified() => sleep_until(begun + settings.apart).await,
        }
    }
}

/// Fetches the set; how many keys it holds if it is another one than before.
async fn once(shared: &Shared) -> Result<Option<usize>, String> {
    let document = fetch(&shared.place, shared.settings.longest).await.map_err(|error| error.to_string())?;
    let held = shared.set.load();
    if held.as_ref().is_some_and(|set| set.is(&document)) {
        return Ok(None);
    }
    let generation = held.as_ref().map_or(1, |set| set.generation + 1);
    let set = KeySet::read(&document, generation).map_err(|bad| bad.to_string())?;
    let count = set.len();
    shared.set.store(Some(Arc::new(set)));
    Ok(Some(count))
}
