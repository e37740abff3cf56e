//! The typed functions through which the parts count: one sentence of code each, so that a call site can
//! neither misspell a name nor invent a label.

use std::time::Duration;

use metrics::{SharedString, counter, gauge, histogram};

use super::table as t;
use crate::room::{Phase, RoomId, Snapshot};

/// An enum whose values are values of a label.
macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $value,)* }

        impl $name {
            /// The value of the label.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$value => $text,)* }
            }

            /// Every value.
            pub const ALL: &[Self] = &[$(Self::$value,)*];
        }
    };
}

label! {
    /// What became of a request at a door.
    RequestOutcome {
        /// Went on to the origin.
        Forwarded = "forwarded",
        /// Was answered from memory in the origin's place.
        Cached = "cached",
        /// Got the waiting page.
        WaitingPage = "waiting_page",
        /// Got the waiting document.
        WaitingDocument = "waiting_document",
        /// Was answered by an endpoint under the prefix.
        Endpoint = "endpoint",
        /// Was refused with a problem (4xx).
        Refused = "refused",
        /// Failed through us or the origin (5xx).
        Error = "error",
    }
}

label! {
    /// A listener.
    Listener {
        /// The shop's own addresses.
        Edge = "edge",
        /// The second door for those who wait.
        Crowd = "crowd",
        /// The operator's.
        Admin = "admin",
    }
}

label! {
    /// Why a connection was turned away or cut.
    ConnectionRefusal {
        /// All connections of the listener are taken.
        Full = "full",
        /// All connections of its client address are taken.
        ClientFull = "client_full",
        /// No complete request came in time.
        Slow = "slow",
        /// What came was no request that can be read.
        Malformed = "malformed",
    }
}

label! {
    /// What became of an attempt to join.
    Join {
        /// A new place.
        New = "new",
        /// The identity already had one.
        Again = "again",
        /// The line is full.
        Full = "full",
        /// Stock reaches no new place.
        SoldOut = "sold_out",
        /// The doors are not open yet.
        NotOpen = "not_open",
        /// The room is closed.
        Closed = "closed",
        /// The store did not do it.
        Failed = "failed",
    }
}

label! {
    /// A kind of token.
    Token {
        /// Proof of a place.
        Ticket = "ticket",
        /// Proof of an admission.
        Pass = "pass",
        /// An operator's bearer token.
        Admin = "admin",
        /// The shop's word for an account: a cookie, a header, a signed token.
        Identity = "identity",
    }
}

label! {
    /// How a request for a cached path was served.
    Cached {
        /// From a fresh entry.
        Fresh = "fresh",
        /// From a stale entry within its bound.
        Stale = "stale",
        /// Fetched from the origin by this request.
        Miss = "miss",
        /// Waited for the fetch of another request.
        Followed = "followed",
        /// Went to the origin because its answer cannot be kept.
        Passed = "passed",
        /// Nothing usable: the origin failed and no entry was within its bound.
        Failed = "failed",
    }
}

label! {
    /// How reading the shop's stock went.
    StockRead {
        /// A number came and was kept.
        Read = "read",
        /// The origin gave no answer.
        Unreachable = "unreachable",
        /// The origin answered with another status than 2xx.
        Status = "status",
        /// There was no whole number where it should be.
        Unreadable = "unreadable",
        /// The store did not take it.
        Store = "store",
    }
}

label! {
    /// How the origin took a request.
    Origin {
        /// Answered below 500.
        Answered = "answered",
        /// Answered 500 or above.
        Error = "error",
        /// Could not be connected to.
        Unreachable = "unreachable",
        /// Connected, then too slow.
        TimedOut = "timed_out",
        /// The connection broke.
        Broken = "broken",
        /// All connections of the pool were taken; nothing was sent.
        Full = "full",
        /// The visitor went away first.
        Abandoned = "abandoned",
    }
}

pub(super) fn name(room: &RoomId) -> SharedString {
    SharedString::from(room.as_str().to_owned())
}

/// A request at a door is done.
pub fn request(room: Option<&RoomId>, outcome: RequestOutcome) {
    let room = room.map_or(SharedString::const_str(""), name);
    counter!(t::REQUESTS.name, "outcome" => outcome.label(), "room" => room).increment(1);
}

/// A connection counts as open until this is dropped.
#[derive(Debug)]
pub struct OpenConnection(Listener);

impl OpenConnection {
    /// A listener took a connection in.
    #[must_use]
    pub fn at(door: Listener) -> Self {
        counter!(t::CONNECTIONS_OPENED.name, "door" => door.label()).increment(1);
        gauge!(t::CONNECTIONS.name, "door" => door.label()).increment(1.0);
        Self(door)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        gauge!(t::CONNECTIONS.name, "door" => self.0.label()).decrement(1.0);
    }
}

/// A listener turned a connection away, or cut it.
pub fn connection_refused(door: Listener, cause: ConnectionRefusal) {
    counter!(t::CONNECTIONS_REFUSED.name, "cause" => cause.label(), "door" => door.label()).increment(1);
}

/// Somebody tried to take a place.
pub fn joined(room: &RoomId, outcome: Join) {
    counter!(t::JOINS.name, "outcome" => outcome.label(), "room" => name(room)).increment(1);
}

/// A poll was answered.
pub fn polled(room: &RoomId) {
    counter!(t::POLLS.name, "room" => name(room)).increment(1);
}

