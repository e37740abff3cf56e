//! R3: in every window of whatever length, at most rate x length + burst.
//!
//! A bucket that leaks at the rate and never holds more than the burst says exactly that of all windows at
//! once. It runs on true time; only what the store's clock was set forward by is granted as time, for nothing
//! but a clock could tell it from time.

use super::{Finds, Step};
use crate::queue::simulation::rule::Rule;
use crate::room::{Number, Rules};

#[derive(Default)]
pub(super) struct RateKept {
    level: f64,
    /// True time in microseconds.
    at: f64,
    rules: Option<Rules>,
    /// Who took the last slots, and what the level was before each of them.
    taken: Vec<(Number, f64, f64)>,
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a short sale")]
impl RateKept {
    /// What lay ahead of a step forward, a quarter of a second at most, counts as taken before it.
    pub(super) fn clock_set(&mut self, at: u64, by: i64) {
        if by > 0 {
            self.pass_to(at as f64);
            self.leak(by as f64);
            self.at = at as f64;
        }
    }

    /// The last slots of these were lost with the store, and nobody was ever told of them.
    pub(super) fn untold(&mut self, numbers: &[Number]) {
        while let Some((_, level, at)) = self.taken.pop_if(|(number, ..)| numbers.contains(number)) {
            (self.level, self.at) = (level, at);
        }
    }

    fn leak(&mut self, us: f64) {
        let Some(rules) = &self.rules else { return };
        self.level = (self.level - us * rules.rate.as_per_second() / 1e6).max(0.0);
    }

    fn pass_to(&mut self, at: f64) {
        if at > self.at {
            self.leak(at - self.at);
            self.at = at;
        }
    }

    pub(super) fn check(&mut self, finds: &mut Finds, step: &Step<'_>) {
        if self.rules.as_ref() != Some(step.rules()) {
            self.pass_to(step.at as f64);
            self.rules = Some(step.rules().clone());
            self.level = self.level.min(step.rules().burst as f64 - 1.0);
            self.taken.clear();
        }
        let mut slots: Vec<_> =
            step.admitted.iter().map(|admission| (admission.slot.0, admission.number)).collect();
        slots.sort_unstable();
        for (slot, number) in slots {
            self.taken.push((number, self.level, self.at));
            self.pass_to(step.at as f64 + slot as f64 - step.now().0 as f64);
            self.level += 1.0;
            let (burst, rate) = (step.rules().burst, step.rules().rate);
            if self.level > burst as f64 + 0.01 {
                let above = self.level - burst as f64;
                finds.say(Rule::Rate, format!("{above:.2} above rate {rate} and burst {burst}"));
            }
        }
    }
}
