//! The documents of the operator's API; `ctl` reads the same types.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::queue::View;
use crate::room::{Lineage, Micros, Overrides, Phase, RoomId, Rules, Snapshot};

/// `GET /v1/rooms`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomsDocument {
    /// Every room, in the order of the settings.
    pub rooms: Vec<RoomDocument>,
}

/// What a room is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Letting people in at its rate.
    Open,
    /// Paused by an operator.
    Paused,
    /// Before the doors: no places are taken.
    Scheduled,
    /// Places are taken, nobody goes in yet.
    Lobby,
    /// By schedule or operator: no places are taken, nobody goes in.
    Closed,
    /// The store cannot be asked: nobody goes in, nothing is forgotten.
    Unavailable,
}

/// One room, for operators.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomDocument {
    /// The room.
    pub id: RoomId,
    /// What it is doing.
    pub state: State,
    /// Whether what follows is recent enough to act on. If not, it is the last that was known.
    pub fresh: bool,
    /// When the store said so, on its own clock; null if it never did.
    pub as_of: Option<String>,
    /// The operator's reason for the pause.
    pub reason: Option<String>,
    /// Where the line stands; null if never known.
    pub line: Option<LineDocument>,
    /// The settings in force; null if never known.
    pub settings: Option<SettingsDocument>,
    /// Names of the settings that an operator changed; they win over the file until unset.
    pub overridden: Vec<String>,
}

/// Where a line stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineDocument {
    /// Places that are not settled yet.
    pub waiting: u64,
    /// Admissions since the room was created or flushed.
    pub admitted: u64,
    /// Admissions that live: stays neither ended nor expired.
    #[serde(default)]
    pub active: u64,
    /// Everything up to this number is settled.
    pub frontier: u64,
    /// Holders of numbers up to here are asked to check in.
    pub called: u64,
    /// The last number handed out.
    pub last: u64,
    /// The life of the room for its visitors; a flush begins another.
    pub lineage: String,
    /// The life of the room on one store server.
    pub epoch: u64,
}

/// Settings in force, written as in TOML.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingsDocument {
    /// Admissions per time.
    pub rate: String,
    /// The same in admissions a second.
    pub rate_per_second: f64,
    /// Most admissions in one instant.
    pub burst: u64,
    /// Most admissions since the room was created or flushed.
    pub max_total: Option<u64>,
    /// Most stays at once.
    #[serde(default)]
    pub max_active: Option<u64>,
    /// A line for the visitors.
    pub message: Option<String>,
    /// A turn that comes within this time is waited for on the request.
    pub hold: String,
    /// The shortest poll interval.
    pub poll_min: String,
    /// After a missed turn: may still go in first for so long.
    pub return_within: String,
    /// How long a pass lasts at most.
    pub pass_ttl: String,
    /// Most places in line.
    pub max_waiting: u64,
}

impl RoomDocument {
    /// A room as this instance sees it right now.
    #[must_use]
    pub fn of(id: &RoomId, view: &View) -> Self {
        let snapshot = view.snapshot.as_deref();
        Self {
            id: id.clone(),
            state: match snapshot {
                Some(snapshot) if view.fresh => state(snapshot.phase),
                _ => State::Unavailable,
            },
            fresh: view.fresh && snapshot.is_some(),
            as_of: snapshot.and_then(|s| written(s.now)),
            reason: snapshot.and_then(|s| s.reason.clone()),
            line: snapshot.map(LineDocument::of),
            settings: snapshot.map(|s| SettingsDocument::of(&s.rules, &s.overrides)),
            overridden: snapshot.map(|s| overridden(&s.overrides)).unwrap_or_default(),
        }
    }
}

fn state(phase: Phase) -> State {
    match phase {
        Phase::Open => State::Open,
        Phase::Paused => State::Paused,
        Phase::Scheduled => State::Scheduled,
        Phase::Lobby => State::Lobby,
        Phase::Closed => State::Closed,
    }
}

fn overridden(overrides: &Overrides) -> Vec<String> {
    let Overrides { rate, burst, max_total, max_active, message, schedule } = overrides;
    let set = [
        ("rate", rate.is_some()),
        ("burst", burst.is_some()),
        ("max_total", max_total.is_some()),
        ("max_active", max_active.is_some()),
        ("message", message.is_some()),
        ("schedule", schedule.is_some()),
    ];
    set.into_iter().filter(|(_, set)| *set).map(|(name, _)| name.to_owned()).collect()
}

impl LineDocument {
    fn of(snapshot: &Snapshot) -> Self {
        Self {
            waiting: snapshot.waiting(),
            admitted: snapshot.admitted,
            active: snapshot.active,
            frontier: snapshot.frontier.0,
            called: snapshot.called.0,
            last: snapshot.last.0,
            lineage: Lineage::to_string(&snapshot.lineage),
            epoch: snapshot.epoch,
        }
    }
}

impl SettingsDocument {
    fn of(rules: &Rules, overrides: &Overrides) -> Self {
        Self {
            rate: rules.rate.to_string(),
            rate_per_second: rules.rate.as_per_second(),
            burst: rules.burst,
            max_total: rules.max_total,
            max_active: rules.max_active,
            message: overrides.message.clone(),
            hold: lasting(rules.hold),
            poll_min: lasting(rules.poll_min),
            return_within: lasting(rules.return_within),
            pass_ttl: lasting(rules.pass_ttl),
            max_waiting: rules.max_waiting,
        }
    }
}

/// A moment as RFC 3339 in UTC, to the second.
fn written(moment: Micros) -> Option<String> {
    let seconds = i64::try_from(moment.seconds()).ok()?;
    OffsetDateTime::from_unix_timestamp(seconds).ok()?.format(&Rfc3339).ok()
}

/// A duration as written in TOML: the largest unit that says it exactly.
fn lasting(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1000) => format!("{}s", ms / 1000),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_in_toml() {
        let cases =
            [(0, "0s"), (500, "500ms"), (1000, "1s"), (90_000, "90s"), (600_000, "10m"), (7_200_000, "2h")];
        for (ms, text) in cases {
            assert_eq!(lasting(Duration::from_millis(ms)), text);
        }
    }

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(written(Micros(1_798_084_800_999_999)).as_deref(), Some("2026-12-24T04:00:00Z"));
        assert_eq!(written(Micros(u64::MAX)), None, "a clock beyond all years is no reason to fail");
    }

    #[test]
    fn a_room_never_seen_is_unavailable() {
        let id = RoomId::new("a").unwrap();
        let document = RoomDocument::of(
            &id,
            &View { snapshot: None, fresh: true, fault: None, speed: None, there: None },
        );
        assert_eq!((document.state, document.fresh), (State::Unavailable, false));
        assert_eq!((document.line, document.settings), (None, None));
    }
}