/// A place was given up.
pub fn left(room: &RoomId) {
    counter!(t::LEAVES.name, "room" => name(room)).increment(1);
}

/// A stay was ended; `cause` is one of a few words.
pub fn stay_ended(room: &RoomId, cause: &'static str) {
    counter!(t::STAYS_ENDED.name, "cause" => cause, "room" => name(room)).increment(1);
}

/// So many visitors' requests are held until their turn.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
pub fn turns_held(room: &RoomId, held: usize) {
    gauge!(t::TURNS_HELD.name, "room" => name(room)).set(held as f64);
}

/// An event stream counts as held until this is dropped.
#[derive(Debug)]
pub struct OpenStream(RoomId);

impl OpenStream {
    /// A stream was opened.
    #[must_use]
    pub fn of(room: &RoomId) -> Self {
        counter!(t::STREAMS_OPENED.name, "room" => name(room)).increment(1);
        gauge!(t::STREAMS.name, "room" => name(room)).increment(1.0);
        Self(room.clone())
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        gauge!(t::STREAMS.name, "room" => name(&self.0)).decrement(1.0);
    }
}

/// A stream was refused: all are held, or all of its client address.
pub fn stream_refused(room: &RoomId, cause: ConnectionRefusal) {
    counter!(t::STREAMS_REFUSED.name, "cause" => cause.label(), "room" => name(room)).increment(1);
}

/// A token was not believed. `cause` is one of a few words (`expired`, `signature`, ...).
pub fn token_refused(kind: Token, cause: &'static str) {
    counter!(t::TOKENS_REFUSED.name, "cause" => cause, "kind" => kind.label()).increment(1);
}

/// What the last snapshot shows of a room.
#[expect(clippy::cast_precision_loss, reason = "numbers stay below 2^53")]
pub fn snapshot(room: &RoomId, snapshot: &Snapshot) {
    let set = |metric: t::Metric, value: f64| gauge!(metric.name, "room" => name(room)).set(value);
    set(t::ROOM_WAITING, snapshot.waiting() as f64);
    set(t::ROOM_LAST, snapshot.last.0 as f64);
    set(t::ROOM_CALLED, snapshot.called.0 as f64);
    set(t::ROOM_FRONTIER, snapshot.frontier.0 as f64);
    set(t::ROOM_ADMITTED, snapshot.admitted as f64);
    set(t::ROOM_ACTIVE, snapshot.active as f64);
    set(t::ROOM_RATE, snapshot.rules.rate.as_per_second());
    if let Some(stock) = &snapshot.stock {
        set(t::ROOM_REMAINING, stock.remaining as f64);
        set(t::STOCK_AGE, snapshot.now.since(stock.read_at).as_secs_f64());
    }
    set(t::ROOM_PAUSED, if snapshot.phase == Phase::Paused { 1.0 } else { 0.0 });
}

/// The shop's stock was read, or not.
pub fn stock_read(room: &RoomId, outcome: StockRead) {
    counter!(t::STOCK_READS.name, "outcome" => outcome.label(), "room" => name(room)).increment(1);
}

/// Whether the snapshot of a room is recent enough to act on.
pub fn store_up(room: &RoomId, up: bool) {
    gauge!(t::STORE_UP.name, "room" => name(room)).set(if up { 1.0 } else { 0.0 });
}

/// A connection to the store came into use, or is in use no more.
pub fn store_connections(more: bool) {
    gauge!(t::STORE_CONNECTIONS.name).increment(if more { 1.0 } else { -1.0 });
}

/// A connection to the store, to a sentinel or to a node was begun.
pub fn store_dial() {
    counter!(t::STORE_DIALS.name).increment(1);
}

/// A call to the store ended. `verb` and `outcome` are of a few words (`join`; `ok`, `timed_out`, ...).
pub fn store_call(verb: &'static str, outcome: &'static str, took: Duration) {
    counter!(t::STORE_CALLS.name, "outcome" => outcome, "verb" => verb).increment(1);
    histogram!(t::STORE_CALL_DURATION.name, "verb" => verb).record(took.as_secs_f64());
}

/// How many entries a call to the store carried.
#[expect(clippy::cast_precision_loss, reason = "batches are small")]
pub fn store_batch(verb: &'static str, entries: usize) {
    histogram!(t::STORE_BATCH.name, "verb" => verb).record(entries as f64);
}

/// A request to the origin ended; `took` is the time until its response headers, or until it was given up.
pub fn origin(outcome: Origin, took: Duration) {
    counter!(t::ORIGIN_REQUESTS.name, "outcome" => outcome.label()).increment(1);
    histogram!(t::ORIGIN_DURATION.name, "outcome" => outcome.label()).record(took.as_secs_f64());
}

/// A request for a cached path was served.
pub fn cached(outcome: Cached) {
    counter!(t::CACHE.name, "outcome" => outcome.label()).increment(1);
}

/// An operator's change was made, or not.
pub fn changed(room: &RoomId, change: &'static str, outcome: &'static str) {
    counter!(t::CHANGES.name, "change" => change, "outcome" => outcome, "room" => name(room)).increment(1);
}

/// Whether the settings file as last read is the one in force.
pub fn reload_ok(ok: bool) {
    gauge!(t::RELOAD_OK.name).set(if ok { 1.0 } else { 0.0 });
}

/// The running version.
pub(super) fn built() {
    gauge!(t::BUILD_INFO.name, "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

#[cfg(test)]
mod tests;
