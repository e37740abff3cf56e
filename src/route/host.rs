//! The host of a request in its one spelling: lower case, no port, no final dot.

use http::{HeaderMap, header};

/// Longest name that DNS allows.
const NAME_MAX: usize = 253;

/// A host that can be compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host {
    name: String,
    authority: String,
}

/// Why a request's host cannot be used; each is a 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadHost {
    /// No `Host` line, whatever the version of HTTP.
    #[error("the request names no host")]
    Missing,
    /// More than one `Host` line, or one that differs from the address in the request line.
    #[error("the request names more than one host")]
    Several,
    /// Not a name, an IPv4 address or a bracketed IPv6 address with an optional port.
    #[error("the host is not a host name")]
    Invalid,
}

impl Host {
    /// Reads `name`, `name:port`, `[v6]` or `[v6]:port`.
    ///
    /// # Errors
    /// [`BadHost::Missing`] for the empty text, [`BadHost::Invalid`] for anything else that is no host.
    pub fn read(raw: &str) -> Result<Self, BadHost> {
        if raw.is_empty() {
            return Err(BadHost::Missing);
        }
        let (name, port) = split_port(raw).ok_or(BadHost::Invalid)?;
        let name = spelled(name).ok_or(BadHost::Invalid)?;
        let authority = if port.is_empty() { name.clone() } else { format!("{name}:{port}") };
        Ok(Self { name, authority })
    }

    /// The one host that the headers name. `from_line` is the authority of an absolute request target; it
    /// must say the same.
    ///
    /// # Errors
    /// See [`BadHost`].
    pub fn of(headers: &HeaderMap, from_line: Option<&str>) -> Result<Self, BadHost> {
        let mut lines = headers.get_all(header::HOST).iter();
        let line = lines.next().ok_or(BadHost::Missing)?;
        if lines.next().is_some() {
            return Err(BadHost::Several);
        }
        let host = Self::read(line.to_str().map_err(|_| BadHost::Invalid)?)?;
        match from_line {
            Some(other) if Self::read(other)? != host => Err(BadHost::Several),
            _ => Ok(host),
        }
    }

    /// The name alone, for matching.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name and port, if one was sent: what the visitor's browser calls this site.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }
}

/// The name and the digits of the port ("" for none).
fn split_port(raw: &str) -> Option<(&str, &str)> {
    let (name, port) = match raw.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => {
            let (name, rest) = raw.split_at_checked(end + 2)?;
            (name, if rest.is_empty() { "" } else { rest.strip_prefix(':')? })
        }
        None => raw.split_once(':').unwrap_or((raw, "")),
    };
    let good = port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok());
    good.then_some((name, port))
}

fn spelled(name: &str) -> Option<String> {
    if let Some(inside) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let address: std::net::Ipv6Addr = inside.parse().ok()?;
        return Some(format!("[{address}]"));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    let good = name.len() <= NAME_MAX && name.split('.').all(label);
    good.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_however_it_is_spelled() {
        for raw in ["shop.example", "SHOP.example", "shop.example.", "shop.example:80", "shop.example.:80"] {
            assert_eq!(Host::read(raw).unwrap().name(), "shop.example", "{raw}");
        }
        assert_eq!(Host::read("Shop.example.:8080").unwrap().authority(), "shop.example:8080");
        assert_eq!(Host::read("[0::1]:80").unwrap().name(), "[::1]");
        assert_eq!(Host::read("127.0.0.1").unwrap().name(), "127.0.0.1");
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for raw in [
            ":80", "a..b", ".", "a b", "a@b", "a/b", "a:b", "a:99999", "[::1", "[x]", "a%41", "[::1]x",
            "a:1:2",
        ] {
            assert_eq!(Host::read(raw), Err(BadHost::Invalid), "{raw}");
        }
        assert_eq!(Host::read(""), Err(BadHost::Missing));
    }

    #[test]
    fn exactly_one_line_that_agrees_with_the_request_line() {
        let mut headers = HeaderMap::new();
        assert_eq!(Host::of(&headers, None), Err(BadHost::Missing));
        headers.append(header::HOST, "shop.example".parse().unwrap());
        assert!(Host::of(&headers, Some("SHOP.example")).is_ok());
        assert_eq!(Host::of(&headers, Some("other.example")), Err(BadHost::Several));
        headers.append(header::HOST, "shop.example".parse().unwrap());
        assert_eq!(Host::of(&headers, None), Err(BadHost::Several));
    }
}
