//! Accounts by token: which tokens are believed, and what a shop that publishes keys has to bear for it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as B64;
use http::{HeaderMap, HeaderValue, header};
use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Identity, Kind, Place, RefreshSettings, Settings, Shown, TokenSettings};
use crate::room::{Micros, RoomId};

const NOW: u64 = 1_798_110_000;

/// One key pair of the shop's.
struct Pair {
    kid: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
}

impl Pair {
    fn ed(kid: &'static str) -> Self {
        let document = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).unwrap();
        Self { kid, algorithm: Algorithm::EdDSA, key: EncodingKey::from_ed_der(document.as_ref()) }
    }

    fn ec(kid: &'static str) -> Self {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        Self { kid, algorithm: Algorithm::ES256, key: EncodingKey::from_ec_der(document.as_ref()) }
    }

    fn rsa(kid: &'static str) -> Self {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let document = AsDer::<Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        // The PKCS#1 key inside: what stands before it has one length for this size.
        Self { kid, algorithm: Algorithm::RS256, key: EncodingKey::from_rsa_der(&document.as_ref()[26..]) }
    }

    fn public(&self) -> Value {
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.kid.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    fn sign(&self, claims: &Value) -> String {
        let header = Header { kid: Some(self.kid.to_owned()), ..Header::new(self.algorithm) };
        encode(&header, claims, &self.key).unwrap()
    }

    fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", B64.encode(header.to_string()), B64.encode(claims.to_string()));
        let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &self.key, self.algorithm).unwrap();
        format!("{message}.{signature}")
    }
}

fn claims() -> Value {
    json!({"sub": "anna", "exp": NOW + 60, "iss": "https://shop.example", "aud": ["shop", "app"]})
}

/// A shop that publishes whatever it is told to, and counts who asks.
struct Shop {
    address: SocketAddr,
    answer: Arc<Mutex<String>>,
    asked: Arc<AtomicUsize>,
}

impl Shop {
    async fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (answer, asked) = (Arc::new(Mutex::new(String::new())), Arc::new(AtomicUsize::new(0)));
        let (told, count) = (Arc::clone(&answer), Arc::clone(&asked));
        tokio::spawn(async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                count.fetch_add(1, Ordering::SeqCst);
                let mut head = vec![0; 4096];
                let _ = stream.read(&mut head).await;
                let text = told.lock().unwrap().clone();
                let _ = stream.write_all(text.as_bytes()).await;
            }
        });
        let shop = Self { address, answer, asked };
        shop.publish(keys);
        shop
    }

    fn publish(&self, keys: &[Value]) {
        self.say("200 OK", &json!({ "keys": keys }).to_string());
    }

    fn say(&self, status: &str, body: &str) {
        let head =
            format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        *self.answer.lock().unwrap() = head + body;
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn tokens(&self) -> TokenSettings {
        let s = Duration::from_secs;
        TokenSettings {
            name: "authorization".into(),
            claim: "sub".into(),
            issuer: Some("https://shop.example".into()),
            audience: Some("app".into()),
            leeway: s(5),
            keys: Place::Http {
                tls: false,
                host: self.address.ip().to_string(),
                port: self.address.port(),
                target: "/keys.json".into(),
            },
            refresh: RefreshSettings { every: s(3600), retry: s(3600), apart: s(3600), ..Default::default() },
            remembered_max: 100,
        }
    }
}

fn telling(tokens: TokenSettings) -> Identity {
    Identity::start(Settings { room: RoomId::new("spring").unwrap(), kind: Kind::Jwt(Box::new(tokens)) })
}

async fn shown(identity: &Identity, token: &str) -> Shown {
    shown_at(identity, token, NOW).await
}

async fn shown_at(identity: &Identity, token: &str, now: u64) -> Shown {
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
    identity.of(&headers, false, Micros(now * 1_000_000)).await
}

fn is_anna(shown: &Shown) -> bool {
    matches!(shown, Shown::Account(account) if account.value == b"anna" && account.kind == "jwt")
}

#[tokio::test]
async fn every_type_of_key_tells_accounts() {
    for pair in [Pair::ed("k"), Pair::ec("k"), Pair::rsa("k")] {
        let shop = Shop::start(&[json!({"kty": "oct", "k": "AAAA", "kid": "k"}), pair.public()]).await;
        let identity = telling(shop.tokens());
        for _ in 0..2 {
            assert!(is_anna(&shown(&identity, &pair.sign(&claims())).await), "{:?}", pair.algorithm);
        }
        assert_eq!(shop.asked(), 1);
    }
}

