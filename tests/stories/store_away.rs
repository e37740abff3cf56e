//! The store is killed, hangs or refuses: nobody new goes in, nothing is forgotten, whoever is inside shops on, and
//! afterwards all goes on in the same order without a restart and without a burst.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::support::eventually::within;
use crate::support::home::Home;
use crate::support::http::{Ask, Reply};
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::rate::{Metronome, assert_kept};
use crate::support::redis::Redis;
use crate::support::ropeline::{Ropeline, make_keys};
use crate::support::visitor::{App, Visitor, join_many};

/// Contract section 4: `store.timeout` (500 ms here) and a second.
const ANSWERED: Duration = Duration::from_millis(1500);
const BACK: Duration = Duration::from_secs(5);

/// How a store goes away, and comes back.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Killed,
    Hung,
    Refusing,
}

impl Way {
    async fn go(self, redis: &mut Redis) {
        match self {
            Self::Killed => redis.kill_hard(),
            Self::Hung => redis.hang(),
            Self::Refusing => {
                redis
                    .say(&["CONFIG SET requirepass other", "AUTH other", "CLIENT KILL TYPE normal"])
                    .await
                    .unwrap();
            }
        }
    }

    async fn come_back(self, redis: &mut Redis) {
        match self {
            Self::Killed => redis.up().await,
            Self::Hung => redis.go_on(),
            Self::Refusing => {
                redis.say(&["AUTH other", "CONFIG SET requirepass \"\""]).await.unwrap();
            }
        }
    }
}

/// Between two polls of somebody who is called: `poll.min`.
const POLL_GAP: Duration = Duration::from_secs(2);

async fn in_time(ask: Ask, ropeline: &Ropeline, metronome: &Metronome) -> Reply {
    let before = Instant::now();
    let reply = ask.clone().send(ropeline.edge()).await.unwrap();
    let took = before.elapsed();
    assert!(took <= ANSWERED + metronome.lag(), "answered after {took:?}: {ask:?}");
    reply
}

fn assert_unavailable(reply: &Reply) {
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.header("cache-control").contains("no-store"), "{:?}", reply.headers);
    let seconds: u64 = reply.header("retry-after").parse().unwrap_or(0);
    assert!(seconds >= 1, "Retry-After: {:?}", reply.headers);
}

async fn assert_closed(ropeline: &Ropeline, metronome: &Metronome, insider: &App, waiting: &App) {
    let join = Ask::new("POST", &ropeline.path("/tickets")).program();
    assert_unavailable(&in_time(join, ropeline, metronome).await);
    let page = in_time(Ask::get("/buy").navigation(), ropeline, metronome).await;
    assert_unavailable(&page);
    assert!(page.header("content-type").starts_with("text/html"));
    let program = in_time(Ask::get("/buy").program(), ropeline, metronome).await;
    assert_unavailable(&program);
    assert_eq!(program.json()["room"]["state"], "unavailable");
    assert_eq!(program.json()["visitor"], Value::Null);

    let bearer = format!("Bearer {}", waiting.ticket.as_ref().unwrap());
    let poll = Ask::get(&ropeline.path("/position")).program().with("authorization", &bearer);
    let polled = in_time(poll, ropeline, metronome).await;
    assert!(polled.status == 200 || polled.status == 503, "{}", polled.text());
    assert_eq!(polled.json()["room"]["state"], "unavailable");
    assert_eq!(polled.json()["visitor"]["number"], waiting.number, "the place is kept");

    assert!(!insider.visit("/buy/seats").await.unwrap().is_ours(), "a valid pass works");
    assert_eq!(in_time(Ask::get("/open"), ropeline, metronome).await.status, 200, "open paths work");
    assert_eq!(Ask::get("/livez").send(ropeline.admin()).await.unwrap().status, 200);
    let ready = Ask::get("/readyz").send(ropeline.admin()).await.unwrap();
    assert!(ready.status == 200 && ready.text().contains("degraded"), "{} {}", ready.status, ready.text());
    let pause = ropeline.operate("POST", "/pause", Some(serde_json::json!({"reason": "x"}))).await.unwrap();
    assert_eq!(pause.status, 503, "no change can be made");
}

