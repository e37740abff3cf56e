//! What this part must be told.

use std::time::Duration;

use http::HeaderName;

use super::source::{Place, RefreshSettings};
use crate::room::RoomId;

/// How a room tells accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The room, for log and metrics.
    pub room: RoomId,
    /// By what.
    pub kind: Kind,
}

/// By what an account is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// The value of a cookie of the shop's, as it stands. Whoever makes values up makes accounts up; they are
    /// good for nothing in the shop.
    Cookie {
        /// Its name.
        name: String,
    },
    /// The value of a header that a trusted proxy sets.
    Header {
        /// Its name.
        name: HeaderName,
    },
    /// A claim of a signed token.
    Jwt(Box<TokenSettings>),
}

impl Kind {
    /// One word.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Cookie { .. } => "cookie",
            Self::Header { .. } => "header",
            Self::Jwt(_) => "jwt",
        }
    }
}

/// Where a token stands and what makes it good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// The header, or else the cookie, that carries it; `Bearer ` before it is let pass.
    pub name: String,
    /// The claim that names the account: a text or a whole number.
    pub claim: String,
    /// What `iss` must be; `None`: anything.
    pub issuer: Option<String>,
    /// What `aud` must be or hold; `None`: anything.
    pub audience: Option<String>,
    /// How far clocks may differ.
    pub leeway: Duration,
    /// Where the keys are.
    pub keys: Place,
    /// How often they are looked for.
    pub refresh: RefreshSettings,
    /// Most verified tokens to remember, at most some 400 bytes each.
    pub remembered_max: usize,
}
