//! What an operator may choose about the page. The types check themselves, so that a value that exists is
//! one that the page and its policy can carry; whoever reads the configuration reports what does not parse.

use super::{Colour, Language};

/// How a room's page looks and where it may connect to.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The name of the sale, above the heading and in the tab; at most [`Settings::TITLE_MAX`] characters are
    /// shown. Without one, the words for "waiting room" in the visitor's language.
    pub title: Option<String>,
    /// The accent colour; it is darkened or lightened where it could not be read.
    pub accent: Colour,
    /// A picture above the heading.
    pub logo: Option<Logo>,
    /// The languages that are offered; the first is for those who ask for none of them. Empty: all there are.
    pub languages: Vec<&'static Language>,
    /// The origin of the crowd door, where the page polls when there is one.
    pub crowd: Option<Source>,
    /// Who may show the page in a frame, besides the shop itself.
    pub frame_ancestors: Vec<Source>,
}

impl Settings {
    /// Most characters of a title that are shown.
    pub const TITLE_MAX: usize = 120;
    /// Most characters of an operator's message that are shown.
    pub const MESSAGE_MAX: usize = 1000;
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            title: None,
            accent: Colour(0x0b, 0x6e, 0x69),
            logo: None,
            languages: Vec::new(),
            crowd: None,
            frame_ancestors: Vec::new(),
        }
    }
}

/// A picture that needs no other host: data within the page, or a path of the shop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logo(String);

impl Logo {
    /// Most bytes of a logo as data: it is sent with every page.
    pub const DATA_MAX: usize = 8 * 1024;

    /// Reads a `data:image/...` address of at most [`Logo::DATA_MAX`] bytes or a path from `/`; `None` for
    /// anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let data = text.starts_with("data:image/") && text.len() <= Self::DATA_MAX;
        let path = text.len() <= 1024 && super::escape::same_site(text) == text;
        let plain = text.bytes().all(|b| matches!(b, 0x21..=0x7e));
        (plain && (data || path)).then(|| Self(text.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is_path(&self) -> bool {
        self.0.starts_with('/')
    }
}

/// An origin that a content security policy can name: `http(s)://host[:port]`, ASCII.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source(String);

impl Source {
    /// Reads an origin, or an address whose origin is meant (path and query are dropped); `None` if there is
    /// none in it or if it has characters that a policy could misread.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        let (scheme, rest) = lower.split_once("://")?;
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
        let valid = matches!(scheme, "http" | "https")
            && matches!(host.len(), 1..=260)
            && host.bytes().all(good)
            && !host.starts_with(':');
        valid.then(|| Self(format!("{scheme}://{host}")))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logos_need_no_other_host() {
        for good in ["/logo.svg", "/a/b.png?v=2", "data:image/png;base64,iVBORw0KGgo="] {
            assert!(Logo::parse(good).is_some(), "{good}");
        }
        let long = format!("data:image/png;base64,{}", "A".repeat(Logo::DATA_MAX));
        for bad in ["", "logo.svg", "//e/x", "https://e/x", "data:text/html,x", "/\\e", "/a b", "/é", &long]
        {
            assert!(Logo::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn sources_are_origins() {
        let table = [
            ("https://Crowd.example", Some("https://crowd.example")),
            ("http://127.0.0.1:8081/_ropeline/x?y", Some("http://127.0.0.1:8081")),
            ("https://[::1]:8443", Some("https://[::1]:8443")),
            ("crowd.example", None),
            ("https://", None),
            ("https://a;script-src *", None),
            ("https://a b", None),
            ("https://u@a", None),
            ("https://*", None),
            ("ftp://a", None),
            ("https://ä.example", None),
            ("https://a\r\nb", None),
        ];
        for (text, expected) in table {
            assert_eq!(Source::parse(text).as_ref().map(Source::as_str), expected, "{text}");
        }
    }
}
