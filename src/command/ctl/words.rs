//! From a verb to its request.

use http::Method;
use serde_json::{Map, Value, json};

use super::args::Verb;
use crate::room::RoomId;

/// One request to the admin API.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

/// The request for a verb, or what is wrong with the way it was typed.
pub(super) fn request(verb: &Verb) -> Result<Request, String> {
    Ok(match verb {
        Verb::Status { room: None } => {
            Request { method: Method::GET, path: "/v1/rooms".to_owned(), body: None }
        }
        Verb::Status { room: Some(room) } => {
            Request { method: Method::GET, path: format!("/v1/rooms/{room}"), body: None }
        }
        Verb::Pause { room, reason } => post(room, "pause", json!({"reason": reason})),
        Verb::Resume { room } => post(room, "resume", json!({})),
        Verb::Create { room } => post(room, "create", json!({})),
        Verb::Rate { room, rate, .. } => patch(room, json!({"rate": rate})),
        Verb::Message { room, text, .. } => patch(room, json!({"message": text})),
        Verb::Set { room, settings } => patch(room, pairs(settings)?),
        Verb::Open { room } => post(room, "open", json!({})),
        Verb::Close { room } => post(room, "close", json!({})),
        Verb::Follow { room } => post(room, "follow", json!({})),
        Verb::Draw { room, value } => post(room, "draw", json!({"value": value})),
        Verb::Revoke { room, all: true, .. } => post(room, "revoke", json!({"all": true})),
        Verb::Revoke { room, admission, .. } => post(room, "revoke", json!({"admission": admission})),
        Verb::Flush { room, yes: true } => post(room, "flush", json!({})),
        Verb::Flush { room, yes: false } => {
            return Err(format!(
                "flush takes the place of everybody who waits in {room}, and cannot be undone; add --yes to do it"
            ));
        }
    })
}

fn post(room: &RoomId, verb: &str, body: Value) -> Request {
    Request { method: Method::POST, path: format!("/v1/rooms/{room}/{verb}"), body: Some(body) }
}

fn patch(room: &RoomId, body: Value) -> Request {
    Request { method: Method::PATCH, path: format!("/v1/rooms/{room}"), body: Some(body) }
}

/// `key=value` pairs as an object. Whole numbers become numbers, nothing becomes null, the rest is text;
/// which keys there are is for the API to say. A message of digits is text all the same. `schedule.opens=...` is a
/// key within `schedule`.
fn pairs(settings: &[String]) -> Result<Value, String> {
    let mut object = Map::new();
    for setting in settings {
        let Some((key, value)) = setting.split_once('=') else {
            return Err(format!("{setting:?} is not of the form key=value"));
        };
        let value = match value.parse::<u64>() {
            _ if value.is_empty() => Value::Null,
            Ok(whole) if key != "message" => Value::from(whole),
            _ => Value::from(value),
        };
        let twice = match key.strip_prefix("schedule.") {
            Some(inner) => {
                let schedule = object.entry("schedule").or_insert_with(|| json!({})).as_object_mut();
                schedule.is_none_or(|schedule| schedule.insert(inner.to_owned(), value).is_some())
            }
            None => object.insert(key.to_owned(), value).is_some(),
        };
        if twice {
            return Err(format!("{key} is there twice"));
        }
    }
    Ok(Value::Object(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(settings: &[&str]) -> Result<Value, String> {
        pairs(&settings.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn pairs_are_numbers_text_or_nothing() {
        let body = set(&["rate=50/s", "burst=7", "max_total=", "message=2026"]).unwrap();
        assert_eq!(body, json!({"rate": "50/s", "burst": 7, "max_total": null, "message": "2026"}));
        let noon = "2026-12-24T12:00:00+01:00";
        assert_eq!(
            set(&[&format!("schedule.opens={noon}"), "schedule.closes=", "rate=5/s"]).unwrap(),
            json!({"schedule": {"opens": noon, "closes": null}, "rate": "5/s"})
        );
        for twice in [["schedule.opens=", "schedule.opens="], ["schedule=", "schedule.opens="]] {
            assert!(set(&twice).unwrap_err().contains("twice"), "{twice:?}");
        }
        assert_eq!(set(&["message=a=b"]).unwrap(), json!({"message": "a=b"}));
        assert!(set(&["rate"]).unwrap_err().contains("key=value"));
        assert!(set(&["burst=1", "burst=2"]).unwrap_err().contains("twice"));
    }

    #[test]
    fn flush_is_not_done_by_the_way() {
        let room = RoomId::new("a").unwrap();
        let why = request(&Verb::Flush { room: room.clone(), yes: false }).unwrap_err();
        assert!(why.contains("cannot be undone"));
        assert_eq!(request(&Verb::Flush { room, yes: true }).unwrap().path, "/v1/rooms/a/flush");
    }
}
