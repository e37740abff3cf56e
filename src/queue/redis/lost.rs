//! A server with `durability = "memory"` that has lost the last second of those inside: the cap holds all the same.
//! And a log of ends as long as it may get.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::RedisStore;
use crate::queue::conformance::server::RedisServer;
use crate::queue::{Durability, InstanceId, JoinBatch, Place, QueueStore, Seen, Settings};
use crate::room::{EndCause, Lineage, Micros, Number, RoomId, Rules, Snapshot, Standing, StayReport, Stayed};

struct Stage {
    store: RedisStore,
    room: RoomId,
    now: Arc<AtomicU64>,
}

impl Stage {
    async fn open(server: &RedisServer) -> Self {
        let settings = Settings {
            place: Place::Redis(server.url()),
            timeout: Duration::from_secs(20),
            durability: Durability::Memory,
            accept_loss: false,
            ca_file: None,
        };
        let now = Arc::new(AtomicU64::new(1_790_000_000_000_000));
        let clock = Arc::clone(&now);
        let store = RedisStore::with_clock(&settings, Arc::new(move || Micros(clock.load(Ordering::SeqCst))))
            .unwrap();
        store.probe().await.unwrap();
        Self { store, room: RoomId::new("hall").unwrap(), now }
    }

    fn now(&self) -> Micros {
        Micros(self.now.load(Ordering::SeqCst))
    }

    /// Ticks of an instance at which these ask; the last standings and snapshot.
    async fn wait(&self, seconds: u64, numbers: u64) -> (Vec<Standing>, Snapshot) {
        let present: Vec<Number> = (1..=numbers).map(Number).collect();
        for _ in 0..4 * seconds {
            self.now.fetch_add(250_000, Ordering::SeqCst);
            self.tick(&present).await;
        }
        self.tick(&present).await
    }

