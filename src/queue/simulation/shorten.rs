//! Makes a failed sale short: leaves items out for as long as the same rule stays broken.

use super::plan::Plan;
use super::rule::Broken;
use super::world;

/// The shortest plan found with so many replays in which the same rule is broken, and how.
pub(super) fn shorten(plan: &Plan, broken: Broken, mut tries: usize) -> (Plan, Broken) {
    let mut best = (plan.clone(), broken);
    best.0.length = best.0.length.min(best.1.at + 1);
    best.0.items.retain(|item| item.at <= best.1.at);
    let mut piece = best.0.items.len().div_ceil(2);
    while piece > 0 && tries > 0 {
        let before = best.0.items.len();
        let mut from = 0;
        while from < best.0.items.len() && tries > 0 {
            tries -= 1;
            let mut shorter = best.0.clone();
            shorter.items.drain(from..(from + piece).min(shorter.items.len()));
            match same(&shorter, &best.1) {
                Some(broken) => best = (shorter, broken),
                None => from += piece,
            }
        }
        piece = if best.0.items.len() < before { piece.min(best.0.items.len()) } else { piece / 2 };
    }
    fewer_instances(&mut best);
    best
}

fn fewer_instances(best: &mut (Plan, Broken)) {
    for instances in 1..best.0.instances {
        let shorter = Plan { instances, ..best.0.clone() };
        if let Some(broken) = same(&shorter, &best.1) {
            *best = (shorter, broken);
            return;
        }
    }
}

fn same(plan: &Plan, as_before: &Broken) -> Option<Broken> {
    world::play(plan, false).broken.filter(|broken| broken.rule == as_before.rule)
}
