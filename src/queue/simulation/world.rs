//! A whole sale in virtual time: one queue of events, and everything that happens in it.
//!
//! Who sends what to whom is here; what fails is in `faults`, what visitors are told in `telling`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::AssertUnwindSafe;

use super::faults;
use super::instance::{Asker, Instance, JOIN_WINDOW, JOINS_IN_FLIGHT, TIMEOUT};
use super::observer::{Event, Observer};
use super::plan::{Fault, Plan, What};
use super::rule::{Broken, Rule, seconds};
use super::store::{Mood, Store};
use super::visitor::Visitor;
use crate::queue::conformance::chance::Chance;
use crate::queue::embedded::verbs::{Reply, Verb};
use crate::queue::{Seen, StoreError};
use crate::room::{Lineage, Number};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ev {
    /// An item of the plan begins.
    Item(usize),
    /// A fault goes on to its next stage, or ends.
    Next(usize),
    Wake(Asker),
    /// Somebody inside uses their pass, so many times more.
    Uses(usize, u64),
    /// An instance, in this life, sends its joins, or its turns.
    Flush(usize, u32),
    Cycle(usize, u32),
    Open(usize, u32),
    /// A call reaches the store; its answer reaches the instance; nobody waits for it any more.
    Reaches(usize),
    Answers(usize),
    TimesOut(usize),
    /// A call is sent once more.
    Again(usize),
    /// An instance starts.
    Starts(usize),
}

/// Whom a call is for.
#[derive(Debug, Clone)]
pub(super) enum For {
    Opening,
    Joins(Vec<Asker>),
    Turns(Vec<Number>),
    Leaver(Asker),
    Operator,
    /// Nobody waits for it: a use or an end of a pass.
    Nobody,
}

pub(super) struct Call {
    pub(super) instance: usize,
    pub(super) life: u32,
    pub(super) whom: For,
    pub(super) verb: Verb,
    seen: Seen,
    pub(super) sent: u64,
    pub(super) repeated: bool,
    answer: Option<Result<Reply, StoreError>>,
    pub(super) over: bool,
}

pub(super) struct World<'a> {
    pub(super) plan: &'a Plan,
    pub(super) at: u64,
    events: BinaryHeap<Reverse<(u64, u64, Ev)>>,
    scheduled: u64,
    pub(super) store: Store,
    pub(super) instances: Vec<Instance>,
    pub(super) visitors: Vec<Visitor>,
    pub(super) calls: Vec<Call>,
    pub(super) observer: Observer,
    pub(super) net: Chance,
    /// How many stay and wait.
    pub(super) waiting: u64,
    lines: Option<Vec<String>>,
}

/// What came of a sale.
pub(super) struct Played {
    pub(super) broken: Option<Broken>,
    pub(super) lines: Vec<String>,
    pub(super) calls: usize,
    pub(super) admitted: usize,
}

/// Plays a plan to its end, or to the first broken rule; with `aloud`, what happened is written down.
pub(super) fn play(plan: &Plan, aloud: bool) -> Played {
    let mut world = World::new(plan, aloud);
    let played = std::panic::catch_unwind(AssertUnwindSafe(|| world.run()));
    let broken = played.unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().cloned();
        let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Some(Broken { rule: Rule::Sound, at: world.at, what: said.unwrap_or_default() })
    });
    let admitted = world.visitors.iter().filter(|visitor| visitor.admitted).count();
    Played { broken, calls: world.calls.len(), admitted, lines: world.lines.unwrap_or_default() }
}

impl<'a> World<'a> {
    fn new(plan: &'a Plan, aloud: bool) -> Self {
        let loses = |item: &super::plan::Item| matches!(item.what, What::Fails(Fault::Restart { .. }));
        let mut world = World {
            plan,
            at: 0,
            events: BinaryHeap::new(),
            scheduled: 0,
            store: Store::new(plan.kept, plan.items.iter().any(loses)),
            instances: (0..plan.instances).map(|i| Instance::new(i, 0, plan.seed)).collect(),
            visitors: Vec::new(),
            calls: Vec::new(),
            observer: Observer::new(plan),
            net: Chance::new(plan.seed ^ 0xfeed),
            waiting: 0,
            lines: aloud.then(Vec::new),
        };
        for i in 0..plan.instances {
            world.later(i as u64 * 1000, Ev::Open(i, 0));
        }
        for (index, item) in plan.items.iter().enumerate() {
            world.later(item.at, Ev::Item(index));
        }
        world
    }

