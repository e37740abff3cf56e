//! One log line per trouble, and again only when it changes or lasts.

use std::time::Duration;

use tokio::time::Instant;

use crate::queue::StoreError;

/// An unchanged trouble is said again after so long.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// What was said last.
#[derive(Default)]
pub(super) struct Said(Option<(StoreError, Instant)>);

impl Said {
    /// Says it, if it is news.
    pub(super) fn say(&mut self, trouble: &StoreError) {
        let again = |(last, at): &(StoreError, Instant)| last != trouble || at.elapsed() >= SAY_AGAIN;
        if self.0.as_ref().is_none_or(again) {
            tracing::warn!("{trouble}");
            self.0 = Some((trouble.clone(), Instant::now()));
        }
    }
}
