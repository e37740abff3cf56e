//! Stays: admissions that live. Uses prolong them, ends and expiries end them, and none ever comes back.
//!
//! A stay begins at pick-up and lasts until its acknowledged expiry, which is all that a pass may print. So a
//! pass that prints more than the store knows of does not exist, and `active` never counts too few.

use super::{Micros, Number, Room, Snapshot};

/// Most expired stays that one call takes out: more than any call can admit.
pub(crate) const EXPIRE_MAX: usize = 1000;

/// Who ended a stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndCause {
    /// The visitor left the shop.
    Visitor,
    /// The shop said that the visitor is done.
    Shop,
    /// An operator revoked it.
    Operator,
}

impl EndCause {
    /// One word for log and metrics.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Visitor => "visitor",
            Self::Shop => "shop",
            Self::Operator => "operator",
        }
    }
}

/// What an instance has to say of stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StayReport {
    /// Numbers whose pass was used, at most [`StayReport::MAX`].
    pub used: Vec<Number>,
    /// Numbers whose stay ended, at most [`StayReport::MAX`].
    pub ended: Vec<(Number, EndCause)>,
    /// The last sequence of the end log that the instance has read; 0 for none.
    pub log_from: u64,
}

impl StayReport {
    /// Most entries of each kind in one call.
    pub const MAX: usize = 500;
}

/// The answer to a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stayed {
    /// The acknowledged expiry of each stay that was used, in order; `None` if it no longer lives.
    pub until: Vec<Option<Micros>>,
    /// The end log after `log_from`, in order; bounded, so that there may be more after `log_to`.
    pub ended: Vec<Number>,
    /// The sequence of the last of `ended`: where to go on.
    pub log_to: u64,
    /// The room after the call.
    pub snapshot: Snapshot,
}

impl Room {
    /// Takes uses and ends in, and tells the end log. Saying the same twice changes nothing more.
    pub fn stays(&mut self, now: Micros, report: &StayReport) -> Stayed {
        let now = self.enter(now);
        self.sweep(now);
        let until = report.used.iter().map(|number| self.prolong(now, *number)).collect();
        for (number, cause) in &report.ended {
            self.end(now, *number, *cause);
        }
        self.core.version += 1;
        let (ended, log_to) = self.log.after(report.log_from);
        Stayed { until, ended, log_to, snapshot: self.snapshot() }
    }

    /// The acknowledged expiry of a stay that lives.
    pub(super) fn lives_until(&self, now: Micros, number: Number) -> Option<Micros> {
        self.stays.get(number).filter(|until| *until > now)
    }

    /// The stay of an admission that is made.
    pub(super) fn begin_stay(&mut self, number: Number, slot: Micros) {
        let rules = &self.core.rules;
        let until = slot.plus(rules.first_use.min(rules.pass_ttl));
        self.stays.set(number, until);
        self.changes.stays.push((number, Some(until)));
    }

    /// A use of a pass: a living stay lasts `idle` from now, but never beyond the pass's own lifetime, and
    /// never shorter than was acknowledged before.
    fn prolong(&mut self, now: Micros, number: Number) -> Option<Micros> {
        let before = self.lives_until(now, number)?;
        let slot = self.admissions.get(number)?;
        let rules = &self.core.rules;
        let until = before.max(now.plus(rules.idle).min(slot.plus(rules.pass_ttl)));
        if until > before {
            self.stays.set(number, until);
            self.changes.stays.push((number, Some(until)));
            self.changes.material = true;
        }
        Some(until)
    }

    fn end(&mut self, now: Micros, number: Number, cause: EndCause) {
        let Some(until) = self.lives_until(now, number) else { return };
        self.stays.remove(number);
        self.core.departed += 1;
        self.changes.stays.push((number, None));
        self.log_end(number, until);
        if cause != EndCause::Operator {
            self.gone.insert(number);
            self.changes.gone.push(number);
        }
        self.changes.material = true;
    }

    /// Takes out stays that expired, and what the end log need not keep any longer.
    pub(super) fn expire(&mut self, now: Micros) {
        // Renewals may have been lost too: until then a stay that has expired may live.
        if now >= self.core.ghosts_until {
            self.core.departed += std::mem::take(&mut self.core.ghosts);
            let expired = self.stays.take_before(Micros(now.0 + 1), EXPIRE_MAX);
            self.core.departed += expired.len() as u64;
            self.changes.stays.extend(expired.into_iter().map(|number| (number, None)));
        }
        self.log.trim(now, EXPIRE_MAX);
        self.core.log_first = self.log.first();
    }

    /// Ends every stay, and voids every pass whose slot was given so far; the slots to come lie after the mark.
    /// Where a clock was set back, some slots lie after it too: these ends are in the log.
    pub(super) fn revoke_all(&mut self, now: Micros) {
        let core = &mut self.core;
        let mark = Micros(now.max(core.latest_slot).0 + 1);
        core.revoked_before = core.revoked_before.max(mark);
        let ended: Vec<(Number, Micros)> = self.stays.iter().collect();
        self.stays.clear();
        self.core.departed += ended.len() as u64 + std::mem::take(&mut self.core.ghosts);
        for (number, until) in ended {
            self.changes.stays.push((number, None));
            if self.admissions.get(number).is_none_or(|slot| slot >= mark) {
                self.log_end(number, until);
            }
        }
    }

    /// The clock was set back before the mark of the last revocation. The mark goes along, or the slots to
    /// come would be void; whatever it voided between then and now goes to the log instead.
    pub(super) fn lower_mark(&mut self, now: Micros) {
        let mark = self.core.revoked_before;
        if mark <= now {
            return;
        }
        self.core.revoked_before = now;
        for (slot, number) in self.admissions.between(now, mark) {
            self.log_end(number, slot.plus(self.core.rules.pass_ttl));
        }
        self.changes.material = true;
    }

    fn log_end(&mut self, number: Number, until: Micros) {
        self.changes.log.push(self.log.add(number, until));
        self.core.log_first = self.log.first();
    }
}
