//! Plans from seeds: small crowds and few faults, but of all kinds, and now and then a full house.

use std::time::Duration;

use super::plan::{Act, Fault, Habit, Item, Kept, Plan, SECOND, Visit, What};
use super::store::START;
use crate::queue::conformance::chance::Chance;
use crate::room::{Micros, Rate, Rules};

/// Every so many seeds a full house, in which the share of the slots that is used is checked.
pub(super) const FULL_HOUSE_EVERY: u64 = 100;

const MS: u64 = 1000;

/// The plan of a seed.
pub(super) fn plan(seed: u64) -> Plan {
    let mut chance = Chance::new(seed);
    if seed.is_multiple_of(FULL_HOUSE_EVERY) {
        full_house(seed, &mut chance)
    } else {
        mixed(seed, &mut chance)
    }
}

fn one_of<T: Copy>(chance: &mut Chance, all: &[T]) -> T {
    all[usize::try_from(chance.below(all.len() as u64)).unwrap()]
}

fn up_to(chance: &mut Chance, bounds: &[u64]) -> u64 {
    let bound = one_of(chance, bounds);
    chance.below(bound)
}

fn rate(chance: &mut Chance) -> Rate {
    one_of(chance, &["30/min", "1/s", "2/s", "3/s", "7/s", "20/s", "60/s"]).parse().unwrap()
}

fn mixed(seed: u64, chance: &mut Chance) -> Plan {
    let length = 8 * SECOND + chance.below(14 * SECOND);
    let kept = match chance.below(100) {
        0..30 => Kept::Memory,
        30..50 => Kept::Lagging,
        _ => Kept::Acknowledged,
    };
    let instances = 1 + usize::try_from(chance.below(3)).unwrap();
    let mut plan =
        Plan { seed, rules: rules(chance), kept, instances, length, used_min: None, items: Vec::new() };
    let most = one_of(chance, &[3, 10, 25, 60]);
    let comers = 1 + chance.below(most);
    let within = one_of(chance, &[300 * MS, 2 * SECOND, length]);
    for _ in 0..comers {
        let visit = visit(chance);
        plan.items.push(Item { at: chance.below(within), what: What::Comes(visit) });
    }
    for _ in 0..one_of(chance, &[0, 1, 1, 2, 3]) {
        let (at, fault) = (chance.below(length), fault(chance, instances, kept));
        // A power cut: nobody is left who could tell what the store has lost.
        let cut = kept == Kept::Memory && matches!(fault, Fault::Restart { .. }) && chance.percent(30);
        for i in (0..instances).filter(|_| cut) {
            plan.items.push(Item { at, what: What::Fails(Fault::Crash(i, 1 + chance.below(SECOND))) });
        }
        plan.items.push(Item { at, what: What::Fails(fault) });
    }
    for _ in 0..one_of(chance, &[0, 0, 1, 2]) {
        act(chance, &mut plan);
    }
    plan.items.sort_by_key(|item| item.at);
    plan
}

fn rules(chance: &mut Chance) -> Rules {
    let rate = rate(chance);
    let mut rules = Rules::at(rate);
    if chance.percent(50) {
        rules.burst = 1 + chance.below(8);
    }
    rules.poll_min = Duration::from_millis(one_of(chance, &[1000, 2000, 3000]));
    rules.hold = Duration::from_millis(one_of(chance, &[0, 1000, 1000, 3000]));
    rules.return_within = Duration::from_secs(one_of(chance, &[10, 20, 600]));
    rules.pass_ttl = Duration::from_secs(one_of(chance, &[10, 1800, 1800]));
    if chance.percent(15) {
        rules.max_total = Some(1 + chance.below(20));
    }
    rules.first_use = Duration::from_secs(one_of(chance, &[3, 8, 30]));
    if chance.percent(20) {
        rules.max_active = Some(1 + chance.below(6));
    }
    if chance.percent(20) {
        rules.schedule.opens = Some(Micros(START + SECOND / 2 + chance.below(5 * SECOND)));
    }
    if chance.percent(10) {
        rules.schedule.closes = Some(Micros(START + 6 * SECOND + chance.below(8 * SECOND)));
    }
    if chance.percent(10) {
        rules.max_waiting = 1 + chance.below(20);
    }
    rules
}

