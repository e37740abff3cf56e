//! What settings that are each fine alone must not do together: two rooms of one name or for one match, two
//! listeners on one address, an origin that is ourselves.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::identity;
use super::pattern;
use super::report::Report;
use super::room::Read;
use super::table::{Placed, Table};
use super::types::{AdminConfig, IdentityKind, OriginConfig, ServerConfig};

/// What two rooms must not share: an id, or a match on one host.
pub(super) fn rooms(rooms: &[Read], ignore_case: bool, report: &Report) {
    let any = [String::new()];
    let mut ids: HashMap<&str, &str> = HashMap::new();
    let mut matches: HashMap<(&str, String), (usize, bool, &Placed<String>)> = HashMap::new();
    for (index, room) in rooms.iter().enumerate() {
        if let Some(id) = &room.id
            && let Some(first) = ids.insert(id.as_str(), &room.key)
        {
            report.at(room.at, &room.key, format!("{:?} is the id of another room ({first})", id.as_str()));
        }
        let hosts = if room.hosts.is_empty() { &any[..] } else { &room.hosts[..] };
        let all = room.paths.iter().map(|p| (p, false)).chain(room.open_paths.iter().map(|p| (p, true)));
        for (path, open) in all {
            for host in hosts {
                let same = (host.as_str(), pattern::canonical(&path.value, ignore_case));
                match matches.get(&same) {
                    Some((i, o, _)) if (*i, *o) == (index, open) => {}
                    Some((_, _, first)) => {
                        let on = if host.is_empty() { "any host".to_owned() } else { format!("host {host}") };
                        let message = format!("{:?} on {on} is matched by {} already", path.value, first.key);
                        report.at(path.at, &path.key, message);
                    }
                    None => {
                        matches.insert(same, (index, open, path));
                    }
                }
            }
        }
    }
}

/// Accounts that could never be told, or ways to log in that lead back to where they began.
pub(super) fn identities(rooms: &[Read], server: &ServerConfig, ignore_case: bool, report: &Report) {
    for room in rooms {
        let Some(identity) = &room.identity.config else { continue };
        let (at, key) = &room.identity.kind_at;
        if matches!(identity.kind, IdentityKind::Header { .. }) && server.trusted_proxies.is_empty() {
            let message = "a header counts only from a proxy that server.trusted_proxies names, since any client can write one; none is named";
            report.at(*at, key, message);
        }
        let circular = |url: &&String| identity::is_circular(url, &room.paths, &room.open_paths, ignore_case);
        if let Some(url) = identity.login_url.as_ref().filter(circular) {
            let (at, key) = &room.identity.login_at;
            let message =
                format!("{url:?} is behind this room itself: nobody could log in; open it by open_paths");
            report.at(*at, key, message);
        }
    }
}

/// Addresses that two listeners would need at once.
pub(super) fn listeners(server: &ServerConfig, admin: &AdminConfig, report: &Report, at: &Places) {
    let mut seen: HashMap<SocketAddr, &str> = HashMap::new();
    let all = (server.listen.iter().map(|a| (a, &at.listen)))
        .chain(server.crowd_listen.iter().map(|a| (a, &at.crowd_listen)))
        .chain([(&admin.listen, &at.admin_listen)]);
    for (address, (offset, key)) in all {
        if address.port() == 0 {
            continue;
        }
        if let Some(first) = seen.insert(*address, key) {
            report.at(*offset, key, format!("{address} is already an address of {first}"));
        }
    }
}

/// An origin that is our own listener: each request would come back to us, or reach the operator's API.
pub(super) fn origin(
    origin: &OriginConfig,
    server: &ServerConfig,
    admin: &AdminConfig,
    report: &Report,
    at: &Places,
) {
    let name = origin.host.trim_matches(['[', ']']);
    let address = match name {
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        _ => name.parse().ok(),
    };
    let ours = |listen: &&SocketAddr| {
        let ip = listen.ip();
        let same = |a: IpAddr| a == ip || (ip.is_unspecified() && a.is_loopback());
        listen.port() == origin.port && address.is_some_and(same)
    };
    if let Some(listen) = server.listen.iter().chain(&server.crowd_listen).chain([&admin.listen]).find(ours) {
        let (offset, key) = &at.origin_url;
        report.at(
            *offset,
            key,
            format!("{listen} is where ropeline itself listens; give the shop's address"),
        );
    }
}

/// Where the keys stand that are compared here: offset and path.
pub(super) struct Places {
    pub(super) listen: (usize, String),
    pub(super) crowd_listen: (usize, String),
    pub(super) admin_listen: (usize, String),
    pub(super) origin_url: (usize, String),
}

impl Places {
    /// Finds them.
    pub(super) fn of(root: &Table<'_>) -> Self {
        Self {
            listen: root.place_in("server", "listen"),
            crowd_listen: root.place_in("server", "crowd_listen"),
            admin_listen: root.place_in("admin", "listen"),
            origin_url: root.place_in("origin", "url"),
        }
    }
}
