//! Servers that are found by asking: sentinels and nodes that are wrong, late, or not what they are called.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::RedisStore;
use crate::queue::conformance::server::{RedisServer, free_port};
use crate::queue::{Durability, Place, QueueStore, Settings, StoreError};
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

/// Somebody who gives each caller one answer, whatever it asks; the address, and how many called.
fn speaker(answer: String) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            count.fetch_add(1, Ordering::SeqCst);
            let mut stream = stream.unwrap();
            if !answer.is_empty() && stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {
                let _ = stream.write_all(answer.as_bytes());
            }
        }
    });
    (address, calls)
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
    let (ignorant, _) = speaker("*-1\r\n".to_owned());
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
    let (sentinel, _) = speaker(names(&port_of(&server)));
    let store = store(&format!("redis+sentinel://{sentinel}/m"));
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
    let (late, _) = speaker(names(&port_of(&old)));
    let (knowing, _) = speaker(names(&port_of(&new)));
    let store = store(&format!("redis+sentinel://{late},{knowing}/m"));
    healed(&store).await;
}

#[tokio::test]
async fn all_that_is_dialled_together_is_at_most_ten_a_second() {
    let speakers: Vec<_> = (0..3).map(|_| speaker(String::new())).collect();
    let hosts: Vec<&str> = speakers.iter().map(|(address, _)| address.as_str()).collect();
    let calls = || speakers.iter().map(|(_, calls)| calls.load(Ordering::SeqCst)).sum::<usize>();
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
