//! Lines of instances in this very process, for what is measured without HTTP.

use std::sync::Arc;
use std::time::Duration;

use ropeline::queue::redis::RedisStore;
use ropeline::queue::{Durability, InstanceId, Line, LineSettings, Place, QueueStore, Settings};
use ropeline::room::{IdentityHash, Lineage, Rate, RoomId, Rules};

use crate::fault::{Result, fault};
use crate::peers::redis::{Fsync, Redis};

/// Generous, since the machine is full.
const TIMEOUT: Duration = Duration::from_secs(5);
const ROOM_FOR: u64 = 100_000_000;

/// A store with the durability that the server can give.
pub(super) async fn connect(redis: &Redis, fsync: Fsync) -> Result<Arc<dyn QueueStore>> {
    let durability = match fsync {
        Fsync::Always => Durability::Disk,
        Fsync::EverySecond => Durability::Memory,
    };
    let settings = Settings {
        place: Place::Redis(redis.url()),
        ca_file: None,
        timeout: TIMEOUT,
        durability,
        accept_loss: false,
    };
    let store = RedisStore::connect(&settings)?;
    store.probe().await?;
    Ok(Arc::new(store))
}

/// One instance's line, once it knows its room.
pub(super) async fn line(store: &Arc<dyn QueueStore>, room: &str, id: u64, rate: &str) -> Result<Arc<Line>> {
    let room = RoomId::new(room).ok_or("a room's name")?;
    let mut rules = Rules::at(rate.parse::<Rate>()?);
    rules.max_waiting = ROOM_FOR;
    let settings = LineSettings {
        room,
        rules,
        instance: InstanceId(id),
        lineage: Lineage(7),
        keys: String::new(),
        absent_after: TIMEOUT * 36,
        timeout: TIMEOUT,
    };
    let line = Line::start(settings, Arc::clone(store));
    for _ in 0..2000 {
        if line.view().fresh {
            return Ok(line);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    fault("the room does not come")
}

/// A hash that nobody else has, and that lies anywhere, as real ones do.
pub(super) fn identity(person: usize) -> IdentityHash {
    let mixed = |seed: u64| {
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let one = person as u64 + 1;
    IdentityHash((u128::from(mixed(one)) << 64 | u128::from(mixed(!one))).to_be_bytes())
}
