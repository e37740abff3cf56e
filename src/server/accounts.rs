//! How each room tells accounts, out of the configuration.

use http::HeaderName;

use super::StartError;
use crate::answer::Accounts;
use crate::config::{Config, IdentityKind, JwksConfig, JwtConfig, Missing, RoomConfig};
use crate::identity::{Kind, Place, RefreshSettings, Settings, TokenSettings};

/// Most verified tokens that a room remembers: about 40 MB when all of them are long.
const REMEMBERED_MAX: usize = 50_000;

/// The room's way; `None`: it does not tell accounts.
pub(super) fn of(config: &Config, room: &RoomConfig) -> Result<Option<Accounts>, StartError> {
    let kind = match &room.identity.kind {
        IdentityKind::Browser => return Ok(None),
        IdentityKind::Cookie { name } => Kind::Cookie { name: name.clone() },
        IdentityKind::Header { name } => {
            let bad = |_| StartError::Setting("room.identity.name", format!("`{name}` cannot be used"));
            Kind::Header { name: HeaderName::try_from(name.as_str()).map_err(bad)? }
        }
        IdentityKind::Jwt(jwt) => Kind::Jwt(Box::new(token(config, room, jwt))),
    };
    Ok(Some(Accounts {
        identity: Settings { room: room.id.clone(), kind },
        browsers_too: room.identity.missing == Missing::Browser,
        login_url: room.identity.login_url.clone(),
    }))
}

fn token(config: &Config, room: &RoomConfig, jwt: &JwtConfig) -> TokenSettings {
    TokenSettings {
        name: jwt.name.clone(),
        claim: jwt.claim.clone(),
        issuer: jwt.issuer.clone(),
        audience: jwt.audience.clone(),
        leeway: room.leeway,
        keys: match &jwt.jwks {
            JwksConfig::File(path) => Place::File(path.clone()),
            JwksConfig::Http { tls, host, port, target } => {
                Place::Http { tls: *tls, host: host.clone(), port: *port, target: target.clone() }
            }
            JwksConfig::OnOrigin(target) => Place::Http {
                tls: false,
                host: config.origin.host.clone(),
                port: config.origin.port,
                target: target.clone(),
            },
        },
        refresh: RefreshSettings::default(),
        remembered_max: REMEMBERED_MAX,
    }
}
