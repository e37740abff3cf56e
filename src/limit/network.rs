//! Whom an address stands for: an IPv4 address for itself, an IPv6 address for its /64, since that is the least
//! that a single household is given and it could use a new address for each request.

use std::net::{IpAddr, Ipv6Addr};

/// A client as limits see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Network(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    V4(u32),
    V6(u64),
}

impl Network {
    /// The network of `address`; an IPv4 address written as IPv6 (`::ffff:a.b.c.d`) counts as IPv4.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(Kind::V4(v4.to_bits())),
            IpAddr::V6(v6) => Self(Kind::V6(prefix(v6))),
        }
    }
}

fn prefix(address: Ipv6Addr) -> u64 {
    let [a, b, c, d, ..] = address.segments();
    [a, b, c, d].into_iter().fold(0, |prefix, segment| (prefix << 16) | u64::from(segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Network {
        Network::of(text.parse().unwrap())
    }

    #[test]
    fn ipv4_counts_by_address_and_ipv6_by_its_64() {
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_eq!(of("2001:db8:1:2::1"), of("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_ne!(of("::1"), of("0.0.0.0"));
    }
}
