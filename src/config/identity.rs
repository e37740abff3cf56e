//! `room.identity`: what makes two requests one visitor.

use std::path::PathBuf;

use http::HeaderName;

use super::net;
use super::table::{Placed, Table};
use super::types::{IdentityConfig, IdentityKind, JwksConfig, JwtConfig, Missing};
use super::value::{Parsed, from_text, one_of, quoted, text};
use crate::route::Pattern;

/// Longest names and addresses, in bytes.
const NAME_MAX: usize = 128;
const URL_MAX: usize = 2048;
/// A claim of every token.
const SUBJECT: &str = "sub";

#[derive(Clone, Copy, PartialEq)]
enum Word {
    Browser,
    Cookie,
    Header,
    Jwt,
}

/// The keys besides `kind`, with the kinds that know them.
const KEYS: [(&str, &[Word]); 7] = [
    ("name", &[Word::Cookie, Word::Header, Word::Jwt]),
    ("jwks", &[Word::Jwt]),
    ("claim", &[Word::Jwt]),
    ("issuer", &[Word::Jwt]),
    ("audience", &[Word::Jwt]),
    ("missing", &[Word::Cookie, Word::Header, Word::Jwt]),
    ("login_url", &[Word::Cookie, Word::Header, Word::Jwt]),
];

/// What was read, and where the things stand that other settings may contradict.
pub(super) struct Read {
    /// `None` only if a problem was reported.
    pub(super) config: Option<IdentityConfig>,
    pub(super) kind_at: (usize, String),
    pub(super) login_at: (usize, String),
}

/// Reads the table.
pub(super) fn read(mut table: Table<'_>) -> Read {
    let (kind_at, login_at) = (table.place_of("kind"), table.place_of("login_url"));
    Read { config: config(&mut table), kind_at, login_at }
}

fn config(table: &mut Table<'_>) -> Option<IdentityConfig> {
    let words =
        &[("browser", Word::Browser), ("cookie", Word::Cookie), ("header", Word::Header), ("jwt", Word::Jwt)];
    let kind = if table.has("kind") { table.read("kind", one_of(words)) } else { Some(Word::Browser) };
    for (key, known_by) in KEYS {
        let (_, found) = (table.find(key), table.has(key));
        if found && kind.is_some_and(|kind| !known_by.contains(&kind)) {
            table.problem(key, "has no effect with this kind of identity");
        }
    }
    let missing =
        table.read("missing", one_of(&[("refuse", Missing::Refuse), ("browser", Missing::Browser)]));
    let login_url = table.read("login_url", from_text("an address", login));
    if login_url.is_some() && missing == Some(Missing::Browser) {
        table.problem("login_url", "has no effect with missing = \"browser\": nobody is asked to log in");
    }
    let kind = match kind? {
        Word::Browser => IdentityKind::Browser,
        Word::Cookie => {
            IdentityKind::Cookie { name: table.need("name", "\"session\"", from_text("a string", cookie))? }
        }
        Word::Header => {
            IdentityKind::Header { name: table.need("name", "\"x-account\"", from_text("a string", header))? }
        }
        Word::Jwt => IdentityKind::Jwt(Box::new(jwt(table)?)),
    };
    Some(IdentityConfig { kind, missing: missing.unwrap_or(Missing::Refuse), login_url })
}

fn jwt(table: &mut Table<'_>) -> Option<JwtConfig> {
    let jwks = table.need("jwks", "\"/.well-known/jwks.json\"", from_text("a string", jwks));
    let name = table.read("name", from_text("a string", token_place));
    Some(JwtConfig {
        jwks: jwks?,
        name: name.unwrap_or_else(|| "authorization".to_owned()),
        claim: table.read("claim", text).unwrap_or_else(|| SUBJECT.to_owned()),
        issuer: table.read("issuer", text),
        audience: table.read("audience", text),
    })
}

