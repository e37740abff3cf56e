//! The version of what operators can change in a room: `ETag` and `If-Match`.
//!
//! It stands for phase, reason, overrides and lineage, not for the counts beside them: those move many times
//! a second, and two operators collide over settings, not over counts. It is the same on every instance.

use aws_lc_rs::digest;
use http::{HeaderMap, header};

use crate::room::Snapshot;

/// The entity tag of a room, quotes included.
pub(super) fn of(snapshot: &Snapshot) -> String {
    let what = (snapshot.lineage, snapshot.phase, snapshot.forced, &snapshot.reason, &snapshot.overrides);
    let text = serde_json::to_vec(&what).unwrap_or_default();
    let hash = digest::digest(&digest::SHA256, &text);
    let hex: String = hash.as_ref().iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("\"{hex}\"")
}

/// What `If-Match` demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Precondition {
    /// Nothing.
    None,
    /// That the room exists.
    Any,
    /// That the version is one of these.
    OneOf(Vec<String>),
}

/// A precondition that is not of the form of a list of entity tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

impl Precondition {
    /// Reads all `If-Match` headers.
    pub(super) fn read(headers: &HeaderMap) -> Result<Self, Unreadable> {
        let mut tags = Vec::new();
        for value in headers.get_all(header::IF_MATCH) {
            let value = value.to_str().map_err(|_| Unreadable)?;
            if value.trim() == "*" {
                return Ok(Self::Any);
            }
            for tag in value.split(',').map(str::trim) {
                let quoted =
                    tag.len() >= 2 && tag.ends_with('"') && tag.trim_start_matches("W/").starts_with('"');
                if !quoted {
                    return Err(Unreadable);
                }
                tags.push(tag.to_owned());
            }
        }
        Ok(if tags.is_empty() { Self::None } else { Self::OneOf(tags) })
    }

    /// Whether a room at this version meets it.
    pub(super) fn met_by(&self, version: &str) -> bool {
        match self {
            Self::None | Self::Any => true,
            Self::OneOf(tags) => tags.iter().any(|tag| tag == version),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::super::test_support::snapshot;
    use super::*;
    use crate::room::{Number, Phase};

    fn read(value: &'static str) -> Result<Precondition, Unreadable> {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_MATCH, HeaderValue::from_static(value));
        Precondition::read(&headers)
    }

    #[test]
    fn counts_do_not_change_the_version_but_settings_do() {
        let before = snapshot();
        let mut counted = before.clone();
        counted.last = Number(999);
        counted.version += 1;
        assert_eq!(of(&before), of(&counted));
        let mut paused = before.clone();
        paused.phase = Phase::Paused;
        assert_ne!(of(&before), of(&paused));
        let mut said = before.clone();
        said.overrides.message = Some("hello".to_owned());
        assert_ne!(of(&before), of(&said));
    }

    #[test]
    fn preconditions_are_lists_of_tags() {
        assert_eq!(read("*"), Ok(Precondition::Any));
        let two = read("\"a\", \"b\"").unwrap();
        assert!(two.met_by("\"b\"") && !two.met_by("\"c\""));
        assert!(!read("W/\"a\"").unwrap().met_by("\"a\""), "a weak tag never matches here");
        assert_eq!(read("abc"), Err(Unreadable));
        assert_eq!(read(""), Err(Unreadable));
    }
}
