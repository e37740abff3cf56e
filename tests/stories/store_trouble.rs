//! The store in trouble under load: it hangs, it is dark, it dies again and again, it refuses whoever dials. A short
//! while and a light load in an ordinary run; `ROPELINE_LONG=1` for those of the field reports. Each prints what it saw.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::failover::{Crowd, lost_and_doubled};
use crate::support::eventually::{eventually, within};
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ports;
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::signpost::Signpost;
use crate::support::visitor::{App, join_many};

fn long() -> bool {
    std::env::var_os("ROPELINE_LONG").is_some()
}

/// Joins and polls, one every so often, from now on until it is told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<JoinSet<Answered>>,
}

/// What somebody was told, and after how long. No place and no number: nothing was promised.
struct Answered {
    status: u16,
    late: Duration,
    headers_ok: bool,
    told: Option<App>,
}

impl Load {
    fn on(ropeline: &Ropeline, waiting: &[App], every: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopping, edge, room) = (Arc::clone(&stop), ropeline.edge(), ropeline.room);
        let waiting = waiting.to_vec();
        let task = tokio::spawn(async move {
            let mut asks = JoinSet::new();
            let mut beat = tokio::time::interval(every);
            let mut i = 0;
            while !stopping.load(Ordering::Relaxed) {
                beat.tick().await;
                i += 1;
                let mut app =
                    if i % 2 == 0 { App::new(edge, room) } else { waiting[i % waiting.len()].clone() };
                asks.spawn(async move {
                    let begun = Instant::now();
                    let joins = app.ticket.is_none();
                    let reply = if joins { app.join().await } else { app.poll().await }.unwrap();
                    let closed = reply.status != 503
                        || reply.header("cache-control").contains("no-store")
                            && reply.header("retry-after").parse().is_ok_and(|after: u64| after > 0);
                    let told = (joins && reply.status == 201).then_some(app);
                    Answered { status: reply.status, late: begun.elapsed(), headers_ok: closed, told }
                });
            }
            asks
        });
        Self { stop, task }
    }

    async fn end(self) -> Vec<Answered> {
        self.stop.store(true, Ordering::Relaxed);
        self.task.await.unwrap().join_all().await
    }
}

/// How the store cannot be asked although its address answers.
#[derive(Clone, Copy, Debug)]
enum Silence {
    Hangs,
    Dark,
}

