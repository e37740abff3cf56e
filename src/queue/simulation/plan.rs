//! What will happen in a sale: who comes and how they behave, what fails, what the operator does.
//!
//! A plan is data, and each item brings a seed of its own for whatever it decides later; so an item can be left
//! out without changing what the others do, and a failed sale can be shortened.

use std::fmt;

use super::rule::seconds;
use super::store::START;
use crate::room::{Micros, Rate, Rules, Schedule};

pub(super) const SECOND: u64 = 1_000_000;

/// What the store keeps when it ends, as `store.durability` promises it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// The last seconds may go; numbers stay below ceilings.
    Memory,
    /// What a replica lags behind by may go, which is more than ceilings cover: instances tell what they saw.
    Lagging,
    /// Whatever was acknowledged is kept: on the disk, or on the replica that takes over.
    Acknowledged,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) rules: Rules,
    pub(super) kept: Kept,
    pub(super) instances: usize,
    /// Microseconds.
    pub(super) length: u64,
    /// The share of the slots that must be used over any 30 s, per mille.
    pub(super) used_min: Option<u64>,
    pub(super) items: Vec<Item>,
}

#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Microseconds since the sale began.
    pub(super) at: u64,
    pub(super) what: What,
}

#[derive(Debug, Clone)]
pub(super) enum What {
    Comes(Visit),
    Fails(Fault),
    Acts(Act),
}

#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) habit: Habit,
    /// An account of the shop: one number, whatever the device.
    pub(super) account: Option<u8>,
    pub(super) seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// Asks as told, by poll, and is held near the front.
    Stays,
    /// Asks as told, each time by loading the gated page.
    Reloads,
    /// Several tabs, one ticket.
    Tabs(usize),
    /// Asks later than told, by this many per cent.
    Late(u64),
    /// Never asks again.
    Gone,
    /// Goes without a word after so many polls.
    GoneAfter(u32),
    /// Goes after so many polls, and comes back after a time.
    Away(u32, u64),
    /// Gives the place up after so many polls.
    Leaves(u32),
    /// Checks in and hangs up at once, never to pick anything up.
    HangsUp,
}

impl Habit {
    /// Whether this visitor does whatever they are told, all the time.
    pub(super) fn stays(self) -> bool {
        matches!(self, Self::Stays | Self::Reloads | Self::Tabs(_))
    }
}

#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// The store answers nothing for a while, and then does what it was asked.
    Hangs(u64),
    /// The store does what it is asked, but no answer arrives.
    Mute(u64),
    /// The store does what it is asked, but the connection breaks before the answer.
    Breaks(u64),
    /// The store cannot be reached.
    Away(u64),
    /// The store ends and another begins: a restart, or a replica that takes over.
    Restart {
        /// Before it ends it works for so long without being heard.
        mute: u64,
        /// Whether that work is kept.
        keeps: bool,
        /// Unless with [`Kept::Acknowledged`]: how much of the time before is lost.
        loses: u64,
        down: u64,
    },
    /// The store's clock is set forward or back.
    Step(i64),
    /// An instance ends and starts again after a while.
    Crash(usize, u64),
    /// An instance stands still for a while.
    Stall(usize, u64),
    /// An instance cannot reach the store for a while.
    Cut(usize, u64),
}

#[derive(Debug, Clone)]
pub(super) enum Act {
    Pause,
    Resume,
    Rate(Rate),
    Total(Option<u64>),
    Flush,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.3} s  ", seconds(self.at))?;
        match &self.what {
            What::Comes(visit) => {
                write!(f, "a visitor comes who: {:?}", visit.habit)?;
                visit.account.map_or(Ok(()), |account| write!(f, ", account {account}"))
            }
            What::Fails(fault) => write!(f, "the fault begins: {fault:?}"),
            What::Acts(act) => write!(f, "the operator does: {act:?}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rules {
            rate,
            burst,
            poll_min,
            return_within,
            first_use,
            pass_ttl,
            max_waiting,
            max_total,
            max_active,
            ..
        } = &self.rules;
        writeln!(
            f,
            "{} instance(s), {:?} kept, {:.1} s; rate {rate}, burst {burst}, poll_min {poll_min:?}, return_within \
             {return_within:?}, first_use {first_use:?}, pass {pass_ttl:?}, max {max_waiting}, max_total {max_total:?}, max_active \
             {max_active:?}",
            self.instances,
            self.kept,
            seconds(self.length),
        )?;
        let after = |at: Option<Micros>| at.map(|at| seconds(at.0.saturating_sub(START)));
        let Schedule { opens, closes, .. } = &self.rules.schedule;
        writeln!(f, "opens after {:?} s, closes after {:?} s", after(*opens), after(*closes))?;
        self.items.iter().try_for_each(|item| writeln!(f, "{item}"))
    }
}
