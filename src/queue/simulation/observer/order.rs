//! R2: nobody is granted while a smaller number up to D is checked in.

use std::collections::BTreeMap;

use super::{Finds, Step};
use crate::queue::simulation::rule::Rule;
use crate::room::{Micros, Number};

/// Called numbers and when, on the store's clock, they were last shown to the store.
#[derive(Default)]
pub(super) struct Order {
    checked_in: BTreeMap<Number, Micros>,
}

impl Order {
    pub(super) fn forget(&mut self) {
        self.checked_in.clear();
    }

    pub(super) fn left(&mut self, number: Number) {
        self.checked_in.remove(&number);
    }

    pub(super) fn check(&mut self, finds: &mut Finds, step: &Step<'_>) {
        if step.interrupted {
            self.forget();
        }
        let now = step.now();
        for number in step.present.iter().filter(|number| **number <= step.before.called) {
            self.checked_in.insert(*number, now);
        }
        for admission in &step.admitted {
            self.checked_in.remove(&admission.number);
        }
        let admitted = step.admitted.iter().map(|admission| admission.number);
        let held_before = |number: &Number| step.granted_before.contains(number);
        let new = step.newly_granted.iter().copied().chain(admitted.filter(|n| !held_before(n)));
        let Some(largest) = new.max() else { return };
        let silent = now.minus(step.rules().step());
        self.checked_in.retain(|number, shown| *shown >= silent && *number > step.after.lapsed);
        let passed = self
            .checked_in
            .range(..largest)
            .find(|(number, _)| **number <= step.after.due && !step.granted.contains(number));
        if let Some((number, _)) = passed {
            finds.say(Rule::Order, format!("{largest} was granted while {number} was checked in"));
        }
    }
}
