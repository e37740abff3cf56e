//! Random histories of a room with caps and stock, watched by a reckoning of its own: nobody is admitted beyond
//! `max_active`, `max_total` or stock, nobody twice, and no stay comes back.
//!
//! A failure prints the seed; `ROPELINE_SEED=... cargo test --lib bounds` replays it alone.

use std::collections::BTreeSet;
use std::time::Duration;

use super::simulation::Chance;
use super::*;

/// What an onlooker knows who sees only standings.
#[derive(Default)]
struct Ledger {
    /// Admitted and not over.
    inside: BTreeSet<Number>,
    /// Ever admitted in this life of the room.
    ever: BTreeSet<Number>,
}

struct History {
    play: Play,
    chance: Chance,
    ledger: Ledger,
    admissions: u64,
    refused: u64,
}

impl History {
    fn begin(seed: u64) -> Self {
        let mut chance = Chance(seed);
        let play = Play::with(rules(&mut chance));
        Self { play, chance, ledger: Ledger::default(), admissions: 0, refused: 0 }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.chance.next() % bound.max(1)
    }

    fn numbers(&mut self, most: u64) -> Vec<Number> {
        let last = self.play.room.snapshot().last.0;
        (0..self.below(most + 1)).map(|_| Number(1 + self.below(last + 2))).collect()
    }

    /// One step, and the reckoning after it.
    fn step(&mut self) {
        let by = match self.below(50) {
            0 => 1_500_001 + self.below(40_000_000),
            1..10 => self.below(1_000_000),
            _ => self.below(250_000),
        };
        self.play.now = match self.below(60) {
            0 => Micros(self.play.now.0 - self.below(20_000_000)),
            _ => Micros(self.play.now.0 + by),
        };
        let (now, before) = (self.play.now, self.play.room.snapshot());
        match self.below(100) {
            0..10 => {
                let count = usize::try_from(self.below(40)).unwrap();
                self.play.join(count);
            }
            10..14 => {
                let numbers = self.numbers(3);
                self.play.room.leave(now, &numbers);
            }
            14..40 => self.report(),
            40..50 => self.control(),
            50 => {
                let at = self.play.room.snapshot();
                self.play.room.take_over(now, Loss::Unlikely, (at.last, at.admitted), None);
            }
            _ => {
                let present = self.numbers(80);
                self.play.room.advance(now, &present);
            }
        }
        self.reckon(&before);
    }

    fn report(&mut self) {
        let used = self.numbers(60);
        let ended = self.numbers(4).into_iter();
        let ended =
            ended.map(|n| (n, [EndCause::Visitor, EndCause::Shop, EndCause::Operator][n.0 as usize % 3]));
        let report = StayReport { used, ended: ended.collect(), log_from: 0 };
        let now = self.play.now;
        let first = self.play.room.stays(now, &report);
        let again = self.play.room.stays(now, &report);
        let version = again.snapshot.version;
        assert_eq!(
            first.snapshot,
            Snapshot { version: version - 1, ..again.snapshot },
            "the repeat did nothing"
        );
        assert_eq!((first.ended, first.log_to), (again.ended, again.log_to));
        for (number, until) in report.used.iter().zip(first.until) {
            assert_eq!(until.is_some(), self.ledger.inside.contains(number) && until.is_some(), "{number}");
        }
    }

    fn control(&mut self) {
        let maybe =
            |chance: &mut Chance, most: u64| (chance.next() & 3 > 0).then(|| 1 + chance.next() % most);
        let change = match self.below(24) {
            0 => Control::Pause { reason: None },
            1..6 => Control::Resume,
            6 => Control::Flush(Lineage(self.chance.next())),
            7 => Control::RevokeBefore,
            8..11 => Control::Rules(rules(&mut self.chance)),
            11..15 => Control::Set(Patch {
                max_active: Some(maybe(&mut self.chance, 40)),
                max_total: Some(maybe(&mut self.chance, 400)),
                ..Patch::default()
            }),
            _ => Control::StockRead { remaining: self.below(4) * self.below(40) },
        };
        let flush = matches!(change, Control::Flush(_));
        self.play.room.control(self.play.now, &change);
        if flush {
            self.ledger = Ledger::default();
        }
    }