fn cookie(name: &str) -> Parsed<String> {
    let plain = name.len() <= NAME_MAX && HeaderName::try_from(name).is_ok();
    let short = name.strip_prefix("__Host-").unwrap_or(name);
    match () {
        () if !plain => Err(format!("expected the name of a cookie, found {}", quoted(name))),
        () if short.starts_with("rl_t_") || short.starts_with("rl_p_") => {
            Err("is a cookie of ropeline's own, which says nothing of an account".to_owned())
        }
        () => Ok(name.to_owned()),
    }
}

fn header(name: &str) -> Parsed<String> {
    let lower = name.to_ascii_lowercase();
    match HeaderName::try_from(lower.as_str()) {
        Ok(_) if name.len() > NAME_MAX => Err("is too long for a header".to_owned()),
        Ok(_) if lower == "cookie" || lower == "host" || lower.starts_with("x-ropeline-") => {
            Err(format!("{} says nothing of an account", quoted(name)))
        }
        Ok(_) => Ok(lower),
        Err(_) => Err(format!("expected the name of a header, found {}", quoted(name))),
    }
}

/// A name that may be a header's or a cookie's: kept as written, for cookies tell letter cases apart.
fn token_place(name: &str) -> Parsed<String> {
    header(name).and_then(|_| cookie(name))
}

/// Where a key set is.
fn jwks(text: &str) -> Parsed<JwksConfig> {
    let wrong = || {
        format!(
            "expected a path on the origin such as \"/.well-known/jwks.json\", https://host/path or file:PATH, found {}",
            quoted(text)
        )
    };
    if let Some(path) = text.strip_prefix("file:") {
        return if path.is_empty() { Err(wrong()) } else { Ok(JwksConfig::File(PathBuf::from(path))) };
    }
    if text.len() > URL_MAX || !text.bytes().all(|b| b.is_ascii_graphic()) || text.contains('#') {
        return Err(wrong());
    }
    if text.starts_with('/') && !text.starts_with("//") {
        return Ok(JwksConfig::OnOrigin(text.to_owned()));
    }
    let (before, rest) = text.split_once("://").ok_or_else(wrong)?;
    let slash = rest.find('/').ok_or_else(wrong)?;
    let (authority, target) = rest.split_at(slash);
    if authority.contains('@') {
        return Err("expected an address without user or password".to_owned());
    }
    let address = net::WebAddress::read(&format!("{before}://{authority}")).ok_or_else(wrong)?;
    let port = address.port.unwrap_or(if address.https { 443 } else { 80 });
    Ok(JwksConfig::Http { tls: address.https, host: address.host, port, target: target.to_owned() })
}

/// Where to log in: a path of the same site, or an address.
fn login(text: &str) -> Parsed<String> {
    let path = text.starts_with('/') && !text.starts_with("//") && !text.starts_with("/\\");
    let address = text.starts_with("https://") || text.starts_with("http://");
    let plain = text.len() <= URL_MAX && text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    ((path || address) && plain).then(|| text.to_owned()).ok_or_else(|| {
        format!(
            "expected a path such as \"/login?next={{return}}\" or an http or https address, found {}",
            quoted(text)
        )
    })
}

/// Whether the way to log in lies behind the room itself.
pub(super) fn is_circular(
    login_url: &str,
    paths: &[Placed<String>],
    open_paths: &[Placed<String>],
    ignore_case: bool,
) -> bool {
    let path = login_url.split(['?', '#']).next().unwrap_or_default();
    let all = paths.iter().map(|path| (path, false)).chain(open_paths.iter().map(|path| (path, true)));
    let mut matching: Vec<(Pattern, bool)> = all
        .filter_map(|(placed, open)| Some((Pattern::parse(&placed.value).ok()?, open)))
        .filter(|(pattern, _)| match ignore_case {
            true => pattern.clone().folded().matches_folded(path),
            false => pattern.matches(path),
        })
        .collect();
    matching.sort_by(|(a, _), (b, _)| a.specificity(b));
    path.starts_with('/') && matching.first().is_some_and(|(_, open)| !open)
}
