//! Check-ins, ticks and pick-ups: one call after another, however many ask.
//!
//! A visitor whose turn is near is held here until it comes, so that a slot is taken the moment it is free.
//! Whoever hangs up is not presented any more. The map of the held is by number: five tabs of one visitor
//! are one check-in.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rand::Rng;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::LineSettings;
use super::view::Known;
use crate::metrics;
use crate::queue::{Advanced, QueueStore, StoreError};
use crate::room::{Control, Number, Seed, Snapshot, Standing};

/// The first ask of a call waits so long for others.
const WINDOW: Duration = Duration::from_millis(5);
/// Between two calls while somebody is held.
const CYCLE: Duration = Duration::from_millis(50);
/// Between two calls otherwise: ticks go on, the snapshot stays fresh, an operator's change is seen.
const TICK: Duration = Duration::from_millis(250);
/// How often the held who are not next are shown to the store.
const REFRESH: Duration = Duration::from_secs(1);
/// Held visitors whose turn is at most so far away are shown at every call.
const NEXT: Duration = Duration::from_millis(500);
/// Most numbers in one call.
const PRESENT_MAX: usize = 500;
/// Requests held for one number; more of them are answered at once.
const TABS_MAX: usize = 8;

/// One visitor who asks for their standing.
pub(super) struct Ask {
    pub(super) number: Number,
    pub(super) until: Instant,
    pub(super) reply: oneshot::Sender<Result<Standing, StoreError>>,
}

/// The requests of one number that wait for its turn.
struct Held {
    asks: Vec<Ask>,
    shown: Option<Instant>,
}

struct Turns {
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    held: BTreeMap<Number, Held>,
    rules_written: bool,
    /// Another instance has since written other rules.
    rules_differ: bool,
}

pub(super) async fn run(
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    mut asks: mpsc::Receiver<Ask>,
) {
    let mut turns =
        Turns { settings, store, known, held: BTreeMap::new(), rules_written: false, rules_differ: false };
    turns.open().await;
    let mut batch = Vec::new();
    loop {
        let pause = if turns.held.is_empty() { TICK } else { CYCLE };
        match tokio::time::timeout(pause, asks.recv_many(&mut batch, PRESENT_MAX)).await {
            Ok(0) => return,
            Ok(_) => collect(&mut asks, &mut batch).await,
            Err(_) => {}
        }
        turns.hold(batch.drain(..));
        turns.call().await;
        metrics::turns_held(&turns.settings.room, turns.held.len());
    }
}

async fn collect(asks: &mut mpsc::Receiver<Ask>, batch: &mut Vec<Ask>) {
    let end = Instant::now() + WINDOW;
    while batch.len() < PRESENT_MAX {
        let room = PRESENT_MAX - batch.len();
        match tokio::time::timeout_at(end, asks.recv_many(batch, room)).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
    }
}

impl Turns {
    /// A starting instance creates an absent room, once; later only an operator does.
    async fn open(&mut self) {
        loop {
            let LineSettings { room, rules, lineage, .. } = &self.settings;
            match self.store.create(room, rules, *lineage).await {
                Ok(snapshot) => match self.same_keys(snapshot).await {
                    Ok(snapshot) => {
                        self.known.learn(snapshot);
                        return;
                    }
                    Err(error) => self.failed(&error),
                },
                Err(error) => self.failed(&error),
            }
            let jitter = rand::rng().random_range(0.8..1.2);
            tokio::time::sleep(TICK.mul_f64(jitter)).await;
        }
    }

    /// Instances with different keys must not share a room: each would send the others' visitors away. The first says
    /// which keys it has.
    async fn same_keys(&self, snapshot: Snapshot) -> Result<Snapshot, StoreError> {
        let LineSettings { room, keys, .. } = &self.settings;
        let claim = snapshot.keys.is_empty() && !keys.is_empty();
        let snapshot = if claim {
            self.store.control(room, self.known.seen(), &Control::Keys(keys.clone())).await?
        } else {
            snapshot
        };
        if self.known.is_others(&snapshot) { Err(StoreError::OtherKeys) } else { Ok(snapshot) }
    }

    fn hold(&mut self, asks: impl Iterator<Item = Ask>) {
        for ask in asks {
            let held = self.held.entry(ask.number).or_insert(Held { asks: Vec::new(), shown: None });
            held.shown = None;
            if held.asks.len() >= TABS_MAX {
                let oldest = held.asks.remove(0);
                let _gone = oldest.reply.send(Ok(Standing::Waiting));
            }
            held.asks.push(ask);
        }
    }

