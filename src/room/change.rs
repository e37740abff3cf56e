//! What an operator may change while a room runs.

use serde::{Deserialize, Serialize};

use super::{Lineage, Rate, Rules, ScheduleChange, Seed};

/// The operator's changes to the rules. They live in the store, survive restarts, and win over the file
/// until they are unset.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overrides {
    /// Admissions per time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Most admissions in one instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<u64>,
    /// Most admissions since the room was created or flushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_total: Option<u64>,
    /// Most stays at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active: Option<u64>,
    /// A line for the visitors, shown on the waiting page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Other times, or another order of the lobby.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleChange>,
}

/// One change to the overrides: outer `None` leaves a value alone, inner `None` unsets it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// See [`Overrides::rate`].
    pub rate: Option<Option<Rate>>,
    /// See [`Overrides::burst`].
    pub burst: Option<Option<u64>>,
    /// See [`Overrides::max_total`].
    pub max_total: Option<Option<u64>>,
    /// See [`Overrides::max_active`].
    pub max_active: Option<Option<u64>>,
    /// See [`Overrides::message`].
    pub message: Option<Option<String>>,
    /// See [`Overrides::schedule`].
    pub schedule: Option<Option<ScheduleChange>>,
}

impl Overrides {
    /// These overrides with a patch applied.
    #[must_use]
    pub fn patched(&self, patch: &Patch) -> Self {
        let Patch { rate, burst, max_total, max_active, message, schedule } = patch.clone();
        Self {
            rate: rate.unwrap_or(self.rate),
            burst: burst.unwrap_or(self.burst),
            max_total: max_total.unwrap_or(self.max_total),
            max_active: max_active.unwrap_or(self.max_active),
            message: message.unwrap_or_else(|| self.message.clone()),
            schedule: schedule.unwrap_or_else(|| self.schedule.clone()),
        }
    }

    /// The rules in force: the file's, with these on top. A changed rate brings its own default burst unless
    /// the burst was set too.
    #[must_use]
    pub fn over(&self, file: &Rules) -> Rules {
        let mut rules = file.clone();
        if let Some(rate) = self.rate {
            rules.rate = rate;
            rules.burst = Rules::default_burst(rate);
        }
        rules.burst = self.burst.unwrap_or(rules.burst).max(1);
        rules.max_total = self.max_total.or(rules.max_total);
        rules.max_active = self.max_active.or(rules.max_active);
        if let Some(change) = &self.schedule {
            rules.schedule = rules.schedule.changed(change);
        }
        rules
    }
}

/// A change to a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Control {
    /// Stop releasing, and send grants that were not picked up back to the line.
    Pause {
        /// Told to the visitors.
        reason: Option<String>,
    },
    /// Release again; nothing is made up for.
    Resume,
    /// Change overrides.
    Set(Patch),
    /// The rules of the file, written by an instance that starts or reloads.
    Rules(Rules),
    /// A new life: everybody joins anew, numbers go on counting.
    Flush(Lineage),
    /// Ends every stay, and voids every pass that was issued before.
    RevokeBefore,
    /// What the shop says it has left, in tickets.
    StockRead {
        /// Tickets that nobody has claimed.
        remaining: u64,
    },
    /// Open now, whatever the schedule says.
    Open,
    /// Take no place and release nobody from now on; grants that were not picked up go back to the line.
    Close,
    /// Undo the last of these two: follow the schedule again.
    Follow,
    /// The seed of a lineage's draw. The first that is offered is kept.
    Seed(Lineage, Seed),
    /// The public value of the draw, once the lobby has ended. The first is kept.
    DrawValue(String),
    /// The fingerprint of an instance's keys. The first is kept.
    Keys(String),
}