    /// Tries until the store is there again.
    async fn tick(&self, present: &[Number]) -> (Vec<Standing>, Snapshot) {
        loop {
            if let Ok(advanced) = self.store.advance(&self.room, Seen::default(), present).await {
                return (advanced.standings, advanced.snapshot);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn report(&self, report: &StayReport) -> Stayed {
        self.store.stays(&self.room, Seen::default(), report).await.unwrap()
    }
}

#[tokio::test]
async fn what_was_lost_of_those_inside_counts_until_their_passes_must_have_expired() {
    let mut server = RedisServer::with(&[
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--maxmemory-policy",
        "noeviction",
    ]);
    let stage = Stage::open(&server).await;
    let rules = Rules {
        max_active: Some(8),
        first_use: Duration::from_secs(30),
        idle: Duration::from_secs(60),
        ..Rules::at("2/s".parse().unwrap())
    };
    stage.store.create(&stage.room, &rules, Lineage(7)).await.unwrap();
    let batch = JoinBatch { instance: InstanceId(1), sequence: 1, entries: vec![None; 40] };
    stage.store.join(&stage.room, Seen::default(), &batch).await.unwrap();
    let (_, before) = stage.wait(10, 40).await;
    assert_eq!((before.active, before.admitted), (8, 8));
    let used = stage.report(&StayReport { used: vec![Number(1)], ..StayReport::default() }).await;
    let printed = used.until[0].unwrap();
    let ended = StayReport { ended: vec![(Number(2), EndCause::Shop)], ..StayReport::default() };
    assert_eq!(stage.report(&ended).await.log_to, 1);
    let (_, full) = stage.wait(1, 40).await;
    assert_eq!((full.active, full.admitted), (8, 9));

    // The last second is lost: three admissions, the renewal of 1 and the end of 2.
    for command in [
        "CONFIG SET appendfsync always".to_owned(),
        "ZREMRANGEBYRANK rl:{hall}:st -3 -1".to_owned(),
        "ZREMRANGEBYRANK rl:{hall}:a -3 -1".to_owned(),
        format!("ZADD rl:{{hall}}:st {} {:016}", stage.now().0 + 1, 1),
        "DEL rl:{hall}:e rl:{hall}:x".to_owned(),
        "HSET rl:{hall}:s admitted 6".to_owned(),
    ] {
        assert!(server.say(&command).is_some_and(|said| !said.starts_with('-')), "{command}");
    }
    server.kill();
    server.start();

    let begun = stage.now();
    loop {
        let (_, at) = stage.wait(1, 40).await;
        assert!(at.epoch > before.epoch, "a new life");
        if at.now >= printed {
            break;
        }
        assert_eq!(at.admitted, 6, "{}s after: {at:?}", at.now.since(begun).as_secs());
    }
    let (standings, at) = stage.wait(60, 40).await;
    assert!(at.active <= 8 && at.admitted > 6, "places are given on again: {at:?}");
    assert!(standings.iter().any(|s| matches!(s, Standing::Admitted(_))));
    // An instance that had read the lost end reads everything anew.
    let ended = StayReport { ended: vec![(ended_of(&standings), EndCause::Shop)], ..StayReport::default() };
    stage.report(&ended).await;
    let read = stage.report(&StayReport { log_from: 1, ..StayReport::default() }).await;
    assert!(read.log_to > 1 && read.ended.len() == 1, "{read:?}");
}

#[tokio::test]
async fn numbers_that_nobody_holds_hold_nobody_up_and_fill_no_line() {
    let mut server = RedisServer::with(&[
        "--appendonly",
        "yes",
        "--appendfsync",
        "everysec",
        "--maxmemory-policy",
        "noeviction",
    ]);
    let stage = Stage::open(&server).await;
    let rules = Rules { max_waiting: 1000, ..Rules::at("2/s".parse().unwrap()) };
    stage.store.create(&stage.room, &rules, Lineage(7)).await.unwrap();
    let join = async |sequence, count| {
        let batch = JoinBatch { instance: InstanceId(1), sequence, entries: vec![None; count] };
        let joined = stage.store.join(&stage.room, Seen::default(), &batch).await.unwrap();
        joined.snapshot.last
    };
    assert_eq!(join(1, 40).await, Number(40));
    let synced = "CONFIG SET appendfsync always";
    let mut newcomers = Vec::new();
    for life in 0..3 {
        assert!(server.say(synced).is_some_and(|said| said.starts_with("+OK")));
        server.kill();
        server.start();
        // The new life's own ceiling has to be safe first.
        stage.wait(5, 40).await;
        let last = join(2 + life, 1).await;
        assert!(last.0 > 100_000 * (life + 1), "a new life begins above all that was handed out: {last}");
        newcomers.push(last);
    }
    let (_, at) = stage.wait(1, 40).await;
    assert!(at.waiting() <= 43, "{} wait", at.waiting());
    let present = [&[Number(1), Number(40)], newcomers.as_slice()].concat();
    for second in 0..120 {
        stage.now.fetch_add(1_000_000, Ordering::SeqCst);
        let (standings, _) = stage.tick(&present).await;
        if standings.iter().all(|standing| matches!(standing, Standing::Admitted(_))) {
            return;
        }
        assert!(second < 100, "newcomers wait behind numbers that nobody holds: {standings:?}");
    }
}

/// The first who is inside.
fn ended_of(standings: &[Standing]) -> Number {
    let inside = standings.iter().find_map(|standing| match standing {
        Standing::Admitted(admission) => Some(admission.number),
        _ => None,
    });
    inside.unwrap()
}

#[tokio::test]
async fn the_end_log_is_bounded_and_goes_on_counting() {
    let server = RedisServer::with(&["--appendonly", "yes", "--maxmemory-policy", "noeviction"]);
    let stage = Stage::open(&server).await;
    stage.store.create(&stage.room, &Rules::at("10/s".parse().unwrap()), Lineage(7)).await.unwrap();
    let batch = JoinBatch { instance: InstanceId(1), sequence: 1, entries: vec![None; 2] };
    stage.store.join(&stage.room, Seen::default(), &batch).await.unwrap();
    stage.wait(1, 2).await;
    let fill = "for i = 1, 1000000, 500 do local some = {} for n = 0, 499 do some[n + 1] = (i + n) .. ':9007199254740991' end \
                redis.call('RPUSH', KEYS[1], unpack(some)) end return redis.call('LLEN', KEYS[1])";
    let said = server.say(&format!("EVAL \"{fill}\" 1 rl:{{hall}}:e")).unwrap();
    assert_eq!(said.trim(), ":1000000");
    let ended = [(Number(1), EndCause::Shop), (Number(2), EndCause::Visitor)];
    let first = stage.report(&StayReport { ended: ended.to_vec(), ..StayReport::default() }).await;
    assert_eq!((first.ended[0], first.log_to, first.snapshot.ended_to), (Number(3), 1002, 1_000_002));
    let last = stage.report(&StayReport { log_from: 1_000_000, ..StayReport::default() }).await;
    assert_eq!((last.ended, last.log_to), (vec![Number(1), Number(2)], 1_000_002));
    let memory = server.say("MEMORY USAGE rl:{hall}:e").unwrap();
    println!("a million ended passes take {} bytes", memory.trim());
}
