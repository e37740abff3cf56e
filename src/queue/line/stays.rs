//! Stays at this instance: uses and ends go to the store in batches, and the log of ends comes back.
//!
//! An admitted request asks nobody and waits for nobody: it notes its use here, and reads what is known here.
//! Only what the store has acknowledged prolongs a stay; what ended here counts here at once, and elsewhere as
//! soon as the log has been read.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::LineSettings;
use super::view::Known;
use crate::metrics;
use crate::queue::{QueueStore, StoreError};
use crate::room::{EndCause, Lineage, Micros, Number, Snapshot, StayReport, Stayed};

/// Uses and ends are collected for so long; also how often the log is looked at.
const WINDOW: Duration = Duration::from_millis(200);
/// A use is reported again after this, or sooner where `idle` is short.
const AGAIN: Duration = Duration::from_secs(5);
/// Stays that are remembered, about 60 bytes each; beyond it uses are reported more often, and renewals wait.
const KNOWN_MAX: usize = 500_000;
/// Ended numbers that are remembered: as many as a store's log keeps.
const ENDED_MAX: usize = 1_000_000;
/// An ended number is remembered for so long beyond the longest life of its pass: leeway and clocks that differ.
const ENDED_KEPT: Duration = Duration::from_secs(120);
/// Between two looks for what can be forgotten.
const SWEEP: Duration = Duration::from_secs(10);
/// Uses and ends that wait for their batch.
const WAITING_MAX: usize = 65_536;

/// What is known of a stay.
#[derive(Clone, Copy)]
struct Kept {
    /// What the store acknowledged last; 0 before the first time.
    until: Micros,
    reported: Instant,
}

/// One end, and who waits for it.
struct End {
    number: Number,
    cause: EndCause,
    reply: Option<oneshot::Sender<Result<(), StoreError>>>,
}

/// What this instance knows of stays. Readers take no lock over the whole.
pub(super) struct Stays {
    uses: mpsc::Sender<Number>,
    ends: mpsc::Sender<End>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    known: DashMap<Number, Kept>,
    /// Until when they must be remembered.
    ended: DashMap<Number, Micros>,
}

impl Stays {
    /// The memory, and the task that keeps it.
    pub(super) fn new(
        settings: LineSettings,
        store: Arc<dyn QueueStore>,
        known: Arc<Known>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (uses, use_requests) = mpsc::channel(WAITING_MAX);
        let (ends, end_requests) = mpsc::channel(WAITING_MAX);
        let shared = Arc::<Shared>::default();
        let task = Task {
            settings,
            store,
            known,
            shared: Arc::clone(&shared),
            lineage: None,
            log_from: 0,
            uses: Vec::new(),
            ends: Vec::new(),
            swept: Instant::now(),
        };
        (Self { uses, ends, shared }, task.run(use_requests, end_requests))
    }

    /// A pass was used. Reported with the next batch, unless that was done a moment ago.
    pub(super) fn used(&self, number: Number, idle: Duration) {
        let again = AGAIN.min(idle / 4);
        let now = Instant::now();
        if self.shared.known.get(&number).is_some_and(|kept| now - kept.reported < again) {
            return;
        }
        if self.uses.try_send(number).is_err() {
            return;
        }
        let room = self.shared.known.len() < KNOWN_MAX;
        match self.shared.known.get_mut(&number) {
            Some(mut kept) => kept.reported = now,
            None if room => {
                self.shared.known.insert(number, Kept { until: Micros(0), reported: now });
            }
            None => {}
        }
    }

    /// What the store has acknowledged of a stay that was used here.
    pub(super) fn until(&self, number: Number) -> Option<Micros> {
        self.shared.known.get(&number).map(|kept| kept.until).filter(|until| until.0 > 0)
    }

    /// Whether a stay is known to have been ended.
    pub(super) fn has_ended(&self, number: Number) -> bool {
        self.shared.ended.contains_key(&number)
    }

    /// Ends a stay, once the store has it.
    pub(super) async fn end(&self, number: Number, cause: EndCause) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        let end = End { number, cause, reply: Some(reply) };
        self.ends.try_send(end).map_err(|_| StoreError::Refused("too many ends at once".into()))?;
        answer.await.unwrap_or_else(|_| Err(super::stopped()))
    }

    /// Ends a stay here at once; the store is told, again and again if need be.
    pub(super) fn end_here(&self, number: Number, cause: EndCause, kept: Micros) {
        self.shared.remember_end(number, kept);
        if self.ends.try_send(End { number, cause, reply: None }).is_err() {
            tracing::error!("too many ends at once: one is known to this instance alone");
        }
    }
}