async fn is_silent(silence: Silence) {
    let redis = Redis::start().await;
    let post = Signpost::to(ports::at(redis.port())).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("5/s");
    plan.redis = Some(format!("redis://{}", post.addr()));
    let ropeline = Ropeline::start(plan, &origin).await;
    let mut insider = App::joined(&ropeline).await;
    insider.until_admitted(Duration::from_secs(30)).await;
    insider.visit("/buy").await.unwrap();
    ropeline.operate("PATCH", "", Some(serde_json::json!({"rate": "1/min"}))).await.unwrap();
    let waiting = join_many(&ropeline, 50).await;
    let (every, lasts) = if long() { (2, 60_000) } else { (20, 2_500) };

    match silence {
        Silence::Hangs => redis.hang(),
        Silence::Dark => post.dark(true),
    }
    let load = Load::on(&ropeline, &waiting, Duration::from_millis(every));
    ropeline.until_state("unavailable").await;
    let before = origin.journal().arrivals().len();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(lasts) {
        assert!(!insider.visit("/buy/seats").await.unwrap().is_ours(), "a valid pass works");
        assert_eq!(Ask::get("/open").send(ropeline.edge()).await.unwrap().status, 200, "open paths work");
        assert_eq!(Ask::get("/livez").send(ropeline.admin()).await.unwrap().status, 200);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(origin.journal().arrivals().len(), before, "nobody goes in");
    let answers = load.end().await;
    let late = answers.iter().map(|answer| answer.late).max().unwrap();
    assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 503) && answer.headers_ok));
    assert!(answers.iter().any(|answer| answer.status == 503), "joins find the door closed");

    let back = Instant::now();
    match silence {
        Silence::Hangs => redis.go_on(),
        Silence::Dark => post.dark(false),
    }
    ropeline.until_state("open").await;
    let back = back.elapsed();
    let newcomer = App::joined(&ropeline).await;
    // What the store was asked while it was silent may still have run; it is nobody's place but a gap.
    let told: Vec<App> = answers.into_iter().filter_map(|answer| answer.told).collect();
    let all: Vec<App> = waiting.into_iter().chain(told).chain([newcomer]).collect();
    let (lost, doubled) = lost_and_doubled(&all).await;
    println!(
        "{silence:?}: the slowest answer took {late:?}, open again after {back:?}; {lost} lost, {doubled} doubled"
    );
    assert_eq!((lost, doubled), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w018_under_load_a_store_that_hangs_is_answered_for_in_time() {
    is_silent(Silence::Hangs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w018_under_load_a_store_that_is_dark_is_answered_for_in_time() {
    is_silent(Silence::Dark).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w019_a_store_that_is_killed_and_started_again_is_used_again_each_time() {
    let mut redis = Redis::start().await;
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min").on(&redis), &origin).await;
    ropeline.pause("a rehearsal").await;
    let crowd = Crowd::comes_to(ropeline.edge(), ropeline.room);
    let (mut slowest, count) = (Duration::ZERO, if long() { 20 } else { 3 });
    for _ in 0..count {
        crowd.goes_on().await;
        redis.kill_hard();
        ropeline.until_state("unavailable").await;
        redis.up().await;
        let begun = Instant::now();
        ropeline.until_state("paused").await;
        slowest = slowest.max(begun.elapsed());
    }
    crowd.goes_on().await;
    let told = crowd.all().await;
    let (lost, doubled) = lost_and_doubled(&told).await;
    println!("{count} restarts: normal again after {slowest:?} at most; {lost} lost, {doubled} doubled");
    assert_eq!((lost, doubled), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w019_a_store_that_refuses_is_dialled_at_a_bounded_pace_however_many_wait() {
    let redis = Redis::start().await;
    let post = Signpost::to(ports::at(redis.port())).await;
    let origin = Origin::start().await;
    let mut plan = Plan::before(&origin).rate("1/min");
    plan.redis = Some(format!("redis://{}", post.addr()));
    let ropeline = Ropeline::start(plan, &origin).await;
    let waiting = join_many(&ropeline, if long() { 5000 } else { 300 }).await;

    // Whoever dials is hung up on at once.
    let closed = TcpListener::bind(ports::at(0)).await.unwrap();
    let nobody = closed.local_addr().unwrap();
    drop(closed);
    post.turn(nobody);
    ropeline.until_state("unavailable").await;
    let (before, begun) = (post.taken(), Instant::now());
    let (every, lasts) = if long() { (1, 60_000) } else { (3, 3_000) };
    let load = Load::on(&ropeline, &waiting, Duration::from_millis(every));
    tokio::time::sleep(Duration::from_millis(lasts)).await;
    let (dials, seconds) = (post.taken() - before, begun.elapsed().as_secs_f64());
    let asked = load.end().await.len();
    println!("{dials} dials in {seconds:.1} s while {asked} asked");
    assert!(dials as f64 <= 10.0 * seconds + 2.0, "{dials} dials in {seconds} s");
    assert!(dials > 0 && asked > 4 * dials, "{asked} asked, {dials} dials");

    post.turn(ports::at(redis.port()));
    eventually("the room is open again", async || {
        (ropeline.room_now().await.ok()?["state"] == "open").then_some(())
    })
    .await;
    within("the places are kept", Duration::from_secs(60), async || {
        let reply = waiting[waiting.len() - 1].clone().poll().await.map_err(|e| e.to_string())?;
        if reply.status == 200 { Ok(()) } else { Err(reply.text().to_owned()) }
    })
    .await;
}
