//! The languages of the page. One file each, all texts in one struct, so that a language with a missing text
//! does not compile. To add one: its file, and its line in the table below.

mod negotiate;
mod words;

pub(super) use negotiate::negotiate;
pub use words::Language;
pub(super) use words::{Category, Forms, Say, Words};

macro_rules! languages {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*
        /// Every language that there is, in the order in which they are offered when nothing else is set.
        pub(super) static LANGUAGES: &[&Language] = &[$(&$name::LANGUAGE),*];
    };
}

languages! {
    en,
    zh_hant,
}

impl Language {
    /// The language with this tag, in any case; `None` if there is none.
    #[must_use]
    pub fn by_tag(tag: &str) -> Option<&'static Self> {
        LANGUAGES.iter().copied().find(|language| language.tag.eq_ignore_ascii_case(tag))
    }

    /// The tags of all languages, for messages to operators.
    #[must_use]
    pub fn tags() -> Vec<&'static str> {
        LANGUAGES.iter().map(|language| language.tag).collect()
    }

    /// The tag (BCP 47), as in `lang` and `Content-Language`.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        self.tag
    }
}
