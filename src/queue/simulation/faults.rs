//! What goes wrong, how long, and what the operator does.

use super::instance::Instance;
use super::plan::{Act, Fault, Kept};
use super::store::Mood;
use super::world::{Ev, For, World};
use crate::queue::embedded::verbs::Verb;
use crate::room::{Control, Lineage, Patch};

/// A fault begins. The store has only one trouble at a time.
pub(super) fn begin(world: &mut World<'_>, index: usize, fault: &Fault) {
    let well = world.store.mood == Mood::Well;
    match *fault {
        Fault::Hangs(time) if well => trouble(world, Mood::Hangs, time, index),
        Fault::Mute(time) if well => trouble(world, Mood::Mute, time, index),
        Fault::Breaks(time) if well => trouble(world, Mood::Breaks, time, index),
        Fault::Away(time) if well => trouble(world, Mood::Away, time, index),
        Fault::Restart { mute, .. } if well => {
            world.store.fall_silent(world.at);
            world.later(mute, Ev::Next(index));
        }
        Fault::Hangs(_) | Fault::Mute(_) | Fault::Breaks(_) | Fault::Away(_) | Fault::Restart { .. } => {}
        Fault::Step(by) => {
            world.store.step_clock(by);
            world.observer.clock_set(world.at, by);
        }
        Fault::Crash(i, time) => {
            if let Some(instance) = world.instances.get_mut(i) {
                instance.up = false;
                hang_up_on_all(world, i);
                world.later(time, Ev::Starts(i));
            }
        }
        Fault::Stall(i, time) => {
            let until = world.at + time;
            world.instances.get_mut(i).map(|instance| instance.stalled_until = until).unwrap_or_default();
        }
        Fault::Cut(i, time) => {
            let until = world.at + time;
            world.instances.get_mut(i).map(|instance| instance.cut_until = until).unwrap_or_default();
        }
    }
}

fn trouble(world: &mut World<'_>, mood: Mood, time: u64, index: usize) {
    world.store.mood = mood;
    world.later(time, Ev::Next(index));
}

/// The next stage of a fault of the store, or its end.
pub(super) fn next(world: &mut World<'_>, index: usize) {
    let super::plan::What::Fails(fault) = &world.plan.items[index].what else { return };
    match (fault, world.store.mood) {
        (Fault::Restart { keeps, loses, down, .. }, Mood::Mute) => {
            let since = world.store.end(world.at, *keeps, *loses);
            let told = world.plan.kept != Kept::Acknowledged && *loses > 0;
            world.observer.lost(since, world.store.room(), told);
            world.later(*down, Ev::Next(index));
            let since = super::rule::seconds(since);
            world.say(|| format!("the store has ended; the next one holds what was at {since:.3} s"));
        }
        _ => {
            world.store.mood = Mood::Well;
            world.say(|| "the store answers again".to_owned());
            for call in std::mem::take(&mut world.store.taken_in) {
                world.obey_and_answer(call);
            }
        }
    }
}

/// An instance starts, for the first time or anew.
pub(super) fn start_instance(world: &mut World<'_>, i: usize) {
    hang_up_on_all(world, i);
    let life = world.instances[i].life + 1;
    world.instances[i] = Instance::new(i, life, world.plan.seed);
    world.say(|| format!("instance {i} starts"));
    world.later(0, Ev::Open(i, life));
}

/// Whoever had a request at an instance that ended tries again.
fn hang_up_on_all(world: &mut World<'_>, i: usize) {
    let instance = &mut world.instances[i];
    let life = instance.life;
    let held = std::mem::take(&mut instance.held);
    let joining = std::mem::take(&mut instance.joining);
    let mut askers: Vec<_> = held.into_values().flat_map(|held| held.asks).map(|ask| ask.asker).collect();
    askers.extend(joining.into_iter().map(|(asker, _)| asker));
    for call in &mut world.calls {
        if call.instance == i && call.life == life && !call.over {
            call.over = true;
            match &call.whom {
                For::Joins(joiners) => askers.extend(joiners),
                For::Leaver(asker) => askers.push(*asker),
                For::Opening | For::Turns(_) | For::Operator | For::Nobody => {}
            }
        }
    }
    askers.into_iter().for_each(|asker| world.try_again(asker));
}

/// The operator acts, through whichever instance is up.
pub(super) fn act(world: &mut World<'_>, index: usize, act: &Act) {
    let change = match act {
        Act::Pause => Control::Pause { reason: None },
        Act::Resume => Control::Resume,
        Act::Rate(rate) => Control::Set(Patch { rate: Some(Some(*rate)), ..Patch::default() }),
        Act::Total(most) => Control::Set(Patch { max_total: Some(*most), ..Patch::default() }),
        Act::Flush => Control::Flush(Lineage(100 + index as u64)),
    };
    if let Some(i) =
        world.instances.iter().position(|instance| instance.up && instance.stalled_until <= world.at)
    {
        world.send(i, For::Operator, Verb::Control(Box::new(change)));
    }
}
