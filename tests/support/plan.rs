//! The settings of instances, as the TOML that an operator would write.

use std::net::SocketAddr;
use std::path::Path;

use super::origin::Origin;
use super::redis::Redis;

/// What to start. Public fields are there to be changed with struct update syntax or the verbs below.
#[derive(Debug, Clone)]
pub struct Plan {
    pub origin: SocketAddr,
    pub room: &'static str,
    /// Hosts of the room; empty: any.
    pub hosts: Vec<&'static str>,
    pub paths: Vec<&'static str>,
    pub open_paths: Vec<&'static str>,
    pub rate: String,
    pub burst: Option<u32>,
    /// `redis://...`; `None`: the embedded store.
    pub redis: Option<String>,
    pub store_timeout: &'static str,
    /// A crowd door too.
    pub crowd: bool,
    /// Further lines of the `[[room]]` itself.
    pub room_lines: String,
    /// Further lines of `[server]`, `[origin]`, `[store]`, `[room.release]`.
    pub server: String,
    pub origin_lines: String,
    pub store: String,
    pub release: String,
    /// Further tables below the room (`[room.pass]`, `[[cache]]`, `[[room]]`, ...).
    pub more: String,
}

impl Plan {
    /// A room `sale` on `/buy/**` at 10 a second, on the embedded store.
    pub fn before(origin: &Origin) -> Self {
        Self::before_address(origin.addr())
    }

    /// The same before any address.
    pub fn before_address(origin: SocketAddr) -> Self {
        Self {
            origin,
            room: "sale",
            hosts: Vec::new(),
            paths: vec!["/buy/**"],
            open_paths: vec!["/buy/static/**"],
            rate: "10/s".into(),
            burst: None,
            redis: None,
            store_timeout: "500ms",
            crowd: false,
            room_lines: String::new(),
            server: String::new(),
            origin_lines: String::new(),
            store: String::new(),
            release: String::new(),
            more: String::new(),
        }
    }

    /// At this rate.
    pub fn rate(mut self, rate: &str) -> Self {
        rate.clone_into(&mut self.rate);
        self
    }

    /// On this Redis.
    pub fn on(mut self, redis: &Redis) -> Self {
        self.redis = Some(redis.url());
        self
    }

    /// With this `identity = {...}`.
    pub fn identity(mut self, table: &str) -> Self {
        self.room_lines = format!("identity = {{ {table} }}");
        self
    }

    /// With further tables.
    pub fn more(mut self, toml: &str) -> Self {
        self.more += toml;
        self.more.push('\n');
        self
    }

    /// The document of one instance.
    pub fn document(&self, home: &Path, ports: Ports, tokens: &[(&str, String)]) -> String {
        let store = self.redis.clone().unwrap_or_else(|| format!("file:{}", home.join("data").display()));
        let crowd = if self.crowd {
            format!("crowd_listen = [\"127.0.0.1:{}\"]", ports.crowd)
        } else {
            String::new()
        };
        let burst = self.burst.map(|b| format!("burst = {b}")).unwrap_or_default();
        let tokens: String = tokens
            .iter()
            .map(|(role, sha)| {
                format!("[[admin.token]]\nname = \"{role}\"\nrole = \"{role}\"\nsha256 = \"{sha}\"\n")
            })
            .collect();
        format!(
            r#"[server]
listen = ["127.0.0.1:{edge}"]
{crowd}
{server}
[origin]
url = "http://{origin}"
{origin_lines}
[store]
url = "{store}"
timeout = "{timeout}"
{store_more}
[keys]
dir = "{keys}"
[admin]
listen = "127.0.0.1:{admin}"
{tokens}
[[room]]
id = "{room}"
hosts = {hosts:?}
paths = {paths:?}
open_paths = {open:?}
{room_lines}
[room.release]
rate = "{rate}"
{burst}
{release}
{more}
"#,
            edge = ports.edge,
            admin = ports.admin,
            server = self.server,
            origin = self.origin,
            origin_lines = self.origin_lines,
            timeout = self.store_timeout,
            store_more = self.store,
            keys = home.join("keys").display(),
            room = self.room,
            hosts = self.hosts,
            paths = self.paths,
            open = self.open_paths,
            room_lines = self.room_lines,
            rate = self.rate,
            release = self.release,
            more = self.more,
        )
    }
}

/// Where one instance listens.
#[derive(Debug, Clone, Copy)]
pub struct Ports {
    pub edge: u16,
    pub crowd: u16,
    pub admin: u16,
}
