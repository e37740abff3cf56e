//! Reads the body of a change: a JSON object, bounded in bytes and time, no name twice. The media type is not
//! asked for: the bearer token is what proves that the request was meant.

use axum::body::Body;
use axum::extract::FromRequest;
use axum::response::Response;
use http::Request;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use super::reply::{self, BAD_BODY, TOO_LARGE, TOO_SLOW};
use super::router::Admin;

/// The fields of a JSON object, in their order. An empty body is an object without fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Fields(pub(super) Vec<(String, Value)>);

impl Fields {
    /// For changes that take no fields.
    pub(super) fn none(&self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("{name:?} is not known here; this change takes no fields")),
        }
    }
}

impl FromRequest<Admin> for Fields {
    type Rejection = Response;

    async fn from_request(request: Request<Body>, admin: &Admin) -> Result<Self, Response> {
        let settings = &admin.settings;
        let body = Limited::new(request.into_body(), settings.body_bytes).collect();
        let Ok(read) = tokio::time::timeout(settings.body_timeout, body).await else {
            return Err(reply::problem(TOO_SLOW, "Send the body at once.", None));
        };
        let bytes = read.map_err(|error| unread(error.as_ref(), settings.body_bytes))?.to_bytes();
        if bytes.trim_ascii().is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(&bytes).map_err(|error| reply::problem(BAD_BODY, &error.to_string(), None))
    }
}

fn unread(error: &(dyn std::error::Error + 'static), most: usize) -> Response {
    if error.is::<LengthLimitError>() {
        return reply::problem(TOO_LARGE, &format!("At most {most} bytes are read."), None);
    }
    reply::problem(BAD_BODY, "The body broke off.", None)
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs)
    }
}

/// Collects pairs, because a map would silently keep one of two equal names.
struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Fields;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut pairs: Vec<(String, Value)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if pairs.len() >= MOST_FIELDS {
                return Err(A::Error::custom(format_args!("more than {MOST_FIELDS} fields")));
            }
            if pairs.iter().any(|(known, _)| *known == name) {
                return Err(A::Error::custom(format_args!("{name:?} is there twice")));
            }
            pairs.push((name, value));
        }
        Ok(Fields(pairs))
    }
}

const MOST_FIELDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Fields, String> {
        serde_json::from_str(text).map_err(|e: serde_json::Error| e.to_string())
    }

    #[test]
    fn objects_are_read_in_order_and_nothing_else_is() {
        let fields = read(r#"{"b": 1, "a": null}"#).unwrap();
        assert_eq!(fields.0, [("b".to_owned(), Value::from(1)), ("a".to_owned(), Value::Null)]);
        for bad in ["[1]", "1", "\"x\"", "{", "{\"a\":1} x", "null"] {
            assert!(read(bad).is_err(), "{bad}");
        }
        assert!(read(r#"{"rate":"5/s","rate":"50/s"}"#).unwrap_err().contains("\"rate\" is there twice"));
    }

    #[test]
    fn depth_and_breadth_are_bounded() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        assert!(read(&deep).unwrap_err().contains("recursion"));
        let broad = (0..100).map(|i| format!("\"f{i}\":0")).collect::<Vec<_>>().join(",");
        assert!(read(&format!("{{{broad}}}")).unwrap_err().contains("more than 64"));
    }
}
