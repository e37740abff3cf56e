//! `[admin]` and `[[admin.token]]`.

use std::collections::BTreeSet;

use super::net;
use super::table::Table;
use super::types::{AdminConfig, Role, TokenConfig};
use super::value::{Parsed, from_text, quoted};

/// Most tokens.
const TOKENS_MAX: usize = 1000;

/// SHA-256 of nothing.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Reads `[admin]`.
pub(super) fn read(root: &mut Table<'_>) -> AdminConfig {
    let mut table = root.table("admin");
    let listen = table.read("listen", from_text("an address and a port", net::socket));
    let mut names = BTreeSet::new();
    let tokens = table.tables("token", TOKENS_MAX).into_iter();
    let tokens = tokens.filter_map(|table| token(table, &mut names)).collect();
    AdminConfig { listen: listen.unwrap_or_else(|| ([127, 0, 0, 1], 9090).into()), tokens }
}

fn token(mut table: Table<'_>, names: &mut BTreeSet<String>) -> Option<TokenConfig> {
    let found = table.need("name", "\"box-office-desk\"", from_text("a name", name));
    let role = table.need("role", "\"viewer\"", from_text("a role", role));
    let sha256 = table.need("sha256", "\"<64 hex digits>\"", from_text("64 hex digits", hash));
    let found = found?;
    if !names.insert(found.clone()) {
        table.problem("name", format!("{} is the name of another token", quoted(&found)));
    }
    Some(TokenConfig { name: found, role: role?, sha256: sha256? })
}

fn name(text: &str) -> Parsed<String> {
    let good = matches!(text.len(), 1..=64)
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.@".contains(&b));
    let bad = || format!("expected 1 to 64 letters, digits, -, _, . and @, found {}", quoted(text));
    good.then(|| text.to_owned()).ok_or_else(bad)
}

fn role(text: &str) -> Parsed<Role> {
    match text {
        "viewer" => Ok(Role::Viewer),
        "operator" => Ok(Role::Operator),
        "origin" => Ok(Role::Origin),
        _ => Err(format!("expected \"viewer\", \"operator\" or \"origin\", found {}", quoted(text))),
    }
}

/// Never shows what it was given: it may be the token itself.
fn hash(text: &str) -> Parsed<[u8; 32]> {
    if text.ends_with("...") {
        return Err("was shortened by --print; put the whole hash in".to_owned());
    }
    let bad = || {
        format!(
            "expected the SHA-256 of the token as 64 hex digits, found {} characters",
            text.chars().count()
        )
    };
    if text.len() != 64 {
        return Err(bad());
    }
    if text.eq_ignore_ascii_case(OF_NOTHING) {
        return Err("is the hash of an empty token".to_owned());
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(pair).ok().filter(|p| p.bytes().all(|b| b.is_ascii_hexdigit()));
        *byte = digits
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
            .ok_or_else(|| "expected 64 hex digits, found other characters".to_owned())?;
    }
    Ok(bytes)
}
