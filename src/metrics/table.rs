//! Every metric there is: name, kind, unit, labels and one sentence each, and nothing that is not here can
//! be recorded. To add one: a line below, a typed function in `record`, a call of it in the test there.
//!
//! Rules: the prefix `ropeline_`, the unit last (`_seconds`, `_bytes`), `_total` for counters, and only
//! labels with few values: rooms, outcomes, verbs; never a visitor, an address or a path.

use metrics::Unit;

/// What a metric does over time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution, as buckets with these upper bounds.
    Histogram(&'static [f64]),
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The full name, as scraped.
    pub name: &'static str,
    /// What it does over time.
    pub kind: Kind,
    /// In what it counts.
    pub unit: Unit,
    /// Names of its labels, sorted.
    pub labels: &'static [&'static str],
    /// One sentence for people.
    pub help: &'static str,
}

/// Bounds for a call to a store on the same network, in seconds.
const QUICK: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];
/// Bounds for an answer of the origin, in seconds.
const SLOW: &[f64] = &[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0];
/// Bounds for entries in a batch.
const ENTRIES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

macro_rules! table {
    ($($id:ident = $kind:expr, $unit:ident, $name:literal, [$($label:literal),*], $help:literal;)*) => {
        $(
            #[doc = $help]
            pub(super) const $id: Metric =
                Metric { name: $name, kind: $kind, unit: Unit::$unit, labels: &[$($label),*], help: $help };
        )*
        /// All of them, in the order of this file.
        pub const TABLE: &[Metric] = &[$($id),*];
    };
}

use Kind::{Counter, Gauge, Histogram};

