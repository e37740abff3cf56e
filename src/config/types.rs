//! The settings as data: what was meant, with all defaults filled in. No behaviour; `server` hands each part
//! its own.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::{queue, room};

/// Everything.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// The doors.
    pub server: ServerConfig,
    /// The shop.
    pub origin: OriginConfig,
    /// Where the line lives.
    pub store: queue::Settings,
    /// Where the keys are.
    pub keys_dir: PathBuf,
    /// The operator's listener.
    pub admin: AdminConfig,
    /// The rooms, at least one, in the order of the file; ids are unique.
    pub rooms: Vec<RoomConfig>,
    /// What is answered from memory, in the order of the file.
    pub caches: Vec<CacheConfig>,
}

/// Shows what `--print` shows, so that no secret gets into a log this way either.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&super::print(self))
    }
}

/// The `[server]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Where the edge listens; at least one address.
    pub listen: Vec<SocketAddr>,
    /// Served hosts besides those that rooms name: lower case, no port.
    pub hosts: Vec<String>,
    /// The reserved prefix: leading slash, no final one.
    pub prefix: String,
    /// Where the crowd door listens.
    pub crowd_listen: Vec<SocketAddr>,
    /// Where the waiting page polls, as `scheme://host[:port]`; `None`: where it came from.
    pub crowd_url: Option<String>,
    /// Who may call the prefix from another origin: `scheme://host[:port]`, lower case.
    pub cors_origins: Vec<String>,
    /// Peers whose `X-Forwarded-*` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Bounds on clients.
    pub limits: LimitsConfig,
}

/// The `[server.limits]` table. Holds for each of the two doors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Longest wait for the whole head of a request.
    pub header_timeout: Duration,
    /// Largest head of a request, in bytes.
    pub header_bytes: usize,
    /// How long a connection may rest between requests.
    pub idle_timeout: Duration,
    /// Most connections at once.
    pub connections: usize,
    /// Most connections of one client address at once.
    pub connections_per_address: usize,
    /// Most event streams at once, over both doors.
    pub event_streams: usize,
    /// Most event streams of one client address at once.
    pub event_streams_per_address: usize,
    /// Largest body of a request, in bytes.
    pub body_bytes: u64,
}

/// The `[origin]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginConfig {
    /// Host name or address, lower case, IPv6 in brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for the head of a response, and between parts of its body.
    pub response_timeout: Duration,
    /// Most requests in flight.
    pub max_connections: usize,
    /// Whether rules match without regard to case.
    pub paths_ignore_case: bool,
    /// Sent as `x-ropeline-secret`.
    pub secret: Option<Secret>,
    /// Where the secret came from, if from a file.
    pub secret_file: Option<PathBuf>,
}

/// A value that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// The `[admin]` table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminConfig {
    /// Where the operator's API listens.
    pub listen: SocketAddr,
    /// Who may call it; names are unique. Empty: one token is made, beside the keys.
    pub tokens: Vec<TokenConfig>,
}

/// One `[[admin.token]]`.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenConfig {
    /// Whose token it is, as it stands in the audit.
    pub name: String,
    /// What it may do.
    pub role: Role,
    /// SHA-256 of the bearer token.
    pub sha256: [u8; 32],
}

impl fmt::Debug for TokenConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenConfig")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Read.
    Viewer,
    /// Read and act.
    Operator,
    /// The shop itself: end single stays, nothing else.
    Origin,
}

/// One `[[room]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomConfig {
    /// The room's name.
    pub id: room::RoomId,
    /// Its hosts, lower case without port; empty: any served host.
    pub hosts: Vec<String>,
    /// Its paths; at least one, each of the one grammar.
    pub paths: Vec<String>,
    /// What is let through inside its paths.
    pub open_paths: Vec<String>,
    /// What the store holds of it.
    pub rules: room::Rules,
    /// Where the shop says what remains; `None`: nobody asks. What follows from it is in the rules.
    pub stock: Option<StockConfig>,
    /// The longest poll interval; at least `rules.poll_min`.
    pub poll_max: Duration,
    /// Not heard of for so long: no longer counted.
    pub absent_after: Duration,
    /// What makes two requests one visitor.
    pub identity: IdentityConfig,
    /// `SameSite` of its cookies.
    pub same_site: SameSite,
    /// Its waiting page.
    pub page: PageConfig,
    /// How far clocks may differ when a pass is checked.
    pub leeway: Duration,
    /// From how many client networks a pass may be used at one instance; 0: any.
    pub networks_max: usize,
}

