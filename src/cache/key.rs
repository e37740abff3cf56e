//! What makes two requests one: scheme, authority, path and query, byte for byte.
//!
//! All of it, because a key that held less has served one host's answer to another elsewhere. What `Vary`
//! names is not part of it: an answer that varies by more than its encoding is not kept at all.

use std::fmt;
use std::sync::Arc;

/// How the reader came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Without TLS.
    Http,
    /// With TLS: ours, or as told by a trusted proxy.
    Https,
}

impl Scheme {
    /// As in an address.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// One cacheable address. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    scheme: Scheme,
    authority: Arc<str>,
    target: Arc<str>,
}

impl Key {
    /// `authority`: host and port in their one spelling, as the origin will get them in `Host`. `target`: path
    /// and query as they will go to the origin.
    #[must_use]
    pub fn new(scheme: Scheme, authority: &str, target: &str) -> Self {
        Self { scheme, authority: authority.into(), target: target.into() }
    }

    /// How the reader came.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Host, and port if there was one.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Path and query.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What it costs to remember it, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.authority.len() + self.target.len()
    }
}

/// For logs: without the query, which may hold what nobody should read there.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{}://{}{}", self.scheme.as_str(), self.authority, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_tells_keys_apart_and_logs_show_no_query() {
        let key = Key::new(Scheme::Https, "a.example", "/x?secret=1");
        assert_eq!(key, Key::new(Scheme::Https, "a.example", "/x?secret=1"));
        assert_ne!(key, Key::new(Scheme::Http, "a.example", "/x?secret=1"));
        assert_ne!(key, Key::new(Scheme::Https, "a.example:8443", "/x?secret=1"));
        assert_ne!(key, Key::new(Scheme::Https, "a.example", "/x?secret=2"));
        assert_eq!(key.to_string(), "https://a.example/x");
    }
}
