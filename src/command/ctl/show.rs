//! Answers for people: a table of rooms, one room in detail, one line after a change.

use std::fmt::Write;

use super::args::Verb;
use crate::admin::{RoomDocument, RoomsDocument, SettingsDocument, State};

/// The text for the answer to a verb.
pub(super) fn answer(verb: &Verb, body: &str) -> Result<String, serde_json::Error> {
    Ok(match verb {
        Verb::Status { room: None } => table(&serde_json::from_str::<RoomsDocument>(body)?.rooms),
        Verb::Status { .. } => detail(&serde_json::from_str(body)?),
        _ => done(verb, &serde_json::from_str(body)?),
    })
}

fn state(room: &RoomDocument) -> &'static str {
    match room.state {
        State::Open => "open",
        State::Paused => "paused",
        State::Scheduled => "scheduled",
        State::Lobby => "lobby",
        State::Closed => "closed",
        State::Unavailable => "unavailable",
    }
}

/// A number with a mark at each thousand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value, marked if an operator changed it.
fn marked(room: &RoomDocument, name: &str, value: String) -> String {
    if room.overridden.iter().any(|o| o == name) { format!("{value} *") } else { value }
}

fn table(rooms: &[RoomDocument]) -> String {
    if rooms.is_empty() {
        return "No rooms.\n".to_owned();
    }
    let head = ["ROOM", "STATE", "WAITING", "ADMITTED", "RATE", "NOTE"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rooms.iter().map(row)).collect();
    let mut text = columns(&rows, &[2, 3]);
    if rooms.iter().any(|room| room.overridden.iter().any(|name| is_shown(room, name))) {
        text.push_str("* changed by an operator; wins over the file until unset\n");
    }
    for room in rooms {
        let hidden: Vec<_> = room.overridden.iter().filter(|name| !is_shown(room, name)).cloned().collect();
        if !hidden.is_empty() {
            let _ = writeln!(
                text,
                "{}: an operator changed what is not shown here: {}",
                room.id,
                hidden.join(", ")
            );
        }
    }
    text
}

/// Whether the table has a place for a setting of this room.
fn is_shown(room: &RoomDocument, name: &str) -> bool {
    let has_note = |s: &SettingsDocument| s.message.is_some() && !gives_reason(room);
    match name {
        "rate" => true,
        "message" => room.state != State::Unavailable && room.settings.as_ref().is_some_and(has_note),
        _ => false,
    }
}

/// Whether visitors read the reason of a pause in place of the message.
fn gives_reason(room: &RoomDocument) -> bool {
    room.state == State::Paused && room.reason.is_some()
}

fn row(room: &RoomDocument) -> [String; 6] {
    let unknown = || "-".to_owned();
    let line = |pick: fn(&crate::admin::LineDocument) -> u64| {
        room.line.as_ref().map_or_else(unknown, |line| grouped(pick(line)))
    };
    let rate = room.settings.as_ref().map_or_else(unknown, |s| marked(room, "rate", s.rate.clone()));
    let message = || room.settings.as_ref().and_then(|s| s.message.clone());
    let note = match (room.state, &room.reason) {
        (State::Unavailable, _) if room.line.is_none() => "never read from the store".to_owned(),
        (State::Unavailable, _) => "the store cannot be asked; last known".to_owned(),
        (State::Paused, Some(reason)) => reason.clone(),
        _ => message().map(|text| marked(room, "message", text)).unwrap_or_default(),
    };
    let id = room.id.to_string();
    [id, state(room).to_owned(), line(|l| l.waiting), line(|l| l.admitted), rate, one_line(&note)]
}

