//! Who may read and who may act. A handler that acts takes an [`Operator`] as an argument, and only this
//! file can make one, so a route that forgot to ask does not compile.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, header};

use super::reply::{self, FORBIDDEN, TOO_MANY_FAILURES, UNAUTHORIZED};
use super::router::Admin;
use crate::metrics;

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Reads and acts.
    Operator,
    /// The shop itself: may end single passes; neither reads nor acts otherwise.
    Origin,
}

/// Whose token it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The name from the settings; goes to the log with each change.
    pub name: String,
    /// What it allows.
    pub role: Role,
}

/// Knows the tokens.
pub trait Doorkeeper: Send + Sync + 'static {
    /// Whose token this is. Takes the same time whether and where it differs from a known one.
    fn find(&self, bearer: &str) -> Option<Holder>;
}

/// Remembers who failed, in bounded memory.
pub trait Failures: Send + Sync + 'static {
    /// An attempt with a wrong token came from this address. With too many of them, how long the next must wait.
    fn failed(&self, client: IpAddr) -> Option<Duration>;
}

/// The peer of the connection, put into each request by the listener.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Somebody who may read.
#[derive(Debug)]
pub(super) struct Viewer;

/// Somebody who may act.
#[derive(Debug, Clone)]
pub(super) struct Operator {
    /// Who it is, for the log.
    pub(super) name: String,
}

/// Somebody who may end single stays: an operator, or the shop itself.
#[derive(Debug, Clone)]
pub(super) struct Ender(pub(super) Operator);

impl FromRequestParts<Admin> for Ender {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Refusal> {
        let holder = identify(parts, admin)?;
        match holder.role {
            Role::Operator | Role::Origin => Ok(Self(Operator { name: holder.name })),
            Role::Viewer => Err(Refusal::WrongRole("This needs a token with the role operator or origin.")),
        }
    }
}

impl FromRequestParts<Admin> for Viewer {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Refusal> {
        match identify(parts, admin)?.role {
            Role::Viewer | Role::Operator => Ok(Self),
            Role::Origin => Err(Refusal::WrongRole("This token is for the origin and may not read rooms.")),
        }
    }
}

impl FromRequestParts<Admin> for Operator {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, admin: &Admin) -> Result<Self, Refusal> {
        let holder = identify(parts, admin)?;
        match holder.role {
            Role::Operator => Ok(Self { name: holder.name }),
            Role::Viewer | Role::Origin => {
                Err(Refusal::WrongRole("This needs a token with the role operator."))
            }
        }
    }
}

/// Whose token a request carries. A request without one is refused and not counted as a failure: it guesses
/// nothing, and browsers and probes send such requests all the time.
fn identify(parts: &Parts, admin: &Admin) -> Result<Holder, Refusal> {
    let bearer = bearer(&parts.headers).ok_or(Refusal::NoToken)?;
    admin.doorkeeper.find(bearer).ok_or_else(|| wrong_token(parts, admin))
}

/// A wrong token is slowed down, a right one never: a stale script behind the same address must not keep an
/// operator from pausing the sale. Guessing is hopeless anyway, for a token has 256 random bits; this keeps it
/// from costing anything and from filling the log.
fn wrong_token(parts: &Parts, admin: &Admin) -> Refusal {
    let client = parts.extensions.get::<Peer>().map(|peer| peer.0.ip().to_canonical());
    metrics::token_refused(metrics::Token::Admin, "unknown");
    if let Some(wait) = client.and_then(|client| admin.failures.failed(client)) {
        return Refusal::SlowDown(wait);
    }
    tracing::warn!(client = client.map(tracing::field::display), "wrong token on the admin listener");
    Refusal::NoToken
}

/// Why somebody may not go on. A wrong token and none look the same from outside.
#[derive(Debug)]
pub(super) enum Refusal {
    NoToken,
    SlowDown(Duration),
    WrongRole(&'static str),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Self::NoToken => {
                let mut response = reply::problem(UNAUTHORIZED, "A valid bearer token is needed.", None);
                let challenge = HeaderValue::from_static("Bearer realm=\"ropeline admin\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
                response
            }
            Self::SlowDown(wait) => {
                let seconds = wait.as_secs().saturating_add(1);
                let detail = "Too many wrong tokens came from this address.";
                reply::problem(TOO_MANY_FAILURES, detail, Some(seconds))
            }
            Self::WrongRole(detail) => reply::problem(FORBIDDEN, detail, None),
        }
    }
}

/// The token of `Authorization: Bearer`; the scheme in any case. None of two such headers counts.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(only), None) = (values.next(), values.next()) else {
        return None;
    };
    let (scheme, token) = only.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        let name = |v: &&str| (header::AUTHORIZATION, HeaderValue::from_str(v).unwrap());
        values.iter().map(name).collect()
    }

    #[test]
    fn one_bearer_header_is_read_and_nothing_else() {
        assert_eq!(bearer(&headers(&["Bearer abc"])), Some("abc"));
        assert_eq!(bearer(&headers(&["bEARER  abc "])), Some("abc"));
        for none in [vec![], vec!["Basic abc"], vec!["Bearer"], vec!["Bearer "], vec!["Bearer a", "Bearer b"]]
        {
            assert_eq!(bearer(&headers(&none)), None, "{none:?}");
        }
    }
}
