//! What is recorded is what the table says, and shows where a scrape looks for it.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::metrics::test_support::counted;
use crate::metrics::{Kind, TABLE};
use crate::room::{Lineage, Micros, Number, Overrides, Rate, Rules, Stock};

fn record_everything() {
    let room = RoomId::new("spring-tour").unwrap();
    RequestOutcome::ALL.iter().for_each(|o| request(Some(&room), *o));
    Listener::ALL.iter().for_each(|door| drop(OpenConnection::at(*door)));
    ConnectionRefusal::ALL.iter().for_each(|cause| connection_refused(Listener::Edge, *cause));
    Join::ALL.iter().for_each(|outcome| joined(&room, *outcome));
    polled(&room);
    stay_ended(&room, "shop");
    left(&room);
    turns_held(&room, 3);
    drop(OpenStream::of(&room));
    StockRead::ALL.iter().for_each(|outcome| stock_read(&room, *outcome));
    stream_refused(&room, ConnectionRefusal::Full);
    Token::ALL.iter().for_each(|kind| token_refused(*kind, "expired"));
    crate::metrics::accounts::tests::record_all(&room);
    snapshot(&room, &some_snapshot());
    store_up(&room, true);
    store_connections(true);
    store_dial();
    store_call("join", "ok", Duration::from_millis(3));
    store_batch("join", 17);
    Origin::ALL.iter().for_each(|outcome| origin(*outcome, Duration::from_millis(40)));
    Cached::ALL.iter().for_each(|outcome| cached(*outcome));
    changed(&room, "pause", "ok");
    reload_ok(false);
}

fn some_snapshot() -> Snapshot {
    Snapshot {
        lineage: Lineage(1),
        epoch: 1,
        version: 9,
        now: Micros(1),
        phase: Phase::Paused,
        reason: None,
        forced: None,
        draw: crate::room::Draw::default(),
        last: Number(70),
        called: Number(40),
        due: Number(30),
        frontier: Number(20),
        lapsed: Number(0),
        voids: crate::room::Voids::default(),
        keys: String::new(),
        lost: crate::room::Voids::default(),
        slots_to: crate::room::Micros(0),
        reach: 10,
        admitted: 19,
        granted: 0,
        active: 0,
        departed: 0,
        ended_to: 0,
        revoked_before: Micros(0),
        stock: Some(Stock { first: 9, remaining: 3, read_at: Micros(1) }),
        rules: Rules::at(Rate::per_second(50).unwrap()),
        overrides: Overrides::default(),
        rules_written: Rules::at(Rate::per_second(50).unwrap()),
    }
}

/// Name without the suffixes of a histogram, and label names, of every series in a scrape.
fn series(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::new();
    for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
        let (key, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = key.split_once('{').unwrap_or((key, ""));
        let histogram = TABLE.iter().find(|m| {
            let part = name.strip_prefix(m.name).unwrap_or_default();
            matches!(m.kind, Kind::Histogram(_)) && matches!(part, "_bucket" | "_sum" | "_count")
        });
        let labels = labels.trim_end_matches('}').split(',').filter_map(|l| l.split_once('='));
        let labels = labels.map(|(l, _)| l.to_owned()).filter(|l| l != "le").collect();
        all.insert(histogram.map_or(name, |m| m.name).to_owned(), labels);
    }
    all
}

#[test]
fn what_is_recorded_is_what_the_table_says() {
    let text = counted(record_everything);
    let seen = series(&text);
    for metric in TABLE {
        let labels = seen.get(metric.name).unwrap_or_else(|| panic!("{} has no recorder", metric.name));
        assert_eq!(labels, &metric.labels.iter().map(|l| (*l).to_owned()).collect(), "{}", metric.name);
        assert!(text.contains(&format!("# HELP {} {}", metric.name, metric.help)), "{}", metric.name);
    }
    assert_eq!(seen.len(), TABLE.len(), "nothing beside the table: {:?}", seen.keys());
}

#[test]
fn a_snapshot_shows_in_the_gauges() {
    let text = counted(record_everything);
    for line in [
        "ropeline_room_waiting{room=\"spring-tour\"} 50",
        "ropeline_room_frontier_number{room=\"spring-tour\"} 20",
        "ropeline_room_rate_per_second{room=\"spring-tour\"} 50",
        "ropeline_room_paused{room=\"spring-tour\"} 1",
        "ropeline_turns_held{room=\"spring-tour\"} 3",
        "ropeline_store_batch_entries_bucket{verb=\"join\",le=\"20\"} 1",
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}
