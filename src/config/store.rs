//! `[store]`. An address may hold a password, so no message shows one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files;
use super::net;
use super::overlay::{Outside, STORE_URL};
use super::report::NOT_YET;
use super::table::Table;
use super::value::{duration, flag, from_text, whole};
use crate::queue::{Durability, Place, Settings};

/// What `--print` puts in the place of a password.
pub(super) const MASK: &str = "***";

const EXPECTED: &str = "file:DIR or redis://[user:password@]host[:port][/db]";

/// Reads `[store]`.
pub(super) fn read(root: &mut Table<'_>, outside: &Outside<'_>) -> Settings {
    let mut table = root.table("store");
    let written = from_file(&mut table);
    let variable = outside.variable(STORE_URL, place);
    let argument = outside.argument("--store", outside.overlay.store.as_ref(), place);
    let place = argument.or(variable).or(written);
    let place = place.unwrap_or_else(|| Place::File(PathBuf::from("./ropeline-data")));
    let durability = table.read("durability", from_text("a string", durability));
    let durability = with_replicas(&mut table, durability);
    if matches!((&place, durability), (Place::File(_), Some(Durability::Memory | Durability::Replicas(_)))) {
        let message = "the embedded store (file:) always writes to disk; say \"disk\" or leave it out";
        table.problem("durability", message);
    }
    Settings {
        place,
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
        "redis" => redis(text, rest),
        "rediss" | "redis+sentinel" | "redis+cluster" => Err(format!("{scheme}:// is {NOT_YET}")),
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

fn redis(text: &str, rest: &str) -> Result<Place, String> {
    let bad = || format!("expected {EXPECTED}");
    let rest = rest.strip_prefix("//").ok_or_else(bad)?;
    let (credentials, rest) = rest.rsplit_once('@').map_or((None, rest), |(c, r)| (Some(c), r));
    let (address, db) = rest.split_once('/').unwrap_or((rest, ""));
    if !db.bytes().all(|b| b.is_ascii_digit()) {
        return Err("the database after the host must be a number".to_owned());
    }
    net::origin(&format!("http://{address}")).map_err(|_| bad())?;
    match credentials.map(|c| c.split_once(':').unwrap_or((c, ""))) {
        Some((_, MASK)) => {
            return Err(format!("the password was masked ({MASK}) by --print; put the real one in"));
        }
        Some((_, "")) => return Err("the password is empty; write redis://user:password@host".to_owned()),
        _ => {}
    }
    ::redis::IntoConnectionInfo::into_connection_info(text).map_err(|_| bad())?;
    Ok(Place::Redis(text.to_owned()))
}

/// The address with its password masked.
pub(super) fn masked(place: &Place) -> String {
    match place {
        Place::File(path) => format!("file:{}", path.display()),
        Place::Redis(url) => match url.rsplit_once('@') {
            Some((before, host)) => {
                let credentials = before.strip_prefix("redis://").unwrap_or_default();
                let user = credentials.split_once(':').map_or("", |(user, _)| user);
                format!("redis://{user}:{MASK}@{host}")
            }
            None => url.clone(),
        },
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
        for good in ["redis://h", "redis://h:6380/2", "redis://:pw@h", "redis://u:p%40w@[::1]:6379/0"] {
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
        for later in ["rediss://h", "redis+sentinel://h/m", "redis+cluster://h"] {
            assert!(place(later).unwrap_err().contains("not yet supported"), "{later}");
        }
    }

    #[test]
    fn no_password_is_shown() {
        let shown = masked(&Place::Redis("redis://u:hunter2@h:6379/1".to_owned()));
        assert_eq!(shown, "redis://u:***@h:6379/1");
        assert!(place(&shown).unwrap_err().contains("masked"));
        for bad in ["redis://u:hunter2@h:x", "redis://u:hunter2@h/x", "redix://u:hunter2@h", "hunter2"] {
            assert!(!place(bad).unwrap_err().contains("hunter2"), "{bad}");
        }
    }
}
