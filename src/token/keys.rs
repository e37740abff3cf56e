//! The content of a key directory at one moment, read whole or not at all, and never changed afterwards: a
//! [`super::Keyring`] replaces it as one.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use aws_lc_rs::hmac;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use jsonwebtoken::{DecodingKey, EncodingKey};

use super::files::{in_dir, list_dir, read_secret};
use super::kid::Kid;
use super::{KeyError, pem};

/// The name of the identity key's file.
pub(super) const IDENTITY: &str = "identity.key";
/// Most ticket keys, and most pass keys: one a day for a month, where a few are usual.
const KEYS_MAX: usize = 32;

/// Signs and verifies tickets.
pub(super) struct TicketKey {
    pub(super) kid: Kid,
    pub(super) mac: hmac::Key,
}

/// Signs and verifies passes.
pub(super) struct PassKey {
    pub(super) kid: Kid,
    pub(super) signing: EncodingKey,
    pub(super) verifying: DecodingKey,
    public: Vec<u8>,
}

/// All keys of a directory.
pub(super) struct Keys {
    /// Which reading this is. What was verified under another one must be verified again.
    pub(super) generation: u64,
    pub(super) identity: hmac::Key,
    pub(super) jwks: Bytes,
    tickets: Vec<TicketKey>,
    passes: Vec<PassKey>,
    by_kid: HashMap<String, usize>,
    by_tag: HashMap<[u8; 4], usize>,
    fingerprint: [u8; 32],
}

impl Keys {
    /// Reads a directory.
    pub(super) fn read(dir: &Path, generation: u64) -> Result<Self, KeyError> {
        let names = list_dir(dir)?;
        let tickets = all(dir, &names, "ticket-", ".key", ticket_key)?;
        let passes = all(dir, &names, "pass-", ".pem", pass_key)?;
        let missing = |what| KeyError::Missing { path: dir.to_owned(), what };
        if !names.iter().any(|name| name == IDENTITY) {
            let others = !tickets.is_empty() || !passes.is_empty();
            return Err(if others {
                KeyError::IdentityLost { path: dir.to_owned() }
            } else {
                missing("keys")
            });
        }
        let identity = secret(&in_dir(dir, IDENTITY))?;
        if tickets.is_empty() {
            return Err(missing("ticket key"));
        }
        if passes.is_empty() {
            return Err(missing("pass key"));
        }
        Self::from_parts(dir, generation, &identity, tickets, passes)
    }

    fn from_parts(
        dir: &Path,
        generation: u64,
        identity: &[u8; 32],
        tickets: Vec<TicketKey>,
        passes: Vec<PassKey>,
    ) -> Result<Self, KeyError> {
        let by_kid: HashMap<_, _> =
            passes.iter().enumerate().map(|(at, key)| (key.kid.as_str().to_owned(), at)).collect();
        let by_tag: HashMap<_, _> = tickets.iter().enumerate().map(|(at, key)| (key.kid.tag, at)).collect();
        if by_tag.len() < tickets.len() {
            let why = "two ticket keys end in the same eight digits; remove one and make another";
            return Err(KeyError::Bad { path: dir.to_owned(), why });
        }
        Ok(Self {
            generation,
            identity: hmac::Key::new(hmac::HMAC_SHA256, identity),
            jwks: jwks(&passes),
            fingerprint: fingerprint(identity, &tickets, &passes),
            tickets,
            passes,
            by_kid,
            by_tag,
        })
    }

    /// Whether these are the same keys under the same names.
    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }

    /// The ticket key that signs at a moment, in seconds since 1970.
    pub(super) fn ticket_signer(&self, at: u64) -> Option<&TicketKey> {
        in_force(&self.tickets, at, |key| &key.kid)
    }

    /// The pass key that signs at a moment, in seconds since 1970.
    pub(super) fn pass_signer(&self, at: u64) -> Option<&PassKey> {
        in_force(&self.passes, at, |key| &key.kid)
    }

    /// The ticket key of a tag.
    pub(super) fn ticket_key(&self, tag: [u8; 4]) -> Option<&TicketKey> {
        self.by_tag.get(&tag).and_then(|at| self.tickets.get(*at))
    }

    /// The pass key of a name, exactly as it is written.
    pub(super) fn pass_key(&self, kid: &str) -> Option<&PassKey> {
        self.by_kid.get(kid).and_then(|at| self.passes.get(*at))
    }

    /// The newest pass key, whether it signs yet or not.
    pub(super) fn newest(&self) -> Option<&Kid> {
        let newest_pass = self.passes.last().map(|key| &key.kid);
        newest_pass.max(self.tickets.last().map(|key| &key.kid))
    }
}

