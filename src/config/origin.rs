//! `[origin]`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::net;
use super::overlay::{ORIGIN_SECRET, Outside};
use super::table::Table;
use super::types::{OriginConfig, Secret};
use super::value::{duration, flag, from_text, text, whole};

/// Reads `[origin]`; `None` without an address.
pub(super) fn read(root: &mut Table<'_>, outside: &Outside<'_>) -> Option<OriginConfig> {
    let mut table = root.table("origin");
    let over = outside.argument("--origin", outside.overlay.origin.as_ref(), net::origin);
    let address = || from_text("http://host:port", net::origin);
    let url = match outside.overlay.origin {
        Some(_) => over.or(table.read("url", address())),
        None => table.need("url", "\"http://127.0.0.1:3000\"", address()),
    };
    let connect_timeout = table.read("connect_timeout", duration("10ms", "1m"));
    let response_timeout = table.read("response_timeout", duration("100ms", "1h"));
    let max_connections = table.read("max_connections", whole(1, 1_000_000)).unwrap_or(256);
    let paths_ignore_case = table.read("paths_ignore_case", flag).unwrap_or(false);
    let (secret, secret_file) = secret(&mut table, outside);
    let url = url?;
    Some(OriginConfig {
        host: url.host,
        port: url.port.unwrap_or(80),
        connect_timeout: connect_timeout.unwrap_or(Duration::from_secs(1)),
        response_timeout: response_timeout.unwrap_or(Duration::from_secs(30)),
        max_connections: usize::try_from(max_connections).unwrap_or(usize::MAX),
        paths_ignore_case,
        secret,
        secret_file,
    })
}

/// The secret, from the variable or else the file, and the file if it was that.
fn secret(table: &mut Table<'_>, outside: &Outside<'_>) -> (Option<Secret>, Option<PathBuf>) {
    if let Some(secret) = outside.variable(ORIGIN_SECRET, header_value) {
        let _ = table.read("secret_file", text);
        return (Some(secret), None);
    }
    let from_file = |name: &str| {
        let path = Path::new(name);
        Ok((header_value(&files::secret(path)?)?, path.to_owned()))
    };
    table.read("secret_file", from_text("a file name", from_file)).unzip()
}

fn header_value(text: &str) -> Result<Secret, String> {
    match text {
        _ if text.trim().is_empty() => Err("must not be empty".to_owned()),
        _ if text.len() as u64 > files::SECRET_MAX => Err("is too long for a header".to_owned()),
        _ if !text.bytes().all(|b| b.is_ascii_graphic()) => {
            Err("must be visible ASCII without blanks, since it is sent as a header".to_owned())
        }
        _ => Ok(Secret(text.to_owned())),
    }
}
