//! An operator's change of a room's schedule, written as in TOML: `{"opens": "2026-12-24T12:00:00+01:00"}`. What is
//! not named stays as it is, null goes back to the file.

use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::room::{LobbyOrder, Micros, ScheduleChange, Snapshot};

/// The overrides of the schedule after this change; `None` for none. Or everything that is wrong with it.
pub(super) fn read(value: &Value, now: Option<&Snapshot>) -> Result<Option<ScheduleChange>, Vec<String>> {
    let Value::Object(fields) = value else {
        let wrong =
            "\"schedule\" is no object such as {\"opens\": \"2026-12-24T12:00:00+01:00\"}; null unsets it";
        return if value.is_null() { Ok(None) } else { Err(vec![wrong.to_owned()]) };
    };
    let mut change = now.and_then(|now| now.overrides.schedule.clone()).unwrap_or_default();
    let mut wrong = Vec::new();
    for (name, value) in fields {
        if let Err(why) = set(&mut change, name, value) {
            wrong.push(format!("\"schedule.{name}\" {why}"));
        }
    }
    if wrong.is_empty()
        && let Some(now) = now
    {
        let changed = now.rules_written.schedule.changed(&change);
        let contradictions = changed.contradictions().into_iter();
        wrong.extend(contradictions.map(|wrong| format!("\"schedule.{}\": {wrong}", wrong.key())));
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Some(change).filter(|change| *change != ScheduleChange::default()))
}

fn set(change: &mut ScheduleChange, name: &str, value: &Value) -> Result<(), String> {
    match name {
        "doors" => change.doors = moment(value)?,
        "opens" => change.opens = moment(value)?,
        "closes" => change.closes = moment(value)?,
        "lobby_order" => {
            change.lobby_order = match value.as_str() {
                Some("fifo") => Some(LobbyOrder::Fifo),
                Some("draw") => Some(LobbyOrder::Draw),
                None if value.is_null() => None,
                _ => return Err("is neither \"fifo\" nor \"draw\"; null unsets it".to_owned()),
            }
        }
        _ => return Err("is not known; known are doors, opens, closes, lobby_order".to_owned()),
    }
    Ok(())
}

/// A time with its offset.
fn moment(value: &Value) -> Result<Option<Micros>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let read = |text: &str| {
        let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        u64::try_from(time.unix_timestamp_nanos() / 1000).ok().map(Micros)
    };
    let moment = value.as_str().and_then(read);
    let wrong = "is no time with its offset such as \"2026-12-24T12:00:00+08:00\"; null unsets it";
    moment.map(Some).ok_or_else(|| wrong.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::room::{Lineage, Overrides, Rate, Room, Rules, Schedule};

    const NOON: u64 = 1_798_110_000_000_000;

    fn room() -> Snapshot {
        let mut rules = Rules::at(Rate::per_second(1).unwrap());
        rules.schedule = Schedule { opens: Some(Micros(NOON)), ..Schedule::default() };
        Room::new(rules, Lineage(1), Micros(1)).snapshot()
    }

    #[test]
    fn what_is_named_changes_and_null_goes_back_to_the_file() {
        let mut now = room();
        let change = read(&json!({"opens": "2026-12-24T12:00:00+01:00"}), Some(&now)).unwrap().unwrap();
        assert_eq!(change, ScheduleChange { opens: Some(Micros(NOON)), ..ScheduleChange::default() });
        now.overrides = Overrides { schedule: Some(change), ..Overrides::default() };
        let both = read(&json!({"closes": "2026-12-24T12:00:00Z"}), Some(&now)).unwrap().unwrap();
        assert_eq!((both.opens, both.closes), (Some(Micros(NOON)), Some(Micros(NOON + 3_600_000_000))));
        assert_eq!(read(&json!({"opens": null}), Some(&now)), Ok(None));
        assert_eq!(read(&Value::Null, Some(&now)), Ok(None));
    }

    #[test]
    fn all_that_is_wrong_is_named_at_once() {
        let wrong = json!({"open": 1, "opens": "noon", "closes": 5, "lobby_order": "random"});
        let whys = read(&wrong, Some(&room())).unwrap_err().join("; ");
        for part in
            ["schedule.open\" is not known", "schedule.opens\" is no time", "schedule.closes\" is no", "fifo"]
        {
            assert!(whys.contains(part), "{part} is not in {whys}");
        }
        assert!(read(&json!("noon"), None).is_err());
    }

    #[test]
    fn what_contradicts_the_file_is_refused() {
        let early = json!({"closes": "2026-12-24T10:00:00Z"});
        assert!(read(&early, Some(&room())).unwrap_err()[0].contains("`closes` must be after `opens`"));
        let late = json!({"doors": "2026-12-24T13:00:00Z"});
        assert!(read(&late, Some(&room())).unwrap_err()[0].contains("doors"));
    }
}
