//! What is kept, for how long, and how much of it: the `[[cache]]` tables and the bounds around them.

use std::time::Duration;

/// Which rule a request falls under: the index into [`Settings::rules`]. The caller matches paths and chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RuleId(pub usize);

/// One `[[cache]]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Path patterns as written. The cache never reads them; whoever routes does, and passes a [`RuleId`].
    pub paths: Vec<String>,
    /// How long an answer is fresh, from the moment when the origin was asked. It sets the lifetime: `max-age`
    /// of the origin neither lengthens nor shortens it (what the origin forbids to store is never stored).
    pub ttl: Duration,
    /// For how long after `ttl` a stale answer is shown at once while one request refreshes it.
    pub stale_while_revalidate: Duration,
    /// For how long after `ttl` the last good answer is shown when the origin fails. Zero: 503 at once.
    pub stale_if_error: Duration,
    /// Largest body that is kept, in bytes. A larger one is forwarded to each reader by itself.
    pub bytes_max: usize,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            ttl: Duration::from_secs(1),
            stale_while_revalidate: Duration::from_secs(5),
            stale_if_error: Duration::from_secs(30),
            bytes_max: 1 << 20,
        }
    }
}

/// All rules, and the bounds of the memory and the waiting that they may cost one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The rules, in the order in which [`RuleId`] counts them.
    pub rules: Vec<Rule>,
    /// Most records: answers, and keys remembered as failing or not cacheable.
    pub entries_max: u64,
    /// Most bytes of all records together. One body may take at most half of it.
    pub bytes_max: u64,
    /// Most requests of the cache to the origin at once, over all keys.
    pub fetches_max: usize,
    /// Most readers that wait for one key; those beyond are answered at once (stale or 503).
    pub waiters_max: usize,
    /// Longest wait of a reader, counted from when the origin was asked: who comes late to a hung request does
    /// not wait at all.
    pub wait_max: Duration,
    /// Longest time that one request to the origin may take before it is given up and counts as failed.
    pub fetch_max: Duration,
    /// A failed key is asked again after its `ttl`, but no later than this.
    pub retry_max: Duration,
    /// How long a key is remembered as not cacheable before one background request looks again.
    pub uncacheable_for: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            entries_max: 10_000,
            bytes_max: 64 << 20,
            fetches_max: 256,
            waiters_max: 20_000,
            wait_max: Duration::from_secs(5),
            fetch_max: Duration::from_secs(30),
            retry_max: Duration::from_secs(10),
            uncacheable_for: Duration::from_secs(10),
        }
    }
}

impl Settings {
    /// The largest body that is kept under `rule`.
    pub(super) fn body_max(&self, rule: &Rule) -> usize {
        let half = usize::try_from(self.bytes_max / 2).unwrap_or(usize::MAX);
        rule.bytes_max.min(half)
    }
}
