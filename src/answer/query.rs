//! The one query parameter that we read: where to go back to, always on the same site.

use std::fmt::Write;

use crate::route::Target;

/// The longest return target.
const RETURN_MAX: usize = 2048;

/// A path and query as the value of a query parameter.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _never_fails = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// The `return` parameter of a target, decoded, if it is a plain path of the same site.
pub(super) fn return_to(raw: &str) -> Option<String> {
    let (_, query) = raw.split_once('?')?;
    let value = query.split('&').find_map(|pair| pair.strip_prefix("return="))?;
    let decoded = unescape(value)?;
    same_site(&decoded).then_some(decoded)
}

/// Whether a text can be put into `Location` and stays on this site: one slash first, nothing that a browser
/// reads as one, and a target that we would accept ourselves.
fn same_site(target: &str) -> bool {
    let second = target.as_bytes().get(1).copied();
    target.len() <= RETURN_MAX
        && target.starts_with('/')
        && !matches!(second, Some(b'/' | b'\\'))
        && target.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
        && Target::read(target).is_ok()
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_return_target_survives_the_way_there_and_back() {
        for target in ["/buy", "/buy?a=1&b=%20x", "/a%2Fb?q=ü".trim_end_matches('ü'), "/"] {
            let raw = format!("/x?return={}", escape(target));
            assert_eq!(return_to(&raw).as_deref(), Some(target));
        }
    }

    #[test]
    fn a_return_target_never_leads_to_another_site() {
        for evil in [
            "//evil.example",
            "/\\evil.example",
            "/%09/evil.example\t",
            "https:evil.example",
            "https://shop.example.evil.example",
            "javascript:1",
            "/a\r\nSet-Cookie: x=1",
            "/\t/evil.example",
            "",
        ] {
            assert_eq!(return_to(&format!("/x?return={}", escape(evil))), None, "{evil:?}");
        }
        assert_eq!(return_to(&format!("/x?return=/{}", "a".repeat(3000))), None);
        assert_eq!(return_to("/x?return=%4"), None);
    }
}