table! {
    // The doors.
    REQUESTS = Counter, Count, "ropeline_requests_total", ["outcome", "room"],
        "Requests at the doors, by what became of them; the room is empty outside all rooms.";
    CONNECTIONS = Gauge, Count, "ropeline_connections", ["door"],
        "Connections that are open at a door.";
    CONNECTIONS_OPENED = Counter, Count, "ropeline_connections_opened_total", ["door"],
        "Connections that a door took in.";
    CONNECTIONS_REFUSED = Counter, Count, "ropeline_connections_refused_total", ["cause", "door"],
        "Connections that a door turned away or cut, by cause.";

    // The line.
    JOINS = Counter, Count, "ropeline_joins_total", ["outcome", "room"],
        "Attempts to take a place, by outcome.";
    POLLS = Counter, Count, "ropeline_polls_total", ["room"],
        "Polls answered by this instance.";
    STAYS_ENDED = Counter, Count, "ropeline_stays_ended_total", ["cause", "room"],
        "Stays inside that were ended before they expired, by who ended them, at this instance.";
    LEAVES = Counter, Count, "ropeline_leaves_total", ["room"],
        "Places given up on purpose.";
    TURNS_HELD = Gauge, Count, "ropeline_turns_held", ["room"],
        "Visitors whose requests this instance holds until their turn.";
    STREAMS = Gauge, Count, "ropeline_event_streams", ["room"],
        "Event streams that are held.";
    STREAMS_OPENED = Counter, Count, "ropeline_event_streams_opened_total", ["room"],
        "Event streams that were opened.";
    STREAMS_REFUSED = Counter, Count, "ropeline_event_streams_refused_total", ["cause", "room"],
        "Event streams that were refused because as many are held as may; these visitors poll.";
    TOKENS_REFUSED = Counter, Count, "ropeline_tokens_refused_total", ["cause", "kind"],
        "Tickets, passes, operator tokens and the shop's accounts that were not believed, by cause.";
    IDENTITY_KEYS_OK = Gauge, Count, "ropeline_identity_keys_ok", ["room"],
        "1 if the key set of the shop's tokens could be fetched when it was last tried.";
    PASS_NETWORKS = Counter, Count, "ropeline_pass_networks_total", ["room"],
        "Client networks that passes were used from, each counted once for a pass at this instance.";
    PASSES_SHARED = Counter, Count, "ropeline_passes_shared_total", ["room"],
        "Passes that were used from five client networks or more at this instance.";

    // The room, as the last snapshot shows it.
    ROOM_WAITING = Gauge, Count, "ropeline_room_waiting", ["room"],
        "Places that are not settled yet.";
    ROOM_LAST = Gauge, Count, "ropeline_room_last_number", ["room"],
        "The last number handed out.";
    ROOM_CALLED = Gauge, Count, "ropeline_room_called_number", ["room"],
        "Holders of numbers up to here are asked to check in.";
    ROOM_FRONTIER = Gauge, Count, "ropeline_room_frontier_number", ["room"],
        "Everything up to this number is settled.";
    ROOM_ADMITTED = Gauge, Count, "ropeline_room_admitted", ["room"],
        "Admissions of all instances since the room was created or flushed.";
    ROOM_ACTIVE = Gauge, Count, "ropeline_room_active", ["room"],
        "Admissions that live: passes neither ended nor expired, all instances together.";
    ROOM_RATE = Gauge, CountPerSecond, "ropeline_room_rate_per_second", ["room"],
        "The rate in force, in admissions a second.";
    ROOM_PAUSED = Gauge, Count, "ropeline_room_paused", ["room"],
        "1 while an operator has paused the room.";

    ROOM_REMAINING = Gauge, Count, "ropeline_room_remaining", ["room"],
        "Tickets that the shop has left, as last read.";
    STOCK_AGE = Gauge, Seconds, "ropeline_stock_age_seconds", ["room"],
        "How old the last reading of the shop's stock is; an old one bounds nobody.";
    STOCK_READS = Counter, Count, "ropeline_stock_reads_total", ["outcome", "room"],
        "Readings of the shop's stock by this instance, by outcome.";

    // The store.
    STORE_UP = Gauge, Count, "ropeline_store_up", ["room"],
        "1 while the snapshot of the room is recent enough to act on.";
    STORE_CONNECTIONS = Gauge, Count, "ropeline_store_connections", [],
        "Connections to the store that are in use.";
    STORE_DIALS = Counter, Count, "ropeline_store_dials_total", [],
        "Connections to the store, its sentinels and nodes that were begun.";
    STORE_CALLS = Counter, Count, "ropeline_store_calls_total", ["outcome", "verb"],
        "Calls to the store, by verb and outcome.";
    STORE_CALL_DURATION = Histogram(QUICK), Seconds, "ropeline_store_call_duration_seconds", ["verb"],
        "How long calls to the store took, failures included.";
    STORE_BATCH = Histogram(ENTRIES), Count, "ropeline_store_batch_entries", ["verb"],
        "Entries in one call to the store.";

    // Behind the line.
    ORIGIN_REQUESTS = Counter, Count, "ropeline_origin_requests_total", ["outcome"],
        "Requests sent to the origin, by outcome.";
    ORIGIN_DURATION = Histogram(SLOW), Seconds, "ropeline_origin_response_duration_seconds", ["outcome"],
        "Time until the origin's response headers, or until it was given up.";
    CACHE = Counter, Count, "ropeline_cache_requests_total", ["outcome"],
        "Requests for cached paths, by how they were served.";

    // The process and its operators.
    CHANGES = Counter, Count, "ropeline_admin_changes_total", ["change", "outcome", "room"],
        "Changes that operators asked for, by outcome.";
    RELOAD_OK = Gauge, Count, "ropeline_config_reload_ok", [],
        "1 if the settings file as last read is the one in force.";
    BUILD_INFO = Gauge, Count, "ropeline_build_info", ["version"],
        "Always 1; the label is the running version.";
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_follow_the_rules() {
        for m in TABLE {
            let counter = m.kind == Counter;
            let good = |b: u8| b.is_ascii_lowercase() || b == b'_';
            assert!(m.name.bytes().all(good) && !m.name.contains("__"), "{}", m.name);
            assert!(m.name.starts_with("ropeline_"), "{}", m.name);
            assert_eq!(m.name.ends_with("_total"), counter, "{}: _total is for counters", m.name);
            let seconds = m.name.ends_with("_seconds");
            assert_eq!(seconds, m.unit == Unit::Seconds, "{}: the unit comes last", m.name);
            let per_second = m.name.ends_with("_per_second");
            assert_eq!(per_second, m.unit == Unit::CountPerSecond, "{}: the unit comes last", m.name);
        }
    }

    #[test]
    fn each_has_a_sentence_and_its_own_name_and_few_labels() {
        let names: BTreeSet<_> = TABLE.iter().map(|m| m.name).collect();
        assert_eq!(names.len(), TABLE.len(), "no name twice");
        let allowed = ["cause", "change", "door", "kind", "outcome", "room", "verb", "version"];
        for m in TABLE {
            assert!(m.help.ends_with('.') && m.help.len() > 20, "{} needs a sentence", m.name);
            assert!(m.labels.is_sorted(), "{}", m.name);
            assert!(m.labels.iter().all(|l| allowed.contains(l)), "{}: labels have few values", m.name);
        }
    }

    #[test]
    fn buckets_grow() {
        for m in TABLE {
            if let Histogram(bounds) = m.kind {
                assert!(bounds.is_sorted() && !bounds.is_empty(), "{}", m.name);
            }
        }
    }
}
