//! Reading what a form posts (`application/x-www-form-urlencoded`), and writing text into HTML.

/// The value of a field, decoded; `None` if it is not there.
pub(super) fn field(body: &[u8], name: &str) -> Option<String> {
    let pairs = body.split(|b| *b == b'&');
    let value = pairs.filter_map(|pair| {
        let at = pair.iter().position(|b| *b == b'=')?;
        let (key, value) = pair.split_at(at);
        (key == name.as_bytes()).then(|| decoded(value.get(1..).unwrap_or_default()))
    });
    value.into_iter().next()
}

fn decoded(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|h| std::str::from_utf8(h).ok());
        match (first, hex.and_then(|h| u8::from_str_radix(h, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
                continue;
            }
            (b'+', _) => out.push(b' '),
            _ => out.push(*first),
        }
        rest = tail;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Text as HTML shows it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_and_decoded() {
        assert_eq!(field(b"key=a1&name=A+%26%20B%C3%A9", "name").as_deref(), Some("A & B\u{e9}"));
        assert_eq!(field(b"name=100%", "name").as_deref(), Some("100%"));
        assert_eq!(field(b"name", "name"), None);
        assert_eq!(escaped("<b onclick='x'>"), "&lt;b onclick=&#39;x&#39;&gt;");
    }
}
