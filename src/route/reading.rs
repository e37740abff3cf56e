//! Every way in which a common server may read one path.
//!
//! Servers differ in how often they resolve escapes, whether an escaped slash or a backslash separates, what
//! becomes of `;` and of an escaped `?` or `#`, whether empty segments count, and whether spaces and dots around
//! a segment do. Each combination is one reading, and only those differences are combined whose characters
//! are there, so an ordinary path has exactly one. The strict reading, which the gate goes by, is the
//! combination "escapes once, nothing else". Letter case is the matcher's business.

use super::target::Ambiguous;

/// Most layers of escapes that are followed.
const LAYERS_MAX: usize = 3;

/// Stands for a slash that came out of an escape; no control character is let in otherwise.
const HIDDEN_SLASH: char = '\u{1}';

/// A path with its escapes resolved a number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layer(String);

/// What a server does with `;` in a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Params {
    Keep,
    /// Cut from every segment, as Java servers do.
    CutEach,
    /// The path ends there.
    CutAll,
}

/// One way of reading.
#[derive(Debug, Clone, Copy)]
struct Reading {
    hidden_slash: bool,
    backslash: bool,
    params: Params,
    query: bool,
    trim: bool,
    merge: bool,
}

/// Whether a path has one reading only, so that it is its own normalised copy.
pub(super) fn is_plain(path: &str) -> bool {
    !path.bytes().any(|b| matches!(b, b'%' | b';' | b'\\'))
        && !path.contains("//")
        && !path.contains("./")
        && !path.ends_with('.')
}

/// The path after one resolution of its escapes, after two, and so on until nothing changes.
pub(super) fn layers(path: &str) -> Result<Vec<Layer>, Ambiguous> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut bytes = path.as_bytes().to_vec();
    loop {
        let (next, changed) = resolve(&bytes, layers.is_empty())?;
        if !changed && !layers.is_empty() {
            return Ok(layers);
        }
        if layers.len() == LAYERS_MAX {
            return Err(Ambiguous::TooDeep);
        }
        let layer = if layers.is_empty() {
            Layer(String::from_utf8(next.clone()).map_err(|_| Ambiguous::NotUtf8)?)
        } else {
            Layer(String::from_utf8_lossy(&next).into_owned())
        };
        layer.check()?;
        layers.push(layer);
        bytes = next;
    }
}

/// Resolves every escape once. Broken escapes are an error in what the client sent; in deeper layers a `%`
/// is just a character.
fn resolve(bytes: &[u8], strict: bool) -> Result<(Vec<u8>, bool), Ambiguous> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut changed = false;
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let escape = match tail {
            [high, low, after @ ..] => hex(*high).zip(hex(*low)).map(|(h, l)| (h * 16 + l, after)),
            _ => None,
        };
        match escape {
            Some((byte, after)) => {
                if byte < 0x20 || byte == 0x7f {
                    return Err(Ambiguous::HiddenControl);
                }
                out.push(if byte == b'/' { HIDDEN_SLASH as u8 } else { byte });
                changed = true;
                rest = after;
            }
            None if strict => return Err(Ambiguous::BadEscape),
            None => out.push(b'%'),
        }
    }
    Ok((out, changed))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

/// How a character that separates or ends something is written when it is only a character.
fn push_plain(out: &mut String, c: char) {
    match c {
        HIDDEN_SLASH => out.push_str("%2F"),
        '\\' => out.push_str("%5C"),
        '%' => out.push_str("%25"),
        '?' => out.push_str("%3F"),
        '#' => out.push_str("%23"),
        other => out.push(other),
    }
}

impl Layer {
    /// Refuses hidden control characters and dot segments under any separator.
    fn check(&self) -> Result<(), Ambiguous> {
        if self.0.chars().any(|c| c.is_control() && c != HIDDEN_SLASH) {
            return Err(Ambiguous::HiddenControl);
        }
        let dots = |segment: &str| {
            let segment = segment.split([';', '?', '#']).next().unwrap_or_default().trim();
            segment.contains('.') && segment.chars().all(|c| c == '.' || c.is_whitespace())
        };
        if self.0.split(['/', '\\', HIDDEN_SLASH]).any(dots) {
            return Err(Ambiguous::DotSegment);
        }
        Ok(())
    }

