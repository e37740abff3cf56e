//! The one grammar of paths in the settings: exact segments, `*` for one segment, a final `/**` for this and
//! all below.
//!
//! When several patterns match, the most specific wins, in a total order: more segments first; then the first
//! segment from the left that is exact in one and `*` in the other; then an exact end before `/**`. Two
//! patterns that match one path and are equal in all of that are the same pattern.

use std::cmp::Ordering;
use std::fmt;

use super::reading;

/// A path in the settings, such as `/events/*/buy/**`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    segments: Vec<Segment>,
    below: bool,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Segment {
    Exact(String),
    Any,
}

/// Why a text is no pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    /// Does not begin with `/`.
    #[error("must begin with a slash, such as \"/buy/**\"")]
    NoSlash,
    /// Two slashes in a row.
    #[error("must not hold an empty segment (//)")]
    EmptySegment,
    /// `*` beside other characters, or `**` that is not the last segment.
    #[error("* stands for a whole segment, and ** only for the last")]
    Star,
    /// A character or an escape that the path of a request may not hold, a dot segment among them.
    #[error("holds what no request's path may hold")]
    BadSegment,
}

impl Pattern {
    /// Reads a pattern. A final slash is ignored, in patterns as in requests; escapes are resolved.
    ///
    /// # Errors
    /// See [`BadPattern`].
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let inside = text.strip_prefix('/').ok_or(BadPattern::NoSlash)?;
        let mut parts: Vec<&str> = inside.split('/').collect();
        let below = parts.last() == Some(&"**");
        if below || parts.last() == Some(&"") {
            parts.pop();
        }
        let segments = parts.into_iter().map(Segment::parse).collect::<Result<_, _>>()?;
        Ok(Self { segments, below, text: text.to_owned() })
    }

    /// The same pattern for paths without regard to case.
    #[must_use]
    pub fn folded(mut self) -> Self {
        for segment in &mut self.segments {
            if let Segment::Exact(text) = segment {
                *text = text.chars().flat_map(fold).collect();
            }
        }
        self
    }

    /// One spelling for all patterns that match the same paths.
    #[must_use]
    pub fn spelling(&self, ignore_case: bool) -> String {
        let pattern = if ignore_case { self.clone().folded() } else { self.clone() };
        let segments = pattern.segments.iter().map(|segment| match segment {
            Segment::Exact(text) => text.as_str(),
            Segment::Any => "*",
        });
        let below = pattern.below.then_some("**");
        segments.chain(below).fold(String::new(), |path, segment| path + "/" + segment)
    }

    /// Whether a normalised path ([`super::Target::path`]) is under this pattern.
    #[must_use]
    pub fn matches(&self, path: &str) -> bool {
        self.walk(path, |expected, segment| expected == segment)
    }

    /// The same without regard to case; only for patterns that were [`Pattern::folded`].
    pub fn matches_folded(&self, path: &str) -> bool {
        self.walk(path, |expected, segment| expected.chars().eq(segment.chars().flat_map(fold)))
    }

    fn walk(&self, path: &str, same: impl Fn(&str, &str) -> bool) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        let path = path.strip_suffix('/').unwrap_or(path);
        let mut given = path.split('/');
        if path.is_empty() {
            given.next();
        }
        for segment in &self.segments {
            let fits = match (segment, given.next()) {
                (_, None) => false,
                (Segment::Any, Some(text)) => !text.is_empty(),
                (Segment::Exact(expected), Some(text)) => same(expected, text),
            };
            if !fits {
                return false;
            }
        }
        self.below || given.next().is_none()
    }

    /// Whether both match the same paths.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.segments == other.segments && self.below == other.below
    }

    /// `Less` when `self` is the more specific.
    #[must_use]
    pub fn specificity(&self, other: &Self) -> Ordering {
        let stars = |pattern: &Self| -> Vec<bool> {
            pattern.segments.iter().map(|s| matches!(s, Segment::Any)).collect()
        };
        other
            .segments
            .len()
            .cmp(&self.segments.len())
            .then_with(|| stars(self).cmp(&stars(other)))
            .then_with(|| self.below.cmp(&other.below))
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, BadPattern> {
        match text {
            "" => Err(BadPattern::EmptySegment),
            "*" => Ok(Self::Any),
            _ if text.contains('*') => Err(BadPattern::Star),
            _ if text.contains(|c: char| c.is_whitespace() || "?#\\".contains(c)) => {
                Err(BadPattern::BadSegment)
            }
            _ => {
                let layers = reading::layers(&format!("/{text}")).map_err(|_| BadPattern::BadSegment)?;
                let strict = layers.first().map(reading::Layer::strict).unwrap_or_default();
                let segment = strict.trim_start_matches('/').to_owned();
                // An escaped slash, backslash or percent sign would be read in several ways in a request.
                let plain = !segment.is_empty() && !segment.contains(['/', '\\', '%']);
                plain.then_some(Self::Exact(segment)).ok_or(BadPattern::BadSegment)
            }
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One letter without its case, wide enough for servers that compare in upper case and in lower case.
pub(super) fn fold(c: char) -> impl Iterator<Item = char> {
    c.to_uppercase().flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        Pattern::parse(text).unwrap()
    }

    #[test]
    fn exact_star_and_below() {
        let cases = [
            ("/buy", &["/buy", "/buy/"][..], &["/", "/buyer", "/buy/x", "/Buy", "//buy"][..]),
            ("/events/*/buy", &["/events/42/buy"], &["/events/buy", "/events//buy", "/events/4/2/buy"]),
            ("/buy/**", &["/buy", "/buy/", "/buy/a/b", "/buy//"], &["/buyer", "/", "/a/buy"]),
            ("/**", &["/", "/a", "/a/b/"], &[]),
            ("/", &["/"], &["/a"]),
            ("/演唱會/**", &["/演唱會/a"], &["/演"]),
            ("/caf%C3%A9", &["/café"], &["/cafe"]),
        ];
        for (text, yes, no) in cases {
            yes.iter().for_each(|path| assert!(pattern(text).matches(path), "{text} {path}"));
            no.iter().for_each(|path| assert!(!pattern(text).matches(path), "{text} {path}"));
        }
    }

    #[test]
    fn case_is_folded_only_when_asked() {
        let folded = pattern("/Buy/Straße").folded();
        for path in ["/BUY/STRASSE", "/buy/straße"] {
            assert!(folded.matches_folded(path), "{path}");
        }
        assert!(pattern("/tik").folded().matches_folded("/ti\u{212a}"));
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        use BadPattern::*;
        let cases = [
            ("buy", NoSlash),
            ("", NoSlash),
            ("/a//b", EmptySegment),
            ("/a*", Star),
            ("/**/a", Star),
            ("/a/../b", BadSegment),
            ("/a b", BadSegment),
            ("/a?b", BadSegment),
            ("/%zz", BadSegment),
        ];
        for (text, reason) in cases {
            assert_eq!(Pattern::parse(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn the_order_is_total() {
        let ordered = [
            "/a/b/c",
            "/a/b/*",
            "/a/*/c/**",
            "/*/b/c",
            "/a/b",
            "/a/b/**",
            "/a/*",
            "/a",
            "/*",
            "/*/**",
            "/",
            "/**",
        ];
        for (i, more) in ordered.iter().enumerate() {
            for (j, less) in ordered.iter().enumerate() {
                let order = pattern(more).specificity(&pattern(less));
                assert_eq!(order, i.cmp(&j), "{more} {less}");
            }
        }
    }
}
