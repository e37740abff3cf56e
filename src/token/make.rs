//! Making keys: a first set, or a newer pair beside those that are there. Nothing here ever changes or
//! removes a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::Ed25519KeyPair;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::files::{in_dir, list_dir, make_dir, write_new};
use super::keys::{IDENTITY, Keys};
use super::kid::Kid;
use super::{KeyError, pem, random};
use crate::room::Micros;

/// What [`add_keys`] made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKeys {
    /// The files, in the order in which they were made.
    pub files: Vec<PathBuf>,
    /// From when the new keys sign; `None` if they are the first, which sign at once.
    pub sign_from: Option<Micros>,
}

/// Makes a ticket key and a pass key in `dir`, and the directory and `identity.key` if they are not there.
///
/// Beside older keys the new ones verify as soon as they are read, and sign `signs_in` after `now`: enough
/// time to copy them to every instance first.
///
/// # Errors
/// When the directory or what is in it cannot be used; then nothing new is left that would be read.
pub fn add_keys(dir: &Path, now: Micros, signs_in: Duration) -> Result<NewKeys, KeyError> {
    make_dir(dir)?;
    let names = list_dir(dir)?;
    let first = !names.iter().any(|name| is_signing_key(name));
    if first {
        let mut files = make_identity(dir)?;
        files.extend(make_pair(dir, now.seconds())?);
        return Ok(NewKeys { files, sign_from: None });
    }
    // Reading what is there first: a pair beside a broken key would only hide it until the next start.
    let keys = Keys::read(dir, 0)?;
    let after_newest = keys.newest().map_or(0, |kid| kid.signs_from + 1);
    let from = now.plus(signs_in).seconds().max(after_newest);
    Ok(NewKeys { files: make_pair(dir, from)?, sign_from: Some(Micros(from.saturating_mul(1_000_000))) })
}

/// Makes what a first start lacks, and leaves alone what is there.
pub(super) fn fill_in(dir: &Path, now: Micros) -> Result<(), KeyError> {
    make_dir(dir)?;
    let names = list_dir(dir)?;
    let has = |prefix: &str| names.iter().any(|name| name.starts_with(prefix) && is_signing_key(name));
    let (tickets, passes) = (has("ticket-"), has("pass-"));
    if !names.iter().any(|name| name == IDENTITY) {
        if tickets || passes {
            return Err(KeyError::IdentityLost { path: dir.to_owned() });
        }
        make_identity(dir)?;
    }
    if !tickets {
        make_ticket_key(dir, now.seconds())?;
    }
    if !passes {
        make_pass_key(dir, now.seconds())?;
    }
    Ok(())
}

fn is_signing_key(name: &str) -> bool {
    (name.starts_with("ticket-") && name.ends_with(".key"))
        || (name.starts_with("pass-") && name.ends_with(".pem"))
}

fn make_identity(dir: &Path) -> Result<Vec<PathBuf>, KeyError> {
    let path = in_dir(dir, IDENTITY);
    Ok(if write_new(&path, &secret()?)? { vec![path] } else { Vec::new() })
}

fn make_pair(dir: &Path, signs_from: u64) -> Result<Vec<PathBuf>, KeyError> {
    Ok(vec![make_ticket_key(dir, signs_from)?, make_pass_key(dir, signs_from)?])
}

fn make_ticket_key(dir: &Path, signs_from: u64) -> Result<PathBuf, KeyError> {
    write(dir, "ticket-", signs_from, ".key", &secret()?)
}

fn make_pass_key(dir: &Path, signs_from: u64) -> Result<PathBuf, KeyError> {
    let der = Ed25519KeyPair::generate_pkcs8v1(&SystemRandom::new()).map_err(|_| KeyError::NoRandom)?;
    write(dir, "pass-", signs_from, ".pem", &pem::write(der.as_ref()))
}

fn write(dir: &Path, prefix: &str, signs_from: u64, suffix: &str, text: &str) -> Result<PathBuf, KeyError> {
    let why = "no key can be made: the clock shows an impossible year; set it";
    let bad = || KeyError::Bad { path: dir.to_owned(), why };
    let kid = Kid::new(signs_from, random::bytes()?).ok_or_else(bad)?;
    let path = in_dir(dir, &format!("{prefix}{}{suffix}", kid.as_str()));
    let why = "already there; try again";
    if write_new(&path, text)? { Ok(path) } else { Err(KeyError::Bad { path, why }) }
}

fn secret() -> Result<String, KeyError> {
    Ok(URL_SAFE_NO_PAD.encode(random::bytes::<32>()?) + "\n")
}
