//! Paths in the settings: the one grammar of `route`, kept as text here so that it can be printed as written.

use super::value::{Parsed, quoted};
use crate::route::Pattern;

/// The pattern as written, if it is one.
pub(super) fn pattern(text: &str) -> Parsed<String> {
    match Pattern::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(why) => Err(format!("{} {why}", quoted(text))),
    }
}

/// One spelling for patterns that match the same paths.
pub(super) fn canonical(text: &str, ignore_case: bool) -> String {
    Pattern::parse(text).map_or_else(|_| text.to_owned(), |pattern| pattern.spelling(ignore_case))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        for good in ["/", "/**", "/a", "/a/", "/a/*/b/**", "/caf%C3%A9", "/演唱會/**", "/*/**"] {
            assert!(pattern(good).is_ok(), "{good}");
        }
        for bad in [
            "", "a", "**", "//", "/a//b", "/a//", "/**/a", "/**/", "/a*", "/***", "/./a", "/a/..", "/%2e%2e",
            "/a b", "/a?b", "/a#b", "/a\\b", "/%zz", "/%2", "/%2f", "/%00", "/%25",
        ] {
            assert!(pattern(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn equal_patterns_have_one_spelling() {
        assert_eq!(canonical("/buy/", false), canonical("/%62uy", false));
        assert_eq!(canonical("/Buy", true), canonical("/bUY/", true));
        assert_ne!(canonical("/Buy", false), canonical("/buy", false));
    }
}
