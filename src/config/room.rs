//! One `[[room]]`.

use std::time::Duration;

use super::identity;
use super::net;
use super::page;
use super::pattern;
use super::stock;
use super::table::{Placed, Table};
use super::types::{RoomConfig, SameSite};
use super::value::{Parsed, duration, from_text, one_of, quoted, rate_value, whole};
use crate::room::{Rate, RoomId, Rules};

/// Most rooms.
pub(super) const ROOMS_MAX: usize = 1000;

/// The largest whole number that every store keeps exactly.
const COUNT_MAX: u64 = (1 << 53) - 1;

/// A room, and where the things stand that rooms must not share.
pub(super) struct Read {
    /// `None` when something that every room needs is missing.
    pub(super) config: Option<RoomConfig>,
    pub(super) id: Option<RoomId>,
    pub(super) hosts: Vec<String>,
    pub(super) at: usize,
    pub(super) key: String,
    pub(super) identity: identity::Read,
    pub(super) paths: Vec<Placed<String>>,
    pub(super) open_paths: Vec<Placed<String>>,
}

/// Reads a room; `over` stands over its rate.
pub(super) fn read(mut table: Table<'_>, over: Option<Rate>) -> Read {
    let id = table.need("id", "\"spring-tour\"", from_text("a string", room_id));
    if let Some(id) = &id {
        table.call_room(id.as_str());
    }
    let hosts = table.list("hosts", from_text("a host name", net::host)).unwrap_or_default();
    let path = || from_text("a path", pattern::pattern);
    let paths = table.need_list("paths", "[\"/buy/**\"]", path());
    let open_paths = table.list_placed("open_paths", path()).unwrap_or_default();
    let identity = identity::read(table.table("identity"));
    let words = &[("lax", SameSite::Lax), ("strict", SameSite::Strict), ("none", SameSite::None)];
    let same_site = table.read("same_site", one_of(words)).unwrap_or(SameSite::Lax);
    let rules = release(table.table("release"), over);
    let page = page::read(table.table("page"));
    let (waiting, pass) = (table.table("waiting"), table.table("pass"));
    let mut rules_or_any = rules.clone().or_else(|| Rate::per_second(1).map(Rules::at));
    let poll_max = rules_or_any.as_mut().map(|rules| self::waiting(waiting, rules));
    let from_pass = rules_or_any.as_mut().map(|rules| self::pass(pass, rules));
    let schedule = super::schedule::read(table.table("schedule"));
    let stock = stock::read(&mut table);
    if let Some(rules) = &mut rules_or_any {
        rules.schedule = schedule;
        rules.stock = stock.as_ref().map(|(_, bounds)| *bounds);
    }
    table.not_yet(&["cors", "joining", "pacing"]);
    let values = |list: &[Placed<String>]| list.iter().map(|placed| placed.value.clone()).collect();
    let config = (|| {
        Some(RoomConfig {
            id: id.clone()?,
            hosts: hosts.clone(),
            stock: stock.map(|(stock, _)| stock),
            paths: values(&paths),
            open_paths: values(&open_paths),
            rules: rules.and(rules_or_any)?,
            poll_max: poll_max.map(|(most, _)| most)?,
            absent_after: poll_max.map(|(_, absent)| absent)?,
            identity: identity.config.clone()?,
            same_site,
            page,
            leeway: from_pass?.leeway,
            networks_max: from_pass?.networks_max,
        })
    })();
    let (at, key) = table.place_of("id");
    Read { config, id, hosts, at, key, identity, paths, open_paths }
}

fn room_id(text: &str) -> Parsed<RoomId> {
    let bad =
        || format!("expected 1 to 64 of a-z, 0-9 and - such as \"spring-tour\", found {}", quoted(text));
    RoomId::new(text).ok_or_else(bad)
}

/// The rules with what `[room.release]` says; `None` without a rate.
fn release(mut table: Table<'_>, over: Option<Rate>) -> Option<Rules> {
    let rate = match over {
        Some(_) => table.read("rate", rate_value).and(over).or(over),
        None => table.need("rate", "\"50/s\"", rate_value),
    };
    let burst = table.read("burst", whole(1, Rate::PER_SECOND_MAX));
    let hold = table.read("hold", duration("0s", "30s"));
    let max_total = table.read("max_total", whole(1, COUNT_MAX));
    let max_active = table.read("max_active", whole(1, COUNT_MAX));
    let mut rules = Rules::at(rate?);
    rules.burst = burst.unwrap_or(rules.burst);
    rules.hold = hold.unwrap_or(rules.hold);
    (rules.max_total, rules.max_active) = (max_total, max_active);
    Some(rules)
}

/// Reads `[room.waiting]` into the rules; the longest poll interval, and how long silence is not absence.
fn waiting(mut table: Table<'_>, rules: &mut Rules) -> (Duration, Duration) {
    rules.return_within = table.read("return_within", duration("10s", "24h")).unwrap_or(rules.return_within);
    rules.max_waiting = table.read("max", whole(1, 100_000_000)).unwrap_or(rules.max_waiting);
    let absent_after = table.read("absent_after", duration("10s", "24h"));
    let mut poll = table.table("poll");
    let least = poll.read("min", duration("500ms", "1m"));
    let most = poll.read("max", duration("500ms", "10m"));
    rules.poll_min = least.unwrap_or(rules.poll_min);
    let poll_max = most.unwrap_or(Duration::from_secs(30));
    if poll_max < rules.poll_min {
        let key = if most.is_some() { "max" } else { "min" };
        let (least, most) = (super::value::written(rules.poll_min), super::value::written(poll_max));
        poll.problem(key, format!("poll.max ({most}) must not be shorter than poll.min ({least})"));
    }
    drop(poll);
    // Twice, so that one poll that got lost makes nobody absent.
    let least = poll_max.saturating_mul(2);
    if let Some(given) = absent_after.filter(|given| *given < least) {
        let (given, least) = (super::value::written(given), super::value::written(least));
        table.problem("absent_after", format!("{given} must be at least twice poll.max ({least})"));
    }
    (poll_max, absent_after.unwrap_or_else(|| Duration::from_secs(180).max(least)))
}

/// What of `[room.pass]` is no rule of the line.
#[derive(Clone, Copy)]
struct PassChecks {
    leeway: Duration,
    networks_max: usize,
}

/// Reads `[room.pass]` into the rules; the rest.
fn pass(mut table: Table<'_>, rules: &mut Rules) -> PassChecks {
    rules.pass_ttl = table.read("ttl", duration("1s", "24h")).unwrap_or(rules.pass_ttl);
    let leeway = table.read("leeway", duration("0s", "1m")).unwrap_or(Duration::from_secs(5));
    if leeway >= rules.pass_ttl {
        table.problem("leeway", "must be shorter than ttl");
    }
    for (key, part) in [("first_use", &mut rules.first_use), ("idle", &mut rules.idle)] {
        let given = table.read(key, duration("1s", "24h"));
        if given.is_some_and(|time| time > rules.pass_ttl) {
            table.problem(key, "must not be longer than ttl");
        }
        // A default that is longer than a short ttl means as long as that.
        *part = given.unwrap_or(*part).min(rules.pass_ttl);
    }
    let networks = table.read("networks_max", whole(0, 16)).unwrap_or(16);
    PassChecks { leeway, networks_max: usize::try_from(networks).unwrap_or(16) }
}
