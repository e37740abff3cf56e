//! `ropeline keys new DIR` and `ropeline keys token NAME`: making secrets. What is made is either in a file
//! that only its owner can read, or shown once.

use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::room::Micros;
use crate::token::admin::{self, AdminToken, Role, TokenDigest};
use crate::token::{KeyError, add_keys, random};

/// How long before a new pair signs, unless the operator says otherwise: time to copy it everywhere.
pub const SIGNS_IN: Duration = Duration::from_secs(60);
/// Longest name of an admin token, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Why a verb failed; one line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Keys(#[from] KeyError),
    #[error("the name of a token is 1 to {NAME_CHARS_MAX} characters on one line")]
    Name,
    #[error("cannot read or write: {0}")]
    Io(#[from] io::Error),
}

impl Failure {
    /// What the process ends with after this was told to `err`.
    pub(super) fn exit(&self, err: &mut dyn Write) -> u8 {
        // Nobody is left to tell when even this cannot be written.
        let _ = writeln!(err, "ropeline: {self}");
        if matches!(self, Self::Name) { 64 } else { 1 }
    }
}

/// `ropeline keys new DIR [--signs-in SECONDS]`: all keys that are needed, or a newer pair beside those that
/// are there, which signs `signs_in` after `now` (the wall clock). Ends with 0, or 1 if it cannot be done.
pub fn new(dir: &Path, signs_in: Duration, now: Micros, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    try_new(dir, signs_in, now, out).map_or_else(|failure| failure.exit(err), |()| 0)
}

fn try_new(dir: &Path, signs_in: Duration, now: Micros, out: &mut dyn Write) -> Result<(), Failure> {
    let made = add_keys(dir, now, signs_in)?;
    for file in &made.files {
        writeln!(out, "made {}", file.display())?;
    }
    match made.sign_from {
        None => writeln!(out, "Copy the directory to every instance that shares the store.")?,
        Some(from) => {
            writeln!(out, "The new pair signs from {}. Copy it to every instance before, and", utc(from))?;
            writeln!(out, "remove the old pair when the last ticket and pass of it has run out.")?;
        }
    }
    Ok(())
}

/// `ropeline keys token NAME [--role ROLE]`: a bearer token for the admin API on the first line, once, and
/// its entry for the configuration. Ends with 0, 64 for a name that no audit could show, or 1.
pub fn token(name: &str, role: Role, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    try_token(name, role, out).map_or_else(|failure| failure.exit(err), |()| 0)
}

fn try_token(name: &str, role: Role, out: &mut dyn Write) -> Result<(), Failure> {
    let fits = !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX;
    if !fits || name.chars().any(char::is_control) {
        return Err(Failure::Name);
    }
    let bearer = admin::bearer(random::bytes()?);
    let entry = AdminToken { name: name.to_owned(), role, sha256: TokenDigest::of(&bearer) };
    writeln!(out, "{bearer}\n")?;
    writeln!(out, "# Above is the token for its holder; it is not kept and cannot be shown again.")?;
    writeln!(out, "# For the configuration:")?;
    out.write_all(admin::toml_entry(&entry).as_bytes())?;
    Ok(())
}

/// A moment as people and RFC 3339 write it.
pub(super) fn utc(at: Micros) -> String {
    let moment = OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.0) * 1000).ok();
    moment.and_then(|moment| moment.format(&Rfc3339).ok()).unwrap_or_else(|| format!("{} s", at.seconds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros(1_798_110_000_000_000);

    fn told(verb: impl FnOnce(&mut dyn Write, &mut dyn Write) -> u8) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code = verb(&mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn new_says_what_it_made_and_when_it_signs() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("keys");
        let new = |signs_in| told(|out, err| super::new(&dir, signs_in, NOW, out, err));
        let (code, first, _) = new(SIGNS_IN);
        assert_eq!((code, first.matches("made ").count()), (0, 3), "{first}");
        let (code, next, _) = new(Duration::from_secs(600));
        assert_eq!((code, next.matches("made ").count()), (0, 2), "{next}");
        assert!(next.contains("signs from 2026-12-24T11:10:00Z"), "{next}");

        std::fs::remove_file(dir.join("identity.key")).unwrap();
        let (code, out, err) = new(SIGNS_IN);
        assert_eq!((code, out.as_str(), err.lines().count()), (1, "", 1), "{err}");
    }

    #[test]
    fn token_prints_a_token_and_the_entry_that_accepts_it() {
        let (code, text, _) = told(|out, err| token("box-office", Role::Viewer, out, err));
        assert_eq!(code, 0);
        let (bearer, entry) = text.split_once('\n').unwrap();
        let entry: toml::Table = entry.parse().unwrap();
        let entry = &entry["admin"]["token"][0];
        assert_eq!(entry["role"].as_str(), Some("viewer"));
        assert_eq!(entry["sha256"].as_str(), Some(TokenDigest::of(bearer).to_string().as_str()));
        for bad in ["", " ", "a\nb", &"x".repeat(65)] {
            let (code, out, err) = told(|out, err| token(bad, Role::Viewer, out, err));
            assert_eq!((code, out.as_str(), err.lines().count()), (64, "", 1), "{bad}");
        }
    }
}
