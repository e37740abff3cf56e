//! A request target: the bytes to forward, and the one normalised copy of its path to match.
//!
//! Refused whatever they lead to, since no two servers agree on them:
//!
//! | refused | examples |
//! | --- | --- |
//! | not a path | `*`, `buy`, `` (an absolute `http://host/path` is taken apart) |
//! | bytes that no address may hold | space, control bytes, raw non-ASCII, `#`, raw `\` in the path |
//! | a broken escape in the path | `%`, `%4`, `%zz` |
//! | escapes that hide such bytes | `%00`, `%0a`, `%2500`, `%c0%af` (not UTF-8) |
//! | dot segments, also hidden | `/./`, `/../`, `%2e%2e`, `%252e`, `/..;/`, `%2f..%2f`, `%5c..`, `/.../` |
//! | more than three layers of escapes | `%25252562` |
//! | an odd path (below) longer than 2,048 bytes | |
//!
//! Refused only when its readings lead to different places: doubled slashes, `%2F`, `%5C`, `%3F`, `%23`, double
//! escapes, `;`, spaces around a segment and dots at its end.

use super::reading::{self, Layer};

/// Longest path that is read in several ways, in bytes; bounds the work that one hostile request can cause.
const ODD_MAX: usize = 2048;

/// Why a target is refused with 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Ambiguous {
    /// Neither a path nor an absolute address.
    #[error("the request target is not a path")]
    NotAPath,
    /// A space, a control byte, a raw non-ASCII byte, `#`, or a raw backslash.
    #[error("the request target holds a character that must be escaped")]
    BadByte,
    /// `%` without two hexadecimal digits.
    #[error("the path holds a broken escape")]
    BadEscape,
    /// A control character behind one or more escapes.
    #[error("the path hides a control character")]
    HiddenControl,
    /// Escapes that are not UTF-8.
    #[error("the path is not UTF-8")]
    NotUtf8,
    /// A segment of dots, plain or hidden.
    #[error("the path holds a dot segment")]
    DotSegment,
    /// Escapes of escapes beyond what is followed.
    #[error("the path is escaped too many times")]
    TooDeep,
    /// An odd path that is too long to be read in every way.
    #[error("the path is too long for its unusual spelling")]
    TooLong,
}

/// A target that may be matched and forwarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    raw: String,
    path: String,
    authority: Option<String>,
    /// The other readings' material; empty for a path that has only one.
    layers: Vec<Layer>,
}

impl Target {
    /// Reads the target of a request line as sent: a path with an optional query, or an absolute address.
    ///
    /// # Errors
    /// See [`Ambiguous`] and the table above.
    pub fn read(raw: &str) -> Result<Self, Ambiguous> {
        let (authority, raw) = match raw.split_once("://") {
            Some((scheme, rest)) if is_http(scheme) => take_apart(rest)?,
            _ => (None, raw),
        };
        if !raw.starts_with('/') {
            return Err(Ambiguous::NotAPath);
        }
        if raw.bytes().any(|b| !b.is_ascii_graphic() || b == b'#') {
            return Err(Ambiguous::BadByte);
        }
        let path = raw.split('?').next().unwrap_or(raw);
        let raw = raw.to_owned();
        if reading::is_plain(path) {
            return Ok(Self { path: path.to_owned(), raw, authority, layers: Vec::new() });
        }
        if path.contains('\\') {
            return Err(Ambiguous::BadByte);
        }
        if path.len() > ODD_MAX {
            return Err(Ambiguous::TooLong);
        }
        let layers = reading::layers(path)?;
        let path = layers.first().map(Layer::strict).unwrap_or_default();
        Ok(Self { raw, path, authority, layers })
    }

    /// Path and query byte for byte as they came (without scheme and host, if they were sent).
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// The path in its one spelling, for matching: escapes are resolved once, but for `%2F`, `%5C`, `%25`,
    /// `%3F` and `%23`, which stay. Never forwarded.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The host and port of an absolute target, as sent.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Whether every reading of the path, the strict one included, satisfies `same`.
    pub(super) fn all_readings(&self, mut same: impl FnMut(&str) -> bool) -> bool {
        same(&self.path) && self.layers.iter().all(|layer| layer.readings(&mut same))
    }
}

fn is_http(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// Host and path of what follows `http://`. An address without a path is refused: no client of ours sends it.
fn take_apart(rest: &str) -> Result<(Option<String>, &str), Ambiguous> {
    let slash = rest.find('/').ok_or(Ambiguous::NotAPath)?;
    let (authority, path) = rest.split_at(slash);
    Ok((Some(authority.to_owned()), path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(raw: &str) -> String {
        Target::read(raw).unwrap().path().to_owned()
    }

    #[test]
    fn one_path_and_the_bytes_as_they_came() {
        let target = Target::read("/open/a%2Fb?x=%20&y=//..%zz").unwrap();
        assert_eq!((target.raw(), target.path()), ("/open/a%2Fb?x=%20&y=//..%zz", "/open/a%2Fb"));
        assert_eq!(path("/%62uy"), "/buy");
        assert_eq!(path("/bu%79"), "/buy");
        assert_eq!(path("/buy%20x"), "/buy x");
        assert_eq!(path("/%E6%BC%94"), "/演");
        assert_eq!(path("/a%25b"), "/a%25b");
        assert_eq!(path("/a%3bb;c"), "/a;b;c");
        assert_eq!(path("/a//b/"), "/a//b/");
        assert_eq!(path("/open?a=1;b=2"), "/open");
    }

    #[test]
    fn an_absolute_target_is_taken_apart() {
        let target = Target::read("http://Shop.example:80/a?b").unwrap();
        assert_eq!((target.authority(), target.raw()), (Some("Shop.example:80"), "/a?b"));
        assert_eq!(Target::read("http://shop.example"), Err(Ambiguous::NotAPath));
        assert_eq!(Target::read("ftp://shop.example/"), Err(Ambiguous::NotAPath));
    }

    #[test]
    fn what_no_two_servers_agree_on_is_refused() {
        use Ambiguous::*;
        let cases = [
            (NotAPath, vec!["", "*", "buy", "?x"]),
            (BadByte, vec!["/a b", "/a\u{7f}", "/ä", "/a#b", "/a?b#c", "/a\\b", "/a?b c", "/a\tb"]),
            (BadEscape, vec!["/buy%", "/buy%4", "/%zz", "/%+1"]),
            (HiddenControl, vec!["/buy%00", "/a%0d%0ab", "/a%2500", "/a%7f", "/%c2%85"]),
            (NotUtf8, vec!["/%c0%afbuy", "/%ff"]),
            (
                DotSegment,
                vec![
                    "/.",
                    "/./buy",
                    "/open/../buy",
                    "/open//../buy",
                    "/buy/.",
                    "/%2e%2e/buy",
                    "/.%2e/buy",
                    "/%252e%252e/x",
                    "/open/..;/buy",
                    "/open;a/../buy",
                    "/open%2f..%2fbuy",
                    "/open%5c..%5cbuy",
                    "/open/..%20/buy",
                    "/a/.../b",
                    "/a/..%3fx",
                    "/a%252f..",
                ],
            ),
            (TooDeep, vec!["/%2525252562"]),
        ];
        for (reason, targets) in cases {
            for raw in targets {
                assert_eq!(Target::read(raw), Err(reason), "{raw}");
            }
        }
        assert_eq!(Target::read(&format!("/{}", "%41".repeat(1000))), Err(TooLong));
        assert!(Target::read(&format!("/{}", "a".repeat(10_000))).is_ok());
    }
}
