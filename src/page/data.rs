//! What the script is given, as two blocks of JSON: the texts of the language, and the facts of the visitor.

use std::collections::BTreeMap;

use serde::Serialize;

use super::facts::Facts;
use super::language::{Forms, Language};
use super::scene::Scene;

/// The texts that the script may have to show later.
#[derive(Debug, Serialize)]
pub(super) struct ScriptWords {
    lang: &'static str,
    tab: &'static str,
    /// By name: heading, text, and the parts of the page that are shown.
    scenes: BTreeMap<&'static str, [&'static str; 3]>,
    next: &'static str,
    ahead: &'static Forms,
    unknown: &'static str,
    soon: &'static str,
    minutes: &'static Forms,
    hours: &'static Forms,
    range: &'static str,
    checked: &'static str,
    trouble: &'static str,
}

impl ScriptWords {
    pub(super) fn new(language: &'static Language) -> Self {
        let words = &language.words;
        let scene = |scene: Scene| {
            let say = words.say(scene);
            (scene.name(), [say.head, say.lead, scene.shows()])
        };
        Self {
            lang: language.tag,
            tab: words.tab,
            scenes: Scene::ALL.map(scene).into_iter().collect(),
            next: words.next,
            ahead: &words.ahead,
            unknown: words.unknown,
            soon: words.soon,
            minutes: &words.minutes,
            hours: &words.hours,
            range: words.range,
            checked: words.checked,
            trouble: words.trouble,
        }
    }
}

/// What the script has to know of the visitor.
#[derive(Debug, Serialize)]
pub(super) struct ScriptFacts<'a> {
    room: &'a str,
    scene: &'static str,
    number: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lobby_index: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opens_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_time: Option<&'a str>,
    position: Option<u64>,
    start: Option<u64>,
    next_poll_ms: u64,
    poll_url: &'a str,
    leave_url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<&'a str>,
}

impl<'a> ScriptFacts<'a> {
    pub(super) fn new(facts: &Facts<'a>, scene: Scene) -> Self {
        Self {
            room: facts.room,
            scene: scene.name(),
            number: facts.number,
            lobby_index: facts.lobby_index,
            opens_at: facts.opens_at,
            server_time: facts.opens_at.map(|_| facts.server_time),
            position: facts.position,
            start: facts.start,
            next_poll_ms: facts.next_poll_ms,
            poll_url: facts.poll_url,
            leave_url: facts.leave_url,
            ticket: facts.ticket,
        }
    }
}
