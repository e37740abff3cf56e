//! When a room takes places and when it releases: doors, opens, closes, and the operator's word over them.
//!
//! Times are the store's. Nothing here remembers that a time has come: the stage follows from the time at
//! every call, so a restart, another instance or a clock that was set can not disagree about it.

use serde::{Deserialize, Serialize};

use super::draw::DrawStage;
use super::{JoinOutcome, Micros, Phase, Room};

/// In which order those go in who came before `opens`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum LobbyOrder {
    /// As they came.
    #[default]
    Fifo,
    /// As drawn when the room opens.
    Draw,
}

/// The times of a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Schedule {
    /// From here on places are taken; absent: from the beginning. Before: none.
    pub doors: Option<Micros>,
    /// From here on the room releases; absent: from the beginning. Between doors and this it is a lobby.
    pub opens: Option<Micros>,
    /// From here on nothing: no new place, nobody released; absent: never.
    pub closes: Option<Micros>,
    /// The order of the lobby.
    pub lobby_order: LobbyOrder,
    /// What public value goes into the draw, in words; its value is told after the lobby has ended.
    pub public: Option<String>,
}

/// The operator's changes to a schedule; what is absent is as in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct ScheduleChange {
    /// See [`Schedule::doors`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doors: Option<Micros>,
    /// See [`Schedule::opens`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opens: Option<Micros>,
    /// See [`Schedule::closes`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes: Option<Micros>,
    /// See [`Schedule::lobby_order`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lobby_order: Option<LobbyOrder>,
}

/// What an operator has forced, whatever the schedule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forced {
    /// Open, also before `opens` and after `closes`.
    Open,
    /// Closed, also between them.
    Closed,
}

/// What the schedule and the operator say of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Scheduled,
    Lobby,
    Open,
    Closed,
}

/// Times that contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadSchedule {
    /// A lobby without an end.
    #[error("`doors` needs `opens`: without it the lobby would never end")]
    DoorsAlone,
    /// `doors` lies after `opens`.
    #[error("`doors` must not be after `opens`")]
    DoorsAfterOpens,
    /// `closes` does not lie after `opens`.
    #[error("`closes` must be after `opens`")]
    ClosesBeforeOpens,
    /// A draw without a lobby.
    #[error("`lobby_order = \"draw\"` needs `opens`: only who comes before it is drawn")]
    DrawWithoutOpens,
    /// A public value without a draw.
    #[error("`public` needs `lobby_order = \"draw\"`: it goes into nothing else")]
    PublicWithoutDraw,
}

impl BadSchedule {
    /// The key that should change.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::DoorsAlone | Self::DoorsAfterOpens => "doors",
            Self::ClosesBeforeOpens => "closes",
            Self::DrawWithoutOpens => "lobby_order",
            Self::PublicWithoutDraw => "public",
        }
    }

    /// Whether `opens` is all that is missing.
    #[must_use]
    pub fn for_want_of_opens(self) -> bool {
        matches!(self, Self::DoorsAlone | Self::DrawWithoutOpens)
    }
}

impl Schedule {
    /// Everything that contradicts itself: the times must be in the order doors, opens, closes.
    #[must_use]
    pub fn contradictions(&self) -> Vec<BadSchedule> {
        let after = |one: Option<Micros>, other: Option<Micros>| one.zip(other).is_some_and(|(a, b)| a > b);
        let draw = self.lobby_order == LobbyOrder::Draw;
        let late = after(self.opens, self.closes) || self.closes.is_some() && self.closes == self.opens;
        let all = [
            (self.doors.is_some() && self.opens.is_none(), BadSchedule::DoorsAlone),
            (after(self.doors, self.opens), BadSchedule::DoorsAfterOpens),
            (late, BadSchedule::ClosesBeforeOpens),
            (draw && self.opens.is_none(), BadSchedule::DrawWithoutOpens),
            (self.public.is_some() && !draw, BadSchedule::PublicWithoutDraw),
        ];
        all.into_iter().filter(|(wrong, _)| *wrong).map(|(_, what)| what).collect()
    }

