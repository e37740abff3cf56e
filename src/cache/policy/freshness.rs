//! What a reader is told by what is remembered of a key, at a moment.
//!
//! The life of an answer: fresh for `ttl`, then for a while shown at once and refreshed behind the reader's
//! back, then only shown when the origin fails, then gone. While the origin fails readers never wait for it.

use std::sync::Arc;
use std::time::Duration;

use super::storable::Refusal;
use crate::cache::record::{Entry, Hold, Record};
use crate::cache::settings::Rule;
use crate::room::Micros;

/// What to do with a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cache) enum Judgement {
    /// Show it.
    Fresh(Arc<Entry>),
    /// Show it, and let one request refresh it in the background.
    Refresh(Arc<Entry>),
    /// Show it; the origin fails and is left alone until then.
    Spare(Arc<Entry>, Micros),
    /// Ask the origin and wait. What there is may be shown if that fails.
    Ask(Option<Arc<Entry>>),
    /// Nothing may be shown, and the origin fails and is left alone until then.
    Unavailable(Micros),
    /// The reader's own request must go to the origin. `probe`: one request in the background looks again.
    Forward { why: Refusal, probe: bool },
}

/// What to do with a reader at `now`.
pub(in crate::cache) fn judge(record: Option<&Record>, rule: &Rule, now: Micros) -> Judgement {
    let Some(record) = record else { return Judgement::Ask(None) };
    let entry = record.entry.as_ref();
    if let Some(entry) = entry.filter(|e| is_fresh(e, rule, now)) {
        return Judgement::Fresh(entry.clone());
    }
    let last = entry.filter(|e| shows_on_error(e, rule, now)).cloned();
    match (record.hold, last) {
        (Hold::Uncacheable { until, why }, _) => Judgement::Forward { why, probe: now >= until },
        (Hold::Failing { until, .. }, Some(last)) if now < until => Judgement::Spare(last, until),
        (Hold::Failing { until, .. }, None) if now < until => Judgement::Unavailable(until),
        (Hold::Failing { .. }, Some(last)) => Judgement::Refresh(last),
        (Hold::None, Some(last)) if revalidates(&last, rule, now) => Judgement::Refresh(last),
        (_, last) => Judgement::Ask(last),
    }
}

/// What a reader may be shown at `now` after the attempt that it waited for failed, or took too long.
pub(in crate::cache) fn judge_failed(
    last: Option<Arc<Entry>>,
    rule: &Rule,
    now: Micros,
) -> Option<Arc<Entry>> {
    last.filter(|entry| is_fresh(entry, rule, now) || shows_on_error(entry, rule, now))
}

fn is_fresh(entry: &Entry, rule: &Rule, now: Micros) -> bool {
    now.since(entry.asked) < rule.ttl
}

fn revalidates(entry: &Entry, rule: &Rule, now: Micros) -> bool {
    within(entry, rule.ttl, rule.stale_while_revalidate, now)
}

/// Also in the window in which it would be shown while a healthy origin is asked.
pub(super) fn shows_on_error(entry: &Entry, rule: &Rule, now: Micros) -> bool {
    within(entry, rule.ttl, rule.stale_if_error.max(rule.stale_while_revalidate), now)
}

fn within(entry: &Entry, ttl: Duration, window: Duration, now: Micros) -> bool {
    !entry.never_stale && now.since(entry.asked) < ttl.saturating_add(window)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn seconds(s: u64) -> Micros {
        Micros(s * 1_000_000)
    }

    fn rule() -> Rule {
        Rule {
            ttl: Duration::from_secs(10),
            stale_while_revalidate: Duration::from_secs(5),
            stale_if_error: Duration::from_secs(30),
            ..Rule::default()
        }
    }

    fn entry(never_stale: bool) -> Arc<Entry> {
        Arc::new(Entry {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            asked: seconds(100),
            age_before: 0,
            never_stale,
        })
    }

    fn at(entry: Option<&Arc<Entry>>, hold: Hold, now: u64) -> Judgement {
        judge(Some(&Record { entry: entry.cloned(), hold }), &rule(), seconds(now))
    }

    #[test]
    fn an_answer_is_fresh_then_refreshed_then_only_a_fallback_then_gone() {
        let e = entry(false);
        let judged = |now| at(Some(&e), Hold::None, now);
        assert_eq!(judge(None, &rule(), seconds(1)), Judgement::Ask(None));
        assert_eq!(judged(100), Judgement::Fresh(e.clone()));
        assert_eq!(judged(109), Judgement::Fresh(e.clone()));
        assert_eq!(judged(110), Judgement::Refresh(e.clone()));
        assert_eq!(judged(114), Judgement::Refresh(e.clone()));
        assert_eq!(judged(115), Judgement::Ask(Some(e.clone())));
        assert_eq!(judged(139), Judgement::Ask(Some(e.clone())));
        assert_eq!(judged(140), Judgement::Ask(None));
    }

    #[test]
    fn a_clock_that_went_back_makes_nothing_stale() {
        assert!(matches!(at(Some(&entry(false)), Hold::None, 50), Judgement::Fresh(_)));
    }

    #[test]
    fn a_failing_origin_is_left_alone_and_readers_do_not_wait_for_it() {
        let e = entry(false);
        let failing = Hold::Failing { until: seconds(120), times: 1 };
        assert_eq!(at(Some(&e), failing, 119), Judgement::Spare(e.clone(), seconds(120)));
        assert_eq!(at(Some(&e), failing, 120), Judgement::Refresh(e.clone()));
        assert_eq!(at(Some(&e), failing, 139), Judgement::Refresh(e.clone()));
        assert_eq!(at(Some(&e), failing, 140), Judgement::Ask(None));
        assert_eq!(at(None, failing, 119), Judgement::Unavailable(seconds(120)));
        assert_eq!(at(None, failing, 120), Judgement::Ask(None));
        let later = Hold::Failing { until: seconds(150), times: 9 };
        assert_eq!(at(Some(&e), later, 141), Judgement::Unavailable(seconds(150)));
    }

    #[test]
    fn what_must_be_revalidated_is_never_shown_stale() {
        let e = entry(true);
        assert_eq!(at(Some(&e), Hold::None, 109), Judgement::Fresh(e.clone()));
        assert_eq!(at(Some(&e), Hold::None, 110), Judgement::Ask(None));
        assert_eq!(judge_failed(Some(e.clone()), &rule(), seconds(110)), None);
        assert_eq!(judge_failed(Some(e.clone()), &rule(), seconds(109)), Some(e));
    }

    #[test]
    fn what_is_uncacheable_is_forwarded_and_looked_at_again_later() {
        let hold = Hold::Uncacheable { until: seconds(10), why: Refusal::Private };
        assert_eq!(at(None, hold, 9), Judgement::Forward { why: Refusal::Private, probe: false });
        assert_eq!(at(None, hold, 10), Judgement::Forward { why: Refusal::Private, probe: true });
    }
}
