//! Who is there, at this instance: it notes whom it hears, tells the store once a second, and answers positions from
//! the version that all instances use at this moment. No question here ever waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use rand::Rng;
use tokio::time::Instant;

use super::LineSettings;
use super::view::Known;
use crate::queue::QueueStore;
use crate::queue::presence::{Bits, Heard, Ranked, Shown};
use crate::room::{Lineage, Micros, Number, Snapshot, Voids};

/// Between two calls. One instance in a second makes the next version, whichever comes first.
const EVERY: Duration = Duration::from_secs(1);
/// Versions that are kept: the one in use, and those whose time has not come.
const KEPT: usize = 4;
/// Most bytes of what was heard in one call: as far as a line of 80 million reaches.
const HEARD_BYTES_MAX: usize = 10_000_000;

/// One version of who is there, ready to be asked.
#[derive(Debug)]
pub struct There {
    lineage: Lineage,
    frontier: Number,
    last: Number,
    use_from: Micros,
    shown: Ranked,
    live: Ranked,
}

impl There {
    /// How many who are shown stand before a number; newcomers that this version does not know count.
    #[must_use]
    pub fn ahead(&self, number: Number, voids: &Voids) -> u64 {
        self.before(&self.shown, number, voids)
    }

    /// How many of those before a number were heard of lately: who will probably be there when the turn comes.
    #[must_use]
    pub fn live_ahead(&self, number: Number, voids: &Voids) -> u64 {
        self.before(&self.live, number, voids)
    }

    /// How many wait, up to the last number that was handed out.
    #[must_use]
    pub fn waiting(&self, last: Number, voids: &Voids) -> u64 {
        self.before(&self.live, Number(last.0 + 1), voids)
    }

    fn before(&self, map: &Ranked, number: Number, voids: &Voids) -> u64 {
        let known = map.between(self.frontier, Number(number.0.min(self.last.0 + 1)));
        let (from, to) = (self.last.max(self.frontier), Number(number.0.saturating_sub(1)));
        let unknown = to.0.saturating_sub(from.0);
        known + unknown.saturating_sub(voids.between(from, to))
    }
}

/// What was heard since the last call.
#[derive(Default)]
struct Notes {
    heard: Bits,
    left: Vec<Number>,
}

/// The versions, and how the store's clock goes.
#[derive(Default, Clone)]
struct Versions {
    all: VecDeque<Arc<There>>,
    read: Option<(Instant, Micros)>,
}

/// See the top of the file.
pub(super) struct Presence {
    notes: Mutex<Notes>,
    versions: ArcSwap<Versions>,
}

impl Presence {
    pub(super) fn new() -> Self {
        Self { notes: Mutex::default(), versions: ArcSwap::default() }
    }

    /// A sign of life of a number.
    pub(super) fn hear(&self, number: Number) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let reach = (number.0 / 8).saturating_sub(notes.heard.base);
        if usize::try_from(reach).is_ok_and(|reach| reach < HEARD_BYTES_MAX) {
            notes.heard.set(number);
        }
    }

    /// A number gave its place up.
    pub(super) fn leave(&self, number: Number) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.left.len() < Heard::LEFT_MAX * 20 {
            notes.left.push(number);
        }
    }

    /// The version that is in use at this moment, if it is one of this life of the room.
    pub(super) fn there(&self, lineage: Lineage) -> Option<Arc<There>> {
        let versions = self.versions.load();
        let (read, clock) = versions.read?;
        let now = clock.plus(read.elapsed());
        let due = versions.all.iter().rev().find(|version| version.use_from <= now);
        due.or(versions.all.front()).filter(|version| version.lineage == lineage).cloned()
    }

    fn take(&self, base: u64) -> Notes {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        let told = notes.left.len().min(Heard::LEFT_MAX);
        let later = notes.left.split_off(told);
        let heard = std::mem::replace(&mut notes.heard, Bits::at(base));
        Notes { heard, left: std::mem::replace(&mut notes.left, later) }
    }

    /// What could not be told is told with the next call.
    fn give_back(&self, mut untold: Notes) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        untold.heard.or(&notes.heard);
        notes.heard = untold.heard;
        untold.left.append(&mut notes.left);
        untold.left.truncate(Heard::LEFT_MAX * 20);
        notes.left = untold.left;
    }

    fn learn(&self, lineage: Lineage, shown: Shown) {
        let Shown { frontier, last, use_from, bits, now, .. } = shown;
        let mut versions = Versions::clone(&self.versions.load());
        versions.read = Some((Instant::now(), now));
        if let Some((shown, live)) = bits {
            if versions.all.back().is_some_and(|newest| newest.lineage != lineage) {
                versions.all.clear();
            }
            let (shown, live) = (Ranked::new(shown), Ranked::new(live));
            versions.all.push_back(Arc::new(There { lineage, frontier, last, use_from, shown, live }));
            let used = versions.all.iter().rposition(|version| version.use_from <= now).unwrap_or(0);
            versions.all.drain(..used.max(versions.all.len().saturating_sub(KEPT)));
        }
        self.versions.store(Arc::new(versions));
    }
}

/// Tells and asks, once a second.
pub(super) async fn run(
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    presence: Arc<Presence>,
) {
    let mut version = (Lineage::default(), 0);
    loop {
        let jitter = rand::rng().random_range(0.95..1.0);
        tokio::time::sleep(EVERY.mul_f64(jitter)).await;
        let Some(snapshot) = known.snapshot() else { continue };
        version = told(&settings, &*store, &known, &presence, &snapshot, version).await;
    }
}

/// One call; the version that is known after it.
async fn told(
    settings: &LineSettings,
    store: &dyn QueueStore,
    known: &Known,
    presence: &Presence,
    snapshot: &Snapshot,
    (lineage, version): (Lineage, u64),
) -> (Lineage, u64) {
    let version = if lineage == snapshot.lineage { version } else { 0 };
    let Notes { mut heard, left } = presence.take(snapshot.frontier.0 / 8);
    heard = heard.window(heard.base, snapshot.last);
    let told = Heard { heard, left, version, absent_after: settings.absent_after };
    match store.presence(&settings.room, known.seen(), &told).await {
        Ok(shown) => {
            let version = shown.version;
            presence.learn(snapshot.lineage, shown);
            (snapshot.lineage, version)
        }
        Err(_) => {
            presence.give_back(Notes { heard: told.heard, left: told.left });
            (snapshot.lineage, version)
        }
    }
}
