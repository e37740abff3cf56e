//! What the tests of this part share: key directories, tokens made by hand with the real keys, and seeds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::{Keyring, Settings, add_keys, pem};
use crate::room::{Admission, Lineage, Micros, Number, RoomId};

/// 2026-12-24T11:00:00Z and a part of a second.
pub(super) const NOW: Micros = Micros(1_798_110_000_250_000);
pub(super) const LINEAGE: Lineage = Lineage(0xfeed_beef_0102_0304);
pub(super) const HALF_AN_HOUR: Duration = Duration::from_secs(1800);

/// A key directory that lasts as long as this, and its keyring.
pub(super) struct Bench {
    pub(super) tmp: tempfile::TempDir,
    pub(super) keyring: Keyring,
}

impl Bench {
    pub(super) fn new() -> Self {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("keys");
        add_keys(&dir, NOW.minus(Duration::from_secs(3600)), Duration::ZERO).unwrap();
        Self { keyring: Keyring::open(Settings::at(dir)).unwrap(), tmp }
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.tmp.path().join("keys")
    }

    /// The files of a kind, oldest first.
    pub(super) fn files(&self, prefix: &str) -> Vec<PathBuf> {
        files(&self.dir(), prefix)
    }

    /// The name of the oldest pass key.
    pub(super) fn kid(&self) -> String {
        let name = self.files("pass-")[0].file_stem().unwrap().to_str().unwrap().to_owned();
        name.strip_prefix("pass-").unwrap().to_owned()
    }

    /// The claims of a genuine pass, to be changed.
    pub(super) fn claims(&self) -> Value {
        let pass =
            self.keyring.issue_pass(&room("spring"), LINEAGE, admission(7), HALF_AN_HOUR, None).unwrap();
        serde_json::to_value(pass.claims).unwrap()
    }

    /// A token signed with the oldest pass key, whatever it says.
    pub(super) fn signed(&self, header: &Value, claims: &Value) -> String {
        self.signed_text(&header.to_string(), &claims.to_string())
    }

    /// The same from texts that need not be JSON.
    pub(super) fn signed_text(&self, header: &str, claims: &str) -> String {
        let text = fs::read_to_string(&self.files("pass-")[0]).unwrap();
        let key = EncodingKey::from_ed_der(&pem::read(&text).unwrap());
        let [header, claims] = [header, claims].map(|text| URL_SAFE_NO_PAD.encode(text));
        let message = format!("{header}.{claims}");
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::EdDSA).unwrap();
        format!("{message}.{signature}")
    }

    /// The header of a genuine pass, to be changed.
    pub(super) fn header(&self) -> Value {
        json!({ "typ": "JWT", "alg": "EdDSA", "kid": self.kid() })
    }
}

pub(super) fn files(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(prefix);
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(named).collect();
    files.sort();
    files
}

pub(super) fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

pub(super) fn room(name: &str) -> RoomId {
    RoomId::new(name).unwrap()
}

pub(super) fn admission(number: u64) -> Admission {
    Admission { number: Number(number), slot: NOW, until: NOW.plus(HALF_AN_HOUR) }
}

/// Chance that can be had again: set `ROPELINE_SEED` to what a failed test printed.
pub(super) fn chance() -> StdRng {
    let fresh =
        || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
    let seed = std::env::var("ROPELINE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(fresh);
    println!("ROPELINE_SEED={seed}");
    StdRng::seed_from_u64(seed)
}
