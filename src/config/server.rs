//! `[server]` and `[server.limits]`.

use std::time::Duration;

use super::net;
use super::overlay::Outside;
use super::table::Table;
use super::types::{LimitsConfig, ServerConfig};
use super::value::{duration, from_text, whole};

/// Reads `[server]`.
pub(super) fn read(root: &mut Table<'_>, outside: &Outside<'_>) -> ServerConfig {
    let mut table = root.table("server");
    let address = || from_text("an address and a port", net::socket);
    let listen = table.some_list("listen", address());
    let over = outside.argument("--listen", outside.overlay.listen.as_ref(), net::socket);
    let listen = over.map(|address| vec![address]).or(listen);
    let prefix = table.read("prefix", from_text("a path", net::prefix));
    let server = ServerConfig {
        listen: listen.unwrap_or_else(|| vec![([127, 0, 0, 1], 8080).into()]),
        hosts: table.list("hosts", from_text("a host name", net::host)).unwrap_or_default(),
        prefix: prefix.unwrap_or_else(|| "/_ropeline".to_owned()),
        crowd_listen: table.list("crowd_listen", address()).unwrap_or_default(),
        crowd_url: table.read("crowd_url", from_text("an address", crowd_url)).flatten(),
        cors_origins: table.list("cors_origins", from_text("an origin", net::web_origin)).unwrap_or_default(),
        trusted_proxies: table
            .list("trusted_proxies", from_text("a network", net::network))
            .unwrap_or_default(),
        limits: limits(table.table("limits")),
    };
    if server.crowd_url.is_some() && table.is_empty("cors_origins") {
        table.problem("crowd_url", "needs cors_origins: the origins whose waiting pages may poll there");
    }
    table.not_yet(&["max_instances", "tls", "redirect_http", "hsts", "h2c", "proxy_protocol"]);
    server
}

/// Empty means none.
fn crowd_url(text: &str) -> Result<Option<String>, String> {
    if text.is_empty() { Ok(None) } else { net::web_origin(text).map(Some) }
}

fn limits(mut table: Table<'_>) -> LimitsConfig {
    let time = |table: &mut Table<'_>, key, default| {
        table.read(key, duration("1s", "1h")).unwrap_or(Duration::from_secs(default))
    };
    let count = |table: &mut Table<'_>, key, least, most, default| {
        let read = table.read(key, whole(least, most)).unwrap_or(default);
        usize::try_from(read).unwrap_or(usize::MAX)
    };
    LimitsConfig {
        header_timeout: time(&mut table, "header_timeout", 10),
        header_bytes: count(&mut table, "header_bytes", 1024, 1 << 20, 16 * 1024),
        idle_timeout: time(&mut table, "idle_timeout", 60),
        connections: count(&mut table, "connections", 1, 10_000_000, 16_384),
        connections_per_address: count(&mut table, "connections_per_address", 1, 10_000_000, 2048),
        event_streams: count(&mut table, "event_streams", 0, 10_000_000, 4096),
        event_streams_per_address: count(&mut table, "event_streams_per_address", 1, 10_000_000, 256),
        body_bytes: table.read("body_bytes", whole(0, 1 << 40)).unwrap_or(10 << 20),
    }
}
