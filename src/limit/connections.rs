//! Caps on open connections: in all, and per client network, so that one client cannot take every place.
//!
//! Memory follows the connections: a network is forgotten with its last one.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use super::Network;

/// How many connections may be open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionsSettings {
    /// In all. Beyond, new ones are closed at once; too high, and memory or file handles run out first.
    pub total_max: usize,
    /// Per client network. Too low shuts out offices and mobile carriers that share an address.
    pub per_network_max: usize,
}

impl Default for ConnectionsSettings {
    fn default() -> Self {
        Self { total_max: 20_000, per_network_max: 1_000 }
    }
}

/// The open connections of a listener. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct Connections(Arc<Open>);

#[derive(Debug)]
struct Open {
    settings: ConnectionsSettings,
    total: AtomicUsize,
    by_network: DashMap<Network, usize>,
}

impl Connections {
    /// None open.
    #[must_use]
    pub fn new(settings: ConnectionsSettings) -> Self {
        Self(Arc::new(Open { settings, total: AtomicUsize::new(0), by_network: DashMap::new() }))
    }

    /// Takes a place for a connection from `address`; `None` when there is none, in all or for its network.
    /// Drop the guard when the connection is closed.
    #[must_use]
    pub fn try_admit(&self, address: IpAddr) -> Option<Guard> {
        let mut guard = self.try_admit_trusted()?;
        guard.network = Some(self.0.take(Network::of(address))?);
        Some(guard)
    }

    /// Takes a place for a connection from a trusted proxy, which speaks for many clients: only the cap on all
    /// connections counts.
    #[must_use]
    pub fn try_admit_trusted(&self) -> Option<Guard> {
        let open = &self.0;
        let below = |n: usize| (n < open.settings.total_max).then_some(n + 1);
        open.total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, below).ok()?;
        Some(Guard { open: open.clone(), network: None })
    }

    /// How many may be open in all.
    #[must_use]
    pub fn total_max(&self) -> usize {
        self.0.settings.total_max
    }

    /// How many are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.total.load(Ordering::Relaxed)
    }

    /// Whether none is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Open {
    fn take(&self, network: Network) -> Option<Network> {
        if self.settings.per_network_max == 0 {
            return None;
        }
        let mut count = self.by_network.entry(network).or_insert(0);
        if *count >= self.settings.per_network_max {
            return None;
        }
        *count += 1;
        Some(network)
    }

    fn give_back(&self, network: Network) {
        if let Entry::Occupied(mut slot) = self.by_network.entry(network) {
            match *slot.get() {
                0 | 1 => drop(slot.remove()),
                _ => *slot.get_mut() -= 1,
            }
        }
    }
}

/// A place of one open connection; dropping it gives it back.
#[derive(Debug)]
pub struct Guard {
    open: Arc<Open>,
    network: Option<Network>,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(network) = self.network {
            self.open.give_back(network);
        }
        self.open.total.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn connections(total_max: usize, per_network_max: usize) -> Connections {
        Connections::new(ConnectionsSettings { total_max, per_network_max })
    }

    #[test]
    fn one_network_cannot_take_every_place() {
        let connections = connections(3, 2);
        let first = connections.try_admit(ip("2001:db8::1")).unwrap();
        let _second = connections.try_admit(ip("2001:db8::2")).unwrap();
        assert!(connections.try_admit(ip("2001:db8::3")).is_none());
        assert_eq!(connections.len(), 2, "a refused connection takes no place");
        let _other = connections.try_admit(ip("192.0.2.1")).unwrap();
        assert!(connections.try_admit(ip("192.0.2.2")).is_none(), "the total is reached");
        drop(first);
        assert!(connections.try_admit(ip("2001:db8::3")).is_some());
    }

    #[test]
    fn a_trusted_proxy_counts_in_the_total_only() {
        let connections = connections(3, 1);
        let held: Vec<_> = (0..4).filter_map(|_| connections.try_admit_trusted()).collect();
        assert_eq!(held.len(), 3);
    }

    #[test]
    fn nothing_is_remembered_of_closed_connections() {
        let connections = connections(10, 1);
        for n in 0..100_000_u32 {
            drop(connections.try_admit(IpAddr::from(n.to_be_bytes())).unwrap());
        }
        assert!(connections.is_empty());
        assert!(connections.0.by_network.is_empty());
    }

    #[test]
    fn many_threads_leave_no_count_behind_and_never_exceed_the_cap() {
        let connections = connections(8, 4);
        std::thread::scope(|scope| {
            for n in 0..8_u8 {
                let connections = connections.clone();
                scope.spawn(move || {
                    for _ in 0..2000 {
                        let guard = connections.try_admit(IpAddr::from([192, 0, 2, n % 2]));
                        assert!(connections.len() <= 8);
                        drop(guard);
                    }
                });
            }
        });
        assert!(connections.is_empty());
        assert!(connections.0.by_network.is_empty());
    }
}
