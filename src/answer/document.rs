//! The poll document: what the room and the visitor are told, in one shape for polls, joins and refusals.

use std::time::Duration;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::draw::DrawDocument;
use super::stock;
use crate::queue::View;
use crate::room::{Micros, Number, Phase, RoomId, Seat, Snapshot};

/// The document. Absent parts are left out, except the visitor, who is null without a place.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Document {
    pub(super) room: RoomDocument,
    pub(super) visitor: Option<VisitorDocument>,
    pub(super) next_poll_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ticket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<PassDocument>,
}

/// The room alone. Written as it is rather than through a `Value`: it is what a crowd without places asks for.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RoomAlone {
    pub(super) room: RoomDocument,
}

/// What everybody is told.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RoomDocument {
    pub(super) id: String,
    pub(super) state: &'static str,
    pub(super) waiting: Option<u64>,
    pub(super) rate_per_second: Option<f64>,
    pub(super) remaining: Option<u64>,
    pub(super) message: Option<String>,
    pub(super) server_time: String,
    pub(super) opens_at: Option<String>,
    pub(super) draw: Option<DrawDocument>,
}

/// What one visitor is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct VisitorDocument {
    pub(super) state: VisitorState,
    pub(super) number: Option<u64>,
    /// In a lobby with a draw, in place of the number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lobby_index: Option<u64>,
    pub(super) position: Option<u64>,
    pub(super) ahead: Option<u64>,
    pub(super) wait_seconds: Option<Wait>,
    pub(super) likely: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum VisitorState {
    Waiting,
    Waitlisted,
    Admitted,
    Lapsed,
    Left,
}

/// An estimated wait in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Wait {
    pub(super) low: u64,
    pub(super) high: u64,
}

/// The pass as a client sees it; the token only where the contract allows one in a body.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PassDocument {
    pub(super) expires_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
}

impl RoomDocument {
    pub(super) fn of(id: &RoomId, view: &View, now: Micros) -> Self {
        let snapshot = view.snapshot.as_deref();
        let message = snapshot.and_then(|s| s.overrides.message.clone().or_else(|| s.reason.clone()));
        Self {
            id: id.to_string(),
            state: state(view),
            waiting: view.waiting(),
            rate_per_second: snapshot.map(|s| s.rules.rate.as_per_second()),
            remaining: snapshot.filter(|_| view.fresh).and_then(stock::remaining),
            message,
            server_time: rfc3339(now),
            opens_at: snapshot.and_then(Snapshot::opens_at).map(rfc3339),
            draw: snapshot.and_then(DrawDocument::of),
        }
    }
}

fn state(view: &View) -> &'static str {
    match &view.snapshot {
        Some(snapshot) if view.fresh => match snapshot.phase {
            Phase::Open if stock::is_sold_out(snapshot) => "sold_out",
            Phase::Open => "open",
            Phase::Paused => "paused",
            Phase::Scheduled => "scheduled",
            Phase::Lobby => "lobby",
            Phase::Closed => "closed",
        },
        _ => "unavailable",
    }
}

impl VisitorDocument {
    /// Somebody in line.
    pub(super) fn waiting(place: Number, view: &View) -> Self {
        let number = match seat(place, view) {
            Seat::Number(number) => number,
            Seat::Lobby(index) => return Self::in_lobby(index),
        };
        let position = view.position(number);
        let (state, likely) = stock::outlook(view, position);
        Self {
            state,
            number: Some(number.0),
            lobby_index: None,
            position,
            ahead: position.map(|p| p - 1),
            wait_seconds: wait(number, view),
            likely,
        }
    }

    /// Somebody who came before a draw.
    fn in_lobby(index: u64) -> Self {
        let (number, position, ahead, wait_seconds, likely) = (None, None, None, None, None);
        let (state, lobby_index) = (VisitorState::Waiting, Some(index));
        Self { state, number, lobby_index, position, ahead, wait_seconds, likely }
    }

    /// Somebody who is not in line any more.
    pub(super) fn settled(state: VisitorState, place: Number, view: &View) -> Self {
        let Seat::Number(number) = seat(place, view) else {
            let lobby = VisitorDocument::waiting(place, view);
            return Self { state, ..lobby };
        };
        let (number, position, ahead, wait_seconds, likely) = (Some(number.0), None, None, None, None);
        Self { state, number, lobby_index: None, position, ahead, wait_seconds, likely }
    }
}

/// What a place is by now.
pub(super) fn seat(place: Number, view: &View) -> Seat {
    view.snapshot.as_deref().map_or(Seat::Number(place), |snapshot| snapshot.seat(place))
}

/// Between what the set rate allows and what the speed of late makes likely, for those ahead who will probably be
/// there; unknown while the room does not release.
fn wait(number: Number, view: &View) -> Option<Wait> {
    let snapshot =
        view.snapshot.as_deref().filter(|s| view.fresh && s.phase == Phase::Open && !s.sold_out())?;
    #[expect(clippy::cast_precision_loss, reason = "an estimate for people")]
    let best = view.live_ahead(number)? as f64 / snapshot.rules.rate.as_per_second();
    // An outage, a cap or a ramp makes it slower than the rate.
    let rate = snapshot.rules.rate.as_per_second();
    let factor = view.speed.map_or(1.0, |speed| rate / speed.max(rate / 20.0)).clamp(0.05, 20.0);
    let (fast, slow) = (best * factor.min(1.0), best * factor.max(1.0));
    let margin = snapshot.rules.hold.as_secs_f64();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
    let (low, high) = ((fast * 0.8) as u64, (slow * 1.15 + margin).ceil() as u64);
    Some(Wait { low, high: high.max(low + 1) })
}

/// A moment as in `2026-12-24T04:00:01Z`.
pub(super) fn rfc3339(moment: Micros) -> String {
    let seconds = i64::try_from(moment.seconds()).unwrap_or(i64::MAX);
    let time = OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&Rfc3339).unwrap_or_default()
}

/// Milliseconds for `next_poll_ms`.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
