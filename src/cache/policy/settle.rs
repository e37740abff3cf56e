//! What is remembered after an attempt, and what those who waited for it are told.

use std::sync::Arc;
use std::time::Duration;

use super::freshness::shows_on_error;
use super::storable::{Assessment, Refusal};
use crate::cache::record::{Entry, Hold, Record};
use crate::cache::settings::{Rule, Settings};
use crate::room::Micros;

/// Least time between two attempts, whatever the rule says.
const RETRY_MIN: Duration = Duration::from_millis(100);

/// What those who waited are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cache) enum Outcome {
    /// The new answer, which is kept.
    Kept(Arc<Entry>),
    /// An answer for those who waited only.
    Shared(Arc<Entry>),
    /// Each reader's own request must go to the origin.
    Forward(Refusal),
    /// The attempt failed; the next is due then.
    Failed(Micros),
}

/// How the outcome of an attempt is weighed.
#[derive(Debug, Clone, Copy)]
pub(in crate::cache) struct Terms<'a> {
    /// The rule of the key.
    pub(in crate::cache) rule: &'a Rule,
    /// The bounds.
    pub(in crate::cache) settings: &'a Settings,
    /// When the attempt began.
    pub(in crate::cache) asked: Micros,
    /// When it was over.
    pub(in crate::cache) now: Micros,
}

/// The record after an attempt (`None`: forget the key), and the outcome.
///
/// While a last good answer may be shown, an error status is a failure like any other: one odd answer of the
/// origin never takes the place of a good one. An answer of status 200 that may not be shared does, since the
/// origin then says that the address is no longer the same for everybody.
pub(in crate::cache) fn settle(
    last: Option<Record>,
    got: Assessment,
    terms: Terms<'_>,
) -> (Option<Record>, Outcome) {
    let times = match last.as_ref().map(|record| record.hold) {
        Some(Hold::Failing { times, .. }) => times,
        _ => 0,
    };
    let good = last.and_then(|r| r.entry).filter(|e| shows_on_error(e, terms.rule, terms.now));
    match (got, good) {
        (Assessment::Keep(entry), _) => {
            (Some(Record { entry: Some(entry.clone()), hold: Hold::None }), Outcome::Kept(entry))
        }
        (Assessment::Fail, good) => failed(good, times, terms),
        (Assessment::Share(_) | Assessment::Refuse(Refusal::Status), Some(good)) => {
            failed(Some(good), times, terms)
        }
        (Assessment::Share(entry), None) => (None, Outcome::Shared(entry)),
        (Assessment::Refuse(why), _) => {
            let until = terms.now.plus(terms.settings.uncacheable_for);
            (Some(Record { entry: None, hold: Hold::Uncacheable { until, why } }), Outcome::Forward(why))
        }
    }
}

fn failed(entry: Option<Arc<Entry>>, times: u32, terms: Terms<'_>) -> (Option<Record>, Outcome) {
    let wait = terms.rule.ttl.min(terms.settings.retry_max).max(RETRY_MIN);
    let until = terms.asked.plus(wait);
    let hold = Hold::Failing { until, times: times.saturating_add(1) };
    (Some(Record { entry, hold }), Outcome::Failed(until))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn seconds(s: u64) -> Micros {
        Micros(s * 1_000_000)
    }

    fn entry(status: u16, asked: u64) -> Arc<Entry> {
        Arc::new(Entry {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            asked: seconds(asked),
            age_before: 0,
            never_stale: false,
        })
    }

    fn after(last: Option<Record>, got: Assessment, now: u64) -> (Option<Record>, Outcome) {
        let rule = Rule { ttl: Duration::from_secs(2), ..Rule::default() };
        let settings = Settings::default();
        settle(
            last,
            got,
            Terms { rule: &rule, settings: &settings, asked: seconds(now - 1), now: seconds(now) },
        )
    }

    fn holding(asked: u64, hold: Hold) -> Option<Record> {
        Some(Record { entry: Some(entry(200, asked)), hold })
    }

    #[test]
    fn a_good_answer_ends_every_hold() {
        let new = entry(200, 50);
        let last = holding(40, Hold::Failing { until: seconds(60), times: 3 });
        let (record, outcome) = after(last, Assessment::Keep(new.clone()), 51);
        assert_eq!(record, Some(Record { entry: Some(new.clone()), hold: Hold::None }));
        assert_eq!(outcome, Outcome::Kept(new));
    }

    #[test]
    fn a_failure_keeps_what_may_still_be_shown_and_counts_up() {
        let last = holding(40, Hold::Failing { until: seconds(49), times: 3 });
        let (record, outcome) = after(last, Assessment::Fail, 51);
        let hold = Hold::Failing { until: seconds(52), times: 4 };
        assert_eq!(record, holding(40, hold));
        assert_eq!(outcome, Outcome::Failed(seconds(52)));

        let (record, _) = after(holding(40, Hold::None), Assessment::Fail, 72);
        assert_eq!(record.unwrap().entry, None, "beyond stale_if_error");
    }

    #[test]
    fn an_error_status_never_takes_the_place_of_a_good_answer() {
        for got in [Assessment::Share(entry(404, 50)), Assessment::Refuse(Refusal::Status)] {
            let (record, outcome) = after(holding(48, Hold::None), got, 51);
            assert_eq!(record.unwrap().entry, Some(entry(200, 48)));
            assert!(matches!(outcome, Outcome::Failed(_)));
        }
        let (record, outcome) = after(None, Assessment::Share(entry(404, 50)), 51);
        assert_eq!((record, outcome), (None, Outcome::Shared(entry(404, 50))));
    }

    #[test]
    fn an_answer_that_became_private_is_dropped_at_once() {
        let (record, outcome) = after(holding(48, Hold::None), Assessment::Refuse(Refusal::Private), 51);
        let hold = Hold::Uncacheable { until: seconds(61), why: Refusal::Private };
        assert_eq!(record, Some(Record { entry: None, hold }));
        assert_eq!(outcome, Outcome::Forward(Refusal::Private));
    }

    #[test]
    fn a_long_ttl_does_not_lock_a_failed_key_for_as_long() {
        let rule = Rule { ttl: Duration::from_secs(600), ..Rule::default() };
        let settings = Settings::default();
        let terms = Terms { rule: &rule, settings: &settings, asked: seconds(50), now: seconds(51) };
        assert_eq!(settle(None, Assessment::Fail, terms).1, Outcome::Failed(seconds(60)));
    }
}