async fn goes_away(way: Way) {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).on(&redis), &origin).await;
    let metronome = Metronome::start();
    let mut insider = App::joined(&ropeline).await;
    insider.until_admitted(Duration::from_secs(30)).await;
    insider.visit("/buy").await.unwrap();
    let waiting = join_many(&ropeline, 40).await;
    let last = waiting.last().unwrap();

    way.go(&mut redis).await;
    let join = Ask::new("POST", &ropeline.path("/tickets")).program();
    assert_unavailable(&in_time(join, &ropeline, &metronome).await);
    ropeline.until_state("unavailable").await;
    let before = origin.journal().arrivals().len();
    assert_closed(&ropeline, &metronome, &insider, last).await;
    assert_eq!(origin.journal().arrivals().len(), before, "nobody goes in");
    way.come_back(&mut redis).await;

    within("normal again", BACK + metronome.lag(), async || {
        let room = ropeline.room_now().await.map_err(|e| e.to_string())?;
        if room["state"] == "open" { Ok(()) } else { Err(room.to_string()) }
    })
    .await;
    everybody_goes_in(&origin, waiting).await;
    let lag = metronome.lag();
    // Grants are in order; during the ramp a turn may come between two polls, and the slot is taken at the next one.
    origin.journal().assert_in_order(lag + POLL_GAP);
    assert_kept(10.0, 1, &origin.journal().arrival_times(), lag);
    assert_eq!(origin.journal().arrivals().len(), 41);
}

async fn everybody_goes_in(origin: &Origin, waiting: Vec<App>) {
    let mut inside = JoinSet::new();
    for mut app in waiting {
        inside.spawn(async move {
            app.until_admitted(Duration::from_secs(90)).await;
            assert!(!app.visit("/buy").await.unwrap().is_ours());
        });
    }
    inside.join_all().await;
    assert!(origin.journal().arrivals().len() > 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_killed_closes_the_door_and_loses_nothing() {
    goes_away(Way::Killed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w018_a_store_that_hangs_closes_the_door_and_loses_nothing() {
    goes_away(Way::Hung).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w019_a_store_that_refuses_closes_the_door_and_loses_nothing() {
    goes_away(Way::Refusing).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w019_a_start_without_a_store_answers_503_and_heals() {
    let mut redis = Redis::absent(&[]);
    let origin = Origin::start().await;
    let plan = Plan::before(&origin).on(&redis);
    let home = Arc::new(Home::new());
    make_keys(&home).await;
    let mut ropeline = Ropeline::planned(&plan, &home);
    ropeline.up().await;
    let metronome = Metronome::start();
    assert_unavailable(&in_time(Ask::get("/buy").navigation(), &ropeline, &metronome).await);
    assert_eq!(Ask::get("/open").send(ropeline.edge()).await.unwrap().status, 200);

    redis.up().await;
    ropeline.until_state("open").await;
    ropeline.watch(&plan, origin.journal()).await;
    let mut visitor = Visitor::of(&ropeline);
    visitor.enter("/buy", Duration::from_secs(30)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w019_a_wrong_password_is_told_without_telling_it() {
    let redis = Redis::with(&[("requirepass", "right")]).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin);
    plan.redis = Some(format!("redis://:wrong-secret@127.0.0.1:{}", redis.port()));
    let home = Arc::new(Home::new());
    make_keys(&home).await;
    let mut ropeline = Ropeline::planned(&plan, &home);
    ropeline.up().await;
    assert_unavailable(&Ask::get("/buy").navigation().send(ropeline.edge()).await.unwrap());
    within("the log says why", Duration::from_secs(10), async || {
        let log = ropeline.log().to_ascii_lowercase();
        let told = ["wrongpass", "auth", "password"].iter().any(|w| log.contains(w));
        if told { Ok(()) } else { Err(log) }
    })
    .await;
    assert!(!ropeline.log().contains("wrong-secret"), "no secret in the log");
}
