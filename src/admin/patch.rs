//! Reads a change of settings, written as in TOML, into the room's own [`Patch`]. All that is wrong with it
//! is said at once, by name.

use serde_json::Value;

use super::body::Fields;
use super::schedule;
use crate::room::{BadRate, Patch, Rate, Snapshot};

/// Most characters in a message or a reason: a line or two on the waiting page.
const TEXT_MAX: usize = 500;
/// The largest whole number that the stores keep exactly.
const WHOLE_MAX: u64 = (1 << 53) - 1;
/// What may be changed.
const KNOWN: &str = "rate, burst, max_active, max_total, message, schedule";

/// The patch that these fields ask for in a room whose settings are as in `now`, or everything that is wrong with
/// them.
pub(super) fn read(fields: &Fields, now: Option<&Snapshot>) -> Result<Patch, String> {
    let mut patch = Patch::default();
    let mut wrong = Vec::new();
    for (name, value) in &fields.0 {
        if name == "schedule" {
            match schedule::read(value, now) {
                Ok(change) => patch.schedule = Some(change),
                Err(whys) => wrong.extend(whys),
            }
        } else if let Err(why) = set(&mut patch, name, value) {
            wrong.push(format!("{name:?} {why}"));
        }
    }
    if fields.0.is_empty() {
        wrong.push(format!("no setting is named; known are {KNOWN}"));
    }
    if wrong.is_empty() { Ok(patch) } else { Err(wrong.join("; ")) }
}

/// The reason of a pause: `{"reason": "..."}`, or nothing.
pub(super) fn reason(fields: &Fields) -> Result<Option<String>, String> {
    let mut reason = None;
    for (name, value) in &fields.0 {
        match (name.as_str(), value) {
            ("reason", Value::Null) => {}
            ("reason", Value::String(blank)) if blank.trim().is_empty() => {}
            ("reason", value) => reason = Some(text(value).map_err(|why| format!("\"reason\" {why}"))?),
            (name, _) => return Err(format!("{name:?} is not known here; known is reason")),
        }
    }
    Ok(reason)
}

/// `{"value": "..."}`: the public value of a draw.
pub(super) fn public_value(fields: &Fields) -> Result<String, String> {
    match fields.0.as_slice() {
        [(name, value)] if name == "value" => text(value).map_err(|why| format!("\"value\" {why}")),
        _ => Err("say {\"value\": \"<the public value>\"}".to_owned()),
    }
}

/// What is to be revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Revocation {
    /// Every admission that was made so far.
    All,
    /// The one with this id.
    One(String),
}

/// `{"all": true}` or `{"admission": "<jti>"}`.
pub(super) fn revocation(fields: &Fields) -> Result<Revocation, String> {
    let wanted =
        "say {\"all\": true} for every admission so far, or {\"admission\": \"<jti of a pass>\"} for one";
    match fields.0.as_slice() {
        [(name, Value::Bool(true))] if name == "all" => Ok(Revocation::All),
        [(name, Value::String(id))] if name == "admission" => Ok(Revocation::One(id.clone())),
        _ => Err(wanted.to_owned()),
    }
}

fn set(patch: &mut Patch, name: &str, value: &Value) -> Result<(), String> {
    match name {
        "rate" => patch.rate = Some(optional(value, rate)?),
        "burst" => patch.burst = Some(optional(value, whole)?),
        "max_active" => patch.max_active = Some(optional(value, whole)?),
        "max_total" => patch.max_total = Some(optional(value, whole)?),
        "message" => patch.message = Some(optional(value, text)?),
        _ => return Err(format!("is not known; known are {KNOWN}")),
    }
    Ok(())
}

/// `null` unsets.
fn optional<T>(value: &Value, read: fn(&Value) -> Result<T, String>) -> Result<Option<T>, String> {
    if value.is_null() { Ok(None) } else { read(value).map(Some) }
}

fn rate(value: &Value) -> Result<Rate, String> {
    let text = value.as_str().ok_or_else(|| format!("is not text: {BadRate}"))?;
    text.parse().map_err(|why: BadRate| why.to_string())
}

fn whole(value: &Value) -> Result<u64, String> {
    let good = value.as_u64().filter(|n| (1..=WHOLE_MAX).contains(n));
    good.ok_or_else(|| format!("is not a whole number from 1 to {WHOLE_MAX}; null unsets it"))
}

fn text(value: &Value) -> Result<String, String> {
    let text = value.as_str().ok_or("is not text; null unsets it")?.trim();
    if text.is_empty() {
        return Err("is empty; null unsets it".to_owned());
    }
    if text.chars().count() > TEXT_MAX {
        return Err(format!("is longer than {TEXT_MAX} characters"));
    }
    if text.chars().any(|c| c.is_control() && c != '\n') {
        return Err("holds control characters".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &Fields) -> Result<Patch, String> {
        super::read(fields, None)
    }

    fn fields(text: &str) -> Fields {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn settings_are_written_as_in_toml_and_null_unsets() {
        let patch = read(&fields(
            r#"{"rate":"90/min","burst":7,"max_active":9,"max_total":null,"message":" Soon. "}"#,
        ))
        .unwrap();
        assert_eq!(patch.rate, Some("90/min".parse().ok()));
        assert_eq!(patch.burst, Some(Some(7)));
        assert_eq!(patch.max_active, Some(Some(9)));
        assert_eq!(patch.max_total, Some(None));
        assert_eq!(patch.message, Some(Some("Soon.".to_owned())));
        assert_eq!(read(&fields(r#"{"burst":1}"#)).unwrap().rate, None, "what is not named stays");
    }

    #[test]
    fn all_that_is_wrong_is_named_at_once() {
        let why = read(&fields(r#"{"rat":"5/s","rate":"0/s","max_active":0,"burst":0}"#)).unwrap_err();
        for part in [
            "\"rat\" is not known; known are rate",
            "\"rate\" expected a rate such as \"50/s\"",
            "\"max_active\" is not a whole number from 1 to",
            "\"burst\" is not a whole number from 1 to",
        ] {
            assert!(why.contains(part), "{part} is not in {why}");
        }
        assert!(read(&Fields::default()).unwrap_err().contains("no setting is named"));
    }

    #[test]
    fn values_of_other_kinds_are_refused() {
        for bad in [
            r#"{"rate":50}"#,
            r#"{"rate":"1e9/s"}"#,
            r#"{"burst":1.5}"#,
            r#"{"burst":-1}"#,
            r#"{"burst":"5"}"#,
            r#"{"max_total":9007199254740992}"#,
            r#"{"message":""}"#,
            r#"{"message":"\u0000"}"#,
            r#"{"message":["x"]}"#,
        ] {
            assert!(read(&fields(bad)).is_err(), "{bad}");
        }
        let long = Fields(vec![("message".to_owned(), Value::from("x".repeat(501)))]);
        assert!(read(&long).is_err());
    }

    #[test]
    fn a_reason_may_be_given_or_not() {
        assert_eq!(reason(&Fields::default()), Ok(None));
        assert_eq!(reason(&fields(r#"{"reason":null}"#)), Ok(None));
        assert_eq!(reason(&fields(r#"{"reason":"shop is down"}"#)), Ok(Some("shop is down".to_owned())));
        assert!(reason(&fields(r#"{"reasons":"x"}"#)).unwrap_err().contains("\"reasons\" is not known"));
        assert!(reason(&fields(r#"{"reason":5}"#)).is_err());
    }
}
