//! Every change to a room goes through [`make`]: precondition, store, log, answer.
//!
//! Changes of one instance are made one after the other, so that nothing comes between a precondition and its
//! change. A change runs in a task of its own: an operator's terminal that goes away must not leave it half
//! reported.

use std::sync::Arc;

use axum::response::Response;
use rand::Rng;

use super::access::Operator;
use super::document::RoomDocument;
use super::reply::{self, CHANGED_MEANWHILE};
use super::router::Admin;
use super::version::{self, Precondition};
use crate::metrics;
use crate::queue::{StoreError, View};
use crate::room::{Control, Number, RoomId, ScheduleChange, Snapshot};

/// What an operator asked for.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each request of an operator")]
pub(super) enum Change {
    /// A control that the store makes.
    Control(Control),
    /// The room itself.
    Create,
    /// The end of one stay.
    End(Number),
}

impl Change {
    /// What it is, for the log, as the verbs of `ropeline ctl` write it; what operators typed is quoted.
    fn text(&self) -> String {
        fn setting(name: &str, value: Option<&Option<impl ToString>>) -> Option<String> {
            value.map(|v| format!("{name}={}", v.as_ref().map(ToString::to_string).unwrap_or_default()))
        }
        match self {
            Self::Control(Control::Pause { reason: Some(reason) }) => format!("reason={reason:?}"),
            Self::Control(Control::Set(patch)) => {
                let message = patch.message.as_ref().map(|m| m.as_ref().map(|m| format!("{m:?}")));
                let settings = [
                    setting("rate", patch.rate.as_ref()),
                    setting("burst", patch.burst.as_ref()),
                    setting("max_total", patch.max_total.as_ref()),
                    setting("max_active", patch.max_active.as_ref()),
                    setting("message", message.as_ref()),
                    schedule_text(patch.schedule.as_ref()),
                ];
                settings.into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
            Self::Control(Control::Rules(rules)) => format!("{rules:?}"),
            Self::Control(Control::Flush(lineage)) => format!("lineage={lineage}"),
            Self::Control(Control::StockRead { remaining }) => format!("remaining={remaining}"),
            Self::Control(Control::Pause { reason: None } | Control::Resume | Control::RevokeBefore)
            | Self::Create => String::new(),
            // The seed is a secret.
            Self::Control(Control::Seed(lineage, _)) => format!("lineage={lineage}"),
            Self::Control(Control::DrawValue(value)) => format!("value={value:?}"),
            Self::Control(Control::Open | Control::Close | Control::Follow) => String::new(),
            Self::Control(Control::Keys(keys)) => format!("fingerprint={keys}"),
            Self::End(number) => format!("number={number}"),
        }
    }

    /// One word for log and metrics.
    fn word(&self) -> &'static str {
        match self {
            Self::Control(Control::Pause { .. }) => "pause",
            Self::Control(Control::Resume) => "resume",
            Self::Control(Control::Set(_)) => "set",
            Self::Control(Control::Rules(_)) => "rules",
            Self::Control(Control::Flush(_)) => "flush",
            Self::Control(Control::RevokeBefore) => "revoke",
            Self::Control(Control::StockRead { .. }) => "stock",
            Self::Control(Control::Open) => "open",
            Self::Control(Control::Close) => "close",
            Self::Control(Control::Follow) => "follow",
            Self::Control(Control::Seed(..)) => "seed",
            Self::Control(Control::DrawValue(_)) => "draw value",
            Self::Control(Control::Keys(_)) => "keys",
            Self::Create => "create",
            Self::End(_) => "end",
        }
    }
}

fn schedule_text(change: Option<&Option<ScheduleChange>>) -> Option<String> {
    let text = change?.as_ref().map(|change| serde_json::to_string(change).unwrap_or_default());
    Some(format!("schedule={}", text.unwrap_or_default()))
}

