//! What a language is: how it is asked for, how it counts, and every text of the page.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::page::scene::Scene;

/// A language of the page.
pub struct Language {
    /// BCP 47.
    pub(in crate::page) tag: &'static str,
    /// `ltr` or `rtl`.
    pub(in crate::page) dir: &'static str,
    /// Lower-case tags that this language answers to, longer ones that begin with them included.
    pub(in crate::page) covers: &'static [&'static str],
    /// Lower-case tags that it answers to only as they stand.
    pub(in crate::page) answers: &'static [&'static str],
    /// Between thousands.
    pub(in crate::page) group: &'static str,
    /// Which form a whole number takes (CLDR).
    pub(in crate::page) plural: fn(u64) -> Category,
    /// The texts.
    pub(in crate::page) words: Words,
}

impl fmt::Debug for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Language").field(&self.tag).finish()
    }
}

impl PartialEq for Language {
    fn eq(&self, other: &Self) -> bool {
        self.tag == other.tag
    }
}

impl Eq for Language {}

/// The plural categories of CLDR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each language uses those that it has")]
pub(in crate::page) enum Category {
    Zero,
    One,
    Two,
    Few,
    Many,
    Other,
}

impl Category {
    /// As `Intl.PluralRules` calls it.
    fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::One => "one",
            Self::Two => "two",
            Self::Few => "few",
            Self::Many => "many",
            Self::Other => "other",
        }
    }
}

/// A text with a number `{n}` in it, in the forms that the language has.
#[derive(Debug)]
pub(in crate::page) struct Forms {
    /// The form `Other`, and any that is not in `rest`.
    pub(in crate::page) other: &'static str,
    /// The other forms.
    pub(in crate::page) rest: &'static [(Category, &'static str)],
}

impl Forms {
    /// The text for a category.
    pub(in crate::page) fn pick(&self, category: Category) -> &'static str {
        self.rest.iter().find(|(of, _)| *of == category).map_or(self.other, |(_, text)| text)
    }
}

impl Serialize for Forms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (category, text) in self.rest {
            map.serialize_entry(category.name(), text)?;
        }
        map.serialize_entry(Category::Other.name(), self.other)?;
        map.end()
    }
}

/// What a scene says.
#[derive(Debug)]
pub(in crate::page) struct Say {
    /// The heading.
    pub(in crate::page) head: &'static str,
    /// The text below it.
    pub(in crate::page) lead: &'static str,
}

/// Every text of the page.
#[derive(Debug)]
#[allow(missing_docs, reason = "the English text says what each is for")]
pub(in crate::page) struct Words {
    pub(in crate::page) waiting_room: &'static str,
    /// The tab: `{position}`, `{title}`.
    pub(in crate::page) tab: &'static str,

    pub(in crate::page) waiting: Say,
    pub(in crate::page) paused: Say,
    pub(in crate::page) unavailable: Say,
    pub(in crate::page) lobby: Say,
    pub(in crate::page) waitlisted: Say,
    pub(in crate::page) entering: Say,
    pub(in crate::page) by_hand: Say,
    pub(in crate::page) lapsed: Say,
    pub(in crate::page) left: Say,
    pub(in crate::page) lost: Say,
    pub(in crate::page) cookies: Say,
    pub(in crate::page) closed: Say,
    pub(in crate::page) sold_out: Say,
    pub(in crate::page) full: Say,
    pub(in crate::page) scheduled: Say,
    pub(in crate::page) outage: Say,
    pub(in crate::page) login: Say,

    pub(in crate::page) place: &'static str,
    pub(in crate::page) next: &'static str,
    pub(in crate::page) ahead: Forms,
    pub(in crate::page) progress: &'static str,
    pub(in crate::page) wait: &'static str,
    pub(in crate::page) unknown: &'static str,
    pub(in crate::page) soon: &'static str,
    pub(in crate::page) minutes: Forms,
    pub(in crate::page) hours: Forms,
    /// Of two numbers: `{low}`, `{high}`; stands for `{n}` in the forms of the higher one.
    pub(in crate::page) range: &'static str,
    pub(in crate::page) in_line: &'static str,
    pub(in crate::page) number: &'static str,
    pub(in crate::page) from_organiser: &'static str,

    pub(in crate::page) keep_open: &'static str,
    pub(in crate::page) no_refresh: &'static str,
    pub(in crate::page) what_next: &'static str,

    pub(in crate::page) enter: &'static str,
    pub(in crate::page) retry: &'static str,
    pub(in crate::page) login_now: &'static str,
    pub(in crate::page) rejoin: &'static str,
    pub(in crate::page) leave: &'static str,
    pub(in crate::page) leave_means: &'static str,
    pub(in crate::page) leave_now: &'static str,

    /// Before a date and time of day.
    pub(in crate::page) opens: &'static str,
    /// In a lobby with a draw: `{index}`, by the order of coming.
    pub(in crate::page) drawn_from: &'static str,

    /// The last answer: `{time}`.
    pub(in crate::page) checked: &'static str,
    pub(in crate::page) trouble: &'static str,
    /// Without scripts: seconds.
    pub(in crate::page) refreshes: Forms,
}

impl Words {
    /// What a scene says.
    pub(in crate::page) fn say(&self, scene: Scene) -> &Say {
        match scene {
            Scene::Waiting => &self.waiting,
            Scene::Paused => &self.paused,
            Scene::Unavailable => &self.unavailable,
            Scene::Lobby => &self.lobby,
            Scene::Waitlisted => &self.waitlisted,
            Scene::Entering => &self.entering,
            Scene::ByHand => &self.by_hand,
            Scene::Lapsed => &self.lapsed,
            Scene::Left => &self.left,
            Scene::Lost => &self.lost,
            Scene::Cookies => &self.cookies,
            Scene::Closed => &self.closed,
            Scene::SoldOut => &self.sold_out,
            Scene::Full => &self.full,
            Scene::Scheduled => &self.scheduled,
            Scene::Outage => &self.outage,
            Scene::Login => &self.login,
        }
    }
}
