//! An instance's side of one room.
//!
//! Single joins and check-ins become batches here, so that what an instance asks of its store depends on the
//! rate and not on how many wait. Everything else is answered from the last snapshot.

mod joins;
mod left;
mod lost;
mod news;
mod presence;
mod stays;
mod turns;
mod view;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::{InstanceId, QueueStore, StoreError};
use crate::room::{
    Control, EndCause, IdentityHash, JoinOutcome, Lineage, Micros, Number, RoomId, Rules, Snapshot, Standing,
};
use joins::JoinRequest;
use left::Left;
use lost::Lost;
use presence::Presence;
pub use presence::There;
use stays::Stays;
use turns::Ask;
use view::Known;
pub use view::View;

/// Joins and asks that may wait for their batch; beyond it the visitor is told to come again.
const WAITING_MAX: usize = 65_536;

/// What a line needs besides its store.
#[derive(Debug, Clone)]
pub struct LineSettings {
    /// The room.
    pub room: RoomId,
    /// The rules of the file; written to the store at the start.
    pub rules: Rules,
    /// This instance.
    pub instance: InstanceId,
    /// The life that the room gets if this start has to create it.
    pub lineage: Lineage,
    /// The fingerprint of the keys that this instance's tickets and passes are made with.
    pub keys: String,
    /// How long a number counts after it was last heard of.
    pub absent_after: Duration,
    /// `store.timeout`: the room counts as unavailable when the last good snapshot is older than this and
    /// a second.
    pub timeout: Duration,
}

/// An instance's side of one room: batches, held turns, the snapshot. Dropping it stops its tasks.
pub struct Line {
    settings: LineSettings,
    store: Arc<dyn QueueStore>,
    known: Arc<Known>,
    left: Left,
    lost: Lost,
    joins: mpsc::Sender<JoinRequest>,
    asks: mpsc::Sender<Ask>,
    news: watch::Receiver<u64>,
    stays: Stays,
    presence: Arc<Presence>,
    /// The tasks that form batches; aborted with the line.
    _tasks: JoinSet<()>,
}

impl Line {
    /// Starts the line's tasks on the current runtime. The store need not be reachable: the line is
    /// unavailable until it is.
    #[must_use]
    pub fn start(settings: LineSettings, store: Arc<dyn QueueStore>) -> Arc<Self> {
        let known = Arc::new(Known::new(settings.timeout, settings.keys.clone()));
        let (joins, join_requests) = mpsc::channel(WAITING_MAX);
        let (asks, ask_requests) = mpsc::channel(WAITING_MAX);
        let mut tasks = JoinSet::new();
        tasks.spawn(joins::run(settings.clone(), Arc::clone(&store), Arc::clone(&known), join_requests));
        tasks.spawn(turns::run(settings.clone(), Arc::clone(&store), Arc::clone(&known), ask_requests));
        let (stays, keeper) = Stays::new(settings.clone(), Arc::clone(&store), Arc::clone(&known));
        tasks.spawn(keeper);
        let presence = Arc::new(Presence::new());
        let exchange =
            presence::run(settings.clone(), Arc::clone(&store), Arc::clone(&known), Arc::clone(&presence));
        tasks.spawn(exchange);
        let (told, news) = watch::channel(0);
        tasks.spawn(news::run(Arc::clone(&known), told));
        let (left, lost) = (Left::default(), Lost::default());
        Arc::new(Self {
            settings,
            store,
            known,
            left,
            lost,
            joins,
            asks,
            news,
            stays,
            presence,
            _tasks: tasks,
        })
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &RoomId {
        &self.settings.room
    }

    /// What is known right now, from memory.
    #[must_use]
    pub fn view(&self) -> View {
        let mut view = self.known.view();
        let lineage = view.snapshot.as_deref().map(|snapshot| snapshot.lineage);
        view.there = lineage.and_then(|lineage| self.presence.there(lineage));
        view
    }

    /// A sign of life of somebody in line, by place: they are counted.
    pub fn hear(&self, place: Number) {
        if let Some(snapshot) = self.known.snapshot() {
            self.presence.hear(snapshot.draw.number_of(place));
        }
    }

    /// Changes when something has changed for everybody in the room: a pause, a message, the store away or
    /// back. Not when positions do.
    #[must_use]
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.clone()
    }

