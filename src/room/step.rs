//! The passing of time: clock steps, outages, the horizon that calls people, and the frontier.

use std::time::Duration;

use super::core::Core;
#[cfg(test)]
use super::mutation::{self, Mutation};
use super::types::micros;
use super::{DrawStage, Micros, Number, Room};

/// Instances tick every quarter of a second; a longer silence than this means that nobody could ask.
const OUTAGE: Duration = Duration::from_millis(1500);

/// The most that one call forgets, so that no call is long.
const SWEEP_MAX: usize = 100;

/// `return_within` is kept to a thirty-second part.
const LAPSE_MARKS: u64 = 32;

impl Core {
    /// Goes on from a number that the store may have handed out before it lost its last writes. If it lost none of
    /// them nobody holds the numbers between.
    pub(super) fn skip_to(&mut self, at_least: Number) {
        if at_least <= self.last {
            return;
        }
        // Places in a lobby are drawn with all others: their numbers may be anywhere.
        if self.draw.stage != DrawStage::Lobby {
            self.voids.add(self.last, at_least, self.frontier);
        }
        self.lost.add(self.last, at_least, self.lapsed);
        if self.due == self.last {
            self.due = at_least;
        }
        if self.called == self.last {
            self.called = at_least;
        }
        self.last = at_least;
    }

    /// Places between the frontier and the end of the line that somebody may hold.
    pub(super) fn in_line(&self) -> u64 {
        (self.last.0 - self.frontier.0) - self.voids.between(self.frontier, self.last)
    }

    /// Whether anybody may be granted at `now`.
    pub(super) fn releasing(&self, now: Micros) -> bool {
        #[cfg(test)]
        if mutation::is(Mutation::PauseIgnored) && self.phase == crate::room::Phase::Paused {
            return now >= self.settled_at;
        }
        let open = self.lets_in(now) && now >= self.settled_at;
        open && self.left_in_total() > 0 && !self.out_of_stock(now)
    }

    /// Slots in one step.
    fn per_step(&self) -> u64 {
        self.rules.rate.slots_in(self.rules.step())
    }

    /// How many may be checked in by joining alone, before people have to wait for being called.
    pub(super) fn inventory(&self) -> u64 {
        (4 * self.per_step() * 1000 / self.show)
            .max(self.rules.rate.slots_in(self.rules.hold))
            .max(self.rules.burst)
    }

    /// Grants that may wait for their pick-up at once: enough to use every slot although most of the granted
    /// may have gone, which shows only after a step.
    pub(super) fn grants_max(&self) -> u64 {
        3 * self.per_step()
    }

    /// The furthest that C moves in one step: somewhat more than a step's slots, all the further the fewer
    /// of those called check in. Calling too many is harmless, for order comes from the number.
    pub(super) fn reach(&self) -> u64 {
        self.wanted(0) * 1000 / self.show
    }

    fn wanted(&self, ready: u64) -> u64 {
        let step = self.per_step();
        (step * 18 / 10 + 1).saturating_sub(ready.saturating_sub(step * 3 / 2))
    }
}

impl Room {
    /// Every verb begins here: takes note of the time, and returns it.
    pub(super) fn enter(&mut self, now: Micros) -> Micros {
        self.draw_due(now);
        self.pass_time(now);
        now
    }

    /// What the time since the last call means.
    pub(super) fn pass_time(&mut self, now: Micros) {
        let core = &mut self.core;
        if now < core.touched {
            self.clock_went_back(core_gap(self.core.touched, now));
        } else if now.since(core.touched) > OUTAGE {
            self.ready.clear();
            self.grants.clear();
            self.settle_from(now);
        } else if core.releasing(now) {
            core.released += now.0 - core.touched.0;
        }
        if now >= self.core.recovers_until {
            self.core.recovers_until = Micros(0);
        }
        self.core.touched = now;
    }

    /// The store's clock was set back: everything that lies on it moves along. Check-ins are asked for anew,
    /// because their times no longer tell who is there.
    fn clock_went_back(&mut self, by: u64) {
        // What has expired by the clock as it was does not come back.
        self.expire(self.core.touched);
        let core = &mut self.core;
        core.clock.shift_back(by);
        let recovery = [&mut core.settled_at, &mut core.ramp_from, &mut core.recovers_until];
        for moment in recovery.into_iter().chain([&mut core.latest_slot, &mut core.stepped]) {
            moment.0 = moment.0.saturating_sub(by);
        }
        // Stays and admissions keep their times, as their printed passes do.
        if let Some(stock) = &mut core.stock {
            stock.read_at.0 = stock.read_at.0.saturating_sub(by);
        }
        if by > micros(core.rules.step()) {
            self.ready.clear();
            self.grants.clear();
            self.settle_from(Micros(self.core.touched.0 - by));
        }
        self.lower_mark(Micros(self.core.touched.0 - by));
    }