/// The newest key whose moment has come. Before the first one's the oldest: somebody has to sign.
fn in_force<K>(sorted: &[K], at: u64, kid: impl Fn(&K) -> &Kid) -> Option<&K> {
    sorted.iter().rev().find(|key| kid(key).signs_from <= at).or(sorted.first())
}

/// All keys of a kind, oldest first.
fn all<K>(
    dir: &Path,
    names: &[String],
    prefix: &str,
    suffix: &str,
    read: impl Fn(Kid, PathBuf) -> Result<K, KeyError>,
) -> Result<Vec<K>, KeyError> {
    let mut found = Vec::new();
    for name in names {
        let Some(kid) = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix)) else {
            continue;
        };
        let path = in_dir(dir, name);
        let why = "not named as 'ropeline keys new' does; rename it, or move it elsewhere";
        found.push((Kid::parse(kid).ok_or(KeyError::Bad { path: path.clone(), why })?, path));
    }
    if found.len() > KEYS_MAX {
        let why = "holds more than 32 keys of a kind; remove the oldest";
        return Err(KeyError::Bad { path: dir.to_owned(), why });
    }
    found.sort();
    found.into_iter().map(|(kid, path)| read(kid, path)).collect()
}

fn ticket_key(kid: Kid, path: PathBuf) -> Result<TicketKey, KeyError> {
    let secret = secret(&path)?;
    Ok(TicketKey { kid, mac: hmac::Key::new(hmac::HMAC_SHA256, &secret) })
}

fn pass_key(kid: Kid, path: PathBuf) -> Result<PassKey, KeyError> {
    let text = read_secret(&path)?;
    let der = pem::read(&text);
    let pair = der.as_deref().and_then(|der| Ed25519KeyPair::from_pkcs8(der).ok());
    let (Some(der), Some(pair)) = (der, pair) else {
        let why = "not an Ed25519 private key (PKCS#8, PEM); restore it, or move it elsewhere";
        return Err(KeyError::Bad { path, why });
    };
    let public = pair.public_key().as_ref().to_vec();
    Ok(PassKey {
        kid,
        signing: EncodingKey::from_ed_der(&der),
        verifying: DecodingKey::from_ed_der(&public),
        public,
    })
}

/// A secret of 32 bytes as one line of base64url.
fn secret(path: &Path) -> Result<[u8; 32], KeyError> {
    let text = read_secret(path)?;
    let bytes = URL_SAFE_NO_PAD.decode(text.trim_end()).ok().and_then(|bytes| bytes.try_into().ok());
    let why = "not a key of 32 bytes in base64url; restore it, or move it elsewhere";
    bytes.ok_or_else(|| KeyError::Bad { path: path.to_owned(), why })
}

/// The public keys of passes (RFC 7517, RFC 8037), newest first.
fn jwks(passes: &[PassKey]) -> Bytes {
    let key = |key: &PassKey| {
        let x = URL_SAFE_NO_PAD.encode(&key.public);
        serde_json::json!({
            "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA", "kid": key.kid.as_str(), "x": x,
        })
    };
    let keys: Vec<_> = passes.iter().rev().map(key).collect();
    Bytes::from(serde_json::json!({ "keys": keys }).to_string())
}

fn fingerprint(identity: &[u8; 32], tickets: &[TicketKey], passes: &[PassKey]) -> [u8; 32] {
    let mut all = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, identity));
    for key in tickets {
        all.update(key.kid.as_str().as_bytes());
        all.update(hmac::sign(&key.mac, b"fingerprint").as_ref());
    }
    for key in passes {
        all.update(key.kid.as_str().as_bytes());
        all.update(&key.public);
    }
    all.sign().as_ref().first_chunk().copied().unwrap_or_default()
}
