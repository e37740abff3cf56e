//! `store.url` of a Redis, read: one server, sentinels that know which one is the primary, or nodes of a cluster.
//!
//! It holds passwords, so nothing here prints one: `Display` masks them, and no error repeats what was written.

mod parse;
#[cfg(test)]
mod tests;

use std::fmt;

use redis::RedisConnectionInfo;

pub use self::parse::BadAddress;

/// What stands in the place of a password when an address is shown.
pub const MASK: &str = "***";

/// Most hosts in one address.
const HOSTS_MAX: usize = 32;
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;

/// An address: `redis[s]://`, `redis[s]+sentinel://` or `redis[s]+cluster://`. Shown with its passwords masked.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub(super) tls: bool,
    pub(super) login: Login,
    pub(super) db: u32,
    pub(super) to: To,
}

/// Whom to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum To {
    /// This server, and no other.
    Server(Host),
    /// Whichever server these sentinels call the primary of `name`.
    Sentinels { hosts: Vec<Host>, name: String, login: Login },
    /// Whichever node these call the primary of a room's slot.
    Cluster(Vec<Host>),
}

/// A machine by name or number; IPv6 without brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: u16,
}

/// Who we are there.
#[derive(Clone, PartialEq, Eq, Default)]
pub(super) struct Login {
    user: Option<String>,
    password: Option<String>,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, without a word of it.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        parse::address(text)
    }

    /// Whether the way there is encrypted.
    #[must_use]
    pub const fn tls(&self) -> bool {
        self.tls
    }

    /// Whether a replica may take over without anybody changing the address.
    #[must_use]
    pub const fn fails_over(&self) -> bool {
        !matches!(self.to, To::Server(_))
    }
}

impl Login {
    /// What the client library greets with.
    pub(super) fn greeting(&self, db: u32) -> RedisConnectionInfo {
        let mut info = RedisConnectionInfo::default().set_skip_set_lib_name().set_db(i64::from(db));
        if let Some(user) = &self.user {
            info = info.set_username(user);
        }
        if let Some(password) = &self.password {
            info = info.set_password(password);
        }
        info
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login(..)")
    }
}

impl Host {
    fn bracketed(&self) -> String {
        if self.name.contains(':') { format!("[{}]", self.name) } else { self.name.clone() }
    }

    /// As an address may hold it, where this is the port of those that name none.
    fn written(&self, port: u16) -> String {
        if self.port == port { self.bracketed() } else { self.to_string() }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.bracketed(), self.port)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, hosts, port) = match &self.to {
            To::Server(host) => ("", std::slice::from_ref(host), PORT),
            To::Sentinels { hosts, .. } => ("+sentinel", hosts.as_slice(), SENTINEL_PORT),
            To::Cluster(hosts) => ("+cluster", hosts.as_slice(), PORT),
        };
        write!(f, "redis{}{kind}://", if self.tls { "s" } else { "" })?;
        if self.login.password.is_some() {
            write!(f, "{}:{MASK}@", escaped(self.login.user.as_deref().unwrap_or_default()))?;
        }
        let hosts: Vec<String> = hosts.iter().map(|host| host.written(port)).collect();
        f.write_str(&hosts.join(","))?;
        if let To::Sentinels { name, .. } = &self.to {
            write!(f, "/{name}")?;
        }
        if self.db != 0 {
            write!(f, "/{}", self.db)?;
        }
        if let To::Sentinels { login: Login { user, password: Some(_) }, .. } = &self.to {
            let user = user.as_ref().map(|user| format!("sentinel_user={}&", escaped(user)));
            write!(f, "?{}sentinel_password={MASK}", user.unwrap_or_default())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A user's name as an address may hold it.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}
