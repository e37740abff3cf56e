//! A replica that was cut off from its primary takes over: what instances and visitors saw of the lost writes is taken
//! up, and no number is given a second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::RedisStore;
use crate::queue::conformance::server::RedisServer;
use crate::queue::{Durability, InstanceId, JoinBatch, Place, QueueStore, Seen, Settings, StoreError};
use crate::room::{
    Control, IdentityHash, JoinOutcome, Lineage, Micros, Number, Phase, RoomId, Rules, Snapshot, Standing,
};

type Now = Arc<AtomicU64>;

struct Instance {
    store: RedisStore,
    id: u64,
    sequence: u64,
}

fn hall() -> RoomId {
    RoomId::new("hall").unwrap()
}

impl Instance {
    async fn at(server: &RedisServer, durability: Durability, now: &Now, id: u64) -> Self {
        let place = Place::Redis(server.url());
        let timeout = Duration::from_secs(20);
        let settings = Settings { place, timeout, durability, accept_loss: false, ca_file: None };
        let now = Arc::clone(now);
        let clock: crate::queue::Clock = Arc::new(move || Micros(now.load(Ordering::SeqCst)));
        let store = RedisStore::with_clock(&settings, clock).unwrap();
        store.probe().await.unwrap();
        Self { store, id, sequence: 0 }
    }

    /// The same instance, once its address leads to another server.
    async fn moved(&self, server: &RedisServer, now: &Now) -> Self {
        let other = Self::at(server, self.store.durability, now, self.id).await;
        if let Some(known) = self.store.memory.of(&hall()) {
            other.store.memory.learn(&hall(), &known);
        }
        Self { sequence: self.sequence, ..other }
    }

    async fn join(&mut self, entries: &[Option<IdentityHash>]) -> Result<Vec<u64>, StoreError> {
        self.sequence += 1;
        let (instance, sequence) = (InstanceId(self.id), self.sequence);
        let batch = JoinBatch { instance, sequence, entries: entries.to_vec() };
        let joined = self.store.join(&hall(), Seen::default(), &batch).await?;
        let numbers = joined.outcomes.iter().map(|outcome| match outcome {
            JoinOutcome::Placed { number, .. } => number.0,
            other => panic!("{other:?}"),
        });
        Ok(numbers.collect())
    }

    async fn tick(&self, present: &[u64]) -> (Vec<Standing>, Snapshot) {
        let present: Vec<Number> = present.iter().copied().map(Number).collect();
        let advanced = self.store.advance(&hall(), Seen::default(), &present).await.unwrap();
        (advanced.standings, advanced.snapshot)
    }
}

