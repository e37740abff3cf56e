//! Tickets whose places the store may have lost, shown to it once in each of its lives.
//!
//! Nothing is asked for the others. What was shown is remembered here within a bound; whoever is forgotten is shown
//! again, which changes nothing.

use dashmap::DashMap;

use crate::room::{IdentityHash, Number, Snapshot};

/// Most places that are remembered as shown.
const MOST: usize = 100_000;

/// Places, and the epoch in which the store was shown them.
#[derive(Default)]
pub(super) struct Lost(DashMap<Number, u64>);

impl Lost {
    /// Whether the store should be shown the ticket of this place.
    pub(super) fn asks(&self, snapshot: &Snapshot, place: Number, identity: Option<IdentityHash>) -> bool {
        let lost = place > snapshot.last || identity.is_some() && snapshot.lost.has(place);
        lost && self.0.get(&place).is_none_or(|shown| *shown != snapshot.epoch)
    }

    /// It was shown.
    pub(super) fn shown(&self, snapshot: &Snapshot, place: Number) {
        if self.0.len() >= MOST {
            self.0.clear();
        }
        self.0.insert(place, snapshot.epoch);
    }
}
