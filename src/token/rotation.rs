//! Keys that come and go while instances run, told as stories over real directories.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;

use super::testing::{Bench, HALF_AN_HOUR, LINEAGE, NOW, admission, files, room};
use super::{KeyError, Keyring, Settings, Ticket, TokenFault, add_keys};
use crate::room::{Micros, Number};

const MINUTE: Duration = Duration::from_secs(60);

fn ticket(issued: Micros) -> Ticket {
    Ticket { room: room("spring"), lineage: LINEAGE, number: Number(7), issued, bound: None }
}

fn pass(keyring: &Keyring, slot: Micros) -> String {
    let admission = crate::room::Admission { slot, ..admission(7) };
    keyring.issue_pass(&room("spring"), LINEAGE, admission, HALF_AN_HOUR, None).unwrap().token
}

fn good(keyring: &Keyring, token: &str, now: Micros) -> Result<(), TokenFault> {
    keyring.check_pass(&room("spring"), token, now, Duration::ZERO).map(drop)
}

fn kid(token: &str) -> String {
    jsonwebtoken::decode_header(token).unwrap().kid.unwrap()
}

#[test]
fn two_instances_with_the_same_files_accept_and_make_the_same() {
    let bench = Bench::new();
    let other = Keyring::open(Settings::at(bench.dir())).unwrap();
    let sealed = bench.keyring.seal_ticket(&ticket(NOW));
    assert_eq!(other.open_ticket(&room("spring"), &sealed), Ok(ticket(NOW)));
    let token = pass(&bench.keyring, NOW);
    assert_eq!(good(&other, &token, NOW), Ok(()));
    assert_eq!(pass(&other, NOW), token);
    assert_eq!(other.identity_fingerprint(), bench.keyring.identity_fingerprint());
    assert_eq!(other.identity_hash("cookie", b"anna"), bench.keyring.identity_hash("cookie", b"anna"));
}

#[test]
fn a_new_pair_verifies_at_once_and_signs_from_its_moment() {
    let bench = Bench::new();
    let behind = Keyring::open(Settings::at(bench.dir())).unwrap();
    let (old_ticket, old_pass) = (bench.keyring.seal_ticket(&ticket(NOW)), pass(&bench.keyring, NOW));
    let identity = fs::read(bench.dir().join("identity.key")).unwrap();

    let made = add_keys(&bench.dir(), NOW, MINUTE).unwrap();
    assert_eq!(made.files.len(), 2);
    let from = made.sign_from.unwrap();
    assert_eq!(from.seconds(), NOW.seconds() + 60);
    assert_eq!(fs::read(bench.dir().join("identity.key")).unwrap(), identity);
    assert!(bench.keyring.reload().unwrap());
    assert!(!bench.keyring.reload().unwrap());

    // Until the moment both instances make what they made before: the other has not read its copy yet.
    assert_eq!(pass(&bench.keyring, NOW), old_pass);
    assert_eq!(bench.keyring.seal_ticket(&ticket(NOW)), old_ticket);
    let (new_ticket, new_pass) = (bench.keyring.seal_ticket(&ticket(from)), pass(&bench.keyring, from));
    assert_ne!(kid(&new_pass), kid(&old_pass));
    assert_eq!(good(&behind, &new_pass, from), Err(TokenFault::UnknownKey));
    assert_eq!(behind.open_ticket(&room("spring"), &new_ticket), Err(TokenFault::UnknownKey));
    behind.reload().unwrap();
    for (sealed, made) in [(&old_ticket, &old_pass), (&new_ticket, &new_pass)] {
        assert_eq!(good(&behind, made, from), Ok(()));
        assert!(behind.open_ticket(&room("spring"), sealed).is_ok());
    }
    let jwks: Value = serde_json::from_slice(&behind.jwks()).unwrap();
    let kids: Vec<_> = jwks["keys"].as_array().unwrap().iter().map(|k| k["kid"].as_str().unwrap()).collect();
    assert_eq!(kids, [kid(&new_pass), kid(&old_pass)]);
}

#[test]
fn a_removed_key_verifies_nothing_more_not_even_what_is_remembered() {
    let bench = Bench::new();
    let (old_ticket, old_pass) = (bench.keyring.seal_ticket(&ticket(NOW)), pass(&bench.keyring, NOW));
    assert_eq!(good(&bench.keyring, &old_pass, NOW), Ok(()));
    assert_eq!(bench.keyring.remembered(), 1);
    add_keys(&bench.dir(), NOW, MINUTE).unwrap();
    fs::remove_file(&bench.files("ticket-")[0]).unwrap();
    fs::remove_file(&bench.files("pass-")[0]).unwrap();
    bench.keyring.reload().unwrap();
    assert_eq!(bench.keyring.remembered(), 0);
    assert_eq!(good(&bench.keyring, &old_pass, NOW), Err(TokenFault::UnknownKey));
    assert_eq!(bench.keyring.open_ticket(&room("spring"), &old_ticket), Err(TokenFault::UnknownKey));
    // The pair that is left signs although its moment has not come: somebody has to.
    assert_eq!(good(&bench.keyring, &pass(&bench.keyring, NOW), NOW), Ok(()));
}