    /// After an interruption: one step for the called to check in again, then a ramp. With nobody in line
    /// there is nothing to settle.
    pub(super) fn settle_from(&mut self, now: Micros) {
        let core = &mut self.core;
        if core.last > core.frontier {
            core.settled_at = now.plus(core.rules.step());
            core.ramp_from = if core.is_early(now) { Micros(0) } else { core.settled_at };
            #[cfg(test)]
            if mutation::is(Mutation::NoSettling) {
                core.settled_at = now;
            }
        }
        core.stepped = now;
    }

    /// Those who went silent are passed over; they go first when they return.
    pub(super) fn sweep(&mut self, now: Micros) {
        let silent_since = now.minus(self.core.rules.step());
        if self.core.lets_in(now) {
            self.ready.take_before(silent_since, SWEEP_MAX);
        }
        self.grants.take_before(silent_since, SWEEP_MAX);
        self.expire(now);
        let kept = self.core.rules.mark_kept();
        // A pause stops lapsing but not the clock: a mark is needed until its number has lapsed too, or the
        // number could be admitted a second time.
        let (stays, lapsed) = (&self.stays, self.core.lapsed);
        let needless = |number| number <= lapsed && !stays.has(number);
        let forgotten = self.admissions.take_old(now.minus(kept), SWEEP_MAX, needless);
        for number in &forgotten {
            self.gone.remove(number);
        }
        self.changes.forgotten.extend(forgotten);
    }

    /// Once in a step: who was called is due now, and more are called.
    pub(super) fn step(&mut self, now: Micros) {
        let core = &mut self.core;
        if !core.releasing(now) {
            core.stepped = now;
            return;
        }
        // With nobody called and not yet due, there is no step to wait for: call as soon as it takes more.
        let idle = core.called == core.due && core.called < core.last && core.wanted(self.ready.len()) > 0;
        if now.since(core.stepped) < core.rules.step() && !idle {
            return;
        }
        core.stepped = now;
        let called = core.called.0 - core.due.0;
        let shown = self.ready.count(Number(core.due.0 + 1)..=core.called);
        if let Some(share) = (1000 * shown).checked_div(called) {
            core.show = ((core.show * 3 + share) / 4).clamp(50, 1000);
        }
        core.due = core.called;
        let more = core.wanted(self.ready.len()) * 1000 / core.show;
        #[cfg(test)]
        let more = if mutation::is(Mutation::CallsTooFew) { core.per_step() } else { more };
        core.called = core.voids.beyond(Number(core.last.0.min(core.called.0 + more)));
        self.lapse();
    }

    /// Turns that were missed `return_within` ago are gone. The time runs only while the room releases.
    fn lapse(&mut self) {
        let core = &mut self.core;
        let within = micros(core.rules.return_within);
        while let Some((released, frontier)) = core.lapses.front().copied() {
            if released + within > core.released {
                break;
            }
            core.lapsed = frontier;
            core.lapses.pop_front();
        }
        let spaced = core.lapses.back().is_none_or(|(last, _)| last + within / LAPSE_MARKS <= core.released);
        if spaced {
            core.lapses.push_back((core.released, core.frontier));
        }
        let lapsed = core.lapsed;
        if self.left.first().is_some_and(|n| *n <= lapsed) {
            self.left = self.left.split_off(&Number(lapsed.0 + 1));
            self.changes.left_forgotten = Some(lapsed);
        }
    }

    /// Moves the frontier: everything due that is not checked in is settled.
    pub(super) fn settle(&mut self, now: Micros) {
        let core = &mut self.core;
        if !core.releasing(now) {
            return;
        }
        let settled = match self.ready.smallest(core.due) {
            Some(first) => Number(first.0 - 1),
            None => core.due,
        };
        core.frontier = core.frontier.max(settled);
        #[cfg(test)]
        if mutation::is(Mutation::FrontierFalls) {
            core.frontier = settled.max(core.lapsed);
        }
        debug_assert!(core.lapsed <= core.frontier && core.frontier <= core.due);
        debug_assert!(core.due <= core.called && core.called <= core.last);
    }
}

fn core_gap(later: Micros, earlier: Micros) -> u64 {
    later.0 - earlier.0
}
