//! What the shop's stock means for those who wait: told as far as it is known, and never guessed.

use super::document::VisitorState;
use crate::queue::View;
use crate::room::{Number, Phase, Snapshot, WhenShort};

/// What remains, while that is known and recent.
pub(super) fn remaining(snapshot: &Snapshot) -> Option<u64> {
    snapshot.stock.filter(|_| !snapshot.stock_is_stale()).map(|stock| stock.remaining)
}

/// Whether an open room has nothing left.
pub(super) fn is_sold_out(snapshot: &Snapshot) -> bool {
    snapshot.phase == Phase::Open && snapshot.sold_out()
}

/// How somebody in line at this position is called, and whether stock reaches them.
pub(super) fn outlook(view: &View, position: Option<u64>) -> (VisitorState, Option<bool>) {
    let snapshot = view.snapshot.as_deref().filter(|_| view.fresh);
    let beyond = snapshot.zip(position).and_then(|(snapshot, position)| snapshot.beyond_stock(position));
    let waits = snapshot.is_some_and(|s| s.rules.stock.is_some_and(|r| r.when_short == WhenShort::Waitlist));
    let state = if waits && beyond == Some(true) { VisitorState::Waitlisted } else { VisitorState::Waiting };
    (state, beyond.map(|beyond| !beyond))
}

/// Whether a place is on the waiting list so far back that its holder need not ask soon: tickets that come back
/// call the others first.
pub(super) fn rests(snapshot: &Snapshot, number: Number) -> bool {
    let waits = snapshot.rules.stock.is_some_and(|rules| rules.when_short == WhenShort::Waitlist);
    waits
        && !snapshot.is_called_soon(number)
        && snapshot.beyond_stock(snapshot.position(number)) == Some(true)
}
