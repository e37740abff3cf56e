//! `[store]`. An address may hold a password, so no message shows one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::overlay::{Outside, STORE_URL};
use super::table::Table;
use super::value::{duration, flag, from_text, whole};
use crate::queue::redis::{Address, MASK, check_authorities};
use crate::queue::{Durability, Place, Settings};

const EXPECTED: &str =
    "file:DIR, redis://[user:password@]host[:port][/db], redis+sentinel:// or redis+cluster://";

/// Reads `[store]`.
pub(super) fn read(root: &mut Table<'_>, outside: &Outside<'_>) -> Settings {
    let mut table = root.table("store");
    let written = from_file(&mut table);
    let variable = outside.variable(STORE_URL, place);
    let argument = outside.argument("--store", outside.overlay.store.as_ref(), place);
    let place = argument.or(variable).or(written);
    let ca_file = ca_file(&mut table, place.as_ref());
    let place = place.unwrap_or_else(|| Place::File(PathBuf::from("./ropeline-data")));
    let durability = table.read("durability", from_text("a string", durability));
    let durability = with_replicas(&mut table, durability);
    if matches!((&place, durability), (Place::File(_), Some(Durability::Memory | Durability::Replicas(_)))) {
        let message = "the embedded store (file:) always writes to disk; say \"disk\" or leave it out";
        table.problem("durability", message);
    }
    Settings {
        place,
        ca_file,
        timeout: table.read("timeout", duration("10ms", "30s")).unwrap_or(Duration::from_millis(500)),
        durability: durability.unwrap_or(Durability::Disk),
        accept_loss: table.read("accept_loss", flag).unwrap_or(false),
    }
}

/// The place that the file names, by `url` or by `url_file`.
fn from_file(table: &mut Table<'_>) -> Option<Place> {
    let of_file = |name: &str| place(&files::secret(Path::new(name))?);
    let indirect = table.read("url_file", from_text("a file name", of_file));
    let direct = table.read("url", from_text(EXPECTED, place));
    if table.has("url") && table.has("url_file") {
        table.problem("url_file", "say either url or url_file, not both");
    }
    direct.or(indirect)
}

/// Whom to trust; of no use where nothing is encrypted.
fn ca_file(table: &mut Table<'_>, place: Option<&Place>) -> Option<PathBuf> {
    let readable = |name: &str| check_authorities(Path::new(name)).map(|()| PathBuf::from(name));
    let file = table.read("ca_file", from_text("a file name", readable));
    // An address that could not be read has its own problem.
    let unread = place.is_none() && (table.has("url") || table.has("url_file"));
    let encrypted = place.and_then(address).is_some_and(|address| address.tls());
    if table.has("ca_file") && !encrypted && !unread {
        table.problem(
            "ca_file",
            "only an address with TLS has a use for it: rediss://, rediss+sentinel://, ...",
        );
    }
    file
}

/// The address of a Redis.
pub(super) fn address(place: &Place) -> Option<Address> {
    match place {
        Place::File(_) => None,
        Place::Redis(url) => Address::parse(url).ok(),
    }
}

/// The durability with its count of replicas: one makes no sense without the other.
fn with_replicas(table: &mut Table<'_>, durability: Option<Durability>) -> Option<Durability> {
    let count = table.read("replicas", whole(0, 100)).and_then(|count| u32::try_from(count).ok());
    match (durability, count.unwrap_or(0)) {
        (Some(Durability::Replicas(_)), 0) => {
            table.problem(
                "replicas",
                "durability = \"replicas\" needs to know how many must acknowledge, at least 1",
            );
            durability
        }
        (Some(Durability::Replicas(_)), count) => Some(Durability::Replicas(count)),
        (other, 0) => other,
        (other, _) => {
            table.problem(
                "replicas",
                "only durability = \"replicas\" asks replicas; say that too, or leave this out",
            );
            other
        }
    }
}

fn durability(text: &str) -> Result<Durability, String> {
    match text {
        "memory" => Ok(Durability::Memory),
        "disk" => Ok(Durability::Disk),
        "replicas" => Ok(Durability::Replicas(0)),
        _ => Err(format!(
            "expected \"memory\", \"disk\" or \"replicas\", found {}",
            super::value::quoted(text)
        )),
    }
}

/// Where the line lives.
fn place(text: &str) -> Result<Place, String> {
    let Some((scheme, rest)) = text.split_once(':') else {
        return Err(format!("expected {EXPECTED}"));
    };
    match scheme {
        "file" => file(rest),
        _ if scheme.starts_with("redis") => match Address::parse(text) {
            Ok(_) => Ok(Place::Redis(text.to_owned())),
            Err(error) => Err(error.to_string()),
        },
        _ => Err(format!("expected {EXPECTED}")),
    }
}

fn file(rest: &str) -> Result<Place, String> {
    let path = rest.strip_prefix("//").filter(|path| path.starts_with('/')).unwrap_or(rest);
    match path.trim() {
        "" => Err("file: needs a directory, such as file:./ropeline-data".to_owned()),
        _ if path.starts_with("//") => Err("write file:DIR, such as file:/var/lib/ropeline".to_owned()),
        _ => Ok(Place::File(PathBuf::from(path))),
    }
}

/// The address with its passwords masked.
pub(super) fn masked(place: &Place) -> String {
    match place {
        Place::File(path) => format!("file:{}", path.display()),
        Place::Redis(url) => {
            Address::parse(url).map_or_else(|_| MASK.to_owned(), |address| address.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        for (text, path) in [
            ("file:./data", "./data"),
            ("file:/var/lib/r", "/var/lib/r"),
            ("file:///var/lib/r", "/var/lib/r"),
            ("file:data", "data"),
        ] {
            assert_eq!(place(text), Ok(Place::File(path.into())), "{text}");
        }
        for good in [
            "redis://h",
            "redis://u:p%40w@[::1]:6379/0",
            "rediss://h",
            "redis+sentinel://h/m",
            "redis+cluster://h",
        ] {
            assert_eq!(place(good), Ok(Place::Redis(good.to_owned())), "{good}");
        }
        for bad in [
            "",
            "file:",
            "file: ",
            "file://x/y",
            "redis:h",
            "redis://",
            "redis://h:x",
            "redis://h/x",
            "redis://u:@h",
            "redis://u@h",
            "memcached://h",
            "/var/lib",
        ] {
            assert!(place(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let shown = masked(&Place::Redis("redis://u:hunter2@h:6379/1".to_owned()));
        assert_eq!(shown, "redis://u:***@h/1");
        assert!(place(&shown).unwrap_err().contains("masked"));
        for bad in ["redis://u:hunter2@h:x", "redis://u:hunter2@h/x", "redix://u:hunter2@h", "hunter2"] {
            assert!(!place(bad).unwrap_err().contains("hunter2"), "{bad}");
        }
    }
}
