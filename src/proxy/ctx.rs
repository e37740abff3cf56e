//! What one phase leaves for the next.

use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::sync::OwnedSemaphorePermit;

use super::reading::Reading;
use super::watch::Watch;
use crate::answer::Permit;
use crate::metrics::{self, RequestOutcome};
use crate::room::RoomId;

/// State of one request. Small, since every open connection may hold one.
#[derive(Debug)]
pub(crate) struct Ctx {
    pub(super) started: Instant,
    /// What became of it; counted when it ends, however it does.
    pub(super) outcome: RequestOutcome,
    /// The room that it was about.
    pub(super) room: Option<RoomId>,
    pub(super) reading: Option<Box<Reading>>,
    pub(super) permit: Option<Box<Permit>>,
    /// Our share of the origin; freed when the request ends, however it does.
    pub(super) slot: Option<OwnedSemaphorePermit>,
    /// Its way to the origin, as it is counted.
    pub(super) watch: Option<Watch>,
    /// Attempts to reach the origin so far.
    pub(super) attempts: u8,
    /// Bytes of the request body so far.
    pub(super) received: u64,
    /// When the whole response must be through; none for upgrades and event streams.
    pub(super) deadline: Option<Instant>,
    /// The status of an answer of ours.
    pub(super) status: Option<StatusCode>,
}

impl Ctx {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            started: now,
            outcome: RequestOutcome::Error,
            room: None,
            reading: None,
            permit: None,
            slot: None,
            watch: None,
            attempts: 0,
            received: 0,
            deadline: None,
            status: None,
        }
    }

    /// Whether the response has taken longer than it may.
    pub(super) fn is_late(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now > deadline)
    }

    pub(super) fn took(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}

impl Drop for Ctx {
    fn drop(&mut self) {
        metrics::request(self.room.as_ref(), self.outcome);
    }
}
