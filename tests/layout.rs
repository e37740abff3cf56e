//! The arrows between the parts, and the shape of their files, held by a test: what `src/lib.rs` says is so.

use std::path::{Path, PathBuf};

/// Longest file.
const LINES_MAX: usize = 400;

const PARTS: &[&str] = &[
    "admin", "answer", "cache", "config", "crowd", "demo", "identity", "limit", "listen", "metrics", "page",
    "proxy", "queue", "room", "route", "server", "token",
];

/// What a part may use of ours. A part that is not named here may use everything.
const MAY_USE: &[(&str, &[&str])] = &[
    ("room", &[]),
    ("token", &["room"]),
    ("route", &[]),
    ("metrics", &["room"]),
    ("queue", &["room", "metrics"]),
    ("cache", &["metrics", "room"]),
    ("limit", &["metrics", "room"]),
    ("listen", &["metrics"]),
    ("page", &["room", "metrics"]),
    ("identity", &["metrics", "room", "token"]),
    ("answer", &["identity", "limit", "metrics", "page", "queue", "room", "route", "token"]),
    ("proxy", &["answer", "cache", "limit", "listen", "metrics", "page", "queue", "room", "route", "token"]),
    ("crowd", &["answer", "limit", "listen", "metrics", "page", "room", "route", "token"]),
    ("admin", &["answer", "cache", "listen", "metrics", "page", "queue", "room", "route", "token"]),
    ("demo", &["room"]),
];

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            files_under(&entry, found);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            found.push(entry);
        }
    }
}

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files_under(&root.join(folder), &mut found);
    let read = |p: PathBuf| (p.strip_prefix(root).unwrap().to_owned(), std::fs::read_to_string(&p).unwrap());
    found.into_iter().map(read).collect()
}

/// The part that a file under `src` belongs to.
fn part_of(path: &Path) -> Option<&str> {
    let inside = path.strip_prefix("src").ok()?.components().next()?.as_os_str().to_str()?;
    let name = inside.trim_end_matches(".rs");
    PARTS.iter().copied().find(|p| *p == name)
}

/// The parts that a source names by `crate::`, without its comments.
fn used(source: &str) -> Vec<&'static str> {
    let code: Vec<&str> = source.lines().filter(|l| !l.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let names = |part: &str| {
        code.match_indices("crate::").any(|(at, _)| {
            let rest = &code[at + "crate::".len()..];
            let group = rest.strip_prefix('{').and_then(|g| g.split(';').next()).unwrap_or("");
            let is = |text: &str| {
                text.strip_prefix(part)
                    .is_some_and(|r| !r.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            is(rest) || group.split([',', '{', ' ', '\n']).any(is)
        })
    };
    PARTS.iter().copied().filter(|p| names(p)).collect()
}

#[test]
fn arrows_point_one_way() {
    let mut wrong = Vec::new();
    for (path, source) in sources("src") {
        let Some(part) = part_of(&path) else { continue };
        let Some((_, allowed)) = MAY_USE.iter().find(|(p, _)| *p == part) else { continue };
        for other in used(&source) {
            if other != part && !allowed.contains(&other) {
                wrong.push(format!("{}: {part} must not use {other}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_small_and_say_what_they_own() {
    let mut wrong = Vec::new();
    for folder in ["src", "tests", "loadtest/src"] {
        for (path, source) in sources(folder) {
            if !source.starts_with("//!") {
                wrong.push(format!("{}: does not begin by saying what it owns", path.display()));
            }
            let lines = source.lines().count();
            if lines > LINES_MAX {
                wrong.push(format!("{}: {lines} lines", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn uses_are_seen() {
    assert_eq!(used("use crate::room::X;\n// crate::queue\nlet a = crate::token::y();"), ["room", "token"]);
    assert_eq!(used("use crate::{admin, room::{A, B}};"), ["admin", "room"]);
    assert!(used("use crate::rooms::X;").is_empty());
}
