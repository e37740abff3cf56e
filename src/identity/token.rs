//! Whether a token of the shop's is genuine and in force, and what it calls the account.
//!
//! The token names an algorithm and a key, and nothing else in its header is followed. Both must fit a key of
//! the set: a public key as a shared secret, `none`, or another algorithm than the key's type has, finds none.
//! A time of expiry is required, for a token without one would be good for ever.

use std::time::Duration;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Validation;
use jsonwebtoken::errors::ErrorKind;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

use super::keyset::{self, KID_MAX, KeySet};
use super::settings::TokenSettings;
use super::source::Keys;
use crate::room::Micros;
use crate::token::{Digest, Memory};

/// The longest token: header lines are bounded, too, but differently at each door.
const CHARS_MAX: usize = 8192;
/// The longest name of an account in a claim, in bytes.
const CLAIM_MAX: usize = 256;

/// What becomes of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Good; what it calls the account.
    Genuine(Vec<u8>),
    /// Not good, in one word for the counters.
    Refused(&'static str),
    /// No set of keys was ever had, or the last attempt failed and the key is not in the one that is there.
    Unsure,
}

/// Of a header that matters here.
#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

/// What a genuine token says; judged by the clock at each use.
struct Verified {
    value: Vec<u8>,
    not_before: f64,
    expires: f64,
}

/// Checks tokens, and remembers those that were genuine.
pub(super) struct Tokens {
    settings: TokenSettings,
    keys: Keys,
    memory: Memory<Verified>,
}

impl Tokens {
    pub(super) fn new(settings: TokenSettings, keys: Keys) -> Self {
        let memory = Memory::new(settings.remembered_max);
        Self { settings, keys, memory }
    }

    /// Judges a token.
    pub(super) async fn check(&self, text: &str, now: Micros) -> Verdict {
        if text.len() > CHARS_MAX {
            return Verdict::Refused("too_long");
        }
        let Some(header) = header(text) else { return Verdict::Refused("malformed") };
        let kid = header.kid.as_deref();
        let knows = |set: &Arc<KeySet>| set.knows(kid);
        let mut set = self.keys.set();
        if !set.as_ref().is_some_and(knows) {
            self.keys.look_again().await;
            set = self.keys.set();
        }
        match set {
            Some(set) if knows(&set) => self.verify(&set, &header, text, now),
            Some(_) if self.keys.is_current() => Verdict::Refused("unknown_key"),
            _ => Verdict::Unsure,
        }
    }

    fn verify(&self, set: &KeySet, header: &Header, text: &str, now: Micros) -> Verdict {
        let digest = sha256(text);
        let verified = match self.memory.get(&digest, set.generation) {
            Some(known) => known,
            None => match self.verified(set, header, text) {
                Ok(verified) => {
                    let verified = Arc::new(verified);
                    self.memory.put(digest, set.generation, Arc::clone(&verified));
                    verified
                }
                Err(cause) => return Verdict::Refused(cause),
            },
        };
        match in_force(&verified, self.settings.leeway, now) {
            Ok(()) => Verdict::Genuine(verified.value.clone()),
            Err(cause) => Verdict::Refused(cause),
        }
    }

    fn verified(&self, set: &KeySet, header: &Header, text: &str) -> Result<Verified, &'static str> {
        let algorithm = keyset::algorithm(&header.alg).ok_or("algorithm")?;
        let key = set.find(header.kid.as_deref(), algorithm).ok_or("algorithm")?;
        let mut rules = Validation::new(algorithm);
        // Signature alone: claims and time are judged here, by the caller's clock.
        rules.required_spec_claims = HashSet::new();
        (rules.validate_exp, rules.validate_nbf, rules.validate_aud) = (false, false, false);
        let data = jsonwebtoken::decode::<Map<String, Value>>(text, &key.key, &rules)
            .map_err(|e| cause(e.kind()))?;
        self.claims(&data.claims)
    }

    fn claims(&self, claims: &Map<String, Value>) -> Result<Verified, &'static str> {
        let settings = &self.settings;
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        let issued = settings.issuer.as_deref().is_none_or(|wanted| text("iss") == Some(wanted));
        let meant = settings.audience.as_deref().is_none_or(|wanted| holds(claims.get("aud"), wanted));
        if !issued || !meant {
            return Err("foreign");
        }
        let value = account(claims.get(&settings.claim)).ok_or("claims")?;
        let expires = seconds(claims.get("exp").ok_or("claims")?).ok_or("claims")?;
        let not_before = claims.get("nbf").map_or(Some(0.0), seconds).ok_or("claims")?;
        Ok(Verified { value, not_before, expires })
    }
}

fn header(text: &str) -> Option<Header> {
    let (header, rest) = text.split_once('.')?;
    if rest.bytes().filter(|b| *b == b'.').count() != 1 {
        return None;
    }
    let header: Header = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).ok()?).ok()?;
    header.kid.as_ref().is_none_or(|kid| kid.len() <= KID_MAX).then_some(header)
}

/// The name of the account: a text that is not empty, or a whole number.
fn account(claim: Option<&Value>) -> Option<Vec<u8>> {
    let name = match claim? {
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_u64() || number.is_i64() => number.to_string(),
        _ => return None,
    };
    (1..=CLAIM_MAX).contains(&name.len()).then(|| name.into_bytes())
}

fn holds(audience: Option<&Value>, wanted: &str) -> bool {
    match audience {
        Some(Value::String(one)) => one == wanted,
        Some(Value::Array(list)) => list.iter().any(|one| one.as_str() == Some(wanted)),
        _ => false,
    }
}

/// Seconds since 1970, which may have a part.
fn seconds(value: &Value) -> Option<f64> {
    value.as_f64().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}

fn in_force(token: &Verified, leeway: Duration, now: Micros) -> Result<(), &'static str> {
    let now = Duration::from_micros(now.0).as_secs_f64();
    let leeway = leeway.as_secs_f64();
    match () {
        () if now >= token.expires + leeway => Err("expired"),
        () if now + leeway < token.not_before => Err("not_yet"),
        () => Ok(()),
    }
}

fn cause(kind: &ErrorKind) -> &'static str {
    match kind {
        ErrorKind::InvalidSignature => "signature",
        ErrorKind::InvalidAlgorithm => "algorithm",
        ErrorKind::Base64(_) | ErrorKind::InvalidToken => "malformed",
        _ => "claims",
    }
}

fn sha256(text: &str) -> Digest {
    digest::digest(&digest::SHA256, text.as_bytes()).as_ref().first_chunk().copied().unwrap_or_default()
}