    /// Takes a place.
    ///
    /// # Errors
    /// As the store says; then the visitor has no place, and may try again.
    pub async fn join(&self, identity: Option<IdentityHash>) -> Result<JoinOutcome, StoreError> {
        let (reply, answer) = oneshot::channel();
        let request = JoinRequest { identity, reply };
        self.joins.try_send(request).map_err(|_| StoreError::Refused("too many joins at once".into()))?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// Asks where a number stands, which is also its check-in and its pick-up, and waits for the turn for at
    /// most `patience` if that is near.
    ///
    /// # Errors
    /// As the store says; the place is kept all the same.
    pub async fn ask(&self, number: Number, patience: Duration) -> Result<Standing, StoreError> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask { number, until: tokio::time::Instant::now() + patience, reply };
        self.asks.try_send(ask).map_err(|_| StoreError::Refused("too many asks at once".into()))?;
        answer.await.unwrap_or_else(|_| Err(stopped()))
    }

    /// The place of a ticket of this life of the room. If the store may have lost it, it is put back first: the
    /// ticket's own number, unless the identity has another one by now.
    ///
    /// # Errors
    /// As the store says; the place is kept all the same.
    pub async fn place_of(
        &self,
        place: Number,
        identity: Option<IdentityHash>,
    ) -> Result<Number, StoreError> {
        let Some(snapshot) = self.known.snapshot() else { return Ok(place) };
        if !self.lost.asks(&snapshot, place, identity) {
            return Ok(place);
        }
        match self.store.restore(self.room(), self.known.seen(), &[(place, identity)]).await {
            Ok(restored) => {
                let snapshot = self.known.learn(restored.snapshot);
                self.lost.shown(&snapshot, place);
                Ok(restored.places.first().copied().unwrap_or(place))
            }
            Err(error) => {
                self.known.failed(&error);
                Err(error)
            }
        }
    }

    /// Gives a place up.
    ///
    /// # Errors
    /// As the store says.
    pub async fn leave(&self, place: Number) -> Result<(), StoreError> {
        let seen = self.known.seen();
        let snapshot = self.learn(self.store.leave(self.room(), seen, &[place]).await)?;
        let number = snapshot.draw.number_of(place);
        if number > snapshot.called {
            self.left.add(place, snapshot.called.min(Number(place.0.saturating_sub(1))));
        }
        self.presence.leave(number);
        Ok(())
    }

    /// Whether a place that is not called yet was given up at this instance. Other instances learn it when
    /// it is called and asks.
    #[must_use]
    pub fn has_left(&self, place: Number) -> bool {
        self.left.has(place)
    }

    /// A pass of this number was used: the store is told with the next batch. Never waits.
    pub fn used(&self, number: Number) {
        if let Some(snapshot) = self.known.snapshot() {
            self.stays.used(number, snapshot.rules.idle);
        }
    }

    /// Until when the store has acknowledged a stay whose pass was used at this instance.
    #[must_use]
    pub fn acknowledged(&self, number: Number) -> Option<Micros> {
        self.stays.until(number)
    }

    /// Whether a pass no longer opens anything, as far as this instance knows: its stay was ended or revoked, or it
    /// is of another life of the room. Before the first snapshot nothing is known, and the pass is believed.
    #[must_use]
    pub fn is_over(&self, lineage: Lineage, number: Number, slot: Micros) -> bool {
        let Some(snapshot) = self.known.snapshot() else { return false };
        lineage != snapshot.lineage || slot < snapshot.revoked_before || self.stays.has_ended(number)
    }

    /// Ends a stay; the place inside is free once this returns.
    ///
    /// # Errors
    /// As the store says; then the stay goes on.
    pub async fn end(&self, number: Number, cause: EndCause) -> Result<(), StoreError> {
        self.stays.end(number, cause).await
    }

    /// Ends a stay at this instance at once, and everywhere as soon as the store can be told.
    pub fn end_here(&self, number: Number, cause: EndCause, printed: Micros) {
        self.stays.end_here(number, cause, printed);
    }

    /// An operator's change; the snapshot after it.
    ///
    /// # Errors
    /// As the store says.
    pub async fn control(&self, change: Control) -> Result<Arc<Snapshot>, StoreError> {
        let seen = self.known.seen();
        self.learn(self.store.control(self.room(), seen, &change).await)
    }

    /// Makes the room if the store holds none: an operator's way out after its data was lost. What this
    /// instance had seen of the old room no longer counts.
    ///
    /// # Errors
    /// As the store says.
    pub async fn create(&self, lineage: Lineage) -> Result<Arc<Snapshot>, StoreError> {
        let snapshot = self.store.create(self.room(), &self.settings.rules, lineage).await?;
        Ok(self.known.replace(snapshot))
    }

    fn learn(&self, answer: Result<Snapshot, StoreError>) -> Result<Arc<Snapshot>, StoreError> {
        match answer {
            Ok(snapshot) => Ok(self.known.learn(snapshot)),
            Err(error) => {
                self.known.failed(&error);
                Err(error)
            }
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Unreachable("this instance is stopping".into())
}