    fn run(&mut self) -> Option<Broken> {
        while let Some(Reverse((at, _, event))) = self.events.pop() {
            if at > self.plan.length || self.observer.found() {
                break;
            }
            self.at = at;
            self.happen(event);
        }
        self.observer.end(self.at)
    }

    pub(super) fn later(&mut self, after: u64, event: Ev) {
        self.scheduled += 1;
        self.events.push(Reverse((self.at + after, self.scheduled, event)));
    }

    pub(super) fn say(&mut self, what: impl FnOnce() -> String) {
        let at = seconds(self.at);
        if let Some(lines) = &mut self.lines {
            let what = what();
            if !lines.last().is_some_and(|last| last.ends_with(&what)) {
                lines.push(format!("{at:8.3} s  {what}"));
            }
        }
    }

    fn happen(&mut self, event: Ev) {
        match event {
            Ev::Item(index) => self.begin(index),
            Ev::Next(index) => faults::next(self, index),
            Ev::Wake(asker) => self.wake(asker),
            Ev::Uses(v, more) => self.uses(v, more),
            Ev::Flush(i, life) if self.lives(i, life, event) => self.flush_joins(i),
            Ev::Cycle(i, life) if self.lives(i, life, event) => self.cycle(i),
            Ev::Open(i, life) if self.lives(i, life, event) => self.open(i),
            Ev::Flush(..) | Ev::Cycle(..) | Ev::Open(..) => {}
            Ev::Reaches(call) => self.reaches(call),
            Ev::Answers(call) => self.answers(call),
            Ev::TimesOut(call) => self.finish(call, Err(StoreError::TimedOut)),
            Ev::Again(call) => self.send_again(call),
            Ev::Starts(i) => faults::start_instance(self, i),
        }
    }

    fn begin(&mut self, index: usize) {
        let item = &self.plan.items[index];
        self.say(|| item.to_string()[12..].to_owned());
        match &item.what {
            What::Comes(visit) => {
                self.visitors.push(Visitor::new(index, visit.clone()));
                self.later(0, Ev::Wake((self.visitors.len() - 1, 0)));
            }
            What::Fails(fault) => faults::begin(self, index, fault),
            What::Acts(act) => faults::act(self, index, act),
        }
    }

    /// Whether an instance still is in this life; while it stands still, its events wait.
    fn lives(&mut self, i: usize, life: u32, event: Ev) -> bool {
        let instance = &self.instances[i];
        let lives = instance.up && instance.life == life;
        if lives && instance.stalled_until > self.at {
            let after = instance.stalled_until - self.at;
            self.later(after, event);
            return false;
        }
        lives
    }

    fn open(&mut self, i: usize) {
        let rules = Box::new(self.plan.rules.clone());
        let lineage = Lineage(self.instances[i].id.0);
        self.send(i, For::Opening, Verb::Create(rules, lineage));
    }

    pub(super) fn flush_joins(&mut self, i: usize) {
        let instance = &mut self.instances[i];
        if instance.joining.is_empty() || instance.joins_out >= JOINS_IN_FLIGHT {
            return;
        }
        instance.joins_out += 1;
        let (batch, askers) = instance.batch();
        self.send(i, For::Joins(askers), Verb::Join(batch));
    }

    pub(super) fn flush_soon(&mut self, i: usize) {
        let life = self.instances[i].life;
        self.later(JOIN_WINDOW, Ev::Flush(i, life));
    }

    fn cycle(&mut self, i: usize) {
        let instance = &mut self.instances[i];
        if instance.turning || instance.cycle_at != self.at || !instance.opened {
            return;
        }
        instance.turning = true;
        let present = instance.present(self.at);
        self.send(i, For::Turns(present.clone()), Verb::Advance(present));
    }

