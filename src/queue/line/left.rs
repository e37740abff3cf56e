//! Places that were given up at this instance before they were called.
//!
//! The store keeps the mark; this memory only spares polls from far behind, which cost no store call, from
//! being told that they still wait. It is bounded and may forget: then the mark counts once it is their turn.

use dashmap::DashSet;

use crate::room::Number;

/// Most numbers that are remembered.
const MOST: usize = 100_000;

#[derive(Default)]
pub(super) struct Left(DashSet<Number>);

impl Left {
    pub(super) fn add(&self, number: Number, called: Number) {
        if self.0.len() >= MOST {
            self.0.retain(|kept| *kept > called);
        }
        if number > called && self.0.len() < MOST {
            self.0.insert(number);
        }
    }

    pub(super) fn has(&self, number: Number) -> bool {
        self.0.contains(&number)
    }
}
