//! Who stands at the other end: the address that limits and logs go by, and whether it spoke TLS.
//!
//! A forwarding header counts only when the peer itself is a trusted proxy, and then only from the right: the
//! first hop that is not trusted is the client. Whatever stands left of it was written by the client.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

/// Most hops that are followed.
const HOPS_MAX: usize = 32;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The proxies whose word is believed.
#[derive(Debug, Clone, Default)]
pub struct Trusted(Vec<IpNet>);

/// The other end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The peer, or the right-most hop that is not a trusted proxy.
    pub address: IpAddr,
    /// Whether a trusted proxy said that it was spoken to over TLS.
    pub https: bool,
    /// Whether the peer is a trusted proxy.
    pub peer_trusted: bool,
}

impl Trusted {
    /// Believes the peers in these networks.
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    /// Whether this address is a trusted proxy.
    #[must_use]
    pub fn holds(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address.to_canonical()))
    }

    /// The other end of a request that `peer` sent.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let peer = peer.to_canonical();
        if !self.holds(peer) {
            return Client { address: peer, https: false, peer_trusted: false };
        }
        let mut address = peer;
        for hop in from_the_right(headers, &FORWARDED_FOR).take(HOPS_MAX) {
            let Some(hop) = read(hop) else { break };
            address = hop;
            if !self.holds(hop) {
                break;
            }
        }
        let proto = from_the_right(headers, &FORWARDED_PROTO).next();
        let https = proto.is_some_and(|proto| proto.eq_ignore_ascii_case("https"));
        Client { address, https, peer_trusted: true }
    }
}

fn from_the_right<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'h str> {
    let lines: Vec<&HeaderValue> = headers.get_all(name).iter().collect();
    lines.into_iter().rev().flat_map(|line| line.to_str().unwrap_or("?").rsplit(',').map(str::trim))
}

/// An address with or without a port.
fn read(hop: &str) -> Option<IpAddr> {
    let plain = hop.parse::<IpAddr>().ok();
    let bracketed = || hop.strip_prefix('[').and_then(|h| h.split(']').next()).and_then(|h| h.parse().ok());
    let with_port = || hop.parse::<std::net::SocketAddr>().ok().map(|a| a.ip());
    plain.or_else(with_port).or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v))).collect()
    }

    fn client(peer: &str, lines: &[(&'static str, &'static str)]) -> (String, bool) {
        let trusted = Trusted::new(vec!["10.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
        let client = trusted.client(peer.parse().unwrap(), &headers(lines));
        (client.address.to_string(), client.https)
    }

    #[test]
    fn a_stranger_is_not_believed() {
        let lines = [("x-forwarded-for", "1.2.3.4"), ("x-forwarded-proto", "https")];
        assert_eq!(client("192.0.2.1", &lines), ("192.0.2.1".to_owned(), false));
    }

    #[test]
    fn the_right_most_hop_that_is_not_trusted_is_the_client() {
        let lines = [
            ("x-forwarded-for", "9.9.9.9, 1.2.3.4:5678"),
            ("x-forwarded-for", "10.0.0.2"),
            ("x-forwarded-proto", "http, https"),
        ];
        assert_eq!(client("10.0.0.1", &lines), ("1.2.3.4".to_owned(), true));
        assert_eq!(client("::ffff:10.0.0.1", &lines).0, "1.2.3.4");
        assert_eq!(client("::1", &[("x-forwarded-for", "[2001:db8::7]:80")]).0, "2001:db8::7");
    }

    #[test]
    fn nonsense_ends_the_search() {
        assert_eq!(client("10.0.0.1", &[("x-forwarded-for", "1.2.3.4, unknown")]).0, "10.0.0.1");
        assert_eq!(client("10.0.0.1", &[]), ("10.0.0.1".to_owned(), false));
    }
}
