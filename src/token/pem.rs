//! PKCS#8 private keys as PEM text, the form in which other tools make and show them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN PRIVATE KEY-----";
const END: &str = "-----END PRIVATE KEY-----";

/// The text for a key.
pub(super) fn write(der: &[u8]) -> String {
    let mut text = format!("{BEGIN}\n");
    let body = STANDARD.encode(der);
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, later) = rest.split_at_checked(64).unwrap_or((rest, ""));
        text.push_str(line);
        text.push('\n');
        rest = later;
    }
    text + END + "\n"
}

/// The key in a text that holds exactly one.
pub(super) fn read(text: &str) -> Option<Vec<u8>> {
    let body = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
    let body: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    STANDARD.decode(body).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        for len in [0, 47, 48, 49, 83, 200] {
            let der: Vec<u8> = (0..len).collect();
            let text = write(&der);
            assert!(text.lines().all(|line| line.len() <= 64));
            assert_eq!(read(&text).unwrap(), der);
        }
    }

    #[test]
    fn other_texts_hold_no_key() {
        let two = write(b"one") + &write(b"two");
        let public = write(b"k").replace("PRIVATE", "PUBLIC");
        for bad in
            ["", "hello", BEGIN, &two, &public, "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
