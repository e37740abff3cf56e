//! Numbers and admissions: R1 no number twice, R4 the total, R5 the same answer to whoever asks again.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Finds, Holder, Step};
use crate::queue::JoinBatch;
use crate::queue::simulation::rule::Rule;
use crate::room::{Admission, JoinOutcome, Lineage, Micros, Number, Snapshot, Standing, StayReport, Stayed};

/// When a batch was first done, and the numbers that it got.
type Batch = (u64, Vec<Option<Number>>);

#[derive(Default)]
pub(super) struct Ledger {
    holders: HashMap<(Lineage, Number), Holder>,
    accounts: HashMap<u8, (u64, Lineage, Number)>,
    batches: HashMap<(u64, u64), Batch>,
    lineage: Lineage,
    /// Admissions of other lineages, as below.
    shelved: HashMap<Lineage, BTreeMap<Number, (u64, Admission)>>,
    /// Admissions of this lineage in the store: when they were made, and the slot.
    made: BTreeMap<Number, (u64, Admission)>,
    /// Admissions that visitors were told of.
    told: HashMap<(Lineage, Number), (u64, Micros)>,
    /// Those of this lineage that the store has lost since.
    lost: HashSet<Number>,
    /// Whose pass has not expired. Once it has, a clock that is set back does not bring it back.
    inside: HashMap<Number, Micros>,
    /// Whose stay was ended, and when.
    ended: HashMap<Number, u64>,
    used_at: u64,
    /// What was lost may have been told: then some are inside of whom the pure room knows nothing. That Redis
    /// counts them all the same is held by a test of its own.
    unsure: bool,
    left: HashSet<Number>,
}

impl Ledger {
    /// The room is in this life now: a flush began it, or the end of a store undid one.
    pub(super) fn turn_to(&mut self, lineage: Lineage) {
        if self.lineage == lineage {
            return;
        }
        let made = std::mem::take(&mut self.made);
        self.shelved.insert(self.lineage, made);
        self.made = self.shelved.remove(&lineage).unwrap_or_default();
        self.lineage = lineage;
        self.lost.clear();
        self.inside.clear();
        self.ended.clear();
        self.unsure = false;
    }

    /// Uses and ends of passes: an ended stay never comes back.
    pub(super) fn stays(&mut self, finds: &mut Finds, report: &StayReport, stayed: &Stayed) {
        for (number, until) in report.used.iter().zip(&stayed.until) {
            let Some(until) = until else { continue };
            if self.ended.contains_key(number) {
                finds.say(Rule::Cap, format!("the stay of {number} was ended and lives"));
            }
            self.inside.insert(*number, *until);
            self.used_at = finds.at;
        }
        for (number, _) in &report.ended {
            if self.inside.remove(number).is_some() {
                self.ended.insert(*number, finds.at);
                self.left.insert(*number);
            }
        }
    }

    pub(super) fn was_admitted(&self, number: Number) -> bool {
        self.made.contains_key(&number) || self.lost.contains(&number)
    }

    /// A repeat of a batch gets the numbers of the first time.
    pub(super) fn batch(&mut self, finds: &mut Finds, at: u64, batch: &JoinBatch, outcomes: &[JoinOutcome]) {
        let numbers = outcomes.iter().map(|outcome| match outcome {
            JoinOutcome::Placed { number, .. } => Some(*number),
            _ => None,
        });
        let numbers: Vec<_> = numbers.collect();
        let key = (batch.instance.0, batch.sequence);
        let (_, first) = self.batches.entry(key).or_insert_with(|| (at, numbers.clone()));
        if *first != numbers {
            finds.say(Rule::Once, format!("a repeated batch got {numbers:?} after {first:?}"));
        }
    }

    /// The admissions among these that were not there before.
    pub(super) fn new_admissions(
        &mut self,
        finds: &mut Finds,
        at: u64,
        standings: &[(Number, Standing)],
    ) -> Vec<Admission> {
        let mut new = Vec::new();
        for (number, standing) in standings {
            match standing {
                Standing::Admitted(admission) => match self.made.get(number) {
                    None => {
                        self.made.insert(*number, (at, *admission));
                        new.push(*admission);
                    }
                    Some((_, made)) if made.slot != admission.slot => {
                        finds.say(Rule::Once, format!("number {number} took a second slot"));
                    }
                    Some(_) => {}
                },
                Standing::Left => {
                    self.left.insert(*number);
                }
                _ => {}
            }
        }
        new
    }

    pub(super) fn check_cap(&mut self, finds: &mut Finds, step: &Step<'_>) {
        self.inside.retain(|_, until| *until > step.now());
        if step.admitted.is_empty() {
            return;
        }
        self.inside.extend(step.admitted.iter().map(|admission| (admission.number, admission.until)));
        let admitted = (self.made.len() + self.lost.len()) as u64;
        if let Some(most) = step.rules().max_total.filter(|most| admitted > *most) {
            finds.say(Rule::Cap, format!("{admitted} were admitted of at most {most}"));
        }
        let Some(most) = step.rules().max_active.filter(|_| !self.unsure) else { return };
        let inside = self.inside.len() as u64;
        if inside > most {
            finds.say(Rule::Cap, format!("{inside} are inside of at most {most}"));
        }
    }

    pub(super) fn placed(
        &mut self,
        finds: &mut Finds,
        holder: Holder,
        lineage: Lineage,
        number: Number,
        room: Option<&Snapshot>,
    ) {
        let held = self.holders.insert((lineage, number), holder);
        if let Some(other) = held.filter(|held| *held != holder) {
            finds.say(Rule::Unique, format!("number {number} was given to {holder:?} and to {other:?}"));
        }
        let Holder::Account(account) = holder else { return };
        let at = finds.at;
        let before = self.accounts.insert(account, (at, lineage, number));
        let Some((_, life, earlier)) = before else { return };
        let lives = room.is_some_and(|room| {
            let soon = room.now.plus(std::time::Duration::from_secs(2));
            let inside = !self.unsure && self.inside.get(&earlier).is_some_and(|until| *until > soon);
            let ended = self.was_admitted(earlier) && !inside;
            life == lineage && room.lineage == lineage && earlier > room.lapsed && !ended
        });
        if lives && earlier != number && !self.left.contains(&earlier) {
            finds.say(Rule::Once, format!("account {account} has number {number} besides {earlier}"));
        }
    }

    pub(super) fn left(&mut self, number: Number) {
        self.left.insert(number);
    }

    pub(super) fn told(&mut self, finds: &mut Finds, at: u64, lineage: Lineage, admission: Admission) {
        let (_, first) = *self.told.entry((lineage, admission.number)).or_insert((at, admission.slot));
        if first != admission.slot {
            let number = admission.number;
            finds.say(Rule::Once, format!("number {number} was told of two admissions"));
        }
    }

    /// What was made at `since` or after it is no longer in the store. The admissions of which nobody was told.
    pub(super) fn lost(&mut self, since: u64, told: bool) -> Vec<Number> {
        let mut untold = Vec::new();
        self.unsure |= told || self.used_at >= since;
        self.ended.retain(|_, ended| *ended < since);
        let gone: Vec<_> = self.made.extract_if(.., |_, (made, _)| *made >= since).collect();
        for (number, _) in gone {
            let known: Vec<_> = self.told.extract_if(|(_, told), _| *told == number).collect();
            if known.is_empty() {
                self.inside.remove(&number);
                untold.push(number);
            } else {
                self.lost.insert(number);
            }
        }
        self.batches.retain(|_, (made, _)| *made < since);
        self.accounts.retain(|_, (placed, _, _)| *placed < since);
        untold
    }
}