    /// One call for all who are asking, in pieces of a bounded size.
    async fn call(&mut self) {
        self.held.retain(|_, held| {
            held.asks.retain(|ask| !ask.reply.is_closed());
            !held.asks.is_empty()
        });
        let present = self.present();
        let begun = Instant::now();
        for piece in pieces(&present) {
            match self.store.advance(&self.settings.room, self.known.seen(), piece).await {
                Ok(Advanced { standings, snapshot }) => match self.same_keys(snapshot).await {
                    Ok(snapshot) => self.answer(piece, Advanced { standings, snapshot }, begun).await,
                    Err(error) => return self.give_up(&error).await,
                },
                Err(error) => return self.give_up(&error).await,
            }
        }
    }

    /// The numbers to show: all who are new, those whose turn is next, and the others once in a while.
    fn present(&self) -> Vec<Number> {
        let snapshot = self.known.snapshot();
        let next = |number: Number| snapshot.as_deref().is_some_and(|s| s.turn_in(number) <= NEXT);
        let due = |(number, held): &(&Number, &Held)| {
            held.shown.is_none_or(|at| at.elapsed() >= REFRESH) || next(**number)
        };
        self.held.iter().filter(due).map(|(number, _)| *number).collect()
    }

    async fn answer(&mut self, piece: &[Number], advanced: Advanced, now: Instant) {
        let snapshot = self.known.learn(advanced.snapshot);
        for (number, standing) in piece.iter().zip(advanced.standings) {
            self.tell(*number, standing, &snapshot, now);
        }
        self.end_patience(&snapshot, now);
        self.write_rules(&snapshot).await;
        self.offer_seed(&snapshot).await;
    }

    fn tell(&mut self, number: Number, standing: Standing, snapshot: &Snapshot, now: Instant) {
        let Some(held) = self.held.get_mut(&number) else { return };
        held.shown = Some(now);
        if standing == Standing::Waiting && snapshot.is_near(number) {
            return;
        }
        if let Some(held) = self.held.remove(&number) {
            for ask in held.asks {
                let _gone = ask.reply.send(Ok(standing));
            }
        }
    }

    /// Whoever has waited for as long as they would is told to come again.
    fn end_patience(&mut self, snapshot: &Snapshot, now: Instant) {
        self.held.retain(|number, held| {
            let near = snapshot.is_near(*number);
            if held.shown.is_none() {
                return true;
            }
            for ask in held.asks.extract_if(.., |ask| ask.until <= now || !near) {
                let _gone = ask.reply.send(Ok(Standing::Waiting));
            }
            !held.asks.is_empty()
        });
    }

    /// The rules of the file are written by whoever starts; one that differs later alarms and writes nothing.
    async fn write_rules(&mut self, snapshot: &Snapshot) {
        let differ = snapshot.rules_written != self.settings.rules;
        if !differ || self.rules_written {
            self.rules_written = true;
            self.notice(differ);
            return;
        }
        let change = Control::Rules(self.settings.rules.clone());
        match self.store.control(&self.settings.room, self.known.seen(), &change).await {
            Ok(snapshot) => {
                tracing::info!(room = %self.settings.room, "the rules of the file are now in force");
                self.known.learn(snapshot);
                self.rules_written = true;
            }
            Err(error) => self.failed(&error),
        }
    }

    /// A room with a draw needs a seed from its beginning, so that its commitment can be shown. Every instance
    /// offers one; the store keeps the first, and shows it to all.
    async fn offer_seed(&mut self, snapshot: &Snapshot) {
        if !snapshot.rules.schedule.draws() || snapshot.draw.seed.is_some() {
            return;
        }
        let change = Control::Seed(snapshot.lineage, Seed(rand::random()));
        match self.store.control(&self.settings.room, self.known.seen(), &change).await {
            Ok(snapshot) => {
                self.known.learn(snapshot);
            }
            Err(error) => self.failed(&error),
        }
    }

    fn notice(&mut self, differ: bool) {
        if differ && !self.rules_differ {
            let room = &self.settings.room;
            tracing::error!(%room, "another instance has written other rules; this one's file is not in force");
        }
        self.rules_differ = differ;
    }

    /// The store did not answer: everybody is told so at once, and the next try waits a little.
    async fn give_up(&mut self, error: &StoreError) {
        self.failed(error);
        for (_, held) in std::mem::take(&mut self.held) {
            for ask in held.asks {
                let _gone = ask.reply.send(Err(error.clone()));
            }
        }
        let jitter = rand::rng().random_range(0.5..1.0);
        tokio::time::sleep(CYCLE.mul_f64(jitter)).await;
    }

    fn failed(&self, error: &StoreError) {
        if self.known.view().fault.as_ref() != Some(error) {
            tracing::warn!(room = %self.settings.room, %error, "the line cannot be asked");
        }
        self.known.failed(error);
    }
}

/// At least one piece: a call with nobody is a plain tick.
fn pieces(present: &[Number]) -> Vec<&[Number]> {
    if present.is_empty() { vec![&[]] } else { present.chunks(PRESENT_MAX).collect() }
}
