//! What is counted of accounts, and of passes that travel.

use metrics::{counter, gauge};

use super::record::name;
use super::table as t;
use crate::room::RoomId;

/// Whether the key set of a room's tokens could be fetched.
pub fn identity_keys_ok(room: &RoomId, ok: bool) {
    gauge!(t::IDENTITY_KEYS_OK.name, "room" => name(room)).set(if ok { 1.0 } else { 0.0 });
}

/// A pass was used from a network that it was not used from before.
pub fn pass_network(room: &RoomId) {
    counter!(t::PASS_NETWORKS.name, "room" => name(room)).increment(1);
}

/// A pass was used from so many networks that more than one person holds it.
pub fn pass_shared(room: &RoomId) {
    counter!(t::PASSES_SHARED.name, "room" => name(room)).increment(1);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Everything of this file, for the test that compares what is recorded with the table.
    pub(in crate::metrics) fn record_all(room: &RoomId) {
        identity_keys_ok(room, true);
        pass_network(room);
        pass_shared(room);
    }
}
