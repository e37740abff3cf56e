//! The syntax gate: a request head as raw bytes, checked before pingora's tolerant parser sees it.
//!
//! Refused here because servers disagree on it: bare line feeds, folded lines, spaces before a colon, control
//! characters, more than one way to find the end of the body. What passes has exactly one framing.

use crate::route::{Host, Target};

/// Why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadHead {
    /// Not HTTP/1.x as the grammar has it.
    Syntax,
    /// No `Host` line, several, an unusable one, or one that contradicts an absolute target.
    Host,
    /// More than one length, a length that is no number, or a coding that is not `chunked` alone.
    Framing,
    /// The request line is longer than a whole head may be.
    LineTooLong,
    /// The head is longer, or has more lines, than allowed.
    TooLarge,
}

/// Where a head ends that may still be arriving. `seen` is how many bytes earlier calls have looked at.
pub(super) fn end(bytes: &[u8], seen: usize) -> Result<Option<usize>, BadHead> {
    let from = seen.saturating_sub(3);
    let mut before = if from == 0 { 0 } else { bytes.get(from - 1).copied().unwrap_or(0) };
    for (offset, byte) in bytes.iter().enumerate().skip(from) {
        if *byte == b'\n' {
            if before != b'\r' {
                return Err(BadHead::Syntax);
            }
            if offset >= 3 && bytes.get(offset - 3..offset - 1) == Some(b"\r\n") {
                return Ok(Some(offset + 1));
            }
        }
        before = *byte;
    }
    Ok(None)
}

/// Which bound a head of more than `max` bytes has broken.
pub(super) fn too_long(bytes: &[u8], max: usize) -> BadHead {
    let line_fits = bytes.get(..max).is_some_and(|first| first.contains(&b'\n'));
    if line_fits { BadHead::TooLarge } else { BadHead::LineTooLong }
}

/// Checks a whole head, its blank line included.
pub(super) fn check(head: &[u8], lines_max: usize) -> Result<(), BadHead> {
    let text = head.strip_suffix(b"\r\n\r\n").ok_or(BadHead::Syntax)?;
    let mut lines = text.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let (target, version) = request_line(lines.next().unwrap_or_default())?;
    let mut framing = Framing::default();
    let mut host = None;
    for (count, line) in lines.enumerate() {
        if count >= lines_max {
            return Err(BadHead::TooLarge);
        }
        let (name, value) = field(line)?;
        framing.note(name, value)?;
        if name.eq_ignore_ascii_case(b"host") && host.replace(value.trim_ascii()).is_some() {
            return Err(BadHead::Host);
        }
    }
    one_host(target, host)?;
    if framing.chunked && (framing.length.is_some() || version == 0) {
        return Err(BadHead::Framing);
    }
    Ok(())
}

/// Exactly one host, and the one of an absolute target if there is one: pingora would answer in its own words.
fn one_host(target: &[u8], line: Option<&[u8]>) -> Result<(), BadHead> {
    let text = |bytes| std::str::from_utf8(bytes).map_err(|_| BadHead::Host);
    let host = Host::read(text(line.unwrap_or_default())?).map_err(|_| BadHead::Host)?;
    if target.starts_with(b"/") {
        return Ok(());
    }
    let target = Target::read(text(target)?).map_err(|_| BadHead::Syntax)?;
    match target.authority().map(Host::read) {
        Some(Ok(named)) if named == host => Ok(()),
        _ => Err(BadHead::Host),
    }
}

/// Target and minor version of `METHOD target HTTP/1.x`.
fn request_line(line: &[u8]) -> Result<(&[u8], u8), BadHead> {
    let mut parts = line.split(|b| *b == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(BadHead::Syntax);
    };
    let good = !method.is_empty()
        && method.iter().all(|b| is_token(*b))
        && !target.is_empty()
        && target.iter().all(u8::is_ascii_graphic);
    match version {
        b"HTTP/1.1" if good => Ok((target, 1)),
        b"HTTP/1.0" if good => Ok((target, 0)),
        _ => Err(BadHead::Syntax),
    }
}

