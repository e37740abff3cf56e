//! Reading the addresses that `ropeline demo` prints.

/// All `http://...` addresses in a text, in order, without what follows the port.
pub fn addresses(text: &str) -> Vec<std::net::SocketAddr> {
    let after = text.split("http://").skip(1);
    after
        .filter_map(|rest| {
            let end =
                rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':')).unwrap_or(rest.len());
            rest[..end].trim_end_matches([':', '.']).parse().ok()
        })
        .collect()
}
