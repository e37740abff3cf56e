//! `ropeline pass inspect TOKEN --keys DIR`: what a pass says, and whether it is good.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::keys::{Failure, utc};
use crate::room::Micros;
use crate::token::inspect::{Inspection, inspect_pass};
use crate::token::{Keyring, Settings};

/// Longest input that is read for a pass.
const INPUT_BYTES_MAX: u64 = 64 * 1024;

/// What to inspect.
#[derive(Debug, Clone, Copy)]
pub struct Inspect<'a> {
    /// The pass, or `-` to read it from the input, which keeps it out of the process list.
    pub token: &'a str,
    /// The key directory.
    pub keys: &'a Path,
    /// By how much clocks may differ, as `pass.leeway` of the room.
    pub leeway: Duration,
}

/// Takes a pass apart and verifies it at `now` (the wall clock). Ends with 0 if it is good, 1 if it is not or
/// the keys cannot be read.
pub fn inspect(
    what: Inspect<'_>,
    now: Micros,
    input: &mut dyn Read,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    match try_inspect(what, now, input, out) {
        Ok(good) => u8::from(!good),
        Err(failure) => failure.exit(err),
    }
}

fn try_inspect(
    what: Inspect<'_>,
    now: Micros,
    input: &mut dyn Read,
    out: &mut dyn Write,
) -> Result<bool, Failure> {
    let keyring = Keyring::open(Settings::at(what.keys))?;
    let token = if what.token == "-" { first_line(input)? } else { what.token.to_owned() };
    let inspection = inspect_pass(&keyring, token.trim(), now, what.leeway);
    print(&inspection, now, out)?;
    Ok(inspection.verdict.is_ok())
}

fn first_line(input: &mut dyn Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(INPUT_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn print(inspection: &Inspection, now: Micros, out: &mut dyn Write) -> io::Result<()> {
    match &inspection.verdict {
        Ok(pass) => writeln!(out, "good for room {}, number {}", pass.room, pass.number)?,
        Err(fault) => writeln!(out, "refused ({fault}): {}", fault.meaning())?,
    }
    if let Some(header) = &inspection.header {
        writeln!(out, "header  {header}")?;
    }
    let Some(claims) = &inspection.claims else { return Ok(()) };
    writeln!(out, "claims  {claims}")?;
    for (name, means) in [("nbf", "good from"), ("exp", "good until"), ("iat", "made"), ("adm", "admitted")] {
        if let Some(at) = claims.get(name).and_then(Value::as_u64) {
            let at = Micros(at.saturating_mul(1_000_000));
            writeln!(out, "{name}     {means} {} ({})", utc(at), distance(at, now))?;
        }
    }
    Ok(())
}

fn distance(at: Micros, now: Micros) -> String {
    if at > now {
        format!("in {} s", at.since(now).as_secs())
    } else {
        format!("{} s ago", now.since(at).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Admission, Lineage, Number, RoomId};
    use crate::token::add_keys;

    const NOW: Micros = Micros(1_798_110_000_000_000);

    #[test]
    fn a_pass_is_told_as_good_until_it_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("keys");
        add_keys(&keys, NOW, Duration::ZERO).unwrap();
        let keyring = Keyring::open(Settings::at(&keys)).unwrap();
        let admission = Admission { number: Number(7), slot: NOW, until: NOW.plus(Duration::from_secs(60)) };
        let room = RoomId::new("spring").unwrap();
        let pass = keyring.issue_pass(&room, Lineage(1), admission, Duration::from_secs(60), None).unwrap();
        let told = |token: &str, now, leeway| {
            let what = Inspect { token, keys: &keys, leeway: Duration::from_secs(leeway) };
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let code = inspect(what, now, &mut pass.token.as_bytes(), &mut out, &mut err);
            assert!(err.is_empty());
            (code == 0, String::from_utf8(out).unwrap())
        };
        let (good, text) = told(&pass.token, NOW, 0);
        assert!(good && text.starts_with("good for room spring, number 7\n"), "{text}");
        assert!(text.contains("good until 2026-12-24T11:01:00Z (in 60 s)"), "{text}");
        assert!(told("-", NOW, 0).0, "from standard input");
        let late = NOW.plus(Duration::from_secs(62));
        let (good, text) = told(&pass.token, late, 0);
        assert!(!good && text.starts_with("refused (expired)"), "{text}");
        assert!(told(&pass.token, late, 5).0, "within the leeway");
        assert!(told("rubbish", NOW, 0).1.starts_with("refused (malformed)"));
    }
}
