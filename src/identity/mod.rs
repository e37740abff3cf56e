//! Who a visitor is by the shop's word: the account behind a request, so that one account has one place on
//! all its devices.
//!
//! A cookie or a header is taken as it is; a header counts only from a trusted proxy, for anybody can write
//! one. A token (JWT) counts when a key of the shop's key set signed it. The set is fetched in the background
//! and kept; a request asks for it only when it names a key that is not known, and then seldom. The value that
//! is found goes into a keyed hash at once and is never logged or stored.

mod fetch;
mod keyset;
mod reading;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod tls;
mod token;

use http::HeaderMap;

use crate::metrics;
use crate::room::Micros;
use reading::Found;
pub use settings::{Kind, Settings, TokenSettings};
use source::Keys;
pub use source::{Place, RefreshSettings};
use token::{Tokens, Verdict};

/// What a request says of who sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// An account.
    Account(Account),
    /// None, or one that is not believed.
    Missing,
    /// One that cannot be checked right now, since no key set could be had yet.
    Unsure,
}

/// The shop's name for an account. Not for a log: `Debug` shows its length alone.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// "cookie", "header" or "jwt".
    pub kind: &'static str,
    /// What the shop calls it.
    pub value: Vec<u8>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account({}, {} bytes)", self.kind, self.value.len())
    }
}

/// Tells accounts for one room.
pub struct Identity {
    kind: Kind,
    tokens: Option<Tokens>,
}

impl Identity {
    /// Starts telling accounts; for tokens this starts the task that keeps the key set, on the current
    /// runtime. The set need not be there yet.
    #[must_use]
    pub fn start(settings: Settings) -> Self {
        let tokens = match &settings.kind {
            Kind::Jwt(token) => Some(Tokens::new(
                TokenSettings::clone(token),
                Keys::start(settings.room, token.keys.clone(), token.refresh),
            )),
            Kind::Cookie { .. } | Kind::Header { .. } => None,
        };
        Self { kind: settings.kind, tokens }
    }

    /// The account behind a request. `peer_trusted`: it came through a proxy whose headers are believed. Waits
    /// for nothing but, seldom and for a bounded time, a key set that may hold a key that was just made.
    pub async fn of(&self, headers: &HeaderMap, peer_trusted: bool, now: Micros) -> Shown {
        let found = match &self.kind {
            Kind::Cookie { name } => reading::cookie(headers, name),
            Kind::Header { .. } if !peer_trusted => Found::Nothing,
            Kind::Header { name } => reading::header(headers, name),
            Kind::Jwt(token) => reading::token(headers, &token.name),
        };
        match (found, &self.tokens) {
            (Found::Nothing, _) => Shown::Missing,
            (Found::Several, _) => {
                refused("several");
                Shown::Missing
            }
            (Found::One(text), Some(tokens)) => match tokens.check(text, now).await {
                Verdict::Genuine(value) => self.account(value),
                Verdict::Refused(cause) => {
                    refused(cause);
                    Shown::Missing
                }
                Verdict::Unsure => Shown::Unsure,
            },
            (Found::One(text), None) if text.len() > reading::VALUE_MAX => {
                refused("too_long");
                Shown::Missing
            }
            (Found::One(text), None) => self.account(text.as_bytes().to_vec()),
        }
    }

    /// Whether accounts come as bearers in `Authorization`.
    #[must_use]
    pub fn is_bearer(&self) -> bool {
        matches!(&self.kind, Kind::Jwt(token) if token.name.eq_ignore_ascii_case("authorization"))
    }

    fn account(&self, value: Vec<u8>) -> Shown {
        Shown::Account(Account { kind: self.kind.label(), value })
    }
}

fn refused(cause: &'static str) {
    metrics::token_refused(metrics::Token::Identity, cause);
}