    /// Whether the times are in order.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), BadSchedule> {
        self.contradictions().first().map_or(Ok(()), |wrong| Err(*wrong))
    }

    /// Whether the lobby is put into an order by a draw.
    #[must_use]
    pub fn draws(&self) -> bool {
        self.lobby_order == LobbyOrder::Draw && self.opens.is_some()
    }

    /// This schedule with an operator's changes on top.
    #[must_use]
    pub fn changed(&self, change: &ScheduleChange) -> Self {
        Self {
            doors: change.doors.or(self.doors),
            opens: change.opens.or(self.opens),
            closes: change.closes.or(self.closes),
            lobby_order: change.lobby_order.unwrap_or(self.lobby_order),
            public: self.public.clone(),
        }
    }

    pub(super) fn stage(&self, forced: Option<Forced>, now: Micros) -> Stage {
        let before = |time: Option<Micros>| time.is_some_and(|time| now < time);
        match forced {
            Some(Forced::Open) => Stage::Open,
            Some(Forced::Closed) => Stage::Closed,
            None if self.closes.is_some_and(|closes| now >= closes) => Stage::Closed,
            None if before(self.doors) => Stage::Scheduled,
            None if before(self.opens) => Stage::Lobby,
            None => Stage::Open,
        }
    }

    /// What a room is at a moment: by schedule, operator and draw.
    #[must_use]
    pub fn phase(&self, forced: Option<Forced>, paused: bool, draw: DrawStage, now: Micros) -> Phase {
        match self.stage(forced, now) {
            Stage::Closed => Phase::Closed,
            Stage::Scheduled => Phase::Scheduled,
            Stage::Lobby | Stage::Open if paused => Phase::Paused,
            Stage::Lobby => Phase::Lobby,
            Stage::Open if draw.is_pending() => Phase::Lobby,
            Stage::Open => Phase::Open,
        }
    }
}

impl Room {
    pub(super) fn force(&mut self, forced: Option<Forced>) {
        self.core.forced = forced;
        if forced == Some(Forced::Closed) {
            self.return_grants();
        }
    }
}

impl super::Core {
    pub(super) fn stage(&self, now: Micros) -> Stage {
        self.rules.schedule.stage(self.forced, now)
    }

    /// Whether the room is to release at `now`, as far as operator, schedule and draw are concerned.
    pub(super) fn lets_in(&self, now: Micros) -> bool {
        self.phase == Phase::Open && self.stage(now) == Stage::Open && !self.draw.stage.is_pending()
    }

    /// Whether a new place may be taken.
    pub(super) fn takes_places(&self, now: Micros) -> Result<(), JoinOutcome> {
        match self.stage(now) {
            Stage::Scheduled => Err(JoinOutcome::NotOpen),
            Stage::Closed => Err(JoinOutcome::Closed),
            Stage::Lobby | Stage::Open => Ok(()),
        }
    }

    /// Whether the room has not opened yet. Nobody was released, so an interruption asks for no ramp.
    pub(super) fn is_early(&self, now: Micros) -> bool {
        matches!(self.stage(now), Stage::Scheduled | Stage::Lobby)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(doors: u64, opens: u64, closes: u64) -> Schedule {
        let time = |t: u64| (t > 0).then_some(Micros(t));
        Schedule { doors: time(doors), opens: time(opens), closes: time(closes), ..Schedule::default() }
    }

    #[test]
    fn times_must_be_in_order() {
        for good in [at(0, 0, 0), at(1, 1, 2), at(0, 5, 0), at(0, 0, 3), at(1, 2, 3)] {
            assert_eq!(good.check(), Ok(()), "{good:?}");
        }
        assert_eq!(at(1, 0, 0).check(), Err(BadSchedule::DoorsAlone));
        assert_eq!(at(3, 2, 0).check(), Err(BadSchedule::DoorsAfterOpens));
        assert_eq!(at(1, 2, 2).check(), Err(BadSchedule::ClosesBeforeOpens));
        let draw = |schedule: Schedule| Schedule { lobby_order: LobbyOrder::Draw, ..schedule };
        assert_eq!(draw(at(0, 0, 9)).check(), Err(BadSchedule::DrawWithoutOpens));
        assert_eq!(draw(at(0, 2, 9)).check(), Ok(()));
        let public = Schedule { public: Some("a beacon".to_owned()), ..at(0, 2, 9) };
        assert_eq!(public.check(), Err(BadSchedule::PublicWithoutDraw));
    }

    #[test]
    fn a_time_counts_from_its_first_microsecond_and_the_operator_wins() {
        let stages = [(9, Stage::Scheduled), (10, Stage::Lobby), (20, Stage::Open), (30, Stage::Closed)];
        for (now, stage) in stages {
            let schedule = at(10, 20, 30);
            assert_eq!(schedule.stage(None, Micros(now)), stage);
            assert_eq!(schedule.stage(Some(Forced::Open), Micros(now)), Stage::Open);
            assert_eq!(schedule.stage(Some(Forced::Closed), Micros(now)), Stage::Closed);
        }
        assert_eq!(at(10, 20, 30).stage(None, Micros(29)), Stage::Open);
    }
}
