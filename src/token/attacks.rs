//! What has been tried on others' admission tokens, tried on ours: algorithm confusion, claims that are
//! optional by accident, leeway that nobody asked for. Each is signed with the real key where that matters.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey};
use rand::Rng;
use serde_json::{Value, json};

use super::TokenFault;
use super::testing::{Bench, HALF_AN_HOUR, LINEAGE, NOW, admission, chance, part, room};
use crate::room::Micros;

const LEEWAY: Duration = Duration::from_secs(5);

fn check(bench: &Bench, token: &str) -> Result<(), TokenFault> {
    check_at(bench, token, NOW, LEEWAY)
}

fn check_at(bench: &Bench, token: &str, now: Micros, leeway: Duration) -> Result<(), TokenFault> {
    bench.keyring.check_pass(&room("spring"), token, now, leeway).map(drop)
}

/// A genuine pass with some claims changed; null takes one away.
fn with_claims(bench: &Bench, changes: &Value) -> String {
    let mut claims = bench.claims();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    bench.signed(&bench.header(), &claims)
}

fn with_header(bench: &Bench, changes: &Value) -> String {
    let mut header = bench.header();
    for (name, value) in changes.as_object().unwrap() {
        header[name] = value.clone();
    }
    bench.signed(&header, &bench.claims())
}

#[test]
fn a_pass_made_by_hand_with_the_real_key_is_good() {
    let bench = Bench::new();
    assert_eq!(check(&bench, &with_claims(&bench, &json!({}))), Ok(()));
    assert_eq!(check(&bench, &with_claims(&bench, &json!({ "aud": ["spring"], "slot": null }))), Ok(()));
    assert_eq!(check(&bench, &with_claims(&bench, &json!({ "more": [1, 2] }))), Ok(()));
}

#[test]
fn every_claim_must_be_there_and_of_its_type() {
    let bench = Bench::new();
    for name in ["iss", "aud", "sub", "jti", "num", "iat", "nbf", "exp", "lin"] {
        for bad in
            [Value::Null, json!(-1), json!(1.5), json!(true), json!([]), json!({}), json!([["spring"]])]
        {
            let token = with_claims(&bench, &json!({ name: bad }));
            assert_eq!(check(&bench, &token), Err(TokenFault::Claims), "{name} = {bad}");
        }
    }
    for name in ["num", "iat", "nbf", "exp", "slot"] {
        for bad in [json!("1798110000"), json!(1.8e30)] {
            let token = with_claims(&bench, &json!({ name: bad }));
            assert_eq!(check(&bench, &token), Err(TokenFault::Claims), "{name} = {bad}");
        }
    }
    for (name, bad) in [("sub", ""), ("jti", ""), ("lin", "FEEDBEEF01020304"), ("lin", "+eedbeef01020304")] {
        assert_eq!(check(&bench, &with_claims(&bench, &json!({ name: bad }))), Err(TokenFault::Claims));
    }
}

#[test]
fn what_is_said_twice_or_is_not_json_is_refused() {
    let bench = Bench::new();
    let (header, claims) = (bench.header().to_string(), bench.claims().to_string());
    for more in ["\"aud\":\"spring\",", "\"exp\":1,", "\"slot\":0,"] {
        let twice = claims.replacen('{', &format!("{{{more}"), 1);
        assert_eq!(check(&bench, &bench.signed_text(&header, &twice)), Err(TokenFault::Claims), "{more}");
    }
    let twice = header.replacen('{', "{\"alg\":\"EdDSA\",", 1);
    assert_eq!(check(&bench, &bench.signed_text(&twice, &claims)), Err(TokenFault::Malformed));
    for bad in ["", "null", "[]", "{}", "\"spring\"", &claims[1..], &format!("{claims} x")] {
        assert_eq!(check(&bench, &bench.signed_text(&header, bad)), Err(TokenFault::Claims), "{bad}");
    }
}

#[test]
fn another_room_or_issuer_is_foreign() {
    let bench = Bench::new();
    for aud in [json!("autumn"), json!(""), json!("Spring"), json!("spring "), json!(["autumn"])] {
        let token = with_claims(&bench, &json!({ "aud": aud }));
        assert_eq!(check(&bench, &token), Err(TokenFault::Foreign), "{aud}");
    }
    for aud in [json!(["autumn", "winter"]), json!(["spring", "autumn"]), json!(["spring", "spring"])] {
        let token = with_claims(&bench, &json!({ "aud": aud }));
        assert_eq!(check(&bench, &token), Err(TokenFault::Claims), "{aud}");
    }
    assert_eq!(check(&bench, &with_claims(&bench, &json!({ "iss": "rope" }))), Err(TokenFault::Foreign));

    // Good in its own room first, so that what was remembered is asked of the other room, too.
    let token =
        bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(1), HALF_AN_HOUR, None).unwrap().token;
    assert_eq!(check(&bench, &token), Ok(()));
    let other = bench.keyring.check_pass(&room("autumn"), &token, NOW, LEEWAY);
    assert_eq!(other, Err(TokenFault::Foreign));
}

