//! Joins a second, batched, with every commit on the disk. Not a test: run by name, alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::server::RedisServer;
use super::stage::{rules, settings};
use crate::queue::embedded::EmbeddedStore;
use crate::queue::redis::RedisStore;
use crate::queue::{InstanceId, JoinBatch, Place, QueueStore, Seen};
use crate::room::{IdentityHash, Lineage, RoomId};

const CALLERS: u64 = 4;
const LASTS: Duration = Duration::from_secs(3);

async fn measure(name: &str, store: Arc<dyn QueueStore>) {
    for (size, identified) in [(1, false), (50, false), (500, false), (500, true)] {
        let room = RoomId::new(&format!("r{size}-{identified}")).unwrap();
        store.create(&room, &rules("100/s"), Lineage(7)).await.unwrap();
        let begun = Instant::now();
        let callers: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let (store, room) = (Arc::clone(&store), room.clone());
                tokio::spawn(async move {
                    let mut joins = 0;
                    for sequence in 1.. {
                        if begun.elapsed() >= LASTS {
                            break;
                        }
                        let random = || identified.then(|| IdentityHash(rand::random()));
                        let entries = (0..size).map(|_| random()).collect();
                        let batch = JoinBatch { instance: InstanceId(caller), sequence, entries };
                        store.join(&room, Seen::default(), &batch).await.unwrap();
                        joins += size;
                    }
                    joins
                })
            })
            .collect();
        let mut joins = 0;
        for caller in callers {
            joins += caller.await.unwrap();
        }
        let a_second = f64::from(joins) / begun.elapsed().as_secs_f64();
        println!(
            "{name}: {CALLERS} callers x batches of {size}, identities {identified}: {a_second:.0} joins/s"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn joins_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let embedded = EmbeddedStore::open(&settings(Place::File(dir.path().to_owned()))).unwrap();
    measure("embedded", Arc::new(embedded)).await;
    let server = RedisServer::durable();
    let redis = RedisStore::connect(&settings(Place::Redis(server.url()))).unwrap();
    redis.probe().await.unwrap();
    measure("redis", Arc::new(redis)).await;
}
