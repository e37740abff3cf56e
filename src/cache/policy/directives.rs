//! Reading `Cache-Control` and `Vary`. What cannot be read counts as the strictest that it could have said.

use http::{HeaderMap, header};

/// What `Cache-Control` says, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Directives {
    /// `no-store`, or something unreadable.
    pub(super) no_store: bool,
    /// `private`, with or without field names.
    pub(super) private: bool,
    /// `no-cache`, with or without field names.
    pub(super) no_cache: bool,
    /// `must-revalidate` or `proxy-revalidate`.
    pub(super) never_stale: bool,
}

impl Directives {
    /// All `Cache-Control` lines together.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut said = Self::default();
        for line in headers.get_all(header::CACHE_CONTROL) {
            match line.to_str() {
                Ok(text) => members(text).for_each(|member| said.hear(member)),
                Err(_) => said.no_store = true,
            }
        }
        said
    }

    fn hear(&mut self, member: &str) {
        let name = member.split('=').next().unwrap_or_default().trim();
        match name.to_ascii_lowercase().as_str() {
            "no-store" => self.no_store = true,
            "private" => self.private = true,
            "no-cache" => self.no_cache = true,
            "must-revalidate" | "proxy-revalidate" => self.never_stale = true,
            _ => {}
        }
    }
}

/// Whether the answer varies by anything but its encoding, of which we ask for one only.
pub(super) fn varies(headers: &HeaderMap) -> bool {
    headers.get_all(header::VARY).iter().any(|line| match line.to_str() {
        Ok(text) => members(text).any(|name| !name.eq_ignore_ascii_case("accept-encoding")),
        Err(_) => true,
    })
}

/// The members of a comma separated list; commas within quotes do not separate, empty members do not count.
fn members(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |c: char| {
        let separates = c == ',' && !quoted;
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
        separates
    })
    .map(str::trim)
    .filter(|member| !member.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(lines: &[&'static str]) -> Directives {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::CACHE_CONTROL, HeaderValue::from_static(line));
        }
        Directives::of(&headers)
    }

    #[test]
    fn directives_are_found_wherever_they_stand() {
        assert_eq!(of(&[]), Directives::default());
        assert_eq!(of(&["public, max-age=60"]), Directives::default());
        assert!(of(&["max-age=1 , No-Store"]).no_store);
        assert!(of(&["max-age=1", "private"]).private);
        assert!(of(&[r#"private="set-cookie, x", max-age=1"#]).private);
        assert!(of(&["no-cache=\"set-cookie\""]).no_cache);
        assert!(of(&["s-maxage=3,proxy-revalidate"]).never_stale);
        assert!(of(&["must-revalidate"]).never_stale);
    }

    #[test]
    fn what_is_quoted_is_no_directive_and_what_is_unreadable_forbids() {
        assert!(!of(&[r#"ext="a, no-store, b""#]).no_store);
        assert!(of(&[r#"ext="a\", b", no-store"#]).no_store);
        let mut headers = HeaderMap::new();
        headers.append(header::CACHE_CONTROL, HeaderValue::from_bytes(b"max-age=1\xff").unwrap());
        assert!(Directives::of(&headers).no_store);
    }

    #[test]
    fn only_the_encoding_may_vary() {
        let with = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            headers.append(header::VARY, HeaderValue::from_static(value));
            varies(&headers)
        };
        assert!(!with("accept-encoding"));
        assert!(!with(""));
        assert!(with("*"));
        assert!(with("accept-encoding, Cookie"));
        assert!(!varies(&HeaderMap::new()));
    }
}
