//! The simulator bites: each rule is broken on purpose, and found by its name.

use super::rule::Rule;
use super::{draft, shorten, world};
use crate::room::mutation::{self, Mutation};

/// Seeds within which a broken rule must be found.
const WITHIN: u64 = 1000;

/// Replays that are spent on making a found sale shorter.
const TRIES: usize = 30;

fn is_found(mutation: Mutation, rule: Rule) {
    mutation::with(mutation, || {
        let every = if rule == Rule::Busy { usize::try_from(draft::FULL_HOUSE_EVERY).unwrap() } else { 1 };
        let found = (1..=WITHIN).skip(every - 1).step_by(every).find_map(|seed| {
            let plan = draft::plan(seed);
            // One fault may show as several broken rules: it is this one that must be seen.
            world::play(&plan, false).broken.filter(|broken| broken.rule == rule).map(|broken| (plan, broken))
        });
        let (plan, broken) = found.unwrap_or_else(|| panic!("{mutation:?} was not found"));
        let seed = plan.seed;
        let (short, broken) = shorten::shorten(&plan, broken, TRIES);
        assert_eq!(broken.rule, rule);
        assert!(short.items.len() < plan.items.len());
        let (left, all) = (short.items.len(), plan.items.len());
        println!("{mutation:?}: {broken}\nseed {seed}, {left} of {all} items left:\n{short}");
    });
}

macro_rules! found {
    ($($name:ident: $mutation:ident breaks $rule:ident;)*) => {
        $(#[test]
        fn $name() {
            is_found(Mutation::$mutation, Rule::$rule);
        })*
    };
}

found! {
    r1_a_number_that_is_handed_out_twice: NumberReused breaks Unique;
    r1_a_loss_that_nobody_tells: EvidenceIgnored breaks Unique;
    r2_the_largest_number_granted_first: LargestFirst breaks Order;
    r3_time_that_is_made_up_for: TimeMadeUpFor breaks Rate;
    r4_one_above_the_cap: OneAboveTheCap breaks Cap;
    r4_one_too_many_inside: OneTooManyInside breaks Cap;
    r5_a_second_number: SecondNumber breaks Once;
    r5_a_batch_that_is_done_again: BatchDoneAgain breaks Once;
    r5_a_second_slot: SecondSlot breaks Once;
    r6_a_position_that_grows: FrontierFalls breaks Steady;
    r7_a_store_that_comes_back_without_settling: NoSettling breaks Closed;
    r7_a_store_that_comes_back_at_full_rate: NoRamp breaks Closed;
    r7_a_pause_that_is_ignored: PauseIgnored breaks Closed;
    r8_grants_that_keep_slots_from_others: GrantsHoardSlots breaks Busy;
    r8_too_few_who_are_called: CallsTooFew breaks Busy;
}
