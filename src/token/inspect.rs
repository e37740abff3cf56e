//! What a pass says and whether it is good, for a person who holds one and the keys.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Keyring, Pass, TokenFault, check};
use crate::room::Micros;

/// A pass taken apart. Header and claims are as presented: only `verdict` says whether to believe them.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspection {
    /// The header, if it can be read at all.
    pub header: Option<serde_json::Value>,
    /// The claims, if they can be read at all.
    pub claims: Option<serde_json::Value>,
    /// The pass if it is good now for the room that it names, otherwise the first thing that is wrong.
    pub verdict: Result<Pass, TokenFault>,
}

/// Takes a pass apart and verifies it; nothing is remembered.
#[must_use]
pub fn inspect_pass(keyring: &Keyring, token: &str, now: Micros, leeway: Duration) -> Inspection {
    let mut parts = token.split('.').take(3).map(part);
    let (header, claims) = (parts.next().flatten(), parts.next().flatten());
    let verdict = check::verify(&keyring.held(), token)
        .and_then(|pass| check::judge(&pass, &pass.room, now, leeway, keyring.pass_ttl_max()).map(|()| pass));
    Inspection { header, claims, verdict }
}

fn part(text: &str) -> Option<serde_json::Value> {
    let bounded = Some(text).filter(|text| text.len() <= check::CHARS_MAX)?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(bounded).ok()?).ok()
}
