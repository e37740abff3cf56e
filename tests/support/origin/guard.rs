//! The leak rule: every target is read as leniently as any shop might read it, and if that leads into a room, the
//! request must carry a pass of that room, signed by a published key, at a time at which it was good.

use std::collections::BTreeMap;
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::Value;

use super::journal::Entry;

/// What a room asks of requests.
#[derive(Clone, Default)]
pub struct Guard {
    pub room: String,
    /// Hosts that it is on; empty: all.
    pub hosts: Vec<String>,
    /// Paths at and below which a pass is needed.
    pub paths: Vec<String>,
    /// Paths at and below which none is needed.
    pub open: Vec<String>,
    pub ignore_case: bool,
    pub leeway: Duration,
    pub keys: BTreeMap<String, DecodingKey>,
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Guard({} {:?})", self.room, self.paths)
    }
}

/// The signing keys of a published key set by their ids.
pub fn keys_of(jwks: &Value) -> BTreeMap<String, DecodingKey> {
    let mut keys = BTreeMap::new();
    for key in jwks["keys"].as_array().into_iter().flatten() {
        assert_eq!((&key["kty"], &key["crv"]), (&"OKP".into(), &"Ed25519".into()), "{key}");
        let decoding = DecodingKey::from_ed_components(key["x"].as_str().unwrap()).unwrap();
        keys.insert(key["kid"].as_str().unwrap().to_owned(), decoding);
    }
    assert!(!keys.is_empty(), "no key is published: {jwks}");
    keys
}

impl Guard {
    /// Whether this request was allowed to come.
    pub fn check(&self, entry: &Entry) -> Result<(), String> {
        let host = entry.request.header("host").unwrap_or_default();
        if !self.hosts.is_empty()
            && !self.hosts.iter().any(|h| h == host.split(':').next().unwrap_or_default())
        {
            return Ok(());
        }
        let path = lenient(&entry.request.target, self.ignore_case);
        let under = |list: &[String]| list.iter().any(|root| is_under(&path, root));
        if !under(&self.paths) || under(&self.open) {
            return Ok(());
        }
        let passes = entry.request.all("x-ropeline-pass");
        let [pass] = passes.as_slice() else { return Err(format!("{} passes", passes.len())) };
        self.verify(pass, entry.at)
    }

    fn verify(&self, pass: &str, at: Duration) -> Result<(), String> {
        let header = decode_header(pass).map_err(|e| e.to_string())?;
        let key = header.kid.and_then(|kid| self.keys.get(&kid)).ok_or("signed by no published key")?;
        let mut rules = Validation::new(Algorithm::EdDSA);
        rules.set_audience(&[&self.room]);
        rules.set_issuer(&["ropeline"]);
        rules.validate_exp = false;
        let claims = decode::<Value>(pass, key, &rules).map_err(|e| e.to_string())?.claims;
        let moment = |name: &str| claims[name].as_f64().ok_or(format!("no {name} in {claims}"));
        let (from, to) = (moment("nbf")?, moment("exp")? + self.leeway.as_secs_f64());
        let at = at.as_secs_f64();
        if at < from.floor() || at > to + 1.0 {
            return Err(format!("used at {at}, good from {from} to {to}"));
        }
        Ok(())
    }
}

fn is_under(path: &str, root: &str) -> bool {
    let root = root.trim_end_matches('/');
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A target's path as the most forgiving shop would understand it.
pub fn lenient(target: &str, ignore_case: bool) -> String {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let path =
        path.find("://").and_then(|i| path[i + 3..].find('/').map(|j| &path[i + 3 + j..])).unwrap_or(path);
    let decoded = percent_decoded(&percent_decoded(path.as_bytes()));
    let text = String::from_utf8_lossy(&decoded).replace('\\', "/");
    let mut segments: Vec<&str> = Vec::new();
    for segment in text.split('/') {
        match segment.split([';', '\0', '?', '#']).next().unwrap_or_default().trim() {
            "" | "." => {}
            ".." => drop(segments.pop()),
            plain => segments.push(plain),
        }
    }
    let joined = format!("/{}", segments.join("/"));
    if ignore_case { joined.to_lowercase() } else { joined }
}

fn percent_decoded(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes.get(i + 1..i + 3).and_then(|h| std::str::from_utf8(h).ok());
        match hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            Some(byte) if bytes[i] == b'%' => {
                out.push(byte);
                i += 3;
            }
            _ => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    out
}

#[test]
fn targets_are_read_leniently() {
    for target in
        ["//buy", "/./buy/", "/open/../buy", "/%62uy", "/%2562uy", "/open%5c..%5cbuy", "/buy;x=1", "/;/buy"]
    {
        assert!(is_under(&lenient(target, false), "/buy"), "{target}");
    }
    assert!(is_under(&lenient("http://x.example/BUY?a", true), "/buy"));
    assert!(!is_under(&lenient("/buyers", false), "/buy"));
    assert!(is_under(&lenient("/anything", false), "/"));
}
