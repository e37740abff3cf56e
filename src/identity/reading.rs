//! Where an account's name stands in a request. Two different values of one name are none: the shop might
//! believe the other one.

use http::{HeaderMap, HeaderName, header};

/// The longest name of an account, in bytes.
pub(super) const VALUE_MAX: usize = 1024;

/// What stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found<'h> {
    /// Nothing, or an empty value.
    Nothing,
    /// One value, however often.
    One(&'h str),
    /// Several that differ, or one that is no text.
    Several,
}

/// The value of a cookie.
pub(super) fn cookie<'h>(headers: &'h HeaderMap, name: &str) -> Found<'h> {
    let lines = headers.get_all(header::COOKIE).iter();
    let mut found = Found::Nothing;
    for line in lines {
        let Ok(line) = line.to_str() else {
            // Part of it is no text; what the shop makes of such a line is not known.
            if contains(line.as_bytes(), name.as_bytes()) {
                return Found::Several;
            }
            continue;
        };
        for (key, value) in line.split(';').filter_map(|pair| pair.trim().split_once('=')) {
            if key.trim_end() == name {
                found = with(found, value.trim_start());
            }
        }
    }
    found
}

/// The value of a header.
pub(super) fn header<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Found<'h> {
    headers.get_all(name).iter().fold(Found::Nothing, |found, value| match value.to_str() {
        Ok(text) => with(found, text.trim()),
        Err(_) => Found::Several,
    })
}

/// A token from a header of this name, or else from a cookie.
pub(super) fn token<'h>(headers: &'h HeaderMap, name: &str) -> Found<'h> {
    let from_header = HeaderName::try_from(name).map_or(Found::Nothing, |name| header(headers, &name));
    match from_header {
        Found::Nothing => cookie(headers, name),
        Found::One(text) => bare(text),
        Found::Several => Found::Several,
    }
}

/// Without the scheme; another scheme carries no token.
fn bare(text: &str) -> Found<'_> {
    match text.split_once(' ') {
        None => Found::One(text),
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => with(Found::Nothing, token.trim()),
        Some(_) => Found::Nothing,
    }
}

fn with<'h>(found: Found<'h>, value: &'h str) -> Found<'h> {
    match found {
        _ if value.is_empty() => found,
        Found::Nothing => Found::One(value),
        Found::One(first) if first == value => found,
        Found::One(_) | Found::Several => Found::Several,
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(n, v)| (HeaderName::from_static(n), v.parse().unwrap())).collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_two_that_differ_are_none() {
        let read = |lines: &[(&'static str, &'static str)]| {
            let headers = headers(lines);
            match cookie(&headers, "session") {
                Found::One(text) => text.to_owned(),
                other => format!("{other:?}"),
            }
        };
        assert_eq!(read(&[("cookie", "a=1; session=x=y; Session=2; xsession=3")]), "x=y");
        assert_eq!(read(&[("cookie", "session=x"), ("cookie", "b=1;session=x")]), "x");
        assert_eq!(read(&[("cookie", "session=x; session=y")]), "Several");
        assert_eq!(read(&[("cookie", "session=x"), ("cookie", "session=y")]), "Several");
        assert_eq!(read(&[("cookie", "session=; sessio=1")]), "Nothing");
        assert_eq!(read(&[]), "Nothing");
        let odd = HeaderMap::from_iter([(
            header::COOKIE,
            http::HeaderValue::from_bytes(b"session=x; b=\xff").unwrap(),
        )]);
        assert_eq!(cookie(&odd, "session"), Found::Several);
        assert_eq!(cookie(&odd, "basket"), Found::Nothing);
    }

    #[test]
    fn a_token_is_a_bearer_or_stands_alone_or_is_a_cookie() {
        for (lines, found) in [
            (vec![("authorization", "Bearer a.b.c")], Found::One("a.b.c")),
            (vec![("authorization", "bearer  a.b.c ")], Found::One("a.b.c")),
            (vec![("authorization", "Basic abc")], Found::Nothing),
            (vec![("authorization", "Bearer ")], Found::One("Bearer")),
            (vec![("authorization", "Bearer a"), ("authorization", "Bearer b")], Found::Several),
            (vec![("cookie", "authorization=a.b.c")], Found::One("a.b.c")),
            (vec![("cookie", "authorization=x"), ("authorization", "a.b.c")], Found::One("a.b.c")),
            (vec![], Found::Nothing),
        ] {
            assert_eq!(token(&headers(&lines), "authorization"), found, "{lines:?}");
        }
        assert_eq!(token(&headers(&[("cookie", "a(b=t")]), "a(b"), Found::One("t"), "no name of a header");
    }
}
