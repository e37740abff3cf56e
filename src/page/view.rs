//! What differs by visitor: the values of the holes in the template, each escaped for where it stands.

use super::data::ScriptFacts;
use super::escape::{html, json, prose, same_site};
use super::facts::{Facts, Rejoin};
use super::language::Language;
use super::scene::Scene;
use super::settings::Settings;
use super::wording::{number, plural, wait};

/// Without scripts a page is not fetched more often than this (seconds).
const REFRESH_MIN: u64 = 2;

/// One page for one visitor.
pub(super) struct View<'a> {
    facts: &'a Facts<'a>,
    language: &'static Language,
    title: &'a str,
    scene: Scene,
    message: String,
}

impl<'a> View<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, language: &'static Language, title: &'a str) -> Self {
        let message = facts.message.map(|message| prose(message, Settings::MESSAGE_MAX)).unwrap_or_default();
        Self { facts, language, title, scene: Scene::of(facts), message }
    }

    /// The value of a hole of the template.
    pub(super) fn fill(&self, hole: &str) -> String {
        let Self { facts, language, scene, .. } = self;
        let words = &language.words;
        let say = words.say(*scene);
        match hole {
            "tab" => html(&self.tab()),
            "scene" => scene.name().to_owned(),
            "show" => self.shows(),
            "head" => html(say.head),
            "lead" => html(say.lead),
            "note_hidden" => hidden(self.message.is_empty()),
            "message" => html(&self.message),
            "early" => self.early(),
            "position" => self.counted(facts.position),
            "ahead" => html(&self.ahead()),
            "progress" => self.progress(),
            "wait" => html(&wait(language, facts.wait.filter(|_| scene.moves()))),
            "waiting" => self.counted(facts.waiting),
            "number" => self.counted(facts.number),
            "login" => self.login(),
            "enter" => html(same_site(facts.enter_url)),
            "rejoin" => self.rejoin(),
            "refresh" => self.refresh(),
            "refresh_note" => html(&plural(language, &words.refreshes, self.refresh_seconds())),
            "facts" => json(&ScriptFacts::new(facts, *scene)),
            _ => {
                debug_assert!(false, "the template has a hole that nobody fills: {hole}");
                String::new()
            }
        }
    }

    /// Whether there is a place to show.
    fn placed(&self) -> bool {
        self.facts.position.is_some() && self.scene.shows().starts_with("place ")
    }

    fn shows(&self) -> String {
        let shows = self.scene.shows();
        if self.placed() { shows } else { shows.strip_prefix("place ").unwrap_or(shows) }.to_owned()
    }

    fn tab(&self) -> String {
        let words = &self.language.words;
        match self.facts.position {
            Some(position) if self.placed() => words
                .tab
                .replace("{position}", &number(self.language, position))
                .replace("{title}", self.title),
            _ => format!("{} · {}", words.say(self.scene).head, self.title),
        }
    }

    /// Before the room opens: when that is, in the server's words (the script tells it in the visitor's own time),
    /// and in a lobby with a draw what the place there means.
    fn early(&self) -> String {
        let words = &self.language.words;
        let opens = self.facts.opens_at.map(|time| {
            let time = html(&time.trim_end_matches('Z').replace('T', " "));
            format!("<p class=\"early\">{} <b id=\"opens\">{time} UTC</b></p>", html(words.opens))
        });
        let lobby = self.facts.lobby_index.map(|index| {
            let text = words.drawn_from.replace("{index}", &number(self.language, index));
            format!("<p class=\"early\">{}</p>", html(&text))
        });
        opens.into_iter().chain(lobby).collect()
    }

    fn counted(&self, n: Option<u64>) -> String {
        n.map_or_else(|| "–".to_owned(), |n| number(self.language, n))
    }

    fn ahead(&self) -> String {
        match self.facts.position {
            None => String::new(),
            Some(0 | 1) => self.language.words.next.to_owned(),
            Some(position) => plural(self.language, &self.language.words.ahead, position - 1),
        }
    }

    /// The attributes of the bar. Without a known start there is nothing to show yet.
    fn progress(&self) -> String {
        match (self.facts.start, self.facts.position) {
            (Some(start), Some(position)) if start >= position && start > 0 => {
                format!("max=\"{start}\" value=\"{}\"", start - position)
            }
            _ => "max=\"1\" value=\"0\" hidden".to_owned(),
        }
    }

    /// The way to log in. An address of an operator's, so it may lead to another site.
    fn login(&self) -> String {
        let url = self.facts.account.and_then(|account| account.login_url);
        let label = html(self.language.words.login_now);
        url.map_or_else(String::new, |url| format!("<a class=\"button\" href=\"{}\">{label}</a>", html(url)))
    }

    fn rejoin(&self) -> String {
        let label = html(self.language.words.rejoin);
        match self.facts.rejoin {
            None => String::new(),
            Some(Rejoin::Link(path)) => {
                format!("<a class=\"button\" href=\"{}\">{label}</a>", html(same_site(path)))
            }
            Some(Rejoin::Form { action, fields }) => {
                let hidden = |(name, value): &(&str, &str)| {
                    format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", html(name), html(value))
                };
                let fields: String = fields.iter().map(hidden).collect();
                let action = html(same_site(action));
                format!(
                    "<form method=\"post\" action=\"{action}\">{fields}<button class=\"button\">{label}</button></form>"
                )
            }
        }
    }

    /// Without scripts the page is visited anew, by GET; never while there is nothing to come.
    fn refresh(&self) -> String {
        let seconds = match self.scene {
            Scene::Entering => 1,
            scene if scene.is_live() => self.refresh_seconds(),
            _ => return String::new(),
        };
        let url = html(same_site(self.facts.enter_url));
        format!("<noscript><meta http-equiv=\"refresh\" content=\"{seconds};url={url}\"></noscript>")
    }

    fn refresh_seconds(&self) -> u64 {
        self.facts.next_poll_ms.div_ceil(1000).max(REFRESH_MIN)
    }
}

fn hidden(is: bool) -> String {
    if is { " hidden" } else { "" }.to_owned()
}
