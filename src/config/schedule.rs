//! `[room.schedule]`: times with their offset, and the order of the lobby.

use time::{Date, Month, OffsetDateTime, Time, UtcOffset};
use toml::de::DeValue;
use toml::value::{Datetime, Offset};

use super::table::Table;
use super::value::{Parsed, expected, one_of, quoted};
use crate::room::{LobbyOrder, Micros, Schedule};

/// Most characters of what the public value of a draw is called.
const PUBLIC_MAX: usize = 200;

/// Reads the table; contradictions are told at the key that should change.
pub(super) fn read(mut table: Table<'_>) -> Schedule {
    let words = &[("fifo", LobbyOrder::Fifo), ("draw", LobbyOrder::Draw)];
    let schedule = Schedule {
        doors: table.read("doors", moment),
        opens: table.read("opens", moment),
        closes: table.read("closes", moment),
        lobby_order: table.read("lobby_order", one_of(words)).unwrap_or_default(),
        public: table.read("public", public),
    };
    for wrong in schedule.contradictions() {
        // A time that is there and could not be read has been told already.
        if !(wrong.for_want_of_opens() && table.has("opens")) {
            table.problem(wrong.key(), wrong.to_string());
        }
    }
    schedule
}

fn moment(value: &DeValue<'_>) -> Parsed<Micros> {
    let wrong = || expected("a time with its offset such as 2026-12-24T12:00:00+08:00", value);
    match value {
        DeValue::Datetime(time) => micros(time).ok_or_else(wrong),
        _ => Err(wrong()),
    }
}

/// `None` without an offset, for what is no moment at all, and before 1970.
fn micros(written: &Datetime) -> Option<Micros> {
    let (date, time) = (written.date?, written.time?);
    let seconds = match written.offset? {
        Offset::Z => 0,
        Offset::Custom { minutes } => i32::from(minutes) * 60,
    };
    let month = Month::try_from(date.month).ok()?;
    let date = Date::from_calendar_date(i32::from(date.year), month, date.day).ok()?;
    let (second, nano) = (time.second.unwrap_or(0), time.nanosecond.unwrap_or(0));
    let time = Time::from_hms_nano(time.hour, time.minute, second, nano).ok()?;
    let offset = UtcOffset::from_whole_seconds(seconds).ok()?;
    let nanos = OffsetDateTime::new_in_offset(date, time, offset).unix_timestamp_nanos();
    u64::try_from(nanos / 1000).ok().map(Micros)
}

fn public(value: &DeValue<'_>) -> Parsed<String> {
    let text = super::value::text(value)?;
    let good = text.chars().count() <= PUBLIC_MAX && !text.chars().any(char::is_control);
    if good {
        Ok(text)
    } else {
        Err(format!("expected one line of at most {PUBLIC_MAX} characters, found {}", quoted(&text)))
    }
}

/// A moment as it is printed: in UTC.
pub(super) fn written(moment: Micros) -> String {
    let nanos = i128::from(moment.0) * 1000;
    let time = OffsetDateTime::from_unix_timestamp_nanos(nanos).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    time.format(&time::format_description::well_known::Rfc3339).unwrap_or_default()
}
