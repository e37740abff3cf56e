//! How many client networks a pass is used from. A pass that is passed on is still one admission; how far it
//! travelled is for the operator to see, who may then revoke it, and beyond a bound it opens nothing for yet another
//! network. Those that came first go on.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limit::Network;
use crate::metrics;
use crate::room::RoomId;
use crate::token::{Digest, Memory, Pass};

/// From so many networks on a pass counts as shared. A phone that goes from home to the street to an office has
/// used three.
const SHARED_FROM: usize = 5;
/// Networks that are told apart for one pass.
const NETWORKS_MAX: usize = 16;
/// Passes that are kept in mind: some 15 MB when all of them travel.
const PASSES_MAX: usize = 65_536;

/// The networks of the passes that were used lately.
pub(super) struct Sharing(Memory<Mutex<Vec<Network>>>);

impl Default for Sharing {
    fn default() -> Self {
        Self(Memory::new(PASSES_MAX))
    }
}

impl Sharing {
    /// Notes a use; whether it is one of at most `most` networks (0: any).
    pub(super) fn used(&self, room: &RoomId, pass: &Pass, client: IpAddr, most: usize) -> bool {
        let networks = self.networks(pass);
        let mut networks = networks.lock().unwrap_or_else(PoisonError::into_inner);
        let network = Network::of(client);
        if networks.contains(&network) {
            return true;
        }
        if most > 0 && networks.len() >= most {
            return false;
        }
        if networks.len() >= NETWORKS_MAX {
            return true;
        }
        networks.push(network);
        metrics::pass_network(room);
        if networks.len() == SHARED_FROM {
            metrics::pass_shared(room);
            tracing::warn!(%room, number = pass.number.0, networks = SHARED_FROM, "a pass is used from many places");
        }
        true
    }

    fn networks(&self, pass: &Pass) -> Arc<Mutex<Vec<Network>>> {
        let key = key(pass);
        self.0.get(&key, 0).unwrap_or_else(|| {
            let fresh = Arc::default();
            self.0.put(key, 0, Arc::clone(&fresh));
            fresh
        })
    }
}

/// The admission: a pass that was renewed is the same one.
fn key(pass: &Pass) -> Digest {
    let mut key = Digest::default();
    for (to, from) in key.iter_mut().zip(pass.admission.bytes()) {
        *to = from;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Lineage, Micros, Number};

    #[test]
    fn networks_are_counted_once_and_bounded() {
        let room = RoomId::new("spring").unwrap();
        let pass = |admission: &str| Pass {
            room: room.clone(),
            lineage: Lineage(1),
            number: Number(1),
            visitor: "v".into(),
            admission: admission.into(),
            not_before: Micros(1),
            expires: Micros(2),
            issued: Micros(1),
            bound: None,
        };
        let sharing = Sharing::default();
        let (one, other) = (pass("one"), pass("other"));
        for round in 0..3 {
            for last in 0..40 {
                assert!(sharing.used(&room, &one, IpAddr::from([192, 0, 2, last]), 0));
            }
            sharing.used(&room, &other, IpAddr::from([192, 0, 2, round % 2]), 0);
        }
        assert_eq!(sharing.networks(&one).lock().unwrap().len(), NETWORKS_MAX);
        assert_eq!(sharing.networks(&other).lock().unwrap().len(), 2);
        let bounded = pass("bounded");
        let used = |last| sharing.used(&room, &bounded, IpAddr::from([192, 0, 2, last]), 3);
        assert_eq!([1, 2, 3, 4, 1, 5, 3].map(used), [true, true, true, false, true, false, true]);
    }
}
