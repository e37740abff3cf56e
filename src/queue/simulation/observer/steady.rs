//! R6: the position that one instance shows to a visitor never grows. Between two instances a snapshot may be
//! older by what the slower of them has not heard yet; and a store that lost its last second has lost what the
//! frontier gained in it, which shows in the epoch that begins then.

use std::collections::HashMap;

use super::Finds;
use crate::queue::simulation::rule::Rule;
use crate::room::{Lineage, Number, Snapshot};

#[derive(Default)]
pub(super) struct Steady {
    /// By visitor and instance.
    shown: HashMap<(usize, usize), Shown>,
    has_lost: bool,
}

struct Shown {
    lineage: Lineage,
    epoch: u64,
    number: Number,
    position: u64,
}

impl Steady {
    /// The store has ended; `told` when some had been told of what it lost.
    pub(super) fn lost(&mut self, told: bool) {
        self.has_lost |= told;
    }

    pub(super) fn shown(
        &mut self,
        finds: &mut Finds,
        viewer: (usize, usize),
        number: Number,
        known: &Snapshot,
    ) {
        let (lineage, epoch, position) = (known.lineage, known.epoch, known.position(number));
        let last = self.shown.insert(viewer, Shown { lineage, epoch, number, position });
        let Some(last) = last.filter(|last| (last.lineage, last.number) == (lineage, number)) else { return };
        let excused = self.has_lost && last.epoch != epoch;
        if last.position < position && !excused {
            let before = last.position;
            finds.say(Rule::Steady, format!("number {number} was shown {position} after {before}"));
        }
    }
}
