//! The template: text with named holes `{{name}}`, read once. A value that fills a hole is never read again,
//! so braces in it mean nothing.

/// A piece of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// As it is.
    Text(&'a str),
    /// A hole, by name.
    Hole(&'a str),
}

/// The pieces of `source`, in order.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, tail)) = after.split_once("}}") else { break };
        pieces.push(Piece::Text(before));
        pieces.push(Piece::Hole(name));
        rest = tail;
    }
    pieces.push(Piece::Text(rest));
    pieces
}

/// `source` without indentation, empty lines and the lines that are comments only (of HTML, CSS or script):
/// sources stay readable, pages small. No text in the sources spans lines.
pub(super) fn squeeze(source: &str) -> String {
    let comment = |line: &str| {
        line.starts_with("//") || line.starts_with("/*") && line.ends_with("*/") || line.starts_with("<!--")
    };
    let mut out = String::with_capacity(source.len());
    for line in source.lines().map(str::trim).filter(|line| !line.is_empty() && !comment(line)) {
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// Template text without the indentation of its lines; what stands around a hole in a line is kept.
pub(super) fn squeeze_between(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut out = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        out.push('\n');
        out.push_str(line.trim_start());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_found_and_the_rest_is_text() {
        use Piece::{Hole, Text};
        assert_eq!(pieces("a{{b}}{{c}}d"), [Text("a"), Hole("b"), Text(""), Hole("c"), Text("d")]);
        assert_eq!(pieces("a{{b"), [Text("a{{b")]);
        assert_eq!(pieces(""), [Text("")]);
    }

    #[test]
    fn squeezing_drops_comments_and_indentation_only() {
        assert_eq!(
            squeeze("/* c */\n  a { b: c; } /* d */\n\n// e\n\tf // g\n"),
            "a { b: c; } /* d */\nf // g\n"
        );
    }
}
