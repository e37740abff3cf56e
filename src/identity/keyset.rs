//! A key set (JWKS, RFC 7517) as it may be used: public keys that sign, each with the algorithms of its type.
//!
//! The type of the key decides which algorithms there are, never the token: no shared secrets, no `none`. What
//! cannot be used is passed over, since sets hold keys for other purposes too.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;

/// Most bytes of a set, and most keys in it.
pub(super) const BYTES_MAX: usize = 256 * 1024;
const KEYS_MAX: usize = 64;
/// Longest name of a key.
pub(super) const KID_MAX: usize = 256;

const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// Why a document is no set of use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadKeys {
    #[error("longer than {BYTES_MAX} bytes")]
    TooLong,
    #[error("not a JSON document with a list of keys")]
    NoSet,
    #[error("more than {KEYS_MAX} keys")]
    TooMany,
    #[error("holds no public key that signs (RSA of 2048 bits or more, P-256, P-384 or Ed25519)")]
    NoKey,
}

/// One public key.
pub(super) struct Key {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

/// The usable keys of one reading.
pub(super) struct KeySet {
    /// Grows with each reading that differs.
    pub(super) generation: u64,
    document: Vec<u8>,
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// Reads a set.
    pub(super) fn read(document: &[u8], generation: u64) -> Result<Self, BadKeys> {
        if document.len() > BYTES_MAX {
            return Err(BadKeys::TooLong);
        }
        let Document { keys } = serde_json::from_slice(document).map_err(|_| BadKeys::NoSet)?;
        if keys.len() > KEYS_MAX {
            return Err(BadKeys::TooMany);
        }
        let keys: Vec<Key> =
            keys.into_iter().filter_map(|key| usable(serde_json::from_value(key).ok()?)).collect();
        if keys.is_empty() {
            return Err(BadKeys::NoKey);
        }
        Ok(Self { generation, document: document.to_vec(), keys })
    }

    /// Whether the same document was read.
    pub(super) fn is(&self, document: &[u8]) -> bool {
        self.document == document
    }

    /// The key of this name for an algorithm. A token without a name fits a set with one key.
    pub(super) fn find(&self, kid: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let fits = |key: &&Key| key.algorithms.contains(&algorithm);
        match (kid, self.keys.as_slice()) {
            (Some(kid), keys) => keys.iter().filter(|key| key.kid.as_deref() == Some(kid)).find(fits),
            (None, [only]) => Some(only).filter(fits),
            (None, _) => None,
        }
    }

    /// Whether any key has this name.
    pub(super) fn knows(&self, kid: Option<&str>) -> bool {
        kid.is_none_or(|kid| self.keys.iter().any(|key| key.kid.as_deref() == Some(kid)))
    }

    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }
}

fn usable(jwk: Jwk) -> Option<Key> {
    let common = &jwk.common;
    if common.public_key_use.as_ref().is_some_and(|usage| *usage != PublicKeyUse::Signature) {
        return None;
    }
    let verifies = |ops: &Vec<KeyOperations>| ops.contains(&KeyOperations::Verify);
    if common.key_operations.as_ref().is_some_and(|ops| !verifies(ops)) {
        return None;
    }
    let of_type: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) if is_strong(&rsa.n) => RSA,
        AlgorithmParameters::EllipticCurve(ec) => match ec.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            &[Algorithm::EdDSA]
        }
        _ => return None,
    };
    let named = match common.key_algorithm {
        None => of_type.to_vec(),
        Some(named) => of_type.iter().copied().filter(|a| same(named, *a)).collect(),
    };
    let kid = common.key_id.clone().filter(|kid| kid.len() <= KID_MAX);
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    (!named.is_empty() && kid.is_some() == common.key_id.is_some()).then_some(Key {
        kid,
        algorithms: named,
        key,
    })
}

/// At least 2048 bits, and no more than anybody uses.
fn is_strong(modulus: &str) -> bool {
    URL_SAFE_NO_PAD.decode(modulus).is_ok_and(|bytes| (256..=1024).contains(&bytes.len()))
}

fn same(named: KeyAlgorithm, algorithm: Algorithm) -> bool {
    named.to_string() == format!("{algorithm:?}")
}

/// The algorithm of this name, if it is one of public keys that we use.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    let others = [Algorithm::ES256, Algorithm::ES384, Algorithm::EdDSA];
    RSA.iter().chain(&others).copied().find(|known| format!("{known:?}") == name)
}
