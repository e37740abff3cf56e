//! The shipped files: they load, they say the defaults, and every key that they mention is one.

use std::time::Duration;

use super::super::{Overlay, load as load_file, print, warnings};
use super::{BASE, good, load, none};

const MANUAL: &str = include_str!("../../../config/ropeline.toml");
const MINIMAL: &str = include_str!("../../../config/minimal.toml");

#[test]
fn every_shipped_file_loads_without_a_warning() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/config");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let config = load_file(Some(&path), &Overlay::default(), &none).unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(warnings(&config), [], "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 2);
}

#[test]
fn minimal_is_minimal() {
    let lines: Vec<&str> = MINIMAL.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() <= 5);
    for (index, _) in lines.iter().enumerate() {
        let fewer: Vec<&str> =
            lines.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, l)| *l).collect();
        assert!(load(&fewer.join("\n")).is_err(), "line {index} is not needed");
    }
}

/// The manual with everything that is switched off switched on.
fn all_on() -> String {
    MANUAL.lines().map(|line| format!("{}\n", switched_on(line).unwrap_or(line))).collect()
}

fn switched_on(line: &str) -> Option<&str> {
    line.strip_prefix('#').filter(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '['))
}

#[test]
fn every_key_of_the_manual_is_known() {
    let Err(problems) = load(&all_on()) else {
        panic!("the files of secrets are not there, so this cannot load");
    };
    for problem in problems.list() {
        // The public value needs a draw, and the manual shows the default order.
        let expected = [
            "origin.secret_file",
            "store.url_file",
            "store.ca_file",
            "room[0].page.logo",
            "room[0].schedule.public",
        ];
        assert!(expected.contains(&problem.key.as_str()), "{problems}");
    }
}

#[test]
fn every_key_that_works_is_in_the_manual() {
    let manual = all_on();
    let token = "[[admin.token]]\nname = \"a\"\nrole = \"viewer\"\nsha256 = \"0000000000000000000000000000000000000000000000000000000000000001\"\n";
    let rest = "release.max_active = 9\nrelease.max_total = 5\nschedule = { doors = 2026-12-24T03:30:00Z, opens = 2026-12-24T04:00:00Z, closes = 2026-12-24T10:00:00Z, lobby_order = \"draw\", public = \"b\" }\nstock.path = \"/a\"\nstock.field = \"/b\"\npage.title = \"t\"\npage.colours = { accent = \"#000000\" }\n[[cache]]\npaths = [\"/a\"]\nquery = []\n";
    for line in print(&good(&format!("{token}{BASE}{rest}"))).lines() {
        let name = line.split(" = ").next().unwrap_or_default();
        let found = manual.lines().any(|m| m.split(" = ").next() == Some(name));
        assert!(found || line.is_empty(), "{line}");
    }
}

#[test]
fn what_the_manual_calls_not_yet_supported_is_refused_as_such() {
    let list = MANUAL.split("# Not yet supported").nth(1).unwrap();
    let names = list.split(|c: char| c.is_whitespace() || ",;#".contains(c)).filter(|name| {
        ["server.", "room.", "cache.", "limit", "pool"].iter().any(|start| name.starts_with(start))
    });
    let mut count = 0;
    for name in names {
        let text = match name.split_once('.') {
            Some(("room", key)) => format!("{BASE}{key} = {{}}\n"),
            Some(("cache", key)) => format!("{BASE}[[cache]]\npaths = [\"/a\"]\n{key} = 1\n"),
            _ => format!("{name} = 1\n{BASE}"),
        };
        let problems = load(&text).expect_err(name);
        let [problem] = problems.list() else { panic!("{name}: {problems}") };
        assert!(problem.message.starts_with("not yet supported"), "{name}: {problems}");
        count += 1;
    }
    assert_eq!(count, 15, "the list was not found whole");
}

#[test]
fn the_manual_says_the_defaults() {
    let mut manual = good(MANUAL);
    let default = good(MINIMAL);
    assert_eq!(manual.server, default.server);
    assert_eq!(manual.origin, default.origin);
    assert_eq!(manual.store, default.store);
    assert_eq!((&manual.keys_dir, &manual.admin), (&default.keys_dir, &default.admin));
    let room = manual.rooms.first_mut().unwrap();
    let other = default.rooms.first().unwrap();
    (room.id, room.paths, room.open_paths) =
        (other.id.clone(), other.paths.clone(), other.open_paths.clone());
    assert_eq!(manual.rooms, default.rooms);
    let cache = good(&format!("{MINIMAL}[[cache]]\npaths = [\"/api/events/*/remaining\"]\n"));
    assert_eq!(manual.caches, cache.caches);
}

#[test]
fn the_defaults_are_those_that_were_promised() {
    let config = good(&format!("{BASE}[[cache]]\npaths = [\"/a\"]\n"));
    let s = Duration::from_secs;
    assert_eq!(config.server.listen, ["127.0.0.1:8080".parse().unwrap()]);
    assert_eq!(config.server.prefix, "/_ropeline");
    let origin = &config.origin;
    assert_eq!((origin.connect_timeout, origin.response_timeout, origin.max_connections), (s(1), s(30), 256));
    assert_eq!(config.store.timeout, Duration::from_millis(500));
    assert_eq!(config.keys_dir.to_str(), Some("./ropeline-keys"));
    assert_eq!(config.admin.listen, "127.0.0.1:9090".parse().unwrap());
    let room = config.rooms.first().unwrap();
    assert_eq!((room.rules.burst, room.rules.hold, room.rules.max_total), (5, s(1), None));
    assert_eq!((room.rules.return_within, room.rules.max_waiting), (s(600), 2_000_000));
    assert_eq!((room.rules.poll_min, room.poll_max), (s(2), s(30)));
    assert_eq!((room.rules.pass_ttl, room.leeway, room.page.status), (s(1800), s(5), 200));
    assert_eq!((room.rules.first_use, room.rules.idle, room.rules.max_active), (s(30), s(600), None));
    let rule = config.caches.first().unwrap();
    assert_eq!((rule.ttl, rule.stale_while_revalidate, rule.stale_if_error), (s(1), s(5), s(30)));
}

#[test]
fn a_short_pass_shortens_the_defaults_within_it() {
    let config = good(&format!("{BASE}pass.ttl = \"20s\"\n"));
    let rules = &config.rooms.first().unwrap().rules;
    let s = Duration::from_secs;
    assert_eq!((rules.first_use, rules.idle, rules.pass_ttl), (s(20), s(20), s(20)));
}
