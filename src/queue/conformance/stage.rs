//! A store, a clock that is moved by hand, and the few sentences that scenarios are told in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::server::RedisServer;
use crate::queue::embedded::EmbeddedStore;
use crate::queue::redis::RedisStore;
use crate::queue::{
    Advanced, Clock, Durability, InstanceId, JoinBatch, Place, QueueStore, Restored, Seen, Settings,
    StoreError,
};
use crate::room::{
    Control, IdentityHash, JoinOutcome, Joined, Lineage, Micros, Number, RoomId, Rules, Snapshot, Standing,
    StayReport, Stayed,
};

/// The moment at which every scenario begins.
pub(super) const START: u64 = 1_790_000_000_000_000;

const ROOM: &str = "hall";

/// The pass's own lifetime, where a scenario is not about what comes before its end.
pub(super) const LONG: Duration = Duration::from_secs(1800);

pub(super) enum Engine {
    Embedded(TempDir),
    Redis(Box<RedisServer>),
}

pub(super) struct Stage {
    pub(super) engine: Engine,
    pub(super) store: Arc<dyn QueueStore>,
    pub(super) room: RoomId,
    pub(super) seen: Seen,
    pub(super) sequence: u64,
    now: Arc<AtomicU64>,
}

/// Whatever was acknowledged is kept, and there is no replica to wait for: no ceilings, so that both stores agree.
pub(super) fn settings(place: Place) -> Settings {
    Settings {
        place,
        ca_file: None,
        timeout: Duration::from_secs(20),
        durability: Durability::Replicas(0),
        accept_loss: false,
    }
}

pub(super) fn rules(rate: &str) -> Rules {
    Rules { first_use: LONG, ..Rules::at(rate.parse().unwrap()) }
}

pub(super) fn id(byte: u8) -> Option<IdentityHash> {
    Some(IdentityHash([byte; 16]))
}