    /// Compares what the room did with what it may do.
    fn reckon(&mut self, before: &Snapshot) {
        let at = self.play.room.snapshot();
        let stands = |n: u64| self.play.room.standing(at.now, Number(n));
        let inside: BTreeSet<Number> =
            (1..=at.last.0).filter(|n| matches!(stands(*n), Standing::Admitted(_))).map(Number).collect();
        let new: Vec<Number> = inside.difference(&self.ledger.inside).copied().collect();
        for number in &new {
            assert!(self.ledger.ever.insert(*number), "{number} is inside a second time");
        }
        assert!(inside.len() as u64 <= at.active, "{} of {}", inside.len(), at.active);
        if at.lineage == before.lineage {
            assert_eq!(at.admitted - before.admitted, new.len() as u64);
        }
        assert_eq!(at.admitted, at.active + at.departed, "whoever went in is inside or departed");
        if !new.is_empty() {
            self.check_caps(&at, new.len() as u64);
        } else if at.waiting() > 0 {
            self.refused += 1;
        }
        self.admissions += new.len() as u64;
        self.ledger.inside = inside;
    }

    /// The rules as they are written for people, reckoned in another way than the room does: one by one.
    fn check_caps(&self, at: &Snapshot, new: u64) {
        let rules = &at.rules;
        assert!(rules.max_active.is_none_or(|most| at.active <= most), "{at:?}");
        assert!(rules.max_total.is_none_or(|most| at.admitted <= most), "{at:?}");
        let (Some(stock), Some(read)) = (rules.stock, at.stock) else { return };
        if at.now.since(read.read_at) > stock.stale_after {
            return;
        }
        assert!(read.remaining > 0, "sold out: {at:?}");
        let each = i128::from(stock.per_visitor_milli);
        for active in at.active - new..at.active {
            let claimed = i128::from(read.first - read.remaining) * 1000;
            let taken_inside = (claimed - i128::from(at.departed) * each).max(0);
            let without = i128::from(active) * each - taken_inside;
            let serves = i128::from(read.remaining) * 1000 + i128::from(stock.reserve) * each;
            assert!(without < serves, "{active} inside: {at:?}");
        }
    }
}

fn rules(chance: &mut Chance) -> Rules {
    let mut below = |bound: u64| chance.next() % bound;
    let seconds = Duration::from_secs;
    let stock = StockRules {
        per_visitor_milli: [1000, 2500, 333, 1][below(4) as usize],
        reserve: below(5),
        when_short: WhenShort::Warn,
        stale_after: seconds(10 + below(100)),
    };
    Rules {
        max_active: (below(3) > 0).then(|| 1 + below(40)),
        max_total: (below(4) == 0).then(|| 1 + below(300)),
        stock: (below(2) == 0).then_some(stock),
        first_use: seconds(1 + below(40)),
        idle: seconds(1 + below(60)),
        pass_ttl: seconds(2 + below(120)),
        return_within: seconds(10 + below(60)),
        ..Rules::at(
            [Rate::per_second(5), Rate::per_second(50), Rate::per_second(2000)][below(3) as usize].unwrap(),
        )
    }
}

fn seeds() -> Vec<u64> {
    match std::env::var("ROPELINE_SEED").ok().and_then(|s| s.parse().ok()) {
        Some(seed) => vec![seed],
        None => (1..=24).collect(),
    }
}

#[test]
fn nobody_is_admitted_beyond_a_cap_or_stock_and_no_stay_comes_back() {
    let (mut admissions, mut refused) = (0, 0);
    for seed in seeds() {
        println!("seed {seed}");
        let mut history = History::begin(seed);
        (0..700).for_each(|_| history.step());
        admissions += history.admissions;
        refused += history.refused;
    }
    println!("{admissions} admissions, {refused} steps without one although people waited");
    assert!(admissions > 1000 || seeds().len() == 1, "{admissions}: nothing was tried");
}