/// A primary and a replica of it that follows.
async fn pair(fsync: &str) -> (RedisServer, RedisServer) {
    let options = ["--appendonly", "yes", "--appendfsync", fsync, "--maxmemory-policy", "noeviction"];
    let (primary, replica) = (RedisServer::with(&options), RedisServer::with(&options));
    let port = primary.url().rsplit(':').next().unwrap().trim_end_matches('/').to_owned();
    replica.say(&format!("REPLICAOF 127.0.0.1 {port}")).unwrap();
    while !replica.say("ROLE").unwrap().contains("connected") {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (primary, replica)
}

/// Waits until the replica has everything, and cuts it off.
async fn cut_off(primary: &RedisServer, replica: &RedisServer) {
    let version = |server: &RedisServer| server.say("HGET rl:{hall}:s version");
    while version(primary) != version(replica) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    replica.say("REPLICAOF NO ONE").unwrap();
}

fn id(byte: u8) -> Option<IdentityHash> {
    Some(IdentityHash([byte; 16]))
}

fn pass(now: &Now, us: u64) {
    now.fetch_add(us, Ordering::SeqCst);
}

async fn no_number_is_given_twice(durability: Durability, fsync: &str, fresh: bool) {
    let (mut primary, replica) = pair(fsync).await;
    let now: Now = Arc::new(AtomicU64::new(1_790_000_000_000_000));
    let mut a = Instance::at(&primary, durability, &now, 1).await;
    let b = Instance::at(&primary, durability, &now, 2).await;
    a.store.create(&hall(), &Rules::at("2/s".parse().unwrap()), Lineage(7)).await.unwrap();
    let before = a.join(&[None; 5]).await.unwrap();
    b.tick(&[]).await;
    cut_off(&primary, &replica).await;
    let lost = a.join(&[id(1), None, None, None, None]).await.unwrap();
    assert_eq!((before, lost.clone()), (vec![1, 2, 3, 4, 5], vec![6, 7, 8, 9, 10]));
    let pause = Control::Pause { reason: Some("fire".to_owned()) };
    a.store.control(&hall(), Seen::default(), &pause).await.unwrap();
    primary.kill();

    // Whoever takes over knows less than A does, or nothing at all.
    let mut b =
        if fresh { Instance::at(&replica, durability, &now, 3).await } else { b.moved(&replica, &now).await };
    b.tick(&[]).await;
    let refused = b.join(&[None]).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    let mut a = a.moved(&replica, &now).await;
    let (standings, at) = a.tick(&lost).await;
    assert!(standings.iter().all(|standing| *standing == Standing::Waiting), "{standings:?}");
    assert_eq!(
        (at.phase, at.reason.as_deref()),
        (Phase::Paused, Some("fire")),
        "the pause was lost, and holds"
    );
    assert!(at.last.0 >= 10 && !at.voids.has(Number(10)), "{at:?}");
    pass(&now, 3_100_000);
    for instance in [&mut a, &mut b] {
        instance.tick(&[]).await;
        let new = instance.join(&[None; 3]).await.unwrap();
        assert!(new.iter().all(|number| *number > 10), "{new:?} after {lost:?}");
    }
    // An account whose row was lost comes on another device, and then with the ticket of the first.
    let other = a.join(&[id(1)]).await.unwrap();
    let restored = b.store.restore(&hall(), Seen::default(), &[(Number(6), id(1))]).await.unwrap();
    assert_eq!(restored.places, [Number(6)]);
    assert_eq!(a.join(&[id(1)]).await.unwrap(), [6]);
    assert_eq!(a.tick(&other).await.0, [Standing::Left]);
}

#[tokio::test]
async fn a_replica_that_was_cut_off_gives_no_number_twice_with_disk() {
    no_number_is_given_twice(Durability::Disk, "always", false).await;
}

#[tokio::test]
async fn a_replica_that_was_cut_off_gives_no_number_twice_with_memory() {
    no_number_is_given_twice(Durability::Memory, "everysec", false).await;
}

#[tokio::test]
async fn an_instance_that_has_just_started_takes_over_nothing_that_others_hold() {
    no_number_is_given_twice(Durability::Disk, "always", true).await;
}

/// The replica was not asked for its acknowledgement, so `replicas` promised nothing; what was seen counts all the same.
#[tokio::test]
async fn with_too_few_acknowledgements_asked_for_what_was_seen_is_taken_up() {
    no_number_is_given_twice(Durability::Replicas(0), "always", false).await;
}

#[tokio::test]
async fn the_ticket_of_an_instance_that_died_too_is_proof_enough() {
    let (mut primary, replica) = pair("always").await;
    let now: Now = Arc::new(AtomicU64::new(1_790_000_000_000_000));
    let mut a = Instance::at(&primary, Durability::Replicas(0), &now, 1).await;
    a.store.create(&hall(), &Rules::at("2/s".parse().unwrap()), Lineage(7)).await.unwrap();
    a.join(&[None; 5]).await.unwrap();
    cut_off(&primary, &replica).await;
    assert_eq!(a.join(&[None; 2]).await.unwrap(), [6, 7]);
    primary.kill();
    let mut fresh = Instance::at(&replica, Durability::Replicas(0), &now, 2).await;
    assert_eq!(fresh.tick(&[7]).await.0, [Standing::Unknown]);
    fresh.store.restore(&hall(), Seen::default(), &[(Number(7), None)]).await.unwrap();
    assert_eq!(fresh.tick(&[6, 7]).await.0, [Standing::Waiting; 2]);
    pass(&now, 3_100_000);
    fresh.tick(&[]).await;
    assert!(fresh.join(&[None]).await.unwrap()[0] > 7);
}