impl Stage {
    pub(super) fn embedded() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicU64::new(START));
        let store = Arc::new(open_embedded(&dir, &now));
        Self::new(Engine::Embedded(dir), store, now)
    }

    pub(super) async fn redis() -> Self {
        Self::on(RedisServer::durable()).await
    }

    /// On the node of a cluster that keeps the stage's room and no other.
    pub(super) async fn cluster() -> Self {
        Self::on(RedisServer::cluster(ROOM)).await
    }

    async fn on(server: RedisServer) -> Self {
        let now = Arc::new(AtomicU64::new(START));
        let store = Arc::new(open_redis(&server, &now).await);
        Self::new(Engine::Redis(Box::new(server)), store, now)
    }

    fn new(engine: Engine, store: Arc<dyn QueueStore>, now: Arc<AtomicU64>) -> Self {
        let room = RoomId::new(ROOM).unwrap();
        Self { engine, store, room, seen: Seen::default(), sequence: 0, now }
    }

    /// The store's process ends and another begins: killed without warning, for Redis.
    pub(super) async fn restart(&mut self) {
        self.store.close().await;
        self.store = match &mut self.engine {
            Engine::Embedded(dir) => Arc::new(open_embedded(dir, &self.now)),
            Engine::Redis(server) => {
                server.kill();
                server.start();
                Arc::new(open_redis(server, &self.now).await)
            }
        };
    }

    /// Keeps what a Redis holds, to fall back to.
    pub(super) fn keep(&mut self) {
        self.eval(
            "for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', k, k, 'DB', 1, 'REPLACE') end",
            1,
        );
    }

    /// A Redis holds again what was kept last.
    pub(super) fn fall_back(&mut self) {
        self.eval("redis.call('FLUSHDB')", 0);
        self.eval("redis.call('SELECT', 1) for _, k in ipairs(redis.call('KEYS', '*')) do redis.call('COPY', k, k, 'DB', 0) end", 0);
    }

    fn eval(&mut self, script: &str, empties: u8) {
        let Engine::Redis(server) = &self.engine else { panic!("only Redis falls back") };
        let empty = if empties > 0 {
            format!("redis.call('SELECT', {empties}) redis.call('FLUSHDB') redis.call('SELECT', 0) ")
        } else {
            String::new()
        };
        let said = server.say(&format!("EVAL \"{empty}{script}\" 0"));
        assert!(said.as_deref().is_some_and(|said| said.starts_with("$-1")), "{said:?}");
    }

    pub(super) async fn restore(&mut self, places: &[(Number, Option<IdentityHash>)]) -> Restored {
        let restored = self.store.restore(&self.room, self.seen, places).await.unwrap();
        self.saw(&restored.snapshot);
        restored
    }

    pub(super) fn now(&self) -> Micros {
        Micros(self.now.load(Ordering::SeqCst))
    }

    pub(super) fn step_clock(&mut self, by: i64) {
        let now = self.now().0.checked_add_signed(by).unwrap();
        self.now.store(now, Ordering::SeqCst);
    }

    fn saw(&mut self, snapshot: &Snapshot) {
        self.seen = Seen { epoch: snapshot.epoch, version: snapshot.version };
    }

    pub(super) async fn create(&mut self, rules: &Rules) -> Snapshot {
        let snapshot = self.store.create(&self.room, rules, Lineage(7)).await.unwrap();
        self.saw(&snapshot);
        snapshot
    }

    pub(super) fn batch(&mut self, entries: Vec<Option<IdentityHash>>) -> JoinBatch {
        self.sequence += 1;
        JoinBatch { instance: InstanceId(u64::MAX), sequence: self.sequence, entries }
    }

    pub(super) async fn join_batch(&mut self, batch: &JoinBatch) -> Joined {
        let joined = self.store.join(&self.room, self.seen, batch).await.unwrap();
        self.saw(&joined.snapshot);
        joined
    }

    pub(super) async fn join_as(&mut self, entries: Vec<Option<IdentityHash>>) -> Vec<JoinOutcome> {
        let batch = self.batch(entries);
        self.join_batch(&batch).await.outcomes
    }

    pub(super) async fn join(&mut self, count: usize) -> Vec<JoinOutcome> {
        self.join_as(vec![None; count]).await
    }

    pub(super) async fn try_join(&mut self) -> Result<Joined, StoreError> {
        let batch = self.batch(vec![None]);
        self.store.join(&self.room, self.seen, &batch).await
    }

    pub(super) async fn advance(&mut self, present: &[u64]) -> Advanced {
        let present: Vec<Number> = present.iter().copied().map(Number).collect();
        let advanced = self.store.advance(&self.room, self.seen, &present).await.unwrap();
        self.saw(&advanced.snapshot);
        advanced
    }

    /// Time passes with the ticks of an instance; `present` ask at each of them.
    pub(super) async fn wait(&mut self, ms: u64, present: &[u64]) -> Vec<Standing> {
        let mut standings = Vec::new();
        for _ in 0..ms.div_ceil(250) {
            self.step_clock(250_000);
            standings = self.advance(present).await.standings;
        }
        standings
    }

    pub(super) async fn leave(&mut self, numbers: &[u64]) -> Snapshot {
        let numbers: Vec<Number> = numbers.iter().copied().map(Number).collect();
        let snapshot = self.store.leave(&self.room, self.seen, &numbers).await.unwrap();
        self.saw(&snapshot);
        snapshot
    }

    pub(super) async fn stays(&mut self, report: &StayReport) -> Stayed {
        let stayed = self.store.stays(&self.room, self.seen, report).await.unwrap();
        self.saw(&stayed.snapshot);
        stayed
    }

    pub(super) async fn control(&mut self, change: Control) -> Snapshot {
        let snapshot = self.store.control(&self.room, self.seen, &change).await.unwrap();
        self.saw(&snapshot);
        snapshot
    }

    /// The slots of numbers, in microseconds since the start; `None` for those without one.
    pub(super) async fn slots(&mut self, numbers: &[u64]) -> Vec<Option<u64>> {
        self.advance(numbers).await.standings.iter().map(slot).collect()
    }
}

/// The slot of an admission, in microseconds since the start.
pub(super) fn slot(standing: &Standing) -> Option<u64> {
    match standing {
        Standing::Admitted(admission) => Some(admission.slot.0 - START),
        _ => None,
    }
}

/// The number of an outcome, and whether it is new.
pub(super) fn number(outcome: &JoinOutcome) -> (u64, bool) {
    match outcome {
        JoinOutcome::Placed { number, new, .. } => (number.0, *new),
        other => panic!("no place: {other:?}"),
    }
}

fn clock(now: &Arc<AtomicU64>) -> Clock {
    let now = Arc::clone(now);
    Arc::new(move || Micros(now.load(Ordering::SeqCst)))
}

fn open_embedded(dir: &TempDir, now: &Arc<AtomicU64>) -> EmbeddedStore {
    let settings = settings(Place::File(dir.path().to_owned()));
    EmbeddedStore::with_clock(&settings, clock(now)).unwrap()
}

async fn open_redis(server: &RedisServer, now: &Arc<AtomicU64>) -> RedisStore {
    let store = RedisStore::with_clock(&settings(Place::Redis(server.url())), clock(now)).unwrap();
    let begun = Instant::now();
    while let Err(error) = store.probe().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    store
}