    /// The instance's turns are asked for in so long, or sooner if that was agreed on already.
    pub(super) fn cycle_in(&mut self, i: usize, after: u64) {
        let at = self.at + after;
        let instance = &mut self.instances[i];
        if instance.turning || (instance.cycle_at > self.at && instance.cycle_at <= at) {
            return;
        }
        instance.cycle_at = at;
        let life = instance.life;
        self.later(after, Ev::Cycle(i, life));
    }

    pub(super) fn send(&mut self, i: usize, whom: For, verb: Verb) {
        let instance = &self.instances[i];
        let (life, seen) = (instance.life, instance.seen());
        let call = Call {
            instance: i,
            life,
            whom,
            verb,
            seen,
            sent: self.at,
            repeated: false,
            answer: None,
            over: false,
        };
        self.calls.push(call);
        self.travel(self.calls.len() - 1);
    }

    fn send_again(&mut self, call: usize) {
        let Call { instance, life, .. } = self.calls[call];
        let instance = &self.instances[instance];
        if instance.up && instance.life == life {
            self.calls[call].seen = instance.seen();
            (self.calls[call].over, self.calls[call].sent) = (false, self.at);
            self.travel(call);
        }
    }

    fn travel(&mut self, call: usize) {
        let after = self.delay();
        if self.instances[self.calls[call].instance].cut_until > self.at {
            self.answer(call, Err(StoreError::Unreachable("cut off".to_owned())));
        } else {
            self.later(after, Ev::Reaches(call));
        }
    }

    fn delay(&mut self) -> u64 {
        200 + self.net.below(1500)
    }

    fn answer(&mut self, call: usize, answer: Result<Reply, StoreError>) {
        self.calls[call].answer = Some(answer);
        let after = self.delay();
        self.later(after, Ev::Answers(call));
    }

    fn reaches(&mut self, call: usize) {
        match self.store.mood {
            Mood::Well => {
                let answer = self.obey(call);
                self.answer(call, answer);
            }
            Mood::Breaks => {
                let _unheard = self.obey(call);
                self.answer(call, Err(StoreError::Unreachable("the connection broke".to_owned())));
            }
            Mood::Away => self.answer(call, Err(StoreError::Unreachable("no connection".to_owned()))),
            Mood::Hangs => {
                self.store.taken_in.push(call);
                self.gives_up_at(call);
            }
            Mood::Mute => {
                let _unheard = self.obey(call);
                self.gives_up_at(call);
            }
        }
    }

    fn gives_up_at(&mut self, call: usize) {
        let after = (self.calls[call].sent + TIMEOUT).saturating_sub(self.at);
        self.later(after, Ev::TimesOut(call));
    }

    /// The store does what it is asked.
    pub(super) fn obey(&mut self, call: usize) -> Result<Reply, StoreError> {
        let Call { verb, seen, instance, .. } = &self.calls[call];
        let (seen, instance) = (*seen, *instance);
        let evidence = self.instances[instance].evidence();
        let done = self.store.call(self.at, evidence.as_ref(), seen, verb);
        if let Some(room) = self.store.room() {
            let (at, answer, taken_over) = (self.at, &done.answer, done.taken_over);
            self.observer.done(&Event { at, seen, verb, taken_over, answer, room }, self.waiting);
        }
        if self.lines.is_some() {
            let line = super::history::line(instance, verb, &done);
            line.into_iter().for_each(|line| self.say(|| line));
        }
        done.answer
    }

    pub(super) fn obey_and_answer(&mut self, call: usize) {
        let answer = self.obey(call);
        self.answer(call, answer);
    }

    fn answers(&mut self, call: usize) {
        let Call { instance, life, .. } = self.calls[call];
        if self.instances[instance].cut_until > self.at
            && self.calls[call].answer.as_ref().is_some_and(Result::is_ok)
        {
            self.gives_up_at(call);
        } else if self.lives(instance, life, Ev::Answers(call))
            && let Some(answer) = self.calls[call].answer.take()
        {
            self.finish(call, answer);
        }
    }
}
