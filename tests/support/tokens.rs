//! Looking into passes, and making such as should never open anything.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as B64;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

/// The claims of a pass, unverified.
pub fn claims(pass: &str) -> Option<Value> {
    part(pass, 1)
}

fn part(pass: &str, which: usize) -> Option<Value> {
    serde_json::from_slice(&B64.decode(pass.split('.').nth(which)?).ok()?).ok()
}

fn packed(value: &Value) -> String {
    B64.encode(value.to_string())
}

/// Forgeries made from one valid pass of the room, each with a name. `x` is the published key as text.
pub fn forgeries(pass: &str, x: &str) -> Vec<(&'static str, String)> {
    let (head, body) = (part(pass, 0).unwrap(), part(pass, 1).unwrap());
    let parts: Vec<&str> = pass.split('.').collect();
    let signature = parts[2];
    let mut later = body.clone();
    later["exp"] = json!(body["exp"].as_u64().unwrap() + 3600);
    let unsigned = |alg: &str| format!("{}.{}.", packed(&json!({"typ": "JWT", "alg": alg})), parts[1]);
    let with_head = |h: Value| format!("{}.{}.{signature}", packed(&h), parts[1]);
    let strange_kid = |kid: &str| {
        let mut h = head.clone();
        h["kid"] = json!(kid);
        with_head(h)
    };
    vec![
        ("changed claims", format!("{}.{}.{signature}", parts[0], packed(&later))),
        ("alg none", unsigned("none")),
        ("alg None", unsigned("None")),
        ("alg NONE", unsigned("NONE")),
        ("public key as shared secret", with_secret(&head, &body, x.as_bytes())),
        ("public key bytes as shared secret", with_secret(&head, &body, &B64.decode(x).unwrap())),
        ("somebody else's key under our kid", with_own_key(&head, &body)),
        ("unknown kid", strange_kid("no-such-key")),
        ("kid that is a path", strange_kid("../../etc/passwd")),
        ("kid that is SQL", strange_kid("x' OR '1'='1")),
        ("key in the header", with_head(embedded_key(&head, x))),
        ("key address in the header", with_head(key_address(&head))),
        ("no signature", format!("{}.{}.", parts[0], parts[1])),
        ("two parts", format!("{}.{}", parts[0], parts[1])),
        ("four parts", format!("{pass}.{signature}")),
        ("not base64", "!!!.???.***".to_owned()),
        ("empty", String::new()),
        ("dots", "..".to_owned()),
        ("12 KiB", "A".repeat(12 * 1024)),
    ]
}

fn embedded_key(head: &Value, x: &str) -> Value {
    let mut head = head.clone();
    head["jwk"] = json!({"kty": "OKP", "crv": "Ed25519", "x": x});
    head
}

fn key_address(head: &Value) -> Value {
    let mut head = head.clone();
    head["jku"] = json!("http://127.0.0.1:9/keys.json");
    head
}

fn kid(head: &Value) -> Option<String> {
    head["kid"].as_str().map(str::to_owned)
}

fn with_secret(head: &Value, body: &Value, secret: &[u8]) -> String {
    let header = Header { kid: kid(head), ..Header::new(Algorithm::HS256) };
    encode(&header, body, &EncodingKey::from_secret(secret).unwrap()).unwrap()
}

/// Signed well, by a key that is not ours.
pub fn with_own_key(head: &Value, body: &Value) -> String {
    let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
    let header = Header { kid: kid(head), ..Header::new(Algorithm::EdDSA) };
    encode(&header, body, &EncodingKey::from_ed_der(document.as_ref())).unwrap()
}

/// A key by which the shop signs tokens of its own.
pub struct ShopKey {
    pub kid: String,
    key: EncodingKey,
    /// The public half, as text.
    pub x: String,
}

impl ShopKey {
    /// A new one.
    pub fn new(kid: &str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = B64.encode(pair.public_key().as_ref());
        Self { kid: kid.to_owned(), key: EncodingKey::from_ed_der(document.as_ref()), x }
    }

    /// As a key set publishes it.
    pub fn public(&self) -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "use": "sig", "kid": self.kid, "x": self.x})
    }

    /// A token of an account, good for ten minutes.
    pub fn token_of(&self, account: &str) -> String {
        self.sign(&json!({"sub": account, "exp": seconds_from_now(600), "iss": "shop", "aud": "line"}))
    }

    /// A token that says this.
    pub fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        encode(&header, claims, &self.key).unwrap()
    }
}

/// A time for a claim.
pub fn seconds_from_now(seconds: u64) -> u64 {
    super::origin::journal::now().as_secs() + seconds
}
