//! What the store did, in a line that people can read.

use super::store::Done;
use crate::queue::embedded::verbs::{Reply, Verb};
use crate::room::{JoinOutcome, Number, Snapshot, Standing};

/// One line for a call; `None` for a tick in which nothing happened.
pub(super) fn line(instance: usize, verb: &Verb, done: &Done) -> Option<String> {
    let who = format!("instance {instance}");
    let life = if done.taken_over { " (a new life of the room begins)" } else { "" };
    let what = match (verb, &done.answer) {
        (_, Err(error)) => format!("is refused: {}", error.label()),
        (Verb::Join(batch), Ok(Reply::Joined(joined))) => {
            let told = joined.outcomes.iter().map(outcome).collect::<Vec<_>>().join(", ");
            format!("batch {}: {told} | {}", batch.sequence, room(&joined.snapshot))
        }
        (Verb::Advance(numbers), Ok(Reply::Advanced(advanced))) => {
            if numbers.is_empty() && !done.taken_over {
                return None;
            }
            let told = numbers.iter().zip(&advanced.standings).map(|(n, s)| standing(*n, *s));
            format!("shows {} | {}", told.collect::<Vec<_>>().join(", "), room(&advanced.snapshot))
        }
        (Verb::Stays(report), Ok(Reply::Stayed(stayed))) => {
            let (used, ended, until) = (&report.used, &report.ended, &stayed.until);
            format!("says of passes: used {used:?} until {until:?}, ended {ended:?}")
        }
        (Verb::Leave(numbers), _) => format!("gives up {numbers:?}"),
        (Verb::Control(change), _) => format!("does {change:?}"),
        _ => "opens the room".to_owned(),
    };
    Some(format!("{who} {what}{life}"))
}

fn outcome(outcome: &JoinOutcome) -> String {
    match outcome {
        JoinOutcome::Placed { number, standing: is, .. } => standing(*number, *is),
        refused => format!("{refused:?}"),
    }
}

fn standing(number: Number, standing: Standing) -> String {
    match standing {
        Standing::Waiting => format!("{number}"),
        Standing::Admitted(admission) => format!("{number} in at {}", time(admission.slot.0)),
        other => format!("{number} {other:?}"),
    }
}

fn time(us: u64) -> String {
    format!("{}.{:03}", us / 1_000_000 % 100_000, us / 1000 % 1000)
}

fn room(room: &Snapshot) -> String {
    format!(
        "clock {}, last {} C {} D {} F {} lapsed {}, {} granted, {} admitted, epoch {} version {}",
        time(room.now.0),
        room.last,
        room.called,
        room.due,
        room.frontier,
        room.lapsed,
        room.granted,
        room.admitted,
        room.epoch % 1000,
        room.version
    )
}
