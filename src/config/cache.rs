//! One `[[cache]]`.

use std::collections::HashMap;
use std::time::Duration;

use super::pattern;
use super::report::Report;
use super::table::{Placed, Table};
use super::types::CacheConfig;
use super::value::{duration, from_text, text, whole};

/// Most `[[cache]]` tables.
const RULES_MAX: usize = 1000;

/// Reads all `[[cache]]`.
pub(super) fn read(root: &mut Table<'_>, ignore_case: bool, report: &Report) -> Vec<CacheConfig> {
    let read: Vec<_> = root.tables("cache", RULES_MAX).into_iter().map(rule).collect();
    let mut seen: HashMap<String, &str> = HashMap::new();
    for path in read.iter().flat_map(|(paths, _)| paths) {
        if let Some(first) = seen.insert(pattern::canonical(&path.value, ignore_case), &path.key) {
            report.at(path.at, &path.key, format!("{:?} is matched by {first} already", path.value));
        }
    }
    read.into_iter().map(|(_, rule)| rule).collect()
}

fn rule(mut table: Table<'_>) -> (Vec<Placed<String>>, CacheConfig) {
    let paths = table.need_list("paths", "[\"/api/remaining\"]", from_text("a path", pattern::pattern));
    let time = |table: &mut Table<'_>, key, least, default| {
        table.read(key, duration(least, "24h")).unwrap_or(Duration::from_secs(default))
    };
    let max_bytes = table.read("max_bytes", whole(1, 1 << 30)).unwrap_or(1 << 20);
    let rule = CacheConfig {
        paths: paths.iter().map(|placed| placed.value.clone()).collect(),
        ttl: time(&mut table, "ttl", "100ms", 1),
        stale_while_revalidate: time(&mut table, "stale_while_revalidate", "0s", 5),
        stale_if_error: time(&mut table, "stale_if_error", "0s", 30),
        max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
        query: table.list("query", text),
    };
    table.not_yet(&["bytes", "vary", "negative"]);
    (paths, rule)
}