#[tokio::test]
async fn the_token_never_chooses() {
    for (pair, other) in [(Pair::ed("k"), Pair::ed("k")), (Pair::rsa("k"), Pair::rsa("k"))] {
        let public = pair.public();
        let shop = Shop::start(std::slice::from_ref(&public)).await;
        let identity = telling(shop.tokens());
        let body = B64.encode(claims().to_string());
        let head = |alg: &str, kid: &str| json!({"typ": "JWT", "alg": alg, "kid": kid});
        let unsigned = |alg: &str| format!("{}.{body}.", B64.encode(head(alg, "k").to_string()));
        let with_secret = |secret: &[u8]| {
            let header = Header { kid: Some("k".into()), ..Header::new(Algorithm::HS256) };
            encode(&header, &claims(), &EncodingKey::from_secret(secret).unwrap()).unwrap()
        };
        let part = public.get("x").or(public.get("n")).unwrap().as_str().unwrap();
        let good = pair.sign(&claims());
        let mut embedded = head(&format!("{:?}", pair.algorithm), "k");
        embedded["jwk"] = other.public();
        embedded["jku"] = json!("http://127.0.0.1:9/keys.json");
        for (name, token) in [
            ("none", unsigned("none")),
            ("None", unsigned("None")),
            ("NONE", unsigned("NONE")),
            ("no algorithm", format!("{}.{body}.", B64.encode("{\"kid\":\"k\"}"))),
            ("public key as shared secret", with_secret(part.as_bytes())),
            ("public key bytes as shared secret", with_secret(&B64.decode(part).unwrap())),
            ("whole key as shared secret", with_secret(public.to_string().as_bytes())),
            ("somebody else's key", other.sign(&claims())),
            ("a key in the header", other.sign_as(&embedded, &claims())),
            ("sibling algorithm", pair.sign_as(&head("RS512", "k"), &claims())),
            ("another family", pair.sign_as(&head("ES256", "k"), &claims())),
            ("kid that is a path", pair.sign_as(&head("EdDSA", "../../etc/passwd"), &claims())),
            ("no kid and two algorithms", pair.sign_as(&json!({"alg": "ES384"}), &claims())),
            ("four parts", format!("{good}.x")),
            ("two parts", good.rsplit_once('.').unwrap().0.to_owned()),
            ("no signature", format!("{}.", good.rsplit_once('.').unwrap().0)),
            ("critical", pair.sign_as(&json!({"alg": "EdDSA", "kid": "k", "crit": ["exp"]}), &claims())),
            ("64 KiB", format!("{good}{}", "A".repeat(65_536))),
            ("not base64", "!!!.???.***".to_owned()),
        ] {
            assert_eq!(shown(&identity, &token).await, Shown::Missing, "{name}");
        }
        assert!(is_anna(&shown(&identity, &good).await));
        assert_eq!(
            shop.asked(),
            1,
            "no address in a token is asked, and unknown keys are not looked for at once"
        );
    }
}

#[tokio::test]
async fn claims_must_be_there_and_right() {
    let pair = Pair::ed("k");
    let shop = Shop::start(&[pair.public()]).await;
    let identity = telling(shop.tokens());
    let wrong: [(&str, Value); 17] = [
        ("iss", Value::Null),
        ("iss", json!("https://shop.example.evil.example")),
        ("iss", json!(["https://shop.example"])),
        ("aud", Value::Null),
        ("aud", json!("other")),
        ("aud", json!(["shop", "other"])),
        ("aud", json!([["app"]])),
        ("exp", Value::Null),
        ("exp", json!("1798110060")),
        ("exp", json!(NOW - 6)),
        ("exp", json!(-1)),
        ("nbf", json!(NOW + 6)),
        ("nbf", json!("soon")),
        ("sub", Value::Null),
        ("sub", json!("")),
        ("sub", json!({"id": "anna"})),
        ("sub", json!("a".repeat(257))),
    ];
    for (name, value) in wrong {
        let mut changed = claims();
        match value {
            Value::Null => changed.as_object_mut().unwrap().remove(name),
            value => changed.as_object_mut().unwrap().insert(name.into(), value),
        };
        assert_eq!(shown(&identity, &pair.sign(&changed)).await, Shown::Missing, "{changed}");
    }
    for (name, value) in [
        ("exp", json!(NOW - 4)),
        ("nbf", json!(NOW + 4)),
        ("exp", json!(NOW as f64 + 0.5)),
        ("aud", json!("app")),
    ] {
        let mut changed = claims();
        changed[name] = value;
        assert!(is_anna(&shown(&identity, &pair.sign(&changed)).await), "{changed}");
    }
    let mut numbered = claims();
    numbered["sub"] = json!(42);
    let Shown::Account(account) = shown(&identity, &pair.sign(&numbered)).await else {
        panic!("a number is a name")
    };
    assert_eq!((account.value.as_slice(), format!("{account:?}").contains("42")), (&b"42"[..], false));
    let token = pair.sign(&claims());
    assert!(is_anna(&shown_at(&identity, &token, NOW).await));
    assert_eq!(shown_at(&identity, &token, NOW + 66).await, Shown::Missing, "remembered, and over");
}

