//! Three instances' lines on one Redis, without HTTP: a thousand a second, and what each of them hands out counts
//! together. Slots are moments of the store's clock, so the rate is exact however busy this machine is.

use std::sync::Arc;
use std::time::Duration;

use ropeline::queue::redis::RedisStore;
use ropeline::queue::{Durability, InstanceId, Line, LineSettings, Place, Settings};
use ropeline::room::{JoinOutcome, Lineage, Number, Rate, RoomId, Rules, Standing};
use tokio::task::JoinSet;

use crate::support::eventually::eventually;
use crate::support::redis::Redis;

const VISITORS: usize = 4000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_instances_share_a_thousand_a_second() {
    let redis = Redis::start().await;
    let rules = Rules::at(Rate::per_second(1000).unwrap());
    let lines: Vec<_> = (1..=3).map(|id| line(&redis.url(), id, Durability::Disk, &rules)).collect();
    for line in &lines {
        eventually("the room is there", async || line.view().fresh.then_some(())).await;
    }
    let mut visitors = JoinSet::new();
    for i in 0..VISITORS {
        visitors.spawn(go_in(Arc::clone(&lines[i % 3]), i % 5 == 0));
    }
    let mut slots: Vec<(u64, u64)> = visitors.join_all().await.into_iter().flatten().collect();
    slots.sort_unstable();
    let mut numbers: Vec<u64> = slots.iter().map(|(_, number)| *number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), slots.len(), "one admission a number");
    assert!(slots.len() >= VISITORS * 4 / 5, "all who stayed are in: {}", slots.len());
    for width in [10_000, 100_000, 1_000_000] {
        let most = densest(&slots, width);
        let allowed = width as usize / 1000 + rules.burst as usize;
        assert!(most <= allowed + 1, "{most} in {width} us, {allowed} allowed");
    }
}

/// One visitor who asks as told; one in five vanishes after joining.
async fn go_in(line: Arc<Line>, vanishes: bool) -> Option<(u64, u64)> {
    let JoinOutcome::Placed { number, standing, .. } = line.join(None).await.unwrap() else { return None };
    if let Standing::Admitted(admission) = standing {
        return Some((admission.slot.0, number.0));
    }
    if vanishes {
        return None;
    }
    loop {
        tokio::time::sleep(next_poll(&line, number)).await;
        match line.ask(number, Duration::from_secs(4)).await {
            Ok(Standing::Admitted(admission)) => return Some((admission.slot.0, number.0)),
            Ok(Standing::Waiting) => {}
            other => panic!("{number} stayed and is {other:?}"),
        }
    }
}

fn next_poll(line: &Line, number: Number) -> Duration {
    line.view().snapshot.unwrap().next_poll(number, Duration::from_secs(10), 0.5)
}

/// An instance's side of the room `sale` on this Redis.
pub(super) fn line(url: &str, id: u64, durability: Durability, rules: &Rules) -> Arc<Line> {
    let settings = Settings {
        place: Place::Redis(url.to_owned()),
        timeout: Duration::from_secs(2),
        durability,
        accept_loss: false,
        ca_file: None,
    };
    let store = Arc::new(RedisStore::connect(&settings).unwrap());
    let settings = LineSettings {
        room: RoomId::new("sale").unwrap(),
        rules: rules.clone(),
        instance: InstanceId(id),
        lineage: Lineage(7),
        keys: String::new(),
        absent_after: Duration::from_secs(180),
        timeout: settings.timeout,
    };
    Line::start(settings, store)
}

/// The most slots in any half-open window of so many microseconds.
pub(super) fn densest(slots: &[(u64, u64)], width: u64) -> usize {
    let mut first = 0;
    let mut most = 0;
    for (i, (slot, _)) in slots.iter().enumerate() {
        while slots[first].0 + width <= *slot {
            first += 1;
        }
        most = most.max(i + 1 - first);
    }
    most
}
