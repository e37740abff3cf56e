//! R8: while people wait and nothing stands in the way, nearly every slot is used over any 30 s.

use super::{Finds, Step};
use crate::queue::simulation::plan::{Plan, SECOND};
use crate::queue::simulation::rule::Rule;

const WINDOW_S: usize = 30;

pub(super) struct Busy {
    used_min: Option<u64>,
    /// Slots of 30 s at the set rate.
    slots: u64,
    /// So many must be waiting for the room to count as busy: more than the slots given ahead.
    crowd: u64,
    /// Second by second: slots taken, and the fewest who waited.
    seconds: Vec<(u64, u64)>,
}

impl Busy {
    pub(super) fn new(plan: &Plan) -> Self {
        let per = |ms| plan.rules.rate.slots_in(std::time::Duration::from_millis(ms));
        let seconds = usize::try_from(plan.length / SECOND).unwrap() + 1;
        Self {
            used_min: plan.used_min,
            slots: per(WINDOW_S as u64 * 1000),
            crowd: per(500) + plan.rules.burst,
            seconds: vec![(0, u64::MAX); seconds],
        }
    }

    pub(super) fn note(&mut self, step: &Step<'_>, waiting: u64) {
        if self.used_min.is_none() {
            return;
        }
        let second = |us: u64| usize::try_from(us / SECOND).unwrap();
        if let Some((_, fewest)) = self.seconds.get_mut(second(step.at)) {
            *fewest = waiting.min(*fewest);
        }
        for admission in &step.admitted {
            let ahead = admission.slot.0.saturating_sub(step.now().0);
            if let Some((taken, _)) = self.seconds.get_mut(second(step.at + ahead)) {
                *taken += 1;
            }
        }
    }

    pub(super) fn check(&self, finds: &mut Finds) {
        let Some(used_min) = self.used_min else { return };
        let full = &self.seconds[..self.seconds.len() - 1];
        let mut seen = false;
        for (from, window) in full.windows(WINDOW_S).enumerate() {
            if window.iter().any(|(_, waiting)| *waiting < self.crowd) {
                continue;
            }
            seen = true;
            let used: u64 = window.iter().map(|(taken, _)| taken).sum();
            // A window may begin just behind a slot.
            if (used + 1) * 1000 < self.slots * used_min {
                let slots = self.slots;
                finds.say(Rule::Busy, format!("{used} of {slots} slots used in the 30 s from second {from}"));
            }
        }
        if !seen {
            finds.say(Rule::Sound, "a full house in which nobody waited for 30 s".to_owned());
        }
    }
}