#[test]
fn nothing_lasts_longer_than_a_pass_may() {
    let bench = Bench::new();
    let nbf = NOW.seconds();
    let until = |exp: u64| check(&bench, &with_claims(&bench, &json!({ "exp": exp })));
    assert_eq!(until(nbf + 24 * 3600), Ok(()));
    assert_eq!(until(nbf + 24 * 3600 + 10), Err(TokenFault::Lasting));
    assert_eq!(until(nbf + 100 * 365 * 24 * 3600), Err(TokenFault::Lasting));
    assert_eq!(until(u64::MAX), Err(TokenFault::Claims));
    assert_eq!(until(nbf), Err(TokenFault::Claims), "over before it begins");
    let for_ever = with_claims(&bench, &json!({ "nbf": 0, "iat": 0, "slot": 0 }));
    assert_eq!(check(&bench, &for_ever), Err(TokenFault::Lasting));
    let made = bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(1), Duration::MAX, None).unwrap();
    assert_eq!(made.claims.exp - made.claims.nbf, 24 * 3600);
    assert_eq!(check(&bench, &made.token), Ok(()));
}

#[test]
fn leeway_is_what_was_asked_for_at_the_first_use_and_at_every_other() {
    let bench = Bench::new();
    let pass = bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(1), HALF_AN_HOUR, None).unwrap();
    let end = Micros(pass.claims.exp * 1_000_000);
    assert_eq!(end, Micros(NOW.seconds() * 1_000_000).plus(HALF_AN_HOUR));
    let second = Duration::from_secs(1);
    let tick = Duration::from_micros(1);
    for _first_and_again in 0..2 {
        let at = |now: Micros, leeway| check_at(&bench, &pass.token, now, leeway);
        assert_eq!(at(end.plus(LEEWAY - second), LEEWAY), Ok(()));
        assert_eq!(at(end.plus(LEEWAY + second * 2), LEEWAY), Err(TokenFault::Expired));
        assert_eq!(at(end.minus(tick), Duration::ZERO), Ok(()));
        assert_eq!(at(end, Duration::ZERO), Err(TokenFault::Expired));
        assert_eq!(at(end.plus(LEEWAY).minus(tick), LEEWAY), Ok(()));
        assert_eq!(at(end.plus(LEEWAY), LEEWAY), Err(TokenFault::Expired));
    }
}

#[test]
fn a_pass_may_begin_as_far_ahead_as_a_request_is_held() {
    let bench = Bench::new();
    let ahead = |nbf: u64, iat: u64| {
        let now = NOW.seconds();
        with_claims(&bench, &json!({ "nbf": now + nbf, "iat": now + iat, "slot": null }))
    };
    assert_eq!(check(&bench, &ahead(2, 2)), Ok(()));
    assert_eq!(check(&bench, &ahead(10, 0)), Ok(()));
    assert_eq!(check(&bench, &ahead(11, 0)), Err(TokenFault::NotYet));
    assert_eq!(check(&bench, &ahead(0, 3600)), Err(TokenFault::NotYet));
    assert_eq!(check(&bench, &ahead(1700, 1700)), Err(TokenFault::NotYet));
    assert_eq!(check_at(&bench, &ahead(20, 20), NOW, Duration::from_secs(30)), Ok(()));

    let pass = bench.keyring.issue_pass(&room("spring"), LINEAGE, admission(1), HALF_AN_HOUR, None).unwrap();
    let early = NOW.minus(Duration::from_millis(800));
    let checked = bench.keyring.check_pass(&room("spring"), &pass.token, early, LEEWAY).unwrap();
    assert_eq!(checked.not_before, NOW, "the slot itself, not its second");
}

#[test]
fn the_token_does_not_choose_the_algorithm() {
    let bench = Bench::new();
    for alg in
        ["none", "None", "NONE", "nOnE", "", "HS256", "HS384", "ES256", "RS256", "Ed25519", "eddsa", "ES512"]
    {
        let signed = with_header(&bench, &json!({ "alg": alg }));
        assert_eq!(check(&bench, &signed), Err(TokenFault::Algorithm), "{alg}");
        let unsigned = &signed[..=signed.rfind('.').unwrap()];
        assert_eq!(check(&bench, unsigned), Err(TokenFault::Algorithm), "{alg}, no signature");
    }
    let genuine = with_claims(&bench, &json!({}));
    let unsigned = &genuine[..=genuine.rfind('.').unwrap()];
    assert_eq!(check(&bench, unsigned), Err(TokenFault::Signature));
}

