//! Text from outside made harmless, for the two places where it may stand: HTML text or attribute values, and
//! JSON within a script element. Nothing else of the page takes text from outside.

use serde::Serialize;

/// `text` for HTML text and for attribute values in double or single quotes.
pub(super) fn html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            // Parsers turn it into LF.
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}

/// `value` as JSON that can stand within a script element: nothing in it can end the element or open a comment.
pub(super) fn json<T: Serialize>(value: &T) -> String {
    // Only maps with keys that are no text, and failing writers, make this fail; the page has neither.
    let plain = serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned());
    let mut out = String::with_capacity(plain.len() + 16);
    for c in plain.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

/// What people wrote, for people: at most `max` characters, line breaks kept, without other control
/// characters and without those that turn the direction of the text around them.
pub(super) fn prose(text: &str, max: usize) -> String {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut kept = text.chars().filter(|c| (*c == '\n' || !c.is_control()) && !turns(*c));
    let mut out: String = kept.by_ref().take(max).collect();
    if kept.next().is_some() {
        out.push('…');
    }
    out.trim().to_owned()
}

/// `path` if it can only lead to this site, else `/`. The caller has checked it already; this is the second lock.
pub(super) fn same_site(path: &str) -> &str {
    let odd = |c: char| c.is_control() || c.is_whitespace() || c == '\\';
    let outside = !path.starts_with('/') || path.starts_with("//") || path.chars().any(odd);
    if outside { "/" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_has_no_way_out() {
        assert_eq!(
            html("</script><b a=\"x\" c='y'>&`"),
            "&lt;/script&gt;&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;&#96;"
        );
    }

    #[test]
    fn json_cannot_end_its_element_and_means_the_same() {
        let text = "</script><!-- \"quotes\" 'single' \\ \r\n \u{2028}\u{2029} \u{200f}&amp;";
        let out = json(&text);
        assert!(!out.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\r', '\n']), "{out}");
        assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text);
    }

    #[test]
    fn prose_keeps_lines_and_marks_but_not_controls() {
        assert_eq!(prose(" a\r\nb\rc\u{0}\u{7f}\u{85}\u{202e}d\u{2066}\u{200f} ", 99), "a\nb\ncd\u{200f}");
        assert_eq!(prose("界界界", 2), "界界…");
        assert_eq!(prose("界界", 2), "界界");
    }

    #[test]
    fn only_paths_of_this_site_pass() {
        for good in ["/", "/a?b=/c//d&e=https://x", "/a%0d%0ab"] {
            assert_eq!(same_site(good), good);
        }
        let bad = [
            "",
            "a",
            "//e",
            "/\\e",
            "/\t/e",
            "/a\r\nb",
            "https:e",
            "https://e",
            "javascript:1",
            " /a",
            "/a b",
        ];
        for path in bad {
            assert_eq!(same_site(path), "/", "{path:?}");
        }
    }
}
