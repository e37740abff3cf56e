//! Counts what became of a request to the origin, once, however it ends.

use std::time::Instant;

use http::StatusCode;

use crate::metrics::{self, Origin};

/// A request to the origin. Dropped without a word from the origin, it counts as abandoned by the visitor.
#[derive(Debug)]
pub(super) struct Watch {
    since: Instant,
    told: bool,
}

impl Watch {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), told: false }
    }

    /// Its turn has come only now: waiting for a share is not the origin's time.
    pub(super) fn begins(&mut self) {
        self.since = Instant::now();
    }

    /// The response headers are there.
    pub(super) fn answered(&mut self, status: StatusCode) {
        self.ended(if status.is_server_error() { Origin::Error } else { Origin::Answered });
    }

    /// It is over; only the first call counts.
    pub(super) fn ended(&mut self, outcome: Origin) {
        if !std::mem::replace(&mut self.told, true) {
            metrics::origin(outcome, self.since.elapsed());
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended(Origin::Abandoned);
    }
}
