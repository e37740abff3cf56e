//! The settings in force as a document: every default filled in, every secret masked. What it prints can be
//! read again once the masked secrets are put back in; until then a mask is refused, never taken for one.

use std::fmt::{self, Display, Write};
use std::time::Duration;

use super::store;
use super::types::{
    CacheConfig, Config, IdentityConfig, IdentityKind, JwksConfig, Missing, PageConfig, Role, RoomConfig,
    SameSite, StockConfig, TokenConfig,
};
use super::value::written;
use crate::queue::Durability;
use crate::room::{LobbyOrder, Schedule, StockRules, WhenShort};

/// The effective settings as TOML.
#[must_use]
pub fn print(config: &Config) -> String {
    let mut out = Out::default();
    server(&mut out, config);
    origin(&mut out, config);
    rest(&mut out, config);
    config.rooms.iter().for_each(|room| self::room(&mut out, room));
    config.caches.iter().for_each(|rule| cache(&mut out, rule));
    out.text
}

#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        let gap = if self.text.is_empty() { "" } else { "\n" };
        self.line(format_args!("{gap}{heading}"));
    }

    /// A number or a flag.
    fn plain(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn text(&mut self, key: &str, value: impl Display) {
        self.line(format_args!("{key} = {}", string(value)));
    }

    fn time(&mut self, key: &str, value: Duration) {
        self.text(key, written(value));
    }

    fn list(&mut self, key: &str, values: impl IntoIterator<Item = impl Display>) {
        let values: Vec<String> = values.into_iter().map(string).collect();
        self.line(format_args!("{key} = [{}]", values.join(", ")));
    }
}

fn string(value: impl Display) -> String {
    toml::Value::String(value.to_string()).to_string()
}

fn server(out: &mut Out, config: &Config) {
    let server = &config.server;
    out.heading("[server]");
    out.list("listen", &server.listen);
    out.list("hosts", &server.hosts);
    out.text("prefix", &server.prefix);
    out.list("crowd_listen", &server.crowd_listen);
    out.text("crowd_url", server.crowd_url.as_deref().unwrap_or_default());
    out.list("cors_origins", &server.cors_origins);
    out.list("trusted_proxies", &server.trusted_proxies);
    let limits = &server.limits;
    out.heading("[server.limits]");
    out.time("header_timeout", limits.header_timeout);
    out.plain("header_bytes", limits.header_bytes);
    out.time("idle_timeout", limits.idle_timeout);
    out.plain("connections", limits.connections);
    out.plain("connections_per_address", limits.connections_per_address);
    out.plain("event_streams", limits.event_streams);
    out.plain("event_streams_per_address", limits.event_streams_per_address);
    out.plain("body_bytes", limits.body_bytes);
}

fn origin(out: &mut Out, config: &Config) {
    let origin = &config.origin;
    out.heading("[origin]");
    out.text("url", format_args!("http://{}:{}", origin.host, origin.port));
    out.time("connect_timeout", origin.connect_timeout);
    out.time("response_timeout", origin.response_timeout);
    out.plain("max_connections", origin.max_connections);
    out.plain("paths_ignore_case", origin.paths_ignore_case);
    match (&origin.secret, &origin.secret_file) {
        (_, Some(file)) => out.text("secret_file", file.display()),
        (Some(_), None) => out.line(format_args!("# the secret is set by {}", super::overlay::ORIGIN_SECRET)),
        (None, None) => {}
    }
}

fn rest(out: &mut Out, config: &Config) {
    out.heading("[store]");
    out.text("url", store::masked(&config.store.place));
    if let Some(file) = &config.store.ca_file {
        out.text("ca_file", file.display());
    }
    out.time("timeout", config.store.timeout);
    out.text(
        "durability",
        match config.store.durability {
            Durability::Memory => "memory",
            Durability::Disk => "disk",
            Durability::Replicas(_) => "replicas",
        },
    );
    if let Durability::Replicas(count) = config.store.durability {
        out.plain("replicas", count);
    } else {
        out.plain("replicas", 0);
    }
    out.plain("accept_loss", config.store.accept_loss);
    out.heading("[keys]");
    out.text("dir", config.keys_dir.display());
    out.heading("[admin]");
    out.text("listen", config.admin.listen);
    config.admin.tokens.iter().for_each(|token| self::token(out, token));
}

fn token(out: &mut Out, token: &TokenConfig) {
    out.heading("[[admin.token]]");
    out.text("name", &token.name);
    out.text(
        "role",
        match token.role {
            Role::Viewer => "viewer",
            Role::Operator => "operator",
            Role::Origin => "origin",
        },
    );
    let start: String = token.sha256.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    out.text("sha256", format_args!("{start}..."));
}