#[test]
fn another_key_under_an_old_name_is_another_key() {
    let bench = Bench::new();
    let token = pass(&bench.keyring, NOW);
    assert_eq!(good(&bench.keyring, &token, NOW), Ok(()));
    fs::write(&bench.files("pass-")[0], fs::read(&Bench::new().files("pass-")[0]).unwrap()).unwrap();
    assert!(bench.keyring.reload().unwrap());
    assert_eq!(good(&bench.keyring, &token, NOW), Err(TokenFault::Signature));
}

#[test]
fn a_directory_gone_bad_leaves_the_keys_in_force() {
    let bench = Bench::new();
    let token = pass(&bench.keyring, NOW);
    let key = bench.files("pass-")[0].clone();
    let text = fs::read(&key).unwrap();
    let refused = |what: &str| {
        let told = bench.keyring.reload().unwrap_err().to_string();
        assert_eq!(told.lines().count(), 1);
        assert!(told.contains(what), "{told}");
        assert_eq!(good(&bench.keyring, &token, NOW), Ok(()));
    };
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).unwrap();
    refused(&format!("chmod 600 {}", key.display()));
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&key, "rubbish").unwrap();
    refused("not an Ed25519 private key");
    fs::remove_file(&key).unwrap();
    refused("ropeline keys new");
    fs::write(&key, &text).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(bench.dir().join("pass-mine.pem"), "x").unwrap();
    refused("pass-mine.pem");
    fs::remove_file(bench.dir().join("pass-mine.pem")).unwrap();
    fs::write(bench.dir().join("identity.key"), fs::read(Bench::new().dir().join("identity.key")).unwrap())
        .unwrap();
    refused("differs from the key");
    fs::remove_file(bench.dir().join("identity.key")).unwrap();
    refused("identity.key is missing");
}

#[test]
fn unrelated_files_are_left_alone() {
    let bench = Bench::new();
    for name in ["README", "admin.token", ".new-0123", "pass-old.pem~", "ticket-x.key.bak"] {
        fs::write(bench.dir().join(name), "x").unwrap();
    }
    assert!(!bench.keyring.reload().unwrap());
}

#[test]
fn a_first_start_makes_what_is_missing_and_nothing_else() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path().join("deep/keys");
    let settings = Settings::at(&dir);
    let told = Keyring::open(settings.clone()).err().unwrap().to_string();
    assert!(told.contains("ropeline keys new"), "{told}");
    let first = Keyring::create_missing(settings.clone(), NOW).unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    for file in files(&dir, "") {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
    }
    let before = files(&dir, "");
    assert_eq!(before.len(), 3);
    let again = Keyring::create_missing(settings.clone(), NOW).unwrap();
    assert_eq!(files(&dir, ""), before);
    assert_eq!(good(&again, &pass(&first, NOW), NOW), Ok(()));

    // A first start that was cut off after the identity key is finished by the next.
    fs::remove_file(&files(&dir, "pass-")[0]).unwrap();
    let mended = Keyring::create_missing(settings.clone(), NOW).unwrap();
    assert_eq!(mended.identity_fingerprint(), first.identity_fingerprint());
    // But a lost identity key is not made up.
    fs::remove_file(dir.join("identity.key")).unwrap();
    let lost = Keyring::create_missing(settings, NOW).err().unwrap();
    assert!(matches!(lost, KeyError::IdentityLost { .. }));
    assert!(matches!(add_keys(&dir, NOW, MINUTE), Err(KeyError::IdentityLost { .. })));
}

#[test]
fn a_newer_pair_is_newer_even_in_the_same_second_or_on_a_slow_clock() {
    let bench = Bench::new();
    let newest = |bench: &Bench| bench.files("pass-").last().unwrap().clone();
    for now in [NOW, NOW, NOW.minus(HALF_AN_HOUR)] {
        let before = newest(&bench);
        let made = add_keys(&bench.dir(), now, Duration::ZERO).unwrap();
        assert_eq!(newest(&bench), made.files[1]);
        assert_ne!(newest(&bench), before);
    }
    assert_eq!(bench.files("pass-").len(), 4);
    assert_eq!(bench.files("identity").len(), 1);
}

#[test]
fn too_many_keys_are_refused() {
    let bench = Bench::new();
    for _ in 0..31 {
        add_keys(&bench.dir(), NOW, Duration::ZERO).unwrap();
    }
    assert!(bench.keyring.reload().unwrap());
    add_keys(&bench.dir(), NOW, Duration::ZERO).unwrap();
    let told = bench.keyring.reload().unwrap_err().to_string();
    assert!(told.contains("remove the oldest"), "{told}");
}