/// Makes a change and answers with the room after it, once the store has it.
pub(super) async fn make(
    admin: Admin,
    who: Operator,
    room: RoomId,
    condition: Precondition,
    change: Change,
) -> Response {
    let task = tokio::spawn(async move {
        let most = admin.settings.change_timeout;
        tokio::time::timeout(most, one_by_one(&admin, &who, &room, &condition, change)).await
    });
    match task.await {
        Ok(Ok(response)) => response,
        Ok(Err(_)) => {
            tracing::error!("a change was given up: the store neither made nor refused it in time");
            reply::maybe_done(soon())
        }
        Err(_) => reply::internal(),
    }
}

async fn one_by_one(
    admin: &Admin,
    who: &Operator,
    room: &RoomId,
    condition: &Precondition,
    change: Change,
) -> Response {
    let _one = admin.changes.lock().await;
    if let Err(refusal) = check(admin, room, condition) {
        return *refusal;
    }
    let (word, what) = (change.word(), change.text());
    let made = match change {
        Change::Control(control) => admin.desk.control(room, control).await,
        Change::Create => admin.desk.create(room).await,
        Change::End(number) => admin.desk.end(room, number).await,
    };
    report(who, room, word, &what, &made);
    match made {
        Ok(snapshot) => document(room, snapshot),
        Err(error) => reply::store_failed(&error, soon()),
    }
}

/// Whether the precondition holds for what is known right now.
fn check(admin: &Admin, room: &RoomId, condition: &Precondition) -> Result<(), Box<Response>> {
    if *condition == Precondition::None {
        return Ok(());
    }
    let view = admin.desk.view(room).filter(|view| view.fresh);
    let Some(snapshot) = view.and_then(|view| view.snapshot) else {
        return Err(Box::new(reply::not_known(soon())));
    };
    if condition.met_by(&version::of(&snapshot)) {
        return Ok(());
    }
    let detail = "The room is no longer as it was when you read it; read it again and decide anew.";
    Err(Box::new(reply::problem(CHANGED_MEANWHILE, detail, None)))
}

/// One line per change: who, what, which room. What operators typed is quoted, so that it stays one line.
fn report(
    who: &Operator,
    room: &RoomId,
    word: &'static str,
    what: &str,
    made: &Result<Arc<Snapshot>, StoreError>,
) {
    match made {
        Ok(_) => tracing::info!(operator = ?who.name, %room, change = word, what, "room changed"),
        Err(error) => {
            tracing::warn!(operator = ?who.name, %room, change = word, what, %error, "room not changed");
        }
    }
    metrics::changed(room, word, if made.is_ok() { "ok" } else { "failed" });
}

fn document(room: &RoomId, snapshot: Arc<Snapshot>) -> Response {
    let version = version::of(&snapshot);
    let view = View::just_read(snapshot);
    reply::document(&RoomDocument::of(room, &view), Some(&version))
}

/// Seconds until trying again makes sense; jittered, so that scripts do not come back together.
fn soon() -> u64 {
    rand::rng().random_range(1..=4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Lineage, Patch, Rate};

    #[test]
    fn a_change_is_logged_as_it_was_typed() {
        let set = |patch| Change::Control(Control::Set(patch)).text();
        let patch = Patch {
            rate: Some(Rate::per_second(10)),
            burst: Some(None),
            message: Some(Some("two\nlines".to_owned())),
            ..Patch::default()
        };
        assert_eq!(set(patch), "rate=10/s burst= message=\"two\\nlines\"");
        assert_eq!(set(Patch { message: Some(None), ..Patch::default() }), "message=");
        let pause = |reason| Change::Control(Control::Pause { reason }).text();
        assert_eq!((pause(Some("noon".to_owned())).as_str(), pause(None).as_str()), ("reason=\"noon\"", ""));
        assert_eq!(Change::Control(Control::Flush(Lineage(10))).text(), "lineage=000000000000000a");
    }
}
