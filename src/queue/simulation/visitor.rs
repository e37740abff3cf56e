//! One visitor: what they know, and what they do next. The world tells them what came of it.

use super::instance::Asker;
use super::observer::Holder;
use super::plan::{Habit, SECOND, Visit};
use crate::queue::conformance::chance::Chance;
use crate::room::{IdentityHash, Lineage, Number};

/// What a visitor does when it is time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Join,
    /// Asks for the position, and waits for the turn for so long; hangs up after the second time, if any.
    Poll(u64, Option<u64>),
    Leave,
    /// Does nothing for so long.
    Rest(u64),
    Nothing,
}

/// How long a poll is held near the front.
const POLL_HELD: u64 = 4 * SECOND;

pub(super) struct Visitor {
    pub(super) visit: Visit,
    index: usize,
    pub(super) place: Option<(Lineage, Number)>,
    /// Has not polled since the place was made.
    pub(super) new: bool,
    polls: u32,
    pub(super) gone: bool,
    pub(super) admitted: bool,
    pub(super) chance: Chance,
}

impl Visitor {
    pub(super) fn new(index: usize, visit: Visit) -> Self {
        let chance = Chance::new(visit.seed);
        Self { visit, index, place: None, new: false, polls: 0, gone: false, admitted: false, chance }
    }

    pub(super) fn tabs(&self) -> usize {
        if let Habit::Tabs(tabs) = self.visit.habit { tabs } else { 1 }
    }

    pub(super) fn holder(&self) -> Holder {
        self.visit.account.map_or(Holder::Visitor(self.index), Holder::Account)
    }

    pub(super) fn identity(&self) -> Option<IdentityHash> {
        self.visit.account.map(|account| IdentityHash([account; 16]))
    }

    pub(super) fn reloads(&self) -> bool {
        self.visit.habit == Habit::Reloads
    }

    /// Whether this visitor is in line and does as told.
    pub(super) fn waits(&self) -> bool {
        self.visit.habit.stays() && self.place.is_some() && !self.admitted && !self.gone
    }

    /// Awake: what now? `called` and `hold` are what the instance that is asked knows.
    pub(super) fn decide(&mut self, called: Number, hold: u64) -> Intent {
        let Some((_, number)) = self.place.filter(|_| !self.gone) else {
            return if self.gone { Intent::Nothing } else { Intent::Join };
        };
        self.polls += 1;
        let before = self.polls - 1;
        match self.visit.habit {
            Habit::Gone => self.go(),
            Habit::GoneAfter(polls) if before >= polls => self.go(),
            Habit::Away(polls, rest) if before == polls => Intent::Rest(rest),
            Habit::Leaves(polls) if before >= polls => Intent::Leave,
            Habit::HangsUp if number <= called => {
                self.gone = true;
                Intent::Poll(POLL_HELD, Some(1 + self.chance.below(150_000)))
            }
            Habit::Reloads => Intent::Poll(hold, None),
            _ => Intent::Poll(POLL_HELD, None),
        }
    }

    fn go(&mut self) -> Intent {
        self.gone = true;
        Intent::Nothing
    }

    /// When this visitor asks again, having been told `told`.
    pub(super) fn asks_in(&mut self, told: u64) -> u64 {
        if let Habit::Late(by) = self.visit.habit { told + told * by / 100 } else { told }
    }

    /// When this visitor tries again after a failure.
    pub(super) fn retries_in(&mut self) -> u64 {
        SECOND / 5 + self.chance.below(SECOND)
    }

    /// When somebody who was admitted asks once more, if they do.
    pub(super) fn claims_again_in(&mut self) -> Option<u64> {
        self.chance.percent(30).then(|| self.chance.below(4 * SECOND))
    }

    /// When somebody inside uses their pass next, and how often.
    pub(super) fn uses(&mut self) -> (u64, u64) {
        (SECOND / 2 + self.chance.below(3 * SECOND), self.chance.below(4))
    }

    /// Whether somebody who was sent away joins anew.
    pub(super) fn joins_anew(&mut self) -> bool {
        let anew = !self.admitted && self.chance.percent(60);
        if anew {
            (self.place, self.polls) = (None, 0);
        } else {
            self.gone = true;
        }
        anew
    }
}

/// All tabs of a visitor but the first.
pub(super) fn other_tabs(visitor: usize, tabs: usize) -> impl Iterator<Item = Asker> {
    (1..tabs).map(move |tab| (visitor, tab))
}
