//! The way to the origin: its address, found outside the request path; deadlines; and how many requests may be
//! in flight.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use http::Uri;
use pingora::upstreams::peer::HttpPeer;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::upgrade;
use crate::answer::Stay;

/// How often a name is looked up again, and how soon after a failure.
const REFRESH: Duration = Duration::from_secs(30);
const RETRY: Duration = Duration::from_secs(1);

/// A look-up that takes longer has failed.
const LOOKUP: Duration = Duration::from_secs(5);

/// Settings of the origin.
#[derive(Debug, Clone)]
pub struct OriginSettings {
    /// `http://host:port` or `https://host:port`, without a path.
    pub url: String,
    /// For one connection, TLS included.
    pub connect_timeout: Duration,
    /// How long the origin may be silent: until its response begins, and between two parts of it.
    pub response_timeout: Duration,
    /// How long one response may take as a whole; upgrades and event streams are exempt.
    pub total_timeout: Duration,
    /// How long one write to the origin may take.
    pub write_timeout: Duration,
    /// How long an unused connection is kept. Shorter than the origin's own, or reuse meets closed ones.
    pub idle_timeout: Duration,
    /// How long the origin may be silent on an upgraded connection.
    pub upgrade_idle: Duration,
    /// Most requests in flight.
    pub max_in_flight: usize,
    /// How long a request waits for its share before it is told to come back.
    pub share_timeout: Duration,
}

impl Default for OriginSettings {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:3000".to_owned(),
            connect_timeout: Duration::from_secs(1),
            response_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_secs(600),
            write_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(30),
            upgrade_idle: Duration::from_secs(600),
            max_in_flight: 256,
            share_timeout: Duration::from_secs(1),
        }
    }
}

/// Why an origin cannot be made out of its settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOrigin {
    /// Not `http://host[:port]` or `https://host[:port]`.
    #[error("`{0}` is not an address such as http://127.0.0.1:3000 (scheme, host and port alone)")]
    Url(String),
    /// Nothing could ever be forwarded.
    #[error("max_connections must be at least 1")]
    NoShares,
}

/// The origin.
#[derive(Debug)]
pub struct Origin {
    settings: OriginSettings,
    tls: bool,
    host: String,
    port: u16,
    /// Empty until the name was found.
    addresses: ArcSwap<Vec<SocketAddr>>,
    next: AtomicUsize,
    shares: Arc<Semaphore>,
}

impl Origin {
    /// Reads the settings; does no I/O.
    ///
    /// # Errors
    /// See [`BadOrigin`].
    pub fn new(settings: OriginSettings) -> Result<Self, BadOrigin> {
        let (tls, host, port) = read(&settings.url).ok_or_else(|| BadOrigin::Url(settings.url.clone()))?;
        if settings.max_in_flight == 0 {
            return Err(BadOrigin::NoShares);
        }
        let shares = Arc::new(Semaphore::new(settings.max_in_flight.min(Semaphore::MAX_PERMITS)));
        let literal = host.parse().map(|ip| vec![SocketAddr::new(ip, port)]).unwrap_or_default();
        let addresses = ArcSwap::from_pointee(literal);
        Ok(Self { settings, tls, host, port, addresses, next: AtomicUsize::new(0), shares })
    }

    /// Looks the name up for as long as it is polled, so that no request ever does; returns at once when the
    /// settings hold an address. The last addresses that were found stay in force while look-ups fail.
    pub async fn keep_resolved(&self) {
        if self.host.parse::<std::net::IpAddr>().is_ok() {
            return;
        }
        loop {
            let pause =
                match tokio::time::timeout(LOOKUP, tokio::net::lookup_host((self.host.as_str(), self.port)))
                    .await
                {
                    Ok(Ok(found)) => {
                        let found: Vec<SocketAddr> = found.collect();
                        if !found.is_empty() {
                            self.addresses.store(Arc::new(found));
                        }
                        REFRESH
                    }
                    _ => {
                        tracing::warn!(host = %self.host, "the origin's name cannot be resolved");
                        RETRY
                    }
                };
            tokio::time::sleep(pause).await;
        }
    }

    /// One of the origin's addresses, each in turn; `None` before the name was found.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        let addresses = self.addresses.load();
        let turn = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(addresses.len())?;
        addresses.get(turn).copied()
    }

    /// A share of the origin, waited for as long as the settings allow; `None` when it is busy.
    pub(super) async fn share(&self) -> Option<OwnedSemaphorePermit> {
        let share = self.shares.clone().acquire_owned();
        tokio::time::timeout(self.settings.share_timeout, share).await.ok()?.ok()
    }

    /// The peer for one request, every deadline set.
    pub(super) fn peer(&self, upgrade: bool, stay: Option<&Stay>) -> Option<HttpPeer> {
        let address = self.address()?;
        let mut peer = HttpPeer::new(address, self.tls, self.host.clone());
        let settings = &self.settings;
        peer.options.connection_timeout = Some(settings.connect_timeout);
        peer.options.total_connection_timeout = Some(settings.connect_timeout);
        peer.options.read_timeout =
            Some(if upgrade { settings.upgrade_idle } else { settings.response_timeout });
        peer.options.write_timeout = Some(settings.write_timeout);
        peer.options.idle_timeout = Some(settings.idle_timeout);
        peer.options.set_http_version(1, 1);
        if upgrade {
            upgrade::prepare(&mut peer, settings.connect_timeout, stay.cloned());
        }
        Some(peer)
    }

    /// The settings in force.
    #[must_use]
    pub fn settings(&self) -> &OriginSettings {
        &self.settings
    }

    /// Whether the origin is spoken to over TLS.
    #[must_use]
    pub fn tls(&self) -> bool {
        self.tls
    }

    /// The origin's own name and port, for requests that no visitor made.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

fn read(url: &str) -> Option<(bool, String, u16)> {
    let uri: Uri = url.parse().ok()?;
    let tls = match uri.scheme_str()? {
        "http" => false,
        "https" => true,
        _ => return None,
    };
    let authority = uri.authority()?;
    let plain = matches!(uri.path(), "" | "/") && uri.query().is_none() && !authority.as_str().contains('@');
    let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
    (plain && !host.is_empty())
        .then(|| (tls, host, authority.port_u16().unwrap_or(if tls { 443 } else { 80 })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(url: &str) -> Result<Origin, BadOrigin> {
        Origin::new(OriginSettings { url: url.to_owned(), ..OriginSettings::default() })
    }

    #[test]
    fn an_address_is_known_at_once_and_a_name_is_not() {
        assert_eq!(origin("http://127.0.0.1:3000").unwrap().address(), "127.0.0.1:3000".parse().ok());
        assert_eq!(origin("https://[::1]").unwrap().address(), "[::1]:443".parse().ok());
        assert_eq!(origin("http://shop.internal").unwrap().address(), None);
        for url in ["shop", "ftp://a", "http://a/b", "http://u@a", "http://a?x", ""] {
            assert!(origin(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_is_found_outside_the_request_path() {
        let origin = Arc::new(origin("http://localhost:81").unwrap());
        let task = tokio::spawn({
            let origin = origin.clone();
            async move { origin.keep_resolved().await }
        });
        while origin.address().is_none() {
            tokio::task::yield_now().await;
        }
        task.abort();
    }
}
