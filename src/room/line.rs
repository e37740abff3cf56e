//! Taking a place and giving it up.

#[cfg(test)]
use super::mutation::{self, Mutation};
use super::{IdentityHash, JoinOutcome, Micros, Number, Room, Standing};

impl Room {
    /// Hands out numbers in the order of the entries. Joiners are present: while the line is short, joining
    /// is checking in, and in an idle room the same call admits.
    pub fn join(&mut self, now: Micros, entries: &[Option<IdentityHash>]) -> Vec<JoinOutcome> {
        let now = self.enter(now);
        self.sweep(now);
        self.draw_joining(now);
        let placed: Vec<_> = entries.iter().map(|identity| self.place(now, *identity)).collect();
        let numbers = placed.iter().flatten().map(|(place, _)| self.core.draw.number_of(*place));
        let present: Vec<_> = numbers.collect();
        self.step(now);
        self.go_in(now, &present);
        self.settle(now);
        self.touch();
        placed
            .into_iter()
            .map(|placed| match placed {
                Ok((number, new)) => {
                    JoinOutcome::Placed { number, new, standing: self.standing_of(now, number) }
                }
                Err(refused) => refused,
            })
            .collect()
    }

    /// Gives places up. A place that was never handed out, or was picked up already, is left alone.
    pub fn leave(&mut self, now: Micros, places: &[Number]) {
        let now = self.enter(now);
        for place in places {
            let number = &self.core.draw.number_of(*place);
            self.give_up(*number);
        }
        self.settle(now);
        self.touch();
    }

    pub(super) fn give_up(&mut self, number: Number) {
        let placed = number.0 >= 1 && number <= self.core.last && number > self.core.lapsed;
        if !placed || self.admissions.has(number) || !self.left.insert(number) {
            return;
        }
        self.ready.remove(number);
        self.grants.remove(number);
        self.changes.left.push(number);
    }

    /// The place of an identity, or a new one: `(place, new)`.
    fn place(&mut self, now: Micros, identity: Option<IdentityHash>) -> Result<(Number, bool), JoinOutcome> {
        let known = identity.and_then(|id| self.identities.get(&id).copied());
        #[cfg(test)]
        let known = known.filter(|_| !mutation::is(Mutation::SecondNumber));
        let lives =
            |n: &Number| matches!(self.standing_of(now, *n), Standing::Waiting | Standing::Admitted(_));
        if let Some(number) = known.filter(lives) {
            self.check_in(now, self.core.draw.number_of(number));
            return Ok((number, false));
        }
        self.core.takes_places(now)?;
        if self.core.in_line() >= self.core.rules.max_waiting {
            return Err(JoinOutcome::Full);
        }
        self.core.last.0 += 1;
        let number = self.core.last;
        if let Some(identity) = identity {
            self.identities.insert(identity, number);
            self.changes.identities.push((identity, number));
        }
        self.call_at_once(now, number);
        Ok((number, true))
    }

    /// While everybody before is called and few are checked in, a new number is called, and due, at once:
    /// its holder is here, and so was everybody before it when they joined.
    fn call_at_once(&mut self, now: Micros, number: Number) {
        let just_drawn = self.is_just_drawn(now);
        let core = &mut self.core;
        let before = Number(number.0 - 1);
        if core.draw.stage.is_pending() || core.called != before || self.ready.len() >= core.inventory() {
            return;
        }
        core.called = number;
        if core.due == before && !just_drawn {
            core.due = number;
        }
        self.ready.set(number, now);
    }
}
