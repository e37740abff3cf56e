//! Whether a text is a pass of ours, in two steps. `verify` is dear and depends on the text and the keys
//! alone, so its result may be remembered; `judge` is cheap and depends on room and time, so it is asked at
//! every use.
//!
//! The token never chooses: the algorithm is ours, the key is found by its exact name, nothing in the header
//! is followed. The JWT library checks the signature and that claims are there; time is ours to judge, since
//! it would allow a minute and read its own clock.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Validation};
use serde::Deserialize;

use super::TokenFault;
use super::bound::Binding;
use super::claims::{ISSUER, Pass};
use super::keys::Keys;
use crate::room::{Lineage, Micros, Number, RoomId};

/// No pass of ours comes near this.
pub(super) const CHARS_MAX: usize = 4096;
/// How far ahead a pass may begin: as long as a request is ever held.
pub(super) const AHEAD_MAX: Duration = Duration::from_secs(10);

/// A header may say this and nothing else: no key of its own, no address of one, nothing critical.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    #[serde(default)]
    typ: Option<String>,
}

/// The claims that make a pass; all of them must be there, with these types.
#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    sub: String,
    jti: String,
    num: u64,
    iat: u64,
    nbf: u64,
    exp: u64,
    lin: String,
    #[serde(default)]
    slot: u64,
    #[serde(default)]
    idn: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    List([String; 1]),
}

static VALIDATION: LazyLock<Validation> = LazyLock::new(|| {
    let mut rules = Validation::new(Algorithm::EdDSA);
    rules.required_spec_claims = HashSet::from(["exp", "nbf", "aud", "iss", "sub"].map(str::to_owned));
    // Room, issuer and time are judged in this file, by our rules and the caller's clock.
    rules.validate_exp = false;
    rules.validate_nbf = false;
    rules.validate_aud = false;
    rules.leeway = 0;
    rules
});

/// The pass in a text, if one of our keys signed it. Says nothing about room and time.
pub(super) fn verify(keys: &Keys, token: &str) -> Result<Pass, TokenFault> {
    if token.len() > CHARS_MAX {
        return Err(TokenFault::TooLong);
    }
    let header = header(token).ok_or(TokenFault::Malformed)?;
    if header.alg != "EdDSA" {
        return Err(TokenFault::Algorithm);
    }
    if header.typ.is_some_and(|typ| typ != "JWT") {
        return Err(TokenFault::Malformed);
    }
    let key = keys.pass_key(&header.kid).ok_or(TokenFault::UnknownKey)?;
    let data = jsonwebtoken::decode(token, &key.verifying, &VALIDATION).map_err(|e| fault(e.kind()))?;
    pass(data.claims)
}

fn header(token: &str) -> Option<Header> {
    let (header, rest) = token.split_once('.')?;
    if rest.bytes().filter(|b| *b == b'.').count() != 1 {
        return None;
    }
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()
}

fn fault(kind: &ErrorKind) -> TokenFault {
    match kind {
        ErrorKind::InvalidSignature => TokenFault::Signature,
        ErrorKind::InvalidAlgorithm => TokenFault::Algorithm,
        ErrorKind::Base64(_) | ErrorKind::InvalidToken => TokenFault::Malformed,
        _ => TokenFault::Claims,
    }
}

fn pass(claims: Claims) -> Result<Pass, TokenFault> {
    if claims.iss != ISSUER {
        return Err(TokenFault::Foreign);
    }
    let lineage = lineage(&claims.lin).ok_or(TokenFault::Claims)?;
    let seconds = |s: u64| s.checked_mul(1_000_000).map(Micros).ok_or(TokenFault::Claims);
    let (nbf, expires) = (seconds(claims.nbf)?, seconds(claims.exp)?);
    let not_before = nbf.max(Micros(claims.slot));
    if expires <= not_before || claims.sub.is_empty() || claims.jti.is_empty() {
        return Err(TokenFault::Claims);
    }
    let bound = claims.idn.map(|text| Binding::parse(&text).ok_or(TokenFault::Claims)).transpose()?;
    let (Audience::One(room) | Audience::List([room])) = claims.aud;
    let room = RoomId::new(&room).ok_or(TokenFault::Foreign)?;
    Ok(Pass {
        room,
        lineage,
        number: Number(claims.num),
        visitor: claims.sub,
        admission: claims.jti,
        not_before,
        expires,
        issued: seconds(claims.iat)?,
        bound,
    })
}

fn lineage(text: &str) -> Option<Lineage> {
    let lineage = Lineage(u64::from_str_radix(text, 16).ok()?);
    (lineage.to_string() == text).then_some(lineage)
}

/// Whether a genuine pass opens this room now.
pub(super) fn judge(
    pass: &Pass,
    room: &RoomId,
    now: Micros,
    leeway: Duration,
    ttl_max: Duration,
) -> Result<(), TokenFault> {
    if pass.room != *room {
        return Err(TokenFault::Foreign);
    }
    // A slot within its second, and a lifetime with a part of a second, each cost up to one when rounded.
    if pass.expires.since(pass.not_before) > ttl_max.saturating_add(Duration::from_secs(1)) {
        return Err(TokenFault::Lasting);
    }
    if now >= pass.expires.plus(leeway) {
        return Err(TokenFault::Expired);
    }
    let horizon = now.plus(leeway.max(AHEAD_MAX));
    if pass.not_before > horizon || pass.issued > horizon {
        return Err(TokenFault::NotYet);
    }
    Ok(())
}
