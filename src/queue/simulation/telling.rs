//! What visitors ask of instances, and what they are told.

use std::sync::Arc;

use super::instance::{ASK_WINDOW, Ask, Asker, TIMEOUT};
use super::plan::Habit;
use super::visitor::{Intent, other_tabs};
use super::world::{Call, Ev, For, World};
use crate::queue::StoreError;
use crate::queue::embedded::verbs::{Reply, Verb};
use crate::room::{EndCause, JoinOutcome, Number, Snapshot, Standing, StayReport};

/// The longest poll interval.
const POLL_MAX: u64 = 15_000_000;

impl World<'_> {
    /// A visitor acts, through whichever instance the balancer chooses.
    pub(super) fn wake(&mut self, asker: Asker) {
        let (v, _) = asker;
        let count = self.instances.len() as u64;
        let i = usize::try_from(self.visitors[v].chance.below(count)).unwrap();
        let instance = &self.instances[i];
        if !instance.up || instance.stalled_until > self.at {
            return self.try_again(asker);
        }
        let called = instance.known.as_ref().map_or(Number(0), |known| known.called);
        let hold = u64::try_from(self.plan.rules.hold.as_micros()).unwrap();
        let waited = self.visitors[v].waits();
        let intent = self.visitors[v].decide(called, hold);
        self.count_waiting(v, waited);
        match intent {
            Intent::Join => self.join(i, asker),
            Intent::Poll(patience, hangs_up) => self.poll(i, asker, patience, hangs_up),
            Intent::Leave => self.leave(i, asker),
            Intent::Rest(time) => self.later(time, Ev::Wake(asker)),
            Intent::Nothing => {}
        }
    }

    fn count_waiting(&mut self, v: usize, waited: bool) {
        self.waiting += u64::from(self.visitors[v].waits());
        self.waiting -= u64::from(waited);
    }

    pub(super) fn try_again(&mut self, asker: Asker) {
        let after = self.visitors[asker.0].retries_in();
        if !self.visitors[asker.0].gone {
            self.later(after, Ev::Wake(asker));
        }
    }

    fn join(&mut self, i: usize, asker: Asker) {
        let visitor = &self.visitors[asker.0];
        let identity = visitor.identity();
        let instance = &mut self.instances[i];
        if visitor.reloads() && !instance.fresh(self.at) {
            return self.try_again(asker);
        }
        instance.joining.push((asker, identity));
        if instance.joining.len() == 1 {
            self.flush_soon(i);
        }
    }

    fn poll(&mut self, i: usize, asker: Asker, patience: u64, hangs_up: Option<u64>) {
        let visitor = &self.visitors[asker.0];
        let Some((lineage, number)) = visitor.place else { return };
        let fresh = self.instances[i].fresh(self.at);
        let Some(known) = self.instances[i].known.clone().filter(|_| fresh || !visitor.reloads()) else {
            return self.try_again(asker);
        };
        if known.lineage != lineage {
            return self.told_gone(asker, None);
        }
        if number > known.called && number <= known.last {
            return self.told_waiting(i, asker);
        }
        let hangs_up = hangs_up.map_or(u64::MAX, |after| self.at + after);
        let ask = Ask { asker, until: self.at + patience, hangs_up };
        if let Some(oldest) = self.instances[i].hold(number, ask) {
            self.told_waiting(i, oldest);
        }
        self.cycle_in(i, ASK_WINDOW);
    }

    fn leave(&mut self, i: usize, asker: Asker) {
        let Some((_, number)) = self.visitors[asker.0].place else { return };
        self.send(i, For::Leaver(asker), Verb::Leave(vec![number]));
    }

    /// Somebody inside uses their pass; after the last time they may say that they are done.
    pub(super) fn uses(&mut self, v: usize, more: u64) {
        let up = |instance: &super::instance::Instance| instance.up && instance.stalled_until <= self.at;
        let (Some((_, number)), Some(i)) = (self.visitors[v].place, self.instances.iter().position(up))
        else {
            return;
        };
        let mut report = StayReport::default();
        if more > 0 {
            report.used.push(number);
            let (after, _) = self.visitors[v].uses();
            self.later(after, Ev::Uses(v, more - 1));
        } else if self.visitors[v].chance.percent(50) {
            report.ended.push((number, EndCause::Visitor));
        }
        self.send(i, For::Nobody, Verb::Stays(report));
    }

    fn learn(&mut self, i: usize, snapshot: Snapshot) -> Arc<Snapshot> {
        let ceiling = self.store.ceiling(snapshot.last);
        self.instances[i].learn(self.at, snapshot, ceiling)
    }

    /// An answer, or that there is none.
    pub(super) fn finish(&mut self, call: usize, answer: Result<Reply, StoreError>) {
        let Call { instance: i, life, sent, repeated, over, .. } = self.calls[call];
        if over || !self.instances[i].up || self.instances[i].life != life {
            return;
        }
        self.calls[call].over = true;
        match (self.calls[call].whom.clone(), answer) {
            (For::Opening, answer) => self.opened(i, answer),
            (For::Joins(_), Err(StoreError::Unreachable(_))) if !repeated && self.at < sent + TIMEOUT / 4 => {
                self.calls[call].repeated = true;
                self.later(TIMEOUT / 8, Ev::Again(call));
            }
            (For::Joins(askers), answer) => self.joined(i, askers, answer),
            (For::Turns(present), answer) => self.turned(i, &present, answer),
            (For::Leaver(asker), Ok(Reply::Snapshot(snapshot))) => {
                let _known = self.learn(i, snapshot);
                self.visitors[asker.0].gone = true;
            }
            (For::Leaver(asker), _) => self.try_again(asker),
            (For::Operator, Ok(Reply::Snapshot(snapshot))) => {
                let _known = self.learn(i, snapshot);
            }
            (For::Nobody, Ok(Reply::Restored(restored))) => {
                let _known = self.learn(i, restored.snapshot);
            }
            (For::Nobody, Ok(Reply::Stayed(stayed))) => {
                let _known = self.learn(i, stayed.snapshot);
            }
            (For::Operator | For::Nobody, _) => {}
        }
    }

    fn opened(&mut self, i: usize, answer: Result<Reply, StoreError>) {
        if let Ok(Reply::Snapshot(snapshot)) = answer {
            let _known = self.learn(i, snapshot);
            self.instances[i].opened = true;
            return self.cycle_in(i, ASK_WINDOW);
        }
        let life = self.instances[i].life;
        self.later(250_000, Ev::Open(i, life));
    }

    fn joined(&mut self, i: usize, askers: Vec<Asker>, answer: Result<Reply, StoreError>) {
        self.instances[i].joins_out -= 1;
        self.flush_joins(i);
        let Ok(Reply::Joined(joined)) = answer else {
            return askers.into_iter().for_each(|asker| self.try_again(asker));
        };
        let _known = self.learn(i, joined.snapshot);
        for (asker, outcome) in askers.into_iter().zip(joined.outcomes) {
            match outcome {
                JoinOutcome::Placed { number, standing, .. } => self.placed(i, asker, number, standing),
                _ => self.try_again(asker),
            }
        }
    }

    fn placed(&mut self, i: usize, asker: Asker, number: Number, standing: Standing) {
        let Some(known) = self.instances[i].known.clone() else { return };
        let (v, _) = asker;
        let waited = self.visitors[v].waits();
        (self.visitors[v].place, self.visitors[v].new) = (Some((known.lineage, number)), true);
        self.count_waiting(v, waited);
        self.observer.placed(self.at, self.visitors[v].holder(), known.lineage, number);
        for tab in other_tabs(v, self.visitors[v].tabs()) {
            let after = self.visitors[v].chance.below(2_000_000);
            self.later(after, Ev::Wake(tab));
        }
        if self.visitors[v].reloads() && standing == Standing::Waiting && known.is_near(number) {
            let hold = u64::try_from(self.plan.rules.hold.as_micros()).unwrap();
            return self.poll(i, asker, hold, None);
        }
        self.told(i, asker, standing);
    }

    fn turned(&mut self, i: usize, present: &[Number], answer: Result<Reply, StoreError>) {
        self.instances[i].turning = false;
        let Ok(Reply::Advanced(advanced)) = answer else {
            let held = std::mem::take(&mut self.instances[i].held);
            for ask in held.into_values().flat_map(|held| held.asks) {
                self.unanswered(i, ask.asker);
            }
            let pause = self.instances[i].pause_after_failure();
            return self.cycle_in(i, pause);
        };
        let snapshot = self.learn(i, advanced.snapshot);
        for (number, standing) in present.iter().zip(advanced.standings) {
            let stays = standing == Standing::Waiting && snapshot.is_near(*number);
            if let Some(held) = self.instances[i].held.get_mut(number) {
                held.shown = Some(self.at);
            }
            if !stays && let Some(held) = self.instances[i].held.remove(number) {
                held.asks.into_iter().for_each(|ask| self.told(i, ask.asker, standing));
            }
        }
        for asker in self.instances[i].out_of_patience(self.at, &snapshot) {
            self.told_waiting(i, asker);
        }
        let pause = self.instances[i].pause();
        self.cycle_in(i, pause);
    }

    fn told(&mut self, i: usize, asker: Asker, standing: Standing) {
        let (v, _) = asker;
        match standing {
            Standing::Waiting => self.told_waiting(i, asker),
            // The ticket proves that the store has lost this place.
            Standing::Unknown => {
                let Some((_, number)) = self.visitors[v].place else { return };
                let lost = vec![(number, self.visitors[v].identity())];
                self.send(i, For::Nobody, Verb::Restore(lost));
                self.try_again(asker);
            }
            Standing::Admitted(admission) => {
                let Some((lineage, _)) = self.visitors[v].place else { return };
                self.observer.admitted(self.at, lineage, admission);
                let waited = self.visitors[v].waits();
                if !self.visitors[v].admitted {
                    let (after, times) = self.visitors[v].uses();
                    self.later(after, Ev::Uses(v, times));
                }
                self.visitors[v].admitted = true;
                self.count_waiting(v, waited);
                if let Some(after) = self.visitors[v].claims_again_in() {
                    self.later(after, Ev::Wake(asker));
                }
            }
            other => self.told_gone(asker, Some(other)),
        }
    }

    /// The position, from memory, and when to ask again.
    fn told_waiting(&mut self, i: usize, asker: Asker) {
        let (v, _) = asker;
        let Some((lineage, number)) = self.visitors[v].place.filter(|_| !self.visitors[v].gone) else {
            return;
        };
        if let Some(known) = self.instances[i].known.as_ref().filter(|known| known.lineage == lineage) {
            self.observer.shown(self.at, (v, i), number, known);
        }
        self.asks_again(i, asker);
    }

    /// The place is kept, but the store could not be asked.
    fn unanswered(&mut self, i: usize, asker: Asker) {
        if !self.visitors[asker.0].gone {
            self.asks_again(i, asker);
        }
    }

    fn asks_again(&mut self, i: usize, asker: Asker) {
        let visitor = &mut self.visitors[asker.0];
        let new = std::mem::take(&mut visitor.new);
        let number = visitor.place.map(|(_, number)| number);
        let told = self.instances[i].next_poll(self.at, number, new, POLL_MAX);
        let after = self.visitors[asker.0].asks_in(told);
        if self.visitors[asker.0].visit.habit != Habit::Gone {
            self.later(after, Ev::Wake(asker));
        }
    }

    /// The place is no more: lapsed, left, or of another life of the room.
    fn told_gone(&mut self, asker: Asker, standing: Option<Standing>) {
        let (v, _) = asker;
        let Some((lineage, number)) = self.visitors[v].place else { return };
        if let Some(standing @ (Standing::Lapsed | Standing::Unknown)) = standing
            && self.visitors[v].waits()
        {
            self.observer.sent_away(self.at, lineage, number, standing);
        }
        let waited = self.visitors[v].waits();
        if self.visitors[v].joins_anew() {
            self.later(500_000, Ev::Wake(asker));
        }
        self.count_waiting(v, waited);
    }
}