/// `room.identity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityConfig {
    /// What tells visitors apart.
    pub kind: IdentityKind,
    /// What becomes of who shows no account.
    pub missing: Missing,
    /// Where such a visitor may log in; `{return}` in it is where to come back to.
    pub login_url: Option<String>,
}

/// What tells visitors apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityKind {
    /// Our cookie alone.
    Browser,
    /// The value of a cookie of the shop's.
    Cookie {
        /// Its name.
        name: String,
    },
    /// The value of a header from a trusted proxy.
    Header {
        /// Its name, lower case.
        name: String,
    },
    /// A claim of a signed token.
    Jwt(Box<JwtConfig>),
}

/// A signed token of the shop's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JwtConfig {
    /// Where its keys are.
    pub jwks: JwksConfig,
    /// The header or cookie that carries it.
    pub name: String,
    /// The claim that names the account.
    pub claim: String,
    /// What `iss` must be.
    pub issuer: Option<String>,
    /// What `aud` must be or hold.
    pub audience: Option<String>,
}

/// Where a key set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JwksConfig {
    /// A path and query on the origin.
    OnOrigin(String),
    /// Another address.
    Http {
        /// Whether by https.
        tls: bool,
        /// Host name or address, lower case, IPv6 in brackets.
        host: String,
        /// Port.
        port: u16,
        /// Path and query.
        target: String,
    },
    /// A file.
    File(PathBuf),
}

/// What becomes of a visitor who shows no account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// 401, with the way to log in.
    Refuse,
    /// A place of the browser's.
    Browser,
}

/// Where the shop says what remains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockConfig {
    /// Path and query.
    pub path: String,
    /// A JSON pointer into the answer.
    pub field: String,
    /// How often it is asked.
    pub refresh: Duration,
}

/// `SameSite` of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameSite {
    /// Links from other sites carry it.
    Lax,
    /// Only the own site carries it.
    Strict,
    /// Frames of other sites carry it (with `Secure` and `Partitioned`).
    None,
}

/// One `[room.page]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageConfig {
    /// Status of the waiting page.
    pub status: u16,
    /// What the page calls the room; `None`: the page's own words.
    pub title: Option<String>,
    /// Shown at the top.
    pub logo: Option<LogoConfig>,
    /// `#rrggbb` of buttons and bars; `None`: the page's own.
    pub accent: Option<String>,
    /// Tags of the languages that are offered, the first being the fallback; at least one.
    pub languages: Vec<String>,
}

/// A logo, ready to be part of the page.
#[derive(Clone, PartialEq, Eq)]
pub struct LogoConfig {
    /// Where it came from.
    pub file: PathBuf,
    /// Its media type.
    pub media_type: &'static str,
    /// The file's bytes.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for LogoConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogoConfig").field("file", &self.file).finish_non_exhaustive()
    }
}

/// One `[[cache]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfig {
    /// What is kept; at least one path of the one grammar.
    pub paths: Vec<String>,
    /// How long an entry is fresh.
    pub ttl: Duration,
    /// After that: how long it may be served while one request renews it.
    pub stale_while_revalidate: Duration,
    /// After that: how long it may be served while the origin fails.
    pub stale_if_error: Duration,
    /// Largest entry, in bytes; larger responses are not kept.
    pub max_bytes: usize,
    /// Query parameters that tell entries apart; `None`: the whole query does.
    pub query: Option<Vec<String>>,
}
