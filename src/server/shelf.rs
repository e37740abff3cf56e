//! The cache as the edge uses it: rules chosen by path, the origin asked through the proxy's own client.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use super::StartError;
use super::parts::{patterns, secret};
use crate::answer::{Answer, Problem, Request, problem};
use crate::cache::{self, Cache, Fetch, FetchError, Fetched, Key, RuleId, Scheme, Served};
use crate::config::Config;
use crate::metrics;
use crate::proxy::{Fetcher, FetcherError, Origin, Shelf};
use crate::route::{Pattern, Target};

const NOTHING_KEPT: Problem = Problem::new(
    "origin-away",
    StatusCode::SERVICE_UNAVAILABLE,
    "The shop does not answer, and nothing recent is kept",
);

/// The rules' paths, the cache, and the way to the origin.
struct Kept {
    paths: Vec<(Pattern, RuleId)>,
    /// By rule: the query parameters that count, if not all do.
    queries: Vec<Option<Vec<String>>>,
    cache: Cache,
    fetch: Arc<dyn Fetch>,
}

/// The cache, if any rule asks for one.
pub(super) fn shelf(config: &Config, origin: &Arc<Origin>) -> Result<Option<Arc<dyn Shelf>>, StartError> {
    if config.caches.is_empty() {
        return Ok(None);
    }
    let mut paths = Vec::new();
    for (index, rule) in config.caches.iter().enumerate() {
        let patterns = patterns("cache.paths", &rule.paths)?;
        paths.extend(patterns.into_iter().map(|pattern| (pattern, RuleId(index))));
    }
    paths.sort_by(|(a, _), (b, _)| a.specificity(b));
    let queries = config.caches.iter().map(|rule| rule.query.clone()).collect();
    let settings = cache::Settings { rules: rules(config), ..cache::Settings::default() };
    let fetcher = Fetcher::new(Arc::clone(origin), secret(config)?);
    let cache = Cache::new(settings, cache::monotonic());
    Ok(Some(Arc::new(Kept { paths, queries, cache, fetch: Arc::new(Asked(fetcher)) })))
}

fn rules(config: &Config) -> Vec<cache::Rule> {
    let rule = |rule: &crate::config::CacheConfig| cache::Rule {
        paths: rule.paths.clone(),
        ttl: rule.ttl,
        stale_while_revalidate: rule.stale_while_revalidate,
        stale_if_error: rule.stale_if_error,
        bytes_max: rule.max_bytes,
    };
    config.caches.iter().map(rule).collect()
}

#[async_trait]
impl Shelf for Kept {
    async fn take(&self, request: &Request<'_>, target: &Target, headers: &HeaderMap) -> Option<Answer> {
        let (_, rule) = self.paths.iter().find(|(pattern, _)| pattern.matches(target.path()))?;
        if !cache::applies(request.method, headers) {
            return None;
        }
        let scheme = if request.https { Scheme::Https } else { Scheme::Http };
        let names = self.queries.get(rule.0).and_then(Option::as_deref);
        let asked = names.map_or_else(|| target.raw().to_owned(), |names| only(target.raw(), names));
        let key = Key::new(scheme, request.host.authority(), &asked);
        match self.cache.get(*rule, &key, headers, &self.fetch).await {
            Served::Answer(response) => Some(answer(response)),
            Served::Forward(_) => {
                metrics::cached(metrics::Cached::Passed);
                None
            }
            Served::Unavailable { retry_after } => {
                metrics::cached(metrics::Cached::Failed);
                Some(problem(NOTHING_KEPT, "", Some(retry_after)))
            }
        }
    }
}

/// A target with none but the named query parameters, in the order in which they came. The shop is asked in
/// these words too: what does not count cannot shape an answer that others see.
fn only(raw: &str, names: &[String]) -> String {
    let Some((path, query)) = raw.split_once('?') else { return raw.to_owned() };
    let counts = |pair: &&str| names.iter().any(|name| pair.split('=').next() == Some(name));
    let kept: Vec<&str> = query.split('&').filter(counts).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

fn answer(response: Response<Bytes>) -> Answer {
    let (parts, body) = response.into_parts();
    metrics::cached(outcome(&parts.headers));
    let outcome = metrics::RequestOutcome::Cached;
    Answer { status: parts.status, headers: parts.headers, body, outcome, room: None }
}

fn outcome(headers: &HeaderMap) -> metrics::Cached {
    let status = headers.get("cache-status").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let ttl_over = status.contains("ttl=-") || status.contains("fwd=stale");
    match (status.contains("; hit"), ttl_over) {
        (true, false) => metrics::Cached::Fresh,
        (_, true) => metrics::Cached::Stale,
        (false, false) => metrics::Cached::Miss,
    }
}

/// The cache's questions, asked through the proxy's client.
struct Asked(Fetcher);

#[async_trait]
impl Fetch for Asked {
    async fn fetch(&self, ask: &cache::Ask) -> Result<Fetched, FetchError> {
        let got = self.0.get(ask.key.authority(), ask.key.target(), &ask.headers, ask.bytes_max).await;
        match got {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                Ok(Fetched { status: parts.status, headers: parts.headers, body })
            }
            Err(error) => Err(kind(&error)),
        }
    }
}

fn kind(error: &FetcherError) -> FetchError {
    match error {
        FetcherError::Late => FetchError::TimedOut,
        FetcherError::Busy => FetchError::Busy,
        FetcherError::TooLong => FetchError::Oversized,
        FetcherError::Truncated(_) => FetchError::Truncated,
        _ => FetchError::Unreachable,
    }
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn only_the_named_parameters_are_asked_for() {
        let names = ["date".to_owned(), "hall".to_owned()];
        for (raw, asked) in [
            ("/a", "/a"),
            ("/a?x=1", "/a"),
            ("/a?date=1&x=2&hall=b", "/a?date=1&hall=b"),
            ("/a?dates=1&date", "/a?date"),
        ] {
            assert_eq!(only(raw, &names), asked);
        }
    }
}