/// Text from elsewhere as one line that cannot steer a terminal.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Rows as columns; those in `right` are set to the right.
fn columns<const N: usize>(rows: &[[String; N]], right: &[usize]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, (cell, width)) in row.iter().zip(widths).enumerate() {
            let gap = if i == 0 { "" } else { "  " };
            let _ = if right.contains(&i) {
                write!(line, "{gap}{cell:>width$}")
            } else {
                write!(line, "{gap}{cell:<width$}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

fn detail(room: &RoomDocument) -> String {
    let mut rows = vec![("room", room.id.to_string()), ("state", state(room).to_owned())];
    let none = || "-".to_owned();
    rows.push(("as of", room.as_of.clone().unwrap_or_else(none)));
    rows.extend(room.reason.iter().map(|reason| ("reason", one_line(reason))));
    if let Some(line) = &room.line {
        rows.extend([
            ("waiting", grouped(line.waiting)),
            ("admitted", grouped(line.admitted)),
            ("active", grouped(line.active)),
            ("settled up to", grouped(line.frontier)),
            ("called up to", grouped(line.called)),
            ("last number", grouped(line.last)),
            ("lineage", line.lineage.clone()),
        ]);
    }
    if let Some(settings) = &room.settings {
        let bound = |most: Option<u64>| most.map_or_else(|| "no bound".to_owned(), grouped);
        let (total, active) = (bound(settings.max_total), bound(settings.max_active));
        let message = settings.message.as_deref().map_or_else(none, one_line);
        rows.extend([
            ("rate", marked(room, "rate", settings.rate.clone())),
            ("burst", marked(room, "burst", grouped(settings.burst))),
            ("max_active", marked(room, "max_active", active)),
            ("max_total", marked(room, "max_total", total)),
            ("message", marked(room, "message", message)),
            ("hold", settings.hold.clone()),
            ("poll min", settings.poll_min.clone()),
            ("return_within", settings.return_within.clone()),
            ("pass ttl", settings.pass_ttl.clone()),
            ("max waiting", grouped(settings.max_waiting)),
        ]);
    }
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| [name.to_owned(), value]).collect();
    let mut text = columns(&rows, &[]);
    if !room.fresh {
        text.push_str("The store cannot be asked right now; this is the last that was known.\n");
    }
    if !room.overridden.is_empty() {
        text.push_str("* changed by an operator; wins over the file until unset\n");
    }
    text
}

/// One line after a change, with what it means.
fn done(verb: &Verb, room: &RoomDocument) -> String {
    let waiting = room.line.as_ref().map_or(0, |line| line.waiting);
    let waiting = grouped(waiting);
    let what = match verb {
        Verb::Pause { .. } => format!("paused; nobody goes in, {waiting} waiting keep their places"),
        Verb::Resume { .. } => format!("resumed at {}, {waiting} waiting", rate(room)),
        Verb::Create { .. } => format!("in the store, {}, {waiting} waiting", state(room)),
        Verb::Open { .. } => format!("open whatever its schedule says, {}", state(room)),
        Verb::Close { .. } => {
            format!("closed whatever its schedule says, {waiting} waiting keep their places")
        }
        Verb::Follow { .. } => format!("follows its schedule, {}", state(room)),
        Verb::Draw { .. } => "has the public value of its draw".to_owned(),
        Verb::Revoke { all: true, .. } => {
            "all passes so far are revoked; who was inside must join anew".to_owned()
        }
        Verb::Revoke { .. } => "the pass is revoked".to_owned(),
        Verb::Flush { .. } => "flushed; everybody joins anew".to_owned(),
        Verb::Rate { unset: true, .. } => format!("rate is the file's again: {}", rate(room)),
        Verb::Rate { .. } => format!("rate is {}, until unset", rate(room)),
        Verb::Message { unset: true, .. } => "shows no message any more".to_owned(),
        Verb::Message { .. } if gives_reason(room) => {
            "has the message, until unset; while it is paused, the reason stands in its place".to_owned()
        }
        Verb::Message { .. } => "shows the message, until unset".to_owned(),
        Verb::Set { .. } | Verb::Status { .. } => {
            let changed = room.overridden.join(", ");
            format!("changed by operators: {}", if changed.is_empty() { "nothing" } else { &changed })
        }
    };
    format!("{}: {what}\n", room.id)
}

fn rate(room: &RoomDocument) -> String {
    room.settings.as_ref().map_or_else(|| "an unknown rate".to_owned(), |s| s.rate.clone())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::admin::test_support::{room as id, snapshot};
    use crate::queue::View;
    use crate::room::{Phase, Rate, Snapshot};

    fn document(name: &str, change: impl FnOnce(&mut Snapshot)) -> RoomDocument {
        let mut snapshot = snapshot();
        change(&mut snapshot);
        RoomDocument::of(&id(name), &View::just_read(Arc::new(snapshot)))
    }

    #[test]
    fn rooms_are_a_table() {
        let paused = document("spring-tour", |s| {
            s.phase = Phase::Paused;
            s.reason = Some("shop is\ndown \u{1b}[31m".to_owned());
            s.overrides.rate = Rate::per_second(50);
        });
        let away = RoomDocument::of(
            &id("new-year"),
            &View { snapshot: None, fresh: false, fault: None, speed: None, there: None },
        );
        let expected = "\
ROOM         STATE        WAITING  ADMITTED  RATE    NOTE
spring-tour  paused        55,310    11,500  50/s *  shop is down  [31m
new-year     unavailable        -         -  -       never read from the store
* changed by an operator; wins over the file until unset
";
        assert_eq!(table(&[paused, away]), expected);
        assert_eq!(table(&[]), "No rooms.\n");
    }

    #[test]
    fn the_mark_is_explained_where_it_stands_and_what_is_hidden_is_named() {
        let told = |reason: Option<&str>| {
            table(&[document("spring-tour", |s| {
                s.overrides.message = Some("Soon.".to_owned());
                s.overrides.burst = Some(2);
                if reason.is_some() {
                    s.phase = Phase::Paused;
                    s.reason = reason.map(str::to_owned);
                }
            })])
        };
        let shown = told(None);
        assert!(shown.contains("Soon. *\n* changed by"), "{shown}");
        assert!(
            shown.ends_with("spring-tour: an operator changed what is not shown here: burst\n"),
            "{shown}"
        );
        let hidden = told(Some("Noon."));
        assert!(!hidden.contains('*') && hidden.ends_with("not shown here: burst, message\n"), "{hidden}");
    }

    #[test]
    fn a_message_during_a_pause_is_not_said_to_be_shown() {
        let verb = Verb::Message { room: id("spring-tour"), text: Some("Soon.".to_owned()), unset: false };
        let told = |reason: Option<&str>| {
            let room = document("spring-tour", |s| {
                s.phase = Phase::Paused;
                s.reason = reason.map(str::to_owned);
            });
            done(&verb, &room)
        };
        assert_eq!(told(None), "spring-tour: shows the message, until unset\n");
        assert!(told(Some("Noon.")).contains("the reason stands in its place"));
    }

    #[test]
    fn one_room_is_told_in_detail() {
        let text = detail(&document("spring-tour", |s| s.overrides.message = Some("Soon.".to_owned())));
        for line in [
            "room           spring-tour",
            "as of          2026-12-24T04:00:00Z",
            "settled up to  12,000",
            "rate           50/s",
            "max_total      no bound",
            "message        Soon. *",
            "pass ttl       30m",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
