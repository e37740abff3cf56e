//! What a pass says, and how it follows from an admission: from the same admission always the same text, so
//! that a visitor who asks twice, or asks another instance, holds one pass and not two.

use std::time::Duration;

use jsonwebtoken::{Algorithm, Header};
use serde::Serialize;

use super::bound::Binding;
use super::hash::derived_id;
use super::keys::Keys;
use super::{CannotSign, admission};
use crate::room::{Admission, Lineage, Micros, Number, RoomId};

/// Who issues passes.
pub(super) const ISSUER: &str = "ropeline";

/// The claims of a pass, as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PassClaims {
    /// "ropeline".
    pub iss: &'static str,
    /// The room.
    pub aud: String,
    /// The visitor: a keyed hash, the same for all passes of a place.
    pub sub: String,
    /// The admission: the number under a key.
    pub jti: String,
    /// The number of the place.
    pub num: u64,
    /// When the visitor was admitted, in seconds since 1970.
    pub adm: u64,
    /// When the pass was made: the slot, in seconds since 1970.
    pub iat: u64,
    /// From when it is good, in seconds since 1970: the slot rounded down, so that nobody is refused early.
    pub nbf: u64,
    /// When it ends, in seconds since 1970: never after the store has forgotten the admission.
    pub exp: u64,
    /// The life of the room, 16 hexadecimal digits.
    pub lin: String,
    /// The slot itself, in microseconds since 1970.
    pub slot: u64,
    /// Whose it is, where the room tells accounts apart: a keyed hash. Good with that account alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idn: Option<String>,
}

/// A pass that was just made, or made again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedPass {
    /// The JWT.
    pub token: String,
    /// What it says.
    pub claims: PassClaims,
    /// The life of the room that it was issued in.
    pub lineage: Lineage,
}

/// A pass that was verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pass {
    /// The room that it opens.
    pub room: RoomId,
    /// The life of that room.
    pub lineage: Lineage,
    /// The place that it was given for.
    pub number: Number,
    /// The visitor id, for `x-ropeline-visitor`.
    pub visitor: String,
    /// The admission id.
    pub admission: String,
    /// The slot: a request must not go on before this moment. It may lie some seconds ahead.
    pub not_before: Micros,
    /// The printed end, without leeway.
    pub expires: Micros,
    /// When it was made, for "all that were issued before".
    pub issued: Micros,
    /// Whose it is; `None`: of whoever holds it.
    pub bound: Option<Binding>,
}

/// Makes the pass of an admission.
pub(super) fn issue(
    keys: &Keys,
    room: &RoomId,
    lineage: Lineage,
    admission: Admission,
    ttl: Duration,
    bound: Option<Binding>,
) -> Result<IssuedPass, CannotSign> {
    let slot = admission.slot;
    let nbf = slot.seconds();
    let claims = PassClaims {
        iss: ISSUER,
        aud: room.as_str().to_owned(),
        sub: derived_id(&keys.identity, "visitor", room, lineage, admission.number),
        jti: admission::id(&keys.identity, room, lineage, admission.number).ok_or(CannotSign)?,
        num: admission.number.0,
        adm: nbf,
        iat: nbf,
        nbf,
        exp: slot.plus(ttl).seconds().max(nbf.saturating_add(1)),
        lin: lineage.to_string(),
        slot: slot.0,
        idn: bound.map(Binding::text),
    };
    let key = keys.pass_signer(nbf).ok_or(CannotSign)?;
    let mut header = Header::new(Algorithm::EdDSA);
    header.kid = Some(key.kid.as_str().to_owned());
    let token = jsonwebtoken::encode(&header, &claims, &key.signing).map_err(|_| CannotSign)?;
    Ok(IssuedPass { token, claims, lineage })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::token::testing::{Bench, HALF_AN_HOUR, LINEAGE, NOW, admission, room};

    #[test]
    fn the_same_admission_gives_the_same_pass() {
        let bench = Bench::new();
        let issue =
            || bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(7), HALF_AN_HOUR, None).unwrap();
        assert_eq!(issue(), issue());
        let IssuedPass { token, claims, .. } = issue();
        assert!(token.len() < 700, "{}", token.len());
        assert_eq!((claims.nbf, claims.exp, claims.slot), (NOW.seconds(), NOW.seconds() + 1800, NOW.0));
        let pass = bench.keyring.check_pass(&room("spring"), &token, NOW, Duration::ZERO).unwrap();
        assert_eq!((pass.number, pass.lineage, pass.not_before), (Number(7), LINEAGE, NOW));
        assert_eq!(pass.visitor, bench.keyring.visitor_id(&room("spring"), LINEAGE, Number(7)));
        assert_eq!(pass.admission, bench.keyring.admission_id(&room("spring"), LINEAGE, Number(7)));
        assert_eq!(pass.expires, Micros(claims.exp * 1_000_000));
    }

    #[test]
    fn ids_differ_by_everything_that_makes_an_admission() {
        let bench = Bench::new();
        let mut ids = HashSet::new();
        for name in ["spring", "autumn"] {
            for lineage in [LINEAGE, Lineage(1)] {
                for number in (1..100).map(Number) {
                    ids.insert(bench.keyring.visitor_id(&room(name), lineage, number));
                    ids.insert(bench.keyring.admission_id(&room(name), lineage, number));
                }
            }
        }
        assert_eq!(ids.len(), 2 * 2 * 99 * 2);
        assert!(ids.iter().all(|id| id.len() == 22));
        let other = Bench::new();
        assert!(!ids.contains(&other.keyring.visitor_id(&room("spring"), LINEAGE, Number(1))));
    }

    #[test]
    fn identities_are_told_apart_by_kind_and_value() {
        let ring = Bench::new().keyring;
        let pairs: [(&str, &[u8]); 4] =
            [("cookie", b"ab"), ("cookiea", b"b"), ("header", b"ab"), ("cookie", b"")];
        let hashes: HashSet<_> = pairs.iter().map(|(kind, value)| ring.identity_hash(kind, value)).collect();
        assert_eq!(hashes.len(), pairs.len());
    }

    #[test]
    fn a_pass_says_whose_it_is_where_that_counts() {
        let bench = Bench::new();
        let room = room("spring");
        let anna = bench.keyring.binding(&room, &bench.keyring.identity_hash("cookie", b"anna"));
        let bound = |bound| {
            let made = bench.keyring.issue_pass(&room, LINEAGE, admission(7), HALF_AN_HOUR, bound).unwrap();
            bench.keyring.check_pass(&room, &made.token, NOW, Duration::ZERO).unwrap().bound
        };
        assert_eq!((bound(Some(anna)), bound(None)), (Some(anna), None));
        for bad in [serde_json::json!("x"), serde_json::json!(1), serde_json::json!("AAAAAAAAAAAAA")] {
            let mut claims = bench.claims();
            claims["idn"] = bad;
            let token = bench.signed(&bench.header(), &claims);
            assert!(bench.keyring.check_pass(&room, &token, NOW, Duration::ZERO).is_err(), "{claims}");
        }
    }

    #[test]
    fn a_lifetime_is_never_longer_than_asked_for_nor_empty() {
        let bench = Bench::new();
        let lasts = |ttl| {
            let made = bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(7), ttl, None).unwrap();
            assert!(bench.keyring.check_pass(&room("spring"), &made.token, NOW, Duration::ZERO).is_ok());
            made.claims.exp - made.claims.nbf
        };
        assert_eq!(lasts(Duration::ZERO), 1);
        assert_eq!(lasts(Duration::from_millis(2_500)), 2);
        assert_eq!(lasts(HALF_AN_HOUR), 1800);
    }
}
