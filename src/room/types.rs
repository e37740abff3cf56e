//! The words of the line as types, so that two whole numbers of different meaning cannot be swapped.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Draw, Forced, Overrides, Rules, Stock, Voids};

/// A place's number in joining order, from 1. It never changes and is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Number(pub u64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment on the store's clock: microseconds since 1970. Below 2^53 until the year 2255, so exact in Lua.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// This moment moved later by `by`.
    #[must_use]
    pub fn plus(self, by: Duration) -> Self {
        Self(self.0.saturating_add(micros(by)))
    }

    /// This moment moved earlier by `by`; not before 1970.
    #[must_use]
    pub fn minus(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(micros(by)))
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Whole seconds since 1970, rounded down.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }
}

/// A duration in whole microseconds, saturating.
pub(crate) fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}

/// A room's name: `[a-z0-9-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoomId(String);

impl RoomId {
    /// The name, if it is of the form that cookies, keys and addresses can carry unescaped.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let good = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (matches!(name.len(), 1..=64) && name.bytes().all(good)).then(|| Self(name.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RoomId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The life of a room for its visitors: random, chosen when the room is created or flushed. A ticket of
/// another lineage must join anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(transparent)]
pub struct Lineage(pub u64);

impl fmt::Display for Lineage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A keyed hash of what identifies an account across devices; the store never sees the account itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct IdentityHash(pub [u8; 16]);

/// What an admission is: the number and the slot that it took. Everything else of a pass is derived from
/// these, so that claiming twice gives the same pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// Whose turn it was.
    pub number: Number,
    /// The moment from which the pass is good; the edge holds the request until then.
    pub slot: Micros,
    /// The acknowledged expiry of the stay: what a pass of it may print as its end, and nothing later.
    pub until: Micros,
}

/// What the line says of a number that checked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// In line; not called yet, or called and not yet granted.
    Waiting,
    /// Picked up, now or at an earlier call.
    Admitted(Admission),
    /// Was away for longer than `return_within` after the turn came, or the stay expired or was revoked: must
    /// join anew.
    Lapsed,
    /// Gave the place up, or the stay was ended by the visitor or the shop.
    Left,
    /// No such number was ever handed out in this life of the room.
    Unknown,
}

/// What became of one entry of a batch of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinOutcome {
    /// A place: `new` when this call made it, and where it stands right after.
    Placed {
        /// The place: its number, unless it is one of a lobby with a draw (see [`Draw::seat`]).
        number: Number,
        /// Whether this call made the place (false: the identity already had it).
        new: bool,
        /// Where it stands right after the call.
        standing: Standing,
    },
    /// The line is as long as it may get.
    Full,
    /// The doors are not open yet.
    NotOpen,
    /// The room is closed.
    Closed,
}

impl JoinOutcome {
    /// The same outcome, with where the place stands by now: for the repeat of a batch.
    #[must_use]
    pub fn standing_now(self, standing: impl FnOnce(Number) -> Standing) -> Self {
        match self {
            Self::Placed { number, new, .. } => Self::Placed { number, new, standing: standing(number) },
            refused => refused,
        }
    }
}

/// The answer to a batch of joins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// One outcome per entry, in order.
    pub outcomes: Vec<JoinOutcome>,
    /// The room after the call.
    pub snapshot: Snapshot,
}

/// Whether the room takes places and releases anybody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Releasing at its rate.
    #[default]
    Open,
    /// Stopped by an operator; joins go on.
    Paused,
    /// Before the doors: no places yet.
    Scheduled,
    /// Between doors and opening, or waiting for the draw: places are taken, nobody is released.
    Lobby,
    /// After closing, or closed by an operator: no places, nobody released.
    Closed,
}

/// What an instance knows of a room, read along with every call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The life of the room for its visitors.
    pub lineage: Lineage,
    /// The life of the room on one store server.
    pub epoch: u64,
    /// Grows with every change; a store that shows less than a caller has seen has lost writes.
    pub version: u64,
    /// When the store made this, on its own clock.
    pub now: Micros,
    /// Releasing or not.
    pub phase: Phase,
    /// The operator's reason for the pause, as told to visitors.
    pub reason: Option<String>,
    /// The operator's word over the schedule.
    pub forced: Option<Forced>,
    /// The draw.
    pub draw: Draw,
    /// The last number handed out.
    pub last: Number,
    /// C: holders of numbers up to here are asked to check in.
    pub called: Number,
    /// D: everyone up to here has had a whole step to check in.
    pub due: Number,
    /// F: everything up to here is settled.
    pub frontier: Number,
    /// Numbers up to here that are not checked in have lapsed.
    pub lapsed: Number,
    /// Numbers that nobody was told of.
    pub voids: Voids,
    /// Numbers whose identities the store may have lost: their tickets are shown to it once.
    pub lost: Voids,
    /// How far C may move in one step from here on, so that an instance can tell whose poll must come soon.
    pub reach: u64,
    /// Every slot that was taken lies before this.
    pub slots_to: Micros,
    /// Admissions since the room was created or flushed.
    pub admitted: u64,
    /// Numbers that hold a grant and have not picked it up.
    pub granted: u64,
    /// Stays that live: admissions neither ended nor expired.
    pub active: u64,
    /// Stays that ended or expired since the room was created or flushed.
    pub departed: u64,
    /// The last sequence of the end log; 0 before the first entry.
    pub ended_to: u64,
    /// Passes whose slot lies before this are dead; 0 if none were revoked.
    pub revoked_before: Micros,
    /// The shop's stock as last read, where the rules ask for it; `None` while it was never read.
    pub stock: Option<Stock>,
    /// The rules in force: the file's, with the operator's changes on top.
    pub rules: Rules,
    /// The operator's changes.
    pub overrides: Overrides,
    /// The rules as the file had them when an instance last wrote them.
    pub rules_written: Rules,
    /// The fingerprint of the keys that all instances must have; empty until the first has said.
    pub keys: String,
}

impl Snapshot {
    /// Places that are not settled yet: how many are waiting, those who went away included.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        let all = self.last.0.saturating_sub(self.frontier.0);
        all.saturating_sub(self.voids.between(self.frontier, self.last))
    }

    /// The position of a number: 1 for the next to go in. Never grows, since the frontier only grows.
    #[must_use]
    pub fn position(&self, number: Number) -> u64 {
        let ahead = number.0.saturating_sub(self.frontier.0);
        ahead.saturating_sub(self.voids.between(self.frontier, number)).max(1)
    }
}