    /// The reading that the gate goes by.
    pub(super) fn strict(&self) -> String {
        let nothing = Reading {
            hidden_slash: false,
            backslash: false,
            params: Params::Keep,
            query: false,
            trim: false,
            merge: false,
        };
        nothing.of(&self.0)
    }

    /// Whether all readings of this layer satisfy `same`; stops at the first that does not.
    pub(super) fn readings(&self, same: &mut impl FnMut(&str) -> bool) -> bool {
        let choice = |there: bool| if there { &[false, true][..] } else { &[false][..] };
        let hidden_slashes = choice(self.0.contains(HIDDEN_SLASH));
        let backslashes = choice(self.0.contains('\\'));
        let queries = choice(self.0.contains(['?', '#']));
        let params = match self.0.contains(';') {
            true => &[Params::Keep, Params::CutEach, Params::CutAll][..],
            false => &[Params::Keep][..],
        };
        let trims = choice(self.0.contains(|c: char| c.is_whitespace() || c == '.'));
        for &hidden_slash in hidden_slashes {
            for &backslash in backslashes {
                for &query in queries {
                    for &params in params {
                        for &trim in trims {
                            for merge in [false, true] {
                                let reading = Reading { hidden_slash, backslash, params, query, trim, merge };
                                if !same(&reading.of(&self.0)) {
                                    return false;
                                }
                            }
                        }
                    }
                }
            }
        }
        true
    }
}

impl Reading {
    /// The path that this reading makes of a layer, in the spelling that patterns are matched on.
    fn of(self, layer: &str) -> String {
        let mut whole = layer;
        if self.query {
            whole = whole.split(['?', '#']).next().unwrap_or_default();
        }
        if self.params == Params::CutAll {
            whole = whole.split(';').next().unwrap_or_default();
        }
        let separates =
            |c: char| c == '/' || (c == '\\' && self.backslash) || (c == HIDDEN_SLASH && self.hidden_slash);
        let mut out = String::with_capacity(whole.len());
        let mut segments = whole.split(separates).skip(1).peekable();
        while let Some(segment) = segments.next() {
            let segment = self.segment(segment);
            if segment.is_empty() && self.merge && segments.peek().is_some() {
                continue;
            }
            out.push('/');
            segment.chars().for_each(|c| push_plain(&mut out, c));
        }
        if out.is_empty() {
            out.push('/');
        }
        out
    }

    fn segment(self, segment: &str) -> &str {
        let kept = match self.params {
            Params::CutEach => segment.split(';').next().unwrap_or_default(),
            Params::Keep | Params::CutAll => segment,
        };
        match self.trim {
            true => kept.trim_start().trim_end_matches(|c: char| c.is_whitespace() || c == '.'),
            false => kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(path: &str) -> Vec<String> {
        let mut seen = Vec::new();
        for layer in layers(path).unwrap() {
            layer.readings(&mut |reading: &str| {
                if !seen.iter().any(|s| s == reading) {
                    seen.push(reading.to_owned());
                }
                true
            });
        }
        seen.sort();
        seen
    }

    #[test]
    fn an_ordinary_escape_has_one_reading() {
        assert_eq!(all("/%E6%BC%94/caf%C3%A9"), ["/演/café"]);
        assert!(is_plain("/events/42/buy") && is_plain("/a.b/c.tar.gz") && is_plain("/"));
        for odd in ["/a%41", "//a", "/a;b", "/a.", "/a./b"] {
            assert!(!is_plain(odd), "{odd}");
        }
    }

    #[test]
    fn every_difference_is_combined() {
        assert_eq!(all("/a%2Fb"), ["/a%2Fb", "/a/b"]);
        assert_eq!(all("/a%5cb"), ["/a%5Cb", "/a/b"]);
        assert_eq!(all("//buy"), ["//buy", "/buy"]);
        assert_eq!(all("/%2562uy"), ["/%2562uy", "/buy"]);
        assert_eq!(all("/buy;x/y"), ["/buy", "/buy/y", "/buy;x/y"]);
        assert_eq!(all("/buy%3fx"), ["/buy", "/buy%3Fx"]);
        assert_eq!(all("/buy%20"), ["/buy", "/buy "]);
        assert_eq!(all("/;/buy"), ["/", "//buy", "/;/buy", "/buy"]);
    }
}