fn visit(chance: &mut Chance) -> Visit {
    let polls = u32::try_from(chance.below(6)).unwrap();
    let habit = match chance.below(100) {
        0..40 => Habit::Stays,
        40..50 => Habit::Reloads,
        50..57 => Habit::Tabs(5),
        57..64 => Habit::Late(20 + chance.below(200)),
        64..74 => Habit::Gone,
        74..80 => Habit::GoneAfter(polls),
        80..88 => Habit::Away(polls, 2 * SECOND + chance.below(12 * SECOND)),
        88..93 => Habit::Leaves(polls),
        _ => Habit::HangsUp,
    };
    let account = chance.percent(25).then(|| u8::try_from(chance.below(8)).unwrap());
    Visit { habit, account, seed: chance.next() }
}

fn fault(chance: &mut Chance, instances: usize, kept: Kept) -> Fault {
    let which = usize::try_from(chance.below(instances as u64)).unwrap();
    let long = one_of(chance, &[100 * MS, 700 * MS, 2 * SECOND, 6 * SECOND]);
    let time = 1 + chance.below(long);
    match chance.below(100) {
        0..12 => Fault::Hangs(time),
        12..20 => Fault::Mute(time),
        20..26 => Fault::Breaks(time),
        26..34 => Fault::Away(time),
        34..62 => Fault::Restart {
            mute: up_to(chance, &[1, 100 * MS, 600 * MS]),
            keeps: chance.percent(50),
            loses: chance.below(if kept == Kept::Lagging { 8 * SECOND } else { 1200 * MS }),
            down: up_to(chance, &[50 * MS, 500 * MS, 4 * SECOND]),
        },
        62..78 => {
            let by = one_of(chance, &[200 * MS, 1400 * MS, 10 * SECOND, 3600 * SECOND]);
            let by = i64::try_from(1 + chance.below(by)).unwrap();
            Fault::Step(if chance.percent(50) { by } else { -by })
        }
        // Whoever is gone can tell nobody what a replica has lost.
        78..100 if kept == Kept::Lagging => Fault::Hangs(time),
        78..86 => Fault::Crash(which, time),
        86..93 => Fault::Stall(which, time),
        _ => Fault::Cut(which, time),
    }
}

fn act(chance: &mut Chance, plan: &mut Plan) {
    let at = chance.below(plan.length);
    let mut push = |at, act| plan.items.push(Item { at, what: What::Acts(act) });
    match chance.below(100) {
        0..35 => {
            push(at, Act::Pause);
            push(at + SECOND / 2 + chance.below(6 * SECOND), Act::Resume);
        }
        35..65 => push(at, Act::Rate(rate(chance))),
        65..85 => {
            let total = chance.percent(75).then(|| 1 + chance.below(20));
            push(at, Act::Total(total));
        }
        _ => push(at, Act::Flush),
    }
}

/// A crowd at the opening, of whom a share has left without a word; nothing fails.
fn full_house(seed: u64, chance: &mut Chance) -> Plan {
    let (gone, used_min) = one_of(chance, &[(0, 950), (40, 950), (70, 900)]);
    let rules = Rules::at(one_of(chance, &["10/s", "20/s"]).parse().unwrap());
    let per_second = Duration::from_secs(1).as_nanos() / u128::from(rules.rate.spacing_ns());
    let comers = u64::try_from(per_second).unwrap() * 45 * 100 / (100 - gone);
    let instances = 1 + usize::try_from(chance.below(3)).unwrap();
    let items = (0..comers).map(|_| {
        let habit = match chance.below(100) {
            n if n < gone => one_of(chance, &[Habit::Gone, Habit::Gone, Habit::Gone, Habit::HangsUp]),
            n if n % 10 == 0 => Habit::Reloads,
            _ => Habit::Stays,
        };
        let visit = Visit { habit, account: None, seed: chance.next() };
        Item { at: chance.below(3 * SECOND), what: What::Comes(visit) }
    });
    let mut items: Vec<_> = items.collect();
    items.sort_by_key(|item| item.at);
    let (kept, length) = (Kept::Acknowledged, 40 * SECOND);
    Plan { seed, rules, kept, instances, length, used_min: Some(used_min), items }
}
