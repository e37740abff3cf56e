//! R7: a store that is older than what was seen begins another life; after an interruption the called get a step to
//! check in, then the release ramps up; a pause stops everything.

use super::{Finds, Step, open};
use crate::queue::Seen;
use crate::queue::simulation::rule::Rule;
use crate::room::Snapshot;

/// How much of the ramp is looked at, and what it may release: its first second at a tenth of the rate, then
/// in proportion to the time, which is 1.3 s of the rate in the first 5 s.
const RAMP_SEEN: u64 = 5_000_000;
const RAMP_RELEASE: f64 = 1.3;

#[derive(Default)]
pub(super) struct Calm {
    /// On the store's clock; 0 without an interruption.
    settled_at: u64,
    /// An interruption of the lobby costs no ramp.
    ramps: bool,
    ramped: u64,
    fastest: f64,
}

impl Calm {
    pub(super) fn trusted(&self, finds: &mut Finds, seen: Seen, room: &Snapshot) {
        let held = Seen { epoch: room.epoch, version: room.version };
        if seen > held {
            finds.say(Rule::Closed, format!("a store at {held:?} answered to who had seen {seen:?}"));
        }
    }

    pub(super) fn check(&mut self, finds: &mut Finds, step: &Step<'_>) {
        self.settled_at = self.settled_at.saturating_sub(step.before.now.0.saturating_sub(step.now().0));
        let line = step.before.last > step.before.frontier;
        if step.interrupted && line {
            self.ramps = step.rules().schedule.opens.is_none_or(|opens| step.now() >= opens);
            self.settled_at = step.now().plus(step.rules().step()).0;
            (self.ramped, self.fastest) = (0, 0.0);
        }
        let let_in = step.admitted.len() + step.newly_granted.len();
        if let_in > 0 && step.now().0 < self.settled_at {
            finds.say(Rule::Closed, format!("{let_in} let in before the called could check in again"));
        }
        if let_in > 0 && !open(step.after) {
            finds.say(Rule::Closed, format!("{let_in} let in while the room is {:?}", step.after.phase));
        }
        self.ramp(finds, step);
    }

    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    fn ramp(&mut self, finds: &mut Finds, step: &Step<'_>) {
        if self.settled_at == 0 || !self.ramps {
            return;
        }
        self.fastest = self.fastest.max(step.rules().rate.as_per_second());
        let end = self.settled_at + RAMP_SEEN;
        self.ramped += step.admitted.iter().filter(|admission| admission.slot.0 <= end).count() as u64;
        if self.ramped as f64 > RAMP_RELEASE * self.fastest + 2.0 {
            let ramped = self.ramped;
            finds.say(Rule::Closed, format!("{ramped} within the first 5 s after an interruption"));
        }
    }
}