fn field(line: &[u8]) -> Result<(&[u8], &[u8]), BadHead> {
    let colon = line.iter().position(|b| *b == b':').ok_or(BadHead::Syntax)?;
    let (name, value) = line.split_at(colon);
    let value = value.get(1..).unwrap_or_default();
    let good = !name.is_empty()
        && name.iter().all(|b| is_token(*b))
        && value.iter().all(|b| !b.is_ascii_control() || *b == b'\t');
    if good { Ok((name, value)) } else { Err(BadHead::Syntax) }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[derive(Default)]
struct Framing<'h> {
    length: Option<&'h [u8]>,
    chunked: bool,
}

impl<'h> Framing<'h> {
    fn note(&mut self, name: &[u8], value: &'h [u8]) -> Result<(), BadHead> {
        // Both ways of writing it: some servers read `_` as `-`.
        let plain: Vec<u8> =
            name.iter().map(|b| if *b == b'_' { b'-' } else { b.to_ascii_lowercase() }).collect();
        match plain.as_slice() {
            b"content-length" => {
                let value = value.trim_ascii();
                let number = !value.is_empty() && value.len() <= 18 && value.iter().all(u8::is_ascii_digit);
                if self.length.is_some() || !number || name.contains(&b'_') {
                    return Err(BadHead::Framing);
                }
                self.length = Some(value);
            }
            b"transfer-encoding" => {
                let spaces = value.strip_prefix(b" ").unwrap_or(value);
                if self.chunked || !spaces.eq_ignore_ascii_case(b"chunked") || name.contains(&b'_') {
                    return Err(BadHead::Framing);
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<(), BadHead> {
        check(text.as_bytes(), 5)
    }

    #[test]
    fn the_end_is_found_however_it_arrives() {
        let bytes = b"GET / HTTP/1.1\r\nHost: a\r\n\r\nbody\n\n";
        for cut in 0..bytes.len() {
            let first = end(&bytes[..cut], 0).unwrap();
            assert_eq!(first.or_else(|| end(bytes, cut).unwrap()), Some(27), "{cut}");
        }
        assert_eq!(end(b"GET / HTTP/1.1\nHost: a\n\n", 0), Err(BadHead::Syntax));
    }

    #[test]
    fn a_plain_head_passes() {
        assert_eq!(head("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(()));
        assert_eq!(head("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"), Ok(()));
        assert_eq!(head("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"), Ok(()));
    }

    #[test]
    fn what_can_be_framed_in_two_ways_is_refused() {
        for lines in [
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Transfer-Encoding: chunked\t",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: identity, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer_Encoding: chunked",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 5, 5",
            "Content-Length: +5",
            "Content-Length: 0x5",
            "Content-Length:",
        ] {
            assert_eq!(
                head(&format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n")),
                Err(BadHead::Framing),
                "{lines}"
            );
        }
        let old = "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(head(old), Err(BadHead::Framing));
    }

    #[test]
    fn there_is_one_host() {
        for text in [
            "GET / HTTP/1.1\r\nA: b\r\n\r\n",
            "GET / HTTP/1.1\r\nHost:\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n",
            "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            assert_eq!(head(text), Err(BadHead::Host), "{text:?}");
        }
        assert_eq!(head("GET http://A/ HTTP/1.1\r\nHost: a\r\n\r\n"), Ok(()));
    }

    #[test]
    fn what_is_not_the_grammar_is_refused() {
        for text in [
            "GET /\r\n\r\n",
            "GET  / HTTP/1.1\r\n\r\n",
            "GET /a b HTTP/1.1\r\n\r\n",
            "GET / HTTP/2.0\r\n\r\n",
            "G(T / HTTP/1.1\r\n\r\n",
            "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n",
            "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
            "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n",
            "GET / HTTP/1.1\r\nA: \0\r\n\r\n",
            "GET / HTTP/1.1\r\nnocolon\r\n\r\n",
        ] {
            assert_eq!(head(text), Err(BadHead::Syntax), "{text:?}");
        }
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(6));
        assert_eq!(head(&many), Err(BadHead::TooLarge));
    }
}