#[tokio::test]
async fn a_rotated_key_is_found_and_a_withdrawn_one_forgotten() {
    let (old, new) = (Pair::ed("old"), Pair::ed("new"));
    let shop = Shop::start(&[old.public()]).await;
    let mut tokens = shop.tokens();
    tokens.refresh.apart = Duration::ZERO;
    let identity = telling(tokens);
    assert!(is_anna(&shown(&identity, &old.sign(&claims())).await));
    shop.publish(&[new.public()]);
    assert!(is_anna(&shown(&identity, &new.sign(&claims())).await), "without waiting for the next round");
    assert_eq!(shown(&identity, &old.sign(&claims())).await, Shown::Missing, "although it was remembered");
}

#[tokio::test]
async fn a_storm_of_unknown_keys_is_no_storm_for_the_shop() {
    let (pair, strange) = (Pair::ed("k"), Pair::ed("strange"));
    let shop = Shop::start(&[pair.public()]).await;
    let identity = Arc::new(telling(shop.tokens()));
    assert!(is_anna(&shown(&identity, &pair.sign(&claims())).await));
    let mut asking = tokio::task::JoinSet::new();
    for i in 0..2_000 {
        let (identity, header) = (Arc::clone(&identity), json!({"alg": "EdDSA", "kid": format!("kid-{i}")}));
        let token = strange.sign_as(&header, &claims());
        asking.spawn(async move { shown(&identity, &token).await });
    }
    assert!(asking.join_all().await.iter().all(|shown| *shown == Shown::Missing));
    assert_eq!(shop.asked(), 1, "the set was fetched a moment ago");
}

#[tokio::test]
async fn the_last_good_set_stays_and_before_the_first_nothing_is_sure() {
    let pair = Pair::ed("k");
    let shop = Shop::start(&[]).await;
    let mut tokens = shop.tokens();
    tokens.refresh = RefreshSettings { retry: Duration::from_millis(5), ..tokens.refresh };
    tokens.refresh.apart = Duration::ZERO;
    let identity = telling(tokens);
    for (status, body) in [
        ("200 OK", "{\"keys\":[]}".to_owned()),
        ("200 OK", "no JSON".to_owned()),
        ("500 Away", String::new()),
        ("302 Found", String::new()),
        ("200 OK", format!("{{\"keys\":[],\"x\":\"{}\"}}", "x".repeat(300_000))),
    ] {
        shop.say(status, &body);
        assert_eq!(shown(&identity, &pair.sign(&claims())).await, Shown::Unsure, "{status}");
    }
    shop.publish(&[pair.public()]);
    while !is_anna(&shown(&identity, &pair.sign(&claims())).await) {}
    shop.say("500 Away", "");
    let strange = Pair::ed("strange").sign(&claims());
    while shown(&identity, &strange).await != Shown::Unsure {}
    assert!(is_anna(&shown(&identity, &pair.sign(&claims())).await));
}

#[tokio::test]
async fn a_file_will_do() {
    let pair = Pair::ec("k");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jwks.json");
    std::fs::write(&path, json!({"keys": [pair.public()]}).to_string()).unwrap();
    let shop = Shop::start(&[]).await;
    let identity = telling(TokenSettings { keys: Place::File(path), ..shop.tokens() });
    assert!(is_anna(&shown(&identity, &pair.sign(&claims())).await));
    assert_eq!(shop.asked(), 0);
}

#[tokio::test]
async fn a_header_counts_only_from_a_trusted_proxy() {
    let kind = Kind::Header { name: http::HeaderName::from_static("x-user") };
    let identity = Identity::start(Settings { room: RoomId::new("spring").unwrap(), kind });
    let headers =
        HeaderMap::from_iter([(http::HeaderName::from_static("x-user"), HeaderValue::from_static("anna"))]);
    assert_eq!(identity.of(&headers, false, Micros(0)).await, Shown::Missing);
    let Shown::Account(account) = identity.of(&headers, true, Micros(0)).await else { panic!("an account") };
    assert_eq!((account.kind, account.value.as_slice()), ("header", &b"anna"[..]));
}
