//! `[room.schedule]`: what times mean, and what is wrong with them.

use super::{BASE, good, load};
use crate::room::{LobbyOrder, Micros};

fn problems(lines: &str) -> Vec<String> {
    let problems = load(&format!("{BASE}[room.schedule]\n{lines}")).expect_err(lines);
    problems.list().iter().map(|problem| format!("{}: {}", problem.key, problem.message)).collect()
}

/// Every message begins as one of these, in order.
fn check(lines: &str, starts: &[&str]) {
    let found = problems(lines);
    assert_eq!(found.len(), starts.len(), "{found:?}");
    for (found, start) in found.iter().zip(starts) {
        assert!(found.starts_with(&format!("room[0].schedule.{start}")), "{found:?} is not {start:?}");
    }
}

#[test]
fn w040_times_without_an_offset_are_refused_where_they_stand() {
    let text = format!("{BASE}[room.schedule]\nopens = 2026-12-24T12:00:00\ncloses = \"18:00\"\nopns = 1\n");
    let report = load(&text).unwrap_err().to_string();
    let line = text.lines().position(|line| line.starts_with("opens")).unwrap() + 1;
    for part in [
        format!(
            ":{line}: room[0].schedule.opens: expected a time with its offset such as 2026-12-24T12:00:00+08:00"
        ),
        format!(":{}: room[0].schedule.closes: expected a time with its offset", line + 1),
        format!(":{}: room[0].schedule.opns: unknown key; did you mean `opens`?", line + 2),
    ] {
        assert!(report.contains(&part), "{part} is not in {report}");
    }
    for bad in ["2026-12-24", "12:00:00", "2026-12-24T12:00", "1798084800", "\"2026-12-24T12:00:00+08:00\""] {
        check(&format!("opens = {bad}"), &["opens: expected a time with its offset"]);
    }
}

#[test]
fn w040_one_moment_may_be_written_in_any_offset() {
    for (written, micros) in [
        ("2026-12-24T12:00:00+08:00", 1_798_084_800_000_000),
        ("2026-12-24T04:00:00Z", 1_798_084_800_000_000),
        ("2026-12-23 23:00:00-05:00", 1_798_084_800_000_000),
        ("2026-10-25T02:30:00+02:00", 1_792_888_200_000_000),
        ("2026-10-25T02:30:00+01:00", 1_792_891_800_000_000),
        ("2026-12-24T04:00:00.000001Z", 1_798_084_800_000_001),
    ] {
        let config = good(&format!("{BASE}[room.schedule]\nopens = {written}"));
        let schedule = &config.rooms.first().unwrap().rules.schedule;
        assert_eq!(schedule.opens, Some(Micros(micros)), "{written}");
    }
}

#[test]
fn times_are_in_order_and_all_that_is_wrong_is_said_at_once() {
    check("doors = 2026-12-24T04:00:00Z", &["doors: `doors` needs `opens`"]);
    check(
        "doors = 2026-12-24T05:00:00Z\nopens = 2026-12-24T12:00:00+08:00\ncloses = 2026-12-24T04:00:00Z\npublic = \"x\"",
        &["doors: `doors` must not be after", "closes: `closes` must be after", "public: `public` needs"],
    );
    check("lobby_order = \"draw\"", &["lobby_order: `lobby_order = \"draw\"` needs `opens`"]);
    check("lobby_order = \"lottery\"", &["lobby_order: expected \"fifo\" or \"draw\""]);
    let same =
        good(&format!("{BASE}[room.schedule]\ndoors = 2026-12-24T04:00:00Z\nopens = 2026-12-24T04:00:00Z"));
    assert_eq!(same.rooms.first().unwrap().rules.schedule.lobby_order, LobbyOrder::Fifo);
}

#[test]
fn a_draw_among_browsers_is_warned_of() {
    let config =
        good(&format!("{BASE}[room.schedule]\nopens = 2026-12-24T04:00:00Z\nlobby_order = \"draw\""));
    let warnings = super::super::warnings(&config);
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert_eq!(warning.key, "room[0].schedule.lobby_order");
    assert!(warning.message.contains("a hundred lots"), "{warning}");
}
