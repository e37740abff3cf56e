//! Puts a page together. All that does not depend on the visitor is done once, when the settings are read:
//! per language a list of texts and holes. A page is then a walk along that list.

use bytes::Bytes;
use http::HeaderValue;

use super::data::ScriptWords;
use super::escape::{html, json, prose};
use super::facts::Facts;
use super::language::{LANGUAGES, Language, Words, negotiate};
use super::policy::policy;
use super::settings::Settings;
use super::template::{Piece, pieces, squeeze, squeeze_between};
use super::view::View;

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
const SCRIPT: &str = include_str!("assets/page.js");
/// A rope between two posts, in the accent colour (`{accent}` as `%23rrggbb`).
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http:%2F%2Fwww.w3.org%2F2000%2Fsvg' viewBox='0 0 32 32' \
    fill='none' stroke='{accent}' stroke-width='4' stroke-linecap='round'%3E\
    %3Cpath d='M5 7v20M27 7v20M5 11q11 14 22 0'/%3E%3C/svg%3E";

/// The waiting page of a room.
#[derive(Debug)]
pub struct Page {
    languages: Vec<Prepared>,
    offered: Vec<&'static Language>,
    policy: HeaderValue,
}

/// A page, ready to be sent as `text/html; charset=utf-8`.
#[derive(Debug, Clone)]
pub struct Rendered {
    /// The document.
    pub html: Bytes,
    /// For `Content-Security-Policy`.
    pub csp: HeaderValue,
    /// For `Content-Language`.
    pub content_language: HeaderValue,
}

/// The page in one language, but for what differs by visitor.
#[derive(Debug)]
struct Prepared {
    language: &'static Language,
    title: String,
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Hole(&'static str),
}

impl Page {
    /// Prepares the page in every language that is offered.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let style = settings.accent.declarations() + &squeeze(STYLE);
        let script = squeeze(SCRIPT);
        let offered =
            if settings.languages.is_empty() { LANGUAGES.to_vec() } else { settings.languages.clone() };
        let prepare = |language: &&'static Language| Prepared::new(language, settings, &style, &script);
        let policy = HeaderValue::from_str(&policy(settings, &style, &script));
        Self {
            languages: offered.iter().map(prepare).collect(),
            offered,
            policy: policy.expect("hashes and checked sources are plain ASCII"),
        }
    }

    /// The page for one visitor, in the language that the browser asks for.
    #[must_use]
    pub fn render(&self, facts: &Facts<'_>, accept_language: Option<&str>) -> Rendered {
        let language = negotiate(&self.offered, accept_language);
        let prepared = self.languages.iter().find(|prepared| prepared.language == language);
        let html = prepared.map(|prepared| prepared.render(facts)).unwrap_or_default();
        Rendered {
            html: Bytes::from(html),
            csp: self.policy.clone(),
            content_language: HeaderValue::from_static(language.tag),
        }
    }

    /// The page for a browser that keeps no cookies; `retry_url` is path and query of the same site.
    #[must_use]
    pub fn render_cookies_needed(&self, retry_url: &str, accept_language: Option<&str>) -> Rendered {
        let facts = Facts { enter_url: retry_url, cookies_blocked: true, ..Facts::default() };
        self.render(&facts, accept_language)
    }
}

impl Prepared {
    fn new(language: &'static Language, settings: &Settings, style: &str, script: &str) -> Self {
        let title =
            settings.title.as_deref().map(|title| prose(title, Settings::TITLE_MAX).replace('\n', " "));
        let title = title.filter(|t| !t.is_empty()).unwrap_or_else(|| language.words.waiting_room.to_owned());
        let logo =
            settings.logo.as_ref().map(|logo| format!("<img src=\"{}\" alt=\"\">", html(logo.as_str())));
        let fixed = |name: &str| -> Option<String> {
            Some(match name {
                "lang" => language.tag.to_owned(),
                "dir" => language.dir.to_owned(),
                "title" => html(&title),
                "logo" => logo.clone().unwrap_or_default(),
                "icon" => ICON.replace("{accent}", &settings.accent.to_string().replace('#', "%23")),
                "style" => style.to_owned(),
                "script" => script.to_owned(),
                "words" => json(&ScriptWords::new(language)),
                _ => return label(&language.words, name).map(html),
            })
        };
        let mut parts = Vec::new();
        for piece in pieces(TEMPLATE) {
            match piece {
                Piece::Text(text) => push(&mut parts, &squeeze_between(text)),
                Piece::Hole(name) => match fixed(name) {
                    Some(value) => push(&mut parts, &value),
                    None => parts.push(Part::Hole(name)),
                },
            }
        }
        Self { language, title, parts }
    }

    fn render(&self, facts: &Facts<'_>) -> String {
        let view = View::new(facts, self.language, &self.title);
        let fixed: usize =
            self.parts.iter().map(|part| if let Part::Text(t) = part { t.len() } else { 0 }).sum();
        let mut out = String::with_capacity(fixed + 2048);
        for part in &self.parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Hole(name) => out.push_str(&view.fill(name)),
            }
        }
        out
    }
}

/// Adds text to the last part where that is text too.
fn push(parts: &mut Vec<Part>, text: &str) {
    if let Some(Part::Text(last)) = parts.last_mut() {
        last.push_str(text);
    } else {
        parts.push(Part::Text(text.to_owned()));
    }
}

/// The label in a hole `w.name`: a text that is the same in every page of the language.
fn label(words: &Words, hole: &str) -> Option<&'static str> {
    Some(match hole.strip_prefix("w.")? {
        "from_organiser" => words.from_organiser,
        "place" => words.place,
        "progress" => words.progress,
        "wait" => words.wait,
        "in_line" => words.in_line,
        "number" => words.number,
        "enter" => words.enter,
        "retry" => words.retry,
        "keep_open" => words.keep_open,
        "no_refresh" => words.no_refresh,
        "what_next" => words.what_next,
        "leave" => words.leave,
        "leave_means" => words.leave_means,
        "leave_now" => words.leave_now,
        _ => return None,
    })
}
