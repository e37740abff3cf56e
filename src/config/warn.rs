//! Settings that are legal but unwise: `check` tells, nothing stops.

use std::fmt;
use std::time::Duration;

use super::store;
use super::types::{Config, IdentityKind, Missing, RoomConfig};
use super::value::written;
use crate::queue::{Durability, Place};

/// One unwise setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// The path of the key.
    pub key: String,
    /// What may come of it.
    pub message: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

/// Everything unwise.
#[must_use]
pub fn warnings(config: &Config) -> Vec<Warning> {
    let mut found = Vec::new();
    whole(config, &mut |key, message| found.push(Warning { key: key.to_owned(), message }));
    for (index, room) in config.rooms.iter().enumerate() {
        let id = &room.id;
        self::room(room, &config.server.prefix, &mut |key, message| {
            found.push(Warning {
                key: format!("room[{index}].{key}"),
                message: format!("{message} (room {id})"),
            });
        });
    }
    found
}

fn whole(config: &Config, warn: &mut dyn FnMut(&str, String)) {
    let admin = config.admin.listen;
    if !admin.ip().is_loopback() {
        warn("admin.listen", format!("{admin} is reachable from other machines, and tokens travel in clear"));
    }
    if config.server.trusted_proxies.iter().any(|net| net.prefix_len() == 0) {
        let message = "trusts everybody: any client may claim any address and https";
        warn("server.trusted_proxies", message.to_owned());
    }
    let store = &config.store;
    if matches!((&store.place, store.durability), (Place::Redis(_), Durability::Memory)) {
        let message = "an acknowledged place may be lost with the last second before a crash";
        warn("store.durability", message.to_owned());
    }
    let fails_over = store::address(&store.place).is_some_and(|address| address.fails_over());
    if fails_over && store.durability == Durability::Disk {
        let message = "a failover may lose places that were acknowledged, and the room is unavailable then; \
                       \"replicas\" waits until those that may take over have them";
        warn("store.durability", message.to_owned());
    }
    if store.accept_loss {
        let message = match store.place {
            Place::Redis(_) => "a restart of a store without persistence loses the whole line",
            Place::File(_) => "has no effect: the embedded store always writes to disk",
        };
        warn("store.accept_loss", message.to_owned());
    }
    if !config.server.crowd_listen.is_empty() && config.server.crowd_url.is_none() {
        let message = "nobody is sent to the crowd door unless crowd_url says where it is";
        warn("server.crowd_listen", message.to_owned());
    }
}

fn room(room: &RoomConfig, prefix: &str, warn: &mut dyn FnMut(&str, String)) {
    let rules = &room.rules;
    if room.poll_max > rules.return_within {
        let (most, within) = (written(room.poll_max), written(rules.return_within));
        let message =
            format!("{most} is longer than return_within ({within}): one missed poll may cost the place");
        warn("waiting.poll.max", message);
    }
    if rules.pass_ttl < Duration::from_secs(300) {
        let message =
            format!("{} is short: who takes longer to buy must wait again", written(rules.pass_ttl));
        warn("pass.ttl", message);
    }
    if rules.schedule.draws()
        && (room.identity.kind == IdentityKind::Browser || room.identity.missing == Missing::Browser)
    {
        let message =
            "a draw among browsers that join for nothing: whoever opens a hundred of them has a hundred lots";
        warn("schedule.lobby_order", message.to_owned());
    }
    if rules.hold > Duration::from_secs(10) {
        let message = format!("{} keeps browsers loading without a page for so long", written(rules.hold));
        warn("release.hold", message);
    }
    if rules.burst > rules.rate.slots_in(Duration::from_secs(1)) {
        let message =
            format!("{} is more than a second of {}: the origin meets it at once", rules.burst, rules.rate);
        warn("release.burst", message);
    }
    if matches!(&room.identity.kind, IdentityKind::Jwt(jwt) if jwt.audience.is_none()) {
        let message = "without an audience every token of this key set counts, also one that was made for another application";
        warn("identity.jwks", message.to_owned());
    }
    for (key, paths) in [("paths", &room.paths), ("open_paths", &room.open_paths)] {
        for (index, path) in paths.iter().enumerate() {
            let below =
                path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if below {
                let message = format!("never matches: {prefix} is reserved and goes before all rooms");
                warn(&format!("{key}[{index}]"), message);
            }
        }
    }
}