fn room(out: &mut Out, room: &RoomConfig) {
    let rules = &room.rules;
    out.heading("[[room]]");
    out.text("id", &room.id);
    out.list("hosts", &room.hosts);
    out.list("paths", &room.paths);
    out.list("open_paths", &room.open_paths);
    identity(out, &room.identity);
    out.text(
        "same_site",
        match room.same_site {
            SameSite::Lax => "lax",
            SameSite::Strict => "strict",
            SameSite::None => "none",
        },
    );
    out.heading("[room.release]");
    out.text("rate", rules.rate);
    out.plain("burst", rules.burst);
    out.time("hold", rules.hold);
    if let Some(most) = rules.max_active {
        out.plain("max_active", most);
    }
    if let Some(most) = rules.max_total {
        out.plain("max_total", most);
    }
    out.heading("[room.waiting]");
    out.time("absent_after", room.absent_after);
    out.time("return_within", rules.return_within);
    let (least, most) = (string(written(rules.poll_min)), string(written(room.poll_max)));
    out.plain("poll", format_args!("{{ min = {least}, max = {most} }}"));
    out.plain("max", rules.max_waiting);
    out.heading("[room.pass]");
    out.time("first_use", rules.first_use);
    out.time("idle", rules.idle);
    out.time("ttl", rules.pass_ttl);
    out.time("leeway", room.leeway);
    out.plain("networks_max", room.networks_max);
    if let (Some(stock), Some(rules)) = (&room.stock, &rules.stock) {
        self::stock(out, stock, rules);
    }
    schedule(out, &rules.schedule);
    page(out, &room.page);
}

fn identity(out: &mut Out, identity: &IdentityConfig) {
    let mut keys: Vec<(&str, String)> = Vec::new();
    match &identity.kind {
        IdentityKind::Browser => keys.push(("kind", "browser".to_owned())),
        IdentityKind::Cookie { name } => {
            keys.extend([("kind", "cookie".to_owned()), ("name", name.clone())]);
        }
        IdentityKind::Header { name } => {
            keys.extend([("kind", "header".to_owned()), ("name", name.clone())]);
        }
        IdentityKind::Jwt(jwt) => {
            keys.extend([("kind", "jwt".to_owned()), ("name", jwt.name.clone()), ("jwks", jwks(&jwt.jwks))]);
            keys.push(("claim", jwt.claim.clone()));
            keys.extend(jwt.issuer.clone().map(|issuer| ("issuer", issuer)));
            keys.extend(jwt.audience.clone().map(|audience| ("audience", audience)));
        }
    }
    if identity.kind != IdentityKind::Browser {
        let missing = match identity.missing {
            Missing::Refuse => "refuse",
            Missing::Browser => "browser",
        };
        keys.push(("missing", missing.to_owned()));
        keys.extend(identity.login_url.clone().map(|url| ("login_url", url)));
    }
    let keys: Vec<String> =
        keys.into_iter().map(|(key, value)| format!("{key} = {}", string(value))).collect();
    out.plain("identity", format_args!("{{ {} }}", keys.join(", ")));
}

fn jwks(place: &JwksConfig) -> String {
    match place {
        JwksConfig::OnOrigin(target) => target.clone(),
        JwksConfig::Http { tls, host, port, target } => {
            format!("{}://{host}:{port}{target}", if *tls { "https" } else { "http" })
        }
        JwksConfig::File(path) => format!("file:{}", path.display()),
    }
}

fn stock(out: &mut Out, stock: &StockConfig, rules: &StockRules) {
    out.heading("[room.stock]");
    out.text("path", &stock.path);
    out.text("field", &stock.field);
    out.time("refresh", stock.refresh);
    out.plain("per_visitor", super::stock::written(rules.per_visitor_milli));
    out.plain("reserve", rules.reserve);
    out.text(
        "when_short",
        match rules.when_short {
            WhenShort::Warn => "warn",
            WhenShort::Waitlist => "waitlist",
            WhenShort::Close => "close",
        },
    );
}

fn schedule(out: &mut Out, schedule: &Schedule) {
    if *schedule == Schedule::default() {
        return;
    }
    out.heading("[room.schedule]");
    let times = [("doors", schedule.doors), ("opens", schedule.opens), ("closes", schedule.closes)];
    for (key, time) in times {
        if let Some(time) = time {
            out.plain(key, super::schedule::written(time));
        }
    }
    let draw = schedule.lobby_order == LobbyOrder::Draw;
    out.text("lobby_order", if draw { "draw" } else { "fifo" });
    if let Some(public) = &schedule.public {
        out.text("public", public);
    }
}

fn page(out: &mut Out, page: &PageConfig) {
    out.heading("[room.page]");
    out.plain("status", page.status);
    if let Some(title) = &page.title {
        out.text("title", title);
    }
    if let Some(logo) = &page.logo {
        out.text("logo", logo.file.display());
    }
    out.list("languages", &page.languages);
    if let Some(accent) = &page.accent {
        out.plain("colours", format_args!("{{ accent = {} }}", string(accent)));
    }
}

fn cache(out: &mut Out, rule: &CacheConfig) {
    out.heading("[[cache]]");
    out.list("paths", &rule.paths);
    out.time("ttl", rule.ttl);
    out.time("stale_while_revalidate", rule.stale_while_revalidate);
    out.time("stale_if_error", rule.stale_if_error);
    out.plain("max_bytes", rule.max_bytes);
    if let Some(names) = &rule.query {
        out.list("query", names);
    }
}
