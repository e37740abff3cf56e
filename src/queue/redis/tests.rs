//! The connection under faults, against a real server.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::RedisStore;
use crate::queue::conformance::server::RedisServer;
use crate::queue::{Durability, InstanceId, JoinBatch, Place, QueueStore, Seen, Settings, StoreError};
use crate::room::{JoinOutcome, Lineage, Micros, Number, RoomId, Rules, Snapshot};

const DURABLE: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];

fn settings(url: &str, timeout_ms: u64) -> Settings {
    Settings {
        place: Place::Redis(url.to_owned()),
        timeout: Duration::from_millis(timeout_ms),
        durability: Durability::Disk,
        accept_loss: false,
        ca_file: None,
    }
}

fn room() -> RoomId {
    RoomId::new("hall").unwrap()
}

async fn create(store: &RedisStore) -> Result<Snapshot, StoreError> {
    store.create(&room(), &Rules::at("10/s".parse().unwrap()), Lineage(7)).await
}

/// Ticks until it works.
async fn healed(store: &RedisStore) -> Snapshot {
    let begun = Instant::now();
    loop {
        match store.advance(&room(), Seen::default(), &[]).await {
            Ok(advanced) => return advanced.snapshot,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_yet_fails_calls_at_once_and_is_found_later() {
    let mut server = RedisServer::stopped(&DURABLE);
    let store = RedisStore::connect(&settings(&server.url(), 2000)).unwrap();
    assert!(matches!(store.probe().await, Err(StoreError::Unreachable(_))));
    assert!(matches!(create(&store).await, Err(StoreError::Unreachable(_))));
    server.start();
    while create(&store).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(healed(&store).await.last, Number(0));
}

#[tokio::test]
async fn a_server_that_was_killed_and_started_again_is_used_again() {
    let mut server = RedisServer::durable();
    let store = RedisStore::connect(&settings(&server.url(), 5000)).unwrap();
    store.probe().await.unwrap();
    let before = create(&store).await.unwrap();
    let mut epoch = before.epoch;
    for _ in 1..=3 {
        server.kill();
        server.start();
        let after = healed(&store).await;
        assert!(after.epoch > epoch, "a takeover for each new life");
        epoch = after.epoch;
    }
}

#[tokio::test]
async fn a_server_that_hangs_costs_two_timeouts_and_then_nothing() {
    let server = RedisServer::durable();
    let store = RedisStore::connect(&settings(&server.url(), 500)).unwrap();
    while store.probe().await.is_err() || create(&store).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.hang(true);
    let mut answers = Vec::new();
    for _ in 0..3 {
        answers.push(store.advance(&room(), Seen::default(), &[]).await.unwrap_err());
    }
    server.hang(false);
    assert_eq!(answers[..2], [StoreError::TimedOut, StoreError::TimedOut]);
    assert!(matches!(answers[2], StoreError::Unreachable(_)), "{:?}", answers[2]);
    healed(&store).await;
}

fn batch(sequence: u64, count: usize) -> JoinBatch {
    JoinBatch { instance: InstanceId(1), sequence, entries: vec![None; count] }
}

#[tokio::test]
async fn a_join_that_timed_out_is_repeated_without_a_second_place() {
    let server = RedisServer::durable();
    let store = RedisStore::connect(&settings(&server.url(), 500)).unwrap();
    while store.probe().await.is_err() || create(&store).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.hang(true);
    let unknown = store.join(&room(), Seen::default(), &batch(1, 3)).await;
    server.hang(false);
    assert_eq!(unknown.unwrap_err(), StoreError::TimedOut);
    let joined = loop {
        match store.join(&room(), Seen::default(), &batch(1, 3)).await {
            Ok(joined) => break joined,
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let numbers = joined.outcomes.iter().map(|outcome| match outcome {
        JoinOutcome::Placed { number, .. } => number.0,
        _ => 0,
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(joined.snapshot.last, Number(3));
}

#[tokio::test]
async fn lost_scripts_are_loaded_again() {
    let server = RedisServer::durable();
    let store = RedisStore::connect(&settings(&server.url(), 5000)).unwrap();
    store.probe().await.unwrap();
    create(&store).await.unwrap();
    server.say("SCRIPT FLUSH").unwrap();
    assert_eq!(store.advance(&room(), Seen::default(), &[]).await.unwrap().snapshot.last, Number(0));
}

#[tokio::test]
async fn a_server_that_hangs_up_is_dialled_at_most_ten_times_a_second() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let dials = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dials);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            drop(stream);
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let store = RedisStore::connect(&settings(&format!("redis://127.0.0.1:{port}"), 500)).unwrap();
    let begun = Instant::now();
    while dials.load(Ordering::SeqCst) < 5 {
        for _ in 0..100 {
            assert!(store.advance(&room(), Seen::default(), &[]).await.is_err());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(begun.elapsed() >= Duration::from_millis(400), "5 dials within {:?}", begun.elapsed());
}

#[tokio::test]
async fn a_server_that_may_forget_is_refused_with_the_remedy() {
    let cases: [(&[&str], &str); 3] = [
        (
            &["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "allkeys-lru"],
            "noeviction",
        ),
        (&["--appendonly", "no"], "appendonly yes"),
        (&["--appendonly", "yes", "--appendfsync", "everysec"], "appendfsync always"),
    ];
    for (options, remedy) in cases {
        let server = RedisServer::with(options);
        let store = RedisStore::connect(&settings(&server.url(), 5000)).unwrap();
        match store.probe().await {
            Err(StoreError::Unsafe(why)) => assert!(why.contains(remedy), "{why}"),
            other => panic!("{options:?}: {other:?}"),
        }
        assert!(matches!(create(&store).await, Err(StoreError::Unsafe(_))));
    }
}

#[tokio::test]
async fn a_server_that_becomes_a_replica_is_not_written_to() {
    let server = RedisServer::durable();
    let store = RedisStore::connect(&settings(&server.url(), 5000)).unwrap();
    store.probe().await.unwrap();
    create(&store).await.unwrap();
    server.say("REPLICAOF 127.0.0.1 1").unwrap();
    let mut error = store.advance(&room(), Seen::default(), &[]).await.unwrap_err();
    while !matches!(error, StoreError::Unsafe(_)) {
        error = store.advance(&room(), Seen::default(), &[]).await.unwrap_err();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.say("REPLICAOF NO ONE").unwrap();
    healed(&store).await;
}

#[tokio::test]
async fn a_wrong_password_is_said_and_does_not_hang() {
    let server = RedisServer::with(&[&DURABLE[..], &["--requirepass", "right"]].concat());
    let url = server.url().replace("redis://", "redis://:wrong@");
    let store = RedisStore::connect(&settings(&url, 5000)).unwrap();
    match store.probe().await {
        Err(StoreError::Refused(why)) => {
            assert!(why.contains("password") && !why.contains("wrong@"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn with_memory_numbers_stay_below_a_durable_ceiling_and_a_new_life_starts_there() {
    let mut server = RedisServer::with(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let memory = Settings { durability: Durability::Memory, ..settings(&server.url(), 20_000) };
    let now = Arc::new(AtomicU64::new(1_790_000_000_000_000));
    let clock = Arc::clone(&now);
    let store =
        RedisStore::with_clock(&memory, Arc::new(move || Micros(clock.load(Ordering::SeqCst)))).unwrap();
    store.probe().await.unwrap();
    create(&store).await.unwrap();
    let mut placed = 0;
    let refused = loop {
        match store.join(&room(), Seen::default(), &batch(placed / 500 + 1, 500)).await {
            Ok(joined) => placed = joined.snapshot.last.0,
            Err(error) => break error,
        }
        assert!(placed < 1_000_000, "no ceiling");
    };
    assert!(matches!(refused, StoreError::Refused(_)), "{refused:?}");
    now.fetch_add(3_000_000, Ordering::SeqCst);
    let next = store.join(&room(), Seen::default(), &batch(placed / 500 + 1, 500)).await.unwrap();
    assert_eq!(next.snapshot.last, Number(placed + 500), "the next ceiling is durable by now");

    server.kill();
    server.start();
    let after = healed(&store).await;
    assert!(after.last > next.snapshot.last, "{after:?}");
    assert!(after.epoch > next.snapshot.epoch);
    assert_eq!(after.admitted, next.snapshot.admitted, "without a total there is no cap to keep");
}

#[tokio::test]
async fn loss_can_be_accepted() {
    let server = RedisServer::with(&["--appendonly", "no"]);
    let accepted = Settings { accept_loss: true, ..settings(&server.url(), 5000) };
    let store = RedisStore::connect(&accepted).unwrap();
    store.probe().await.unwrap();
    create(&store).await.unwrap();
}

#[test]
fn several_runtimes_share_one_store() {
    let server = RedisServer::durable();
    let store = Arc::new(RedisStore::connect(&settings(&server.url(), 5000)).unwrap());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let epoch = runtime().block_on(async {
        store.probe().await.unwrap();
        create(&store).await.unwrap().epoch
    });
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || runtime().block_on(async { healed(&store).await }))
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().epoch, epoch);
    }
}
