//! Addresses of all kinds: sockets, hosts, origins, networks, and the reserved prefix.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use super::value::{Parsed, quoted};

/// Where to listen.
pub(super) fn socket(text: &str) -> Parsed<SocketAddr> {
    text.parse().map_err(|_| {
        format!(
            "expected an address and a port such as \"127.0.0.1:8080\" or \"[::]:8080\", found {}",
            quoted(text)
        )
    })
}

/// A host in its one spelling: lower case, no port, no final dot.
pub(super) fn host(text: &str) -> Parsed<String> {
    host_name(text).ok_or_else(|| {
        format!("expected a host name such as \"shop.example\", without a port, found {}", quoted(text))
    })
}

fn host_name(text: &str) -> Option<String> {
    if let Some(inside) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inside.parse::<Ipv6Addr>().ok().map(|address| format!("[{address}]"));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    (name.len() <= 253 && name.split('.').all(label)).then(|| name.to_ascii_lowercase())
}

/// A network, or one address.
pub(super) fn network(text: &str) -> Parsed<IpNet> {
    let net = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let net = net.ok_or_else(|| {
        format!("expected a network such as \"10.0.0.0/8\" or an address, found {}", quoted(text))
    })?;
    match net.trunc() {
        whole if whole.addr() == net.addr() => Ok(net),
        whole => Err(format!("{} has bits set beyond its length; the network is \"{whole}\"", quoted(text))),
    }
}

/// `scheme://host[:port]` and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WebAddress {
    pub(super) https: bool,
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl WebAddress {
    pub(super) fn read(text: &str) -> Option<Self> {
        let (https, rest) = match text.split_once("://")? {
            (scheme, rest) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            (scheme, rest) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            _ => return None,
        };
        let (name, port) = match rest.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (rest, None),
        };
        let digits = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
        let port = match port {
            Some(port) => Some(port.parse().ok().filter(|p| *p > 0 && digits(port))?),
            None => None,
        };
        Some(Self { https, host: host_name(name)?, port })
    }

    fn written(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}", self.host)
    }
}

/// Where the shop is. A single slash at the end is let pass.
pub(super) fn origin(text: &str) -> Parsed<WebAddress> {
    let address = WebAddress::read(text.strip_suffix('/').unwrap_or(text));
    match address {
        Some(address) if address.https => {
            Err("not yet supported: an origin by https; give its http address".to_owned())
        }
        Some(address) => Ok(address),
        None if text.contains('@') => Err("expected http://host:port without user or password".to_owned()),
        None => Err(format!("expected http://host:port without a path, found {}", quoted(text))),
    }
}

/// An origin as browsers send it: exact, never a pattern.
pub(super) fn web_origin(text: &str) -> Parsed<String> {
    WebAddress::read(text).map(|address| address.written()).ok_or_else(|| {
        format!(
            "expected an exact origin such as \"https://shop.example\", without path or *, found {}",
            quoted(text)
        )
    })
}

/// The reserved prefix: plain segments that need no escape, at most 64 bytes.
pub(super) fn prefix(text: &str) -> Parsed<String> {
    let plain = |segment: &str| {
        !matches!(segment, "" | "." | "..")
            && segment.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
    };
    let good = text.len() <= 64 && text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(plain));
    good.then(|| text.to_owned()).ok_or_else(|| {
        format!("expected a path of letters, digits, -, _ and . such as \"/_ropeline\", without a final slash, found {}", quoted(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        assert_eq!(host("Shop.Example.").unwrap(), "shop.example");
        assert_eq!(host("[0::1]").unwrap(), "[::1]");
        for bad in ["", "a:80", "a b", "*.a", "http://a", "a..b", "[x]"] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn networks() {
        assert_eq!(network("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(network("::1").unwrap().to_string(), "::1/128");
        assert!(network("10.1.0.0/8").unwrap_err().contains("10.0.0.0/8"));
        assert!(network("10.0.0.0/33").is_err());
    }

    #[test]
    fn origins() {
        let address = origin("http://[::1]:3000/").unwrap();
        assert_eq!((address.host.as_str(), address.port), ("[::1]", Some(3000)));
        assert_eq!(origin("http://shop").unwrap().port, None);
        assert!(origin("https://shop").unwrap_err().contains("not yet supported"));
        for bad in
            ["", "shop:3000", "ftp://shop", "http://", "http://a/b", "http://a:0", "http://a:x", "http://a?b"]
        {
            assert!(origin(bad).is_err(), "{bad}");
        }
        let secret = origin("http://u:hunter2@a").unwrap_err();
        assert!(!secret.contains("hunter2"));
        assert_eq!(web_origin("HTTPS://Shop.example:8443").unwrap(), "https://shop.example:8443");
        for bad in ["*", "https://*.a", "https://a/", "null"] {
            assert!(web_origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prefixes() {
        assert!(prefix("/_ropeline").is_ok() && prefix("/a/b.c").is_ok());
        for bad in ["", "/", "x", "/x/", "/a//b", "/..", "/a b", "/a%20", "/*"] {
            assert!(prefix(bad).is_err(), "{bad}");
        }
    }
}