impl Shared {
    fn remember_end(&self, number: Number, kept: Micros) {
        self.known.remove(&number);
        if self.ended.len() < ENDED_MAX {
            self.ended.insert(number, kept);
        }
    }
}

struct Task {
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    shared: Arc<Shared>,
    lineage: Option<Lineage>,
    /// How far the log of ends was read.
    log_from: u64,
    uses: Vec<Number>,
    ends: Vec<End>,
    swept: Instant,
}

impl Task {
    async fn run(mut self, mut uses: mpsc::Receiver<Number>, mut ends: mpsc::Receiver<End>) {
        loop {
            tokio::select! {
                // Whoever waits for an end is served at once.
                count = ends.recv_many(&mut self.ends, StayReport::MAX), if self.ends.len() < StayReport::MAX => {
                    if count == 0 {
                        return;
                    }
                }
                () = tokio::time::sleep(WINDOW) => {}
            }
            while self.uses.len() < StayReport::MAX {
                let Ok(number) = uses.try_recv() else { break };
                self.uses.push(number);
            }
            self.turn().await;
        }
    }

    /// One call, if there is anything to tell or to read; more at once while the log is long.
    async fn turn(&mut self) {
        let Some(snapshot) = self.known.snapshot() else { return self.refuse(&StoreError::NoRoom) };
        self.follow_life(&snapshot);
        while !self.uses.is_empty() || !self.ends.is_empty() || self.behind() {
            let report = StayReport {
                used: self.uses.clone(),
                ended: self.ends.iter().map(|end| (end.number, end.cause)).collect(),
                log_from: self.log_from,
            };
            match self.store.stays(&self.settings.room, self.known.seen(), &report).await {
                Ok(stayed) => self.learn(&report, stayed),
                Err(error) => {
                    self.known.failed(&error);
                    return self.refuse(&error);
                }
            }
        }
        self.sweep();
    }

    /// Whether the store's log goes further than it was read, or began anew.
    fn behind(&self) -> bool {
        self.known.snapshot().is_some_and(|snapshot| snapshot.ended_to != self.log_from)
    }

    /// A new life of the room: nothing of the old one counts any more.
    fn follow_life(&mut self, snapshot: &Snapshot) {
        if self.lineage.replace(snapshot.lineage).is_some_and(|before| before != snapshot.lineage) {
            self.shared.known.clear();
            self.shared.ended.clear();
            self.uses.clear();
            self.log_from = 0;
        }
    }

    fn learn(&mut self, report: &StayReport, stayed: Stayed) {
        let Stayed { until, ended, log_to, snapshot } = stayed;
        for (number, until) in report.used.iter().zip(until) {
            match (until, self.shared.known.get_mut(number)) {
                (Some(until), Some(mut kept)) => kept.until = until,
                (Some(_), None) => {}
                (None, entry) => {
                    drop(entry);
                    self.shared.known.remove(number);
                }
            }
        }
        let kept = snapshot.now.plus(snapshot.rules.pass_ttl + ENDED_KEPT);
        for number in ended {
            self.shared.remember_end(number, kept);
        }
        self.log_from = log_to;
        self.uses.clear();
        for end in self.ends.drain(..) {
            self.shared.remember_end(end.number, kept);
            metrics::stay_ended(&self.settings.room, end.cause.label());
            if let Some(reply) = end.reply {
                let _gone = reply.send(Ok(()));
            }
        }
        // A store that tells less than it knows would be asked for ever: its next snapshot decides.
        let snapshot = self.known.learn(snapshot);
        if snapshot.ended_to < self.log_from {
            self.log_from = snapshot.ended_to;
        }
    }

    /// The store did not answer: who waits is told so, the shop's own ends are kept for the next try, uses are
    /// reported when they happen again.
    fn refuse(&mut self, error: &StoreError) {
        for number in self.uses.drain(..) {
            self.shared.known.remove_if(&number, |_, kept| kept.until == Micros(0));
        }
        for mut end in self.ends.extract_if(.., |end| end.reply.is_some()) {
            if let Some(reply) = end.reply.take() {
                let _gone = reply.send(Err(error.clone()));
            }
        }
    }

    fn sweep(&mut self) {
        if self.swept.elapsed() < SWEEP {
            return;
        }
        self.swept = Instant::now();
        let Some(snapshot) = self.known.snapshot() else { return };
        let now = snapshot.now;
        let idle = snapshot.rules.idle;
        self.shared.known.retain(|_, kept| kept.until > now || kept.reported.elapsed() < idle);
        self.shared.ended.retain(|_, kept| *kept > now);
    }
}