#[test]
fn the_public_key_is_no_secret() {
    let bench = Bench::new();
    let jwks: Value = serde_json::from_slice(&bench.keyring.jwks()).unwrap();
    let x = jwks["keys"][0]["x"].as_str().unwrap();
    for secret in [URL_SAFE_NO_PAD.decode(x).unwrap(), x.as_bytes().to_vec(), bench.keyring.jwks().to_vec()] {
        let key = EncodingKey::from_secret(&secret).unwrap();
        for alg in ["HS256", "EdDSA"] {
            let header = json!({ "typ": "JWT", "alg": alg, "kid": bench.kid() });
            let message = format!("{}.{}", part(&header), part(&bench.claims()));
            let mac = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
            assert!(check(&bench, &format!("{message}.{mac}")).is_err());
        }
    }
}

#[test]
fn keys_are_ours_by_exact_name_whatever_the_header_offers() {
    let bench = Bench::new();
    let kid = bench.kid();
    let path = format!("../keys/pass-{kid}");
    for bad in
        ["", "x", "../../../../dev/null", "' OR 1=1 --", &path, &kid.to_lowercase(), &format!("{kid}\0")]
    {
        let token = with_header(&bench, &json!({ "kid": bad }));
        assert_eq!(check(&bench, &token), Err(TokenFault::UnknownKey), "{bad:?}");
    }
    for more in [
        json!({ "jwk": { "kty": "OKP", "crv": "Ed25519", "x": "AAAA" } }),
        json!({ "jku": "http://127.0.0.1:1/jwks.json" }),
        json!({ "x5u": "http://127.0.0.1:1/cert" }),
        json!({ "x5c": ["AAAA"] }),
        json!({ "crit": ["b64"], "b64": false }),
        json!({ "b64": false }),
        json!({ "zip": "DEF" }),
        json!({ "typ": "at+jwt" }),
        json!({ "kid": 7 }),
        json!({ "alg": ["EdDSA"] }),
    ] {
        assert_eq!(check(&bench, &with_header(&bench, &more)), Err(TokenFault::Malformed), "{more}");
    }
    let other = Bench::new();
    let pass = other.keyring.issue_pass(&room("spring"), LINEAGE, admission(1), HALF_AN_HOUR, None).unwrap();
    assert_eq!(check(&bench, &pass.token), Err(TokenFault::UnknownKey));
    let mut header = other.header();
    header["kid"] = json!(kid);
    assert_eq!(check(&bench, &other.signed(&header, &other.claims())), Err(TokenFault::Signature));
}

#[test]
fn other_shapes_are_refused() {
    let bench = Bench::new();
    let good = with_claims(&bench, &json!({}));
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!() };
    for bad in [
        String::new(),
        ".".into(),
        "..".into(),
        "...".into(),
        format!("{good}."),
        format!(".{good}"),
        format!("{good}.{signature}"),
        format!("{header}.{claims}"),
        format!("{header}=.{claims}.{signature}"),
        format!("{header}.{claims}.{signature}="),
        format!("{header}.{claims}.{signature}\n"),
        format!("{header}.{claims}.*"),
        format!("!!.{claims}.{signature}"),
        format!("{header}.{claims}.é"),
        format!("{}.{claims}.{signature}", URL_SAFE_NO_PAD.encode("[]")),
        format!("{}.{claims}.{signature}", URL_SAFE_NO_PAD.encode("{\"alg\":\"EdDSA\"}")),
        format!("{}.{claims}.{signature}", URL_SAFE_NO_PAD.encode([0xff, 0xfe])),
    ] {
        assert_eq!(check(&bench, &bad), Err(TokenFault::Malformed), "{bad}");
    }
    assert_eq!(check(&bench, &format!("{header}.{claims}.AAAA")), Err(TokenFault::Signature));
    let long = format!("{header}.{claims}.{}", "A".repeat(65_536));
    assert_eq!(check(&bench, &long), Err(TokenFault::TooLong));
    assert_eq!(check(&bench, &"[".repeat(4096)), Err(TokenFault::Malformed));
    let deep = URL_SAFE_NO_PAD.encode("[".repeat(2900));
    assert_eq!(check(&bench, &format!("{deep}.e30.AAAA")), Err(TokenFault::Malformed));
    assert_eq!(bench.keyring.remembered(), 0, "nothing bad is remembered");
}

#[test]
fn no_character_of_a_pass_can_be_changed() {
    let bench = Bench::new();
    let good = with_claims(&bench, &json!({}));
    let mut chance = chance();
    for _ in 0..2_000 {
        let mut bytes = good.clone().into_bytes();
        let bit = chance.random_range(0..bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        let changed = String::from_utf8_lossy(&bytes);
        assert!(check(&bench, &changed).is_err(), "bit {bit}");
    }
    assert_eq!(check(&bench, &good), Ok(()));
}
