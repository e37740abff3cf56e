//! Servers that are found by asking: sentinels and nodes that are wrong, late, or not what they are called.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::RedisStore;
use crate::queue::conformance::server::{RedisServer, free_port};
use crate::queue::{Durability, Place, QueueStore, Seen, Settings, StoreError};
use crate::room::{Lineage, RoomId, Rules};

const DURABLE: [&str; 6] =
    ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];

fn store(url: &str) -> RedisStore {
    let settings = Settings {
        place: Place::Redis(url.to_owned()),
        ca_file: None,
        timeout: Duration::from_secs(5),
        durability: Durability::Disk,
        accept_loss: false,
    };
    RedisStore::connect(&settings).unwrap()
}

fn room() -> RoomId {
    RoomId::new("hall").unwrap()
}

async fn create(store: &RedisStore) -> Result<(), StoreError> {
    store.create(&room(), &Rules::at("10/s".parse().unwrap()), Lineage(7)).await.map(drop)
}

async fn healed(store: &RedisStore) {
    let begun = Instant::now();
    while let Err(error) = create(store).await {
        assert!(begun.elapsed() < Duration::from_secs(60), "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Somebody who gives each caller one answer, whatever it asks.
struct Speaker {
    address: String,
    answer: Arc<Mutex<String>>,
    calls: Arc<AtomicUsize>,
}

impl Speaker {
    /// Who says this; nothing: who hangs up.
    fn of(answer: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (answer, calls) = (Arc::new(Mutex::new(answer.to_owned())), Arc::new(AtomicUsize::new(0)));
        let (said, count) = (Arc::clone(&answer), Arc::clone(&calls));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, answer) = (stream.unwrap(), said.lock().unwrap().clone());
                if !answer.is_empty() && stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                    let _ = stream.write_all(answer.as_bytes());
                }
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { address, answer, calls }
    }

    /// A sentinel that calls this server the primary.
    fn naming(server: &RedisServer) -> Self {
        Self::of(&names(&port_of(server)))
    }

    fn names_now(&self, server: &RedisServer) {
        *self.answer.lock().unwrap() = names(&port_of(server));
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

/// What a sentinel says that takes this for the primary.
fn names(port: &str) -> String {
    format!("*2\r\n$9\r\n127.0.0.1\r\n${}\r\n{port}\r\n", port.len())
}

fn port_of(server: &RedisServer) -> String {
    server.url().rsplit(':').next().unwrap().to_owned()
}

#[tokio::test]
async fn whoever_is_not_what_the_address_calls_it_is_named() {
    let server = RedisServer::durable();
    let port = port_of(&server);
    let ignorant = Speaker::of("*-1\r\n").address;
    for (url, says) in [
        (format!("redis+cluster://127.0.0.1:{port}"), format!("127.0.0.1:{port} is no node of a cluster")),
        (format!("redis+sentinel://127.0.0.1:{port}/m"), format!("127.0.0.1:{port} is no sentinel")),
        (format!("redis+sentinel://{ignorant}/m"), format!("sentinel {ignorant} knows no primary m")),
    ] {
        match store(&url).probe_for(&[room()]).await {
            Err(StoreError::Refused(why)) => assert!(why.contains(&says), "{why}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_replica_that_a_sentinel_names_is_waited_for() {
    let server = RedisServer::durable();
    server.say("REPLICAOF 127.0.0.1 1").unwrap();
    let sentinel = Speaker::naming(&server);
    let store = store(&format!("redis+sentinel://{}/m", sentinel.address));
    match store.probe().await {
        Err(StoreError::Refused(why)) => assert!(why.contains("replica"), "{why}"),
        other => panic!("{other:?}"),
    }
    server.say("REPLICAOF NO ONE").unwrap();
    healed(&store).await;
}

#[tokio::test]
async fn a_sentinel_that_lags_behind_is_not_asked_alone() {
    let (old, new) = (RedisServer::durable(), RedisServer::durable());
    old.say(&format!("REPLICAOF 127.0.0.1 {}", port_of(&new))).unwrap();
    let (late, knowing) = (Speaker::naming(&old), Speaker::naming(&new));
    let store = store(&format!("redis+sentinel://{},{}/m", late.address, knowing.address));
    healed(&store).await;
}

#[tokio::test]
async fn a_primary_that_works_is_left_only_when_most_sentinels_name_another() {
    let (old, new) = (RedisServer::durable(), RedisServer::durable());
    let sentinels: Vec<_> = (0..3).map(|_| Speaker::naming(&old)).collect();
    let hosts: Vec<&str> = sentinels.iter().map(|sentinel| sentinel.address.as_str()).collect();
    let store = store(&format!("redis+sentinel://{}/m", hosts.join(",")));
    healed(&store).await;
    sentinels[0].names_now(&new);
    let asked: Vec<usize> = sentinels.iter().map(Speaker::calls).collect();
    // All of them twice more: once with the new answer for certain.
    while sentinels.iter().zip(&asked).any(|(sentinel, asked)| sentinel.calls() < asked + 2) {
        store.advance(&room(), Seen::default(), &[]).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    sentinels[2].names_now(&new);
    let turned = Instant::now();
    // The new one does not hold the room, which tells them apart.
    while store.advance(&room(), Seen::default(), &[]).await != Err(StoreError::NoRoom) {
        assert!(turned.elapsed() < Duration::from_secs(90));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn all_that_is_dialled_together_is_at_most_ten_a_second() {
    let speakers: Vec<_> = (0..3).map(|_| Speaker::of("")).collect();
    let hosts: Vec<&str> = speakers.iter().map(|speaker| speaker.address.as_str()).collect();
    let calls = || speakers.iter().map(Speaker::calls).sum::<usize>();
    for kind in ["sentinel", "cluster"] {
        let name = if kind == "sentinel" { "/m" } else { "" };
        let before = calls();
        let begun = Instant::now();
        let store = store(&format!("redis+{kind}://{}{name}", hosts.join(",")));
        while calls() < before + 9 {
            assert!(create(&store).await.is_err());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(begun.elapsed() >= Duration::from_millis(800), "9 dials within {:?}", begun.elapsed());
    }
}

/// A cluster of one node that serves all slots.
fn cluster_of_one(options: &[&str]) -> RedisServer {
    let bus = free_port().to_string();
    let server =
        RedisServer::with(&[options, &["--cluster-enabled", "yes", "--cluster-port", &bus]].concat());
    assert!(server.say("CLUSTER ADDSLOTSRANGE 0 16383").unwrap().starts_with("+OK"));
    while !server.say("CLUSTER INFO").unwrap_or_default().contains("cluster_state:ok") {
        std::thread::sleep(Duration::from_millis(10));
    }
    server
}

#[tokio::test]
async fn a_node_that_may_forget_is_refused_with_its_name_and_the_remedy() {
    let forgetful = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "allkeys-lru"];
    let server = cluster_of_one(&forgetful);
    let port = port_of(&server);
    let store = store(&format!("redis+cluster://127.0.0.1:{port}"));
    match store.probe_for(&[room()]).await {
        Err(StoreError::Unsafe(why)) => {
            assert!(why.starts_with(&format!("127.0.0.1:{port}: ")) && why.contains("noeviction"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_cluster_that_stops_serving_is_waited_for() {
    let server = cluster_of_one(&DURABLE);
    let store = store(&server.url().replace("redis://", "redis+cluster://"));
    store.probe_for(&[room()]).await.unwrap();
    create(&store).await.unwrap();
    assert!(server.say("CLUSTER DELSLOTSRANGE 0 16383").unwrap().starts_with("+OK"));
    while !matches!(create(&store).await, Err(StoreError::Refused(_))) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(server.say("CLUSTER ADDSLOTSRANGE 0 16383").unwrap().starts_with("+OK"));
    healed(&store).await;
}
