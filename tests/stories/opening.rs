//! A room that opens by its schedule: the lobby, the draw, second 0, and what everybody can check afterwards.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};
use tokio::task::JoinSet;

use crate::support::eventually::eventually;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::process::{self, Said};
use crate::support::redis::Redis;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::App;

const PATIENCE: Duration = Duration::from_secs(60);
const PEOPLE: usize = 14;

/// A moment so many seconds from now, as the settings write it, with an offset that is not ours.
fn in_seconds(seconds: i64) -> (OffsetDateTime, String) {
    let at = OffsetDateTime::now_utc() + time::Duration::seconds(seconds);
    let at = at.replace_nanosecond(0).unwrap().to_offset(UtcOffset::from_hms(8, 0, 0).unwrap());
    (at, at.format(&Rfc3339).unwrap())
}

async fn told(app: &mut App) -> Value {
    app.poll().await.unwrap().json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w040_a_lobby_is_drawn_at_second_0_and_two_instances_and_a_restart_agree() {
    let origin = Origin::start().await;
    let redis = Redis::start().await;
    let (opens, text) = in_seconds(15);
    let plan = Plan::before(&origin).rate("50/s").on(&redis).more(&format!(
        "[room.pass]\nfirst_use = \"10m\"\nidle = \"10m\"\n[room.schedule]\ndoors = {}\nopens = {text}\nlobby_order = \"draw\"",
        in_seconds(-60).1
    ));
    let mut two = Ropeline::start_until(plan, &origin, 2, "lobby").await;
    let mut people = Vec::new();
    for i in 0..PEOPLE {
        people.push(App::joined(&two[i % 2]).await);
    }
    let mut indices = BTreeMap::new();
    for (i, app) in people.iter_mut().enumerate() {
        let document = told(app).await;
        let visitor = &document["visitor"];
        assert_eq!((&visitor["number"], &visitor["position"]), (&Value::Null, &Value::Null), "{document}");
        indices.insert(visitor["lobby_index"].as_u64().unwrap(), i);
        assert!(document["room"]["draw"]["seed"].is_null(), "the seed is told afterwards: {document}");
        assert!(document["pass"].is_null());
    }
    assert_eq!(indices.keys().copied().collect::<Vec<_>>(), (1..=PEOPLE as u64).collect::<Vec<_>>());
    let committed = eventually("the seed is committed to", async || {
        let draw = two[0].room_now().await.ok()?["draw"].clone();
        draw["commitment"].as_str().map(str::to_owned)
    })
    .await;
    two[1].kill_hard();
    two[1].up().await;

    let mut inside = JoinSet::new();
    for app in people {
        let (first, second) = (two[0].edge(), two[1].edge());
        inside.spawn(async move {
            let mut app = App { at: first, ..app };
            app.until_admitted(PATIENCE).await;
            let mut elsewhere = App { at: second, ..app.clone() };
            let there = told(&mut elsewhere).await;
            assert_eq!(there["visitor"]["number"], app.number, "both instances: {there}");
            assert!(!app.visit("/buy").await.unwrap().is_ours());
            (app.ticket.clone().unwrap(), app.number)
        });
    }
    let mut numbers: Vec<u64> = inside.join_all().await.into_iter().map(|(_, number)| number).collect();
    numbers.sort_unstable();
    let draw = two[1].room_now().await.unwrap()["draw"].clone();
    assert_eq!(draw["commitment"], committed);
    assert_eq!(recomputed(&draw), numbers, "{draw}");
    let begun = Duration::from_secs(u64::try_from(opens.unix_timestamp()).unwrap());
    for arrival in origin.journal().arrivals() {
        assert!(arrival.at >= begun, "nobody before second 0: {:?} before {begun:?}", arrival.at);
    }
}

/// The numbers of all indices, by the script that anybody can run.
fn recomputed(draw: &Value) -> Vec<u64> {
    let text = |name: &str| draw[name].as_str().unwrap_or_else(|| panic!("no {name}: {draw}")).to_owned();
    let count = |name: &str| draw[name].as_u64().unwrap_or_else(|| panic!("no {name}: {draw}")).to_string();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verify_draw.py");
    let arguments = [text("commitment"), text("seed"), count("size"), count("first_number")];
    let value = draw["public_value"].as_str().map(|value| ["--value", value]);
    let more = value.iter().flatten();
    let said = Command::new("python3").arg(script).args(arguments).args(more).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let lines = String::from_utf8(said.stdout).unwrap();
    let mut numbers: Vec<u64> =
        lines.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap()).collect();
    numbers.sort_unstable();
    numbers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_the_doors_nobody_joins_and_an_operator_wins_over_the_schedule() {
    let origin = Origin::start().await;
    let (_, opens) = in_seconds(3600);
    let (_, doors) = in_seconds(1800);
    let plan = Plan::before(&origin).more(&format!("[room.schedule]\ndoors = {doors}\nopens = {opens}"));
    let mut ropeline = Ropeline::start_until(plan, &origin, 1, "scheduled").await.remove(0);
    let early = App::of(&ropeline).join().await.unwrap();
    assert_eq!((early.status, early.json()["type"].as_str()), (409, Some("urn:ropeline:problem:not-open")));
    assert!(early.header("retry-after").parse::<u64>().unwrap() > 600);
    assert_eq!(ropeline.operate("POST", "/open", None).await.unwrap().status, 200);
    ropeline.until_state("open").await;
    let mut app = App::joined(&ropeline).await;
    app.until_admitted(PATIENCE).await;
    ropeline.kill_hard();
    ropeline.up().await;
    ropeline.until_state("open").await;
    let said = ropeline.ctl(&["close", ropeline.room]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    ropeline.until_state("closed").await;
    let late = App::of(&ropeline).join().await.unwrap();
    assert_eq!((late.status, late.json()["type"].as_str()), (409, Some("urn:ropeline:problem:closed")));
    let said = ropeline.ctl(&["follow", ropeline.room]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    ropeline.until_state("scheduled").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_moves_the_opening_while_people_wait_for_it() {
    let origin = Origin::start().await;
    let (redis, (file, opens)) = (Redis::start().await, in_seconds(3600));
    let plan = Plan::before(&origin).on(&redis).more(&format!("[room.schedule]\nopens = {opens}"));
    let two = Ropeline::start_until(plan, &origin, 2, "lobby").await;
    let mut people = Vec::new();
    for i in 0..4 {
        people.push(App::joined(&two[i % 2]).await);
    }
    let opens_at = async |ropeline: &Ropeline| {
        let told = ropeline.room_now().await.ok()?["opens_at"].as_str()?.to_owned();
        Some(OffsetDateTime::parse(&told, &Rfc3339).unwrap())
    };
    assert_eq!(opens_at(&two[1]).await, Some(file));

    let (later, text) = in_seconds(7200);
    let body = serde_json::json!({"schedule": {"opens": text}});
    let changed = two[0].operate("PATCH", "", Some(body)).await.unwrap();
    assert_eq!(changed.status, 200, "{}", changed.text());
    eventually("the other instance tells the new time", async || {
        (opens_at(&two[1]).await == Some(later)).then_some(())
    })
    .await;
    let (_, closes) = in_seconds(10);
    let wrong = serde_json::json!({"schedule": {"closes": closes, "open": "now"}});
    let refused = two[0].operate("PATCH", "", Some(wrong)).await.unwrap();
    assert!(refused.status == 400 && refused.text().contains("schedule.open"), "{}", refused.text());

    let (soon, text) = in_seconds(3);
    let said = two[1].ctl(&["set", two[1].room, &format!("schedule.opens={text}")]).await;
    assert_eq!(said.code, 0, "{}", said.text);
    for app in &mut people {
        app.until_admitted(PATIENCE).await;
        assert!(!app.visit("/buy").await.unwrap().is_ours());
    }
    let begun = Duration::from_secs(u64::try_from(soon.unix_timestamp()).unwrap());
    for arrival in origin.journal().arrivals() {
        assert!(arrival.at >= begun, "nobody before second 0: {:?} before {begun:?}", arrival.at);
    }
}

/// The public value comes after the lobby has ended; whoever wrote the commitment down before can check all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draw_with_a_public_value_can_be_checked_by_everybody() {
    let origin = Origin::start().await;
    let (_, opens) = in_seconds(3);
    let plan = Plan::before(&origin).rate("50/s").more(&format!(
        "[room.schedule]\nopens = {opens}\nlobby_order = \"draw\"\npublic = \"the numbers of the lottery\""
    ));
    let ropeline = Ropeline::start_until(plan, &origin, 1, "lobby").await.remove(0);
    let mut people = Vec::new();
    for _ in 0..PEOPLE {
        people.push(App::joined(&ropeline).await);
    }
    let committed = eventually("the seed is committed to", async || {
        ropeline.room_now().await.ok()?["draw"]["commitment"].as_str().map(str::to_owned)
    })
    .await;
    eventually("the lobby has ended, and the value is waited for", async || {
        (ropeline.room_now().await.ok()?["draw"]["state"] == "frozen").then_some(())
    })
    .await;
    let early = verified(&ropeline, &ropeline.room_now().await.unwrap(), &[]).await;
    assert!(early.code == 64 && early.text.contains("not made yet"), "{}", early.text);
    let said = ropeline.ctl(&["draw", ropeline.room, "4 8 15 16 23 42"]).await;
    assert_eq!(said.code, 0, "{}", said.text);

    let mut numbers = BTreeMap::new();
    for app in &mut people {
        app.until_admitted(PATIENCE).await;
        numbers.insert(app.number, app.clone());
    }
    let mut room = ropeline.room_now().await.unwrap();
    assert_eq!(room["draw"]["public_value"], "4 8 15 16 23 42");
    let good = verified(&ropeline, &room, &["--all", "--commitment", &committed]).await;
    assert_eq!(good.code, 0, "{}", good.text);
    let told: Vec<u64> = good
        .text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter(|(index, _)| index.parse::<u64>().is_ok())
        .filter_map(|(_, number)| number.parse().ok())
        .collect();
    let mut sorted = told.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, numbers.keys().copied().collect::<Vec<_>>(), "{}", good.text);
    let script = recomputed(&room["draw"]);
    assert_eq!(script, sorted);

    room["draw"]["public_value"] = "4 8 15 16 23 41".into();
    let other = verified(&ropeline, &room, &["--all"]).await;
    assert!(!other.text.contains(&good.text.lines().skip(4).collect::<Vec<_>>().join("\n")), "another order");
    let forged = verified(&ropeline, &room, &["--commitment", &"0".repeat(64)]).await;
    assert!(forged.code == 1 && forged.text.contains("DOES NOT match"), "{}", forged.text);
}

/// `ropeline draw verify` on this document.
async fn verified(ropeline: &Ropeline, room: &Value, more: &[&str]) -> Said {
    let file = ropeline.home.file("draw.json", &serde_json::json!({"room": room}).to_string());
    let file = file.display().to_string();
    process::ropeline(ropeline.home.path(), &[&["draw", "verify", &file], more].concat()).await
}
