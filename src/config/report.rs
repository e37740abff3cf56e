//! Collects what is wrong while the settings are read, so that everything is said at once.
//!
//! Unknown keys are judged last: only then is it known which keys there are, and so which one was meant.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::problem::{Problem, Spot};
use super::suggest;
use super::value::quoted;

/// What is said of a key whose feature does not work yet.
pub(super) const NOT_YET: &str = "not yet supported: this version would not act on it";

/// The problems of one document.
pub(super) struct Report {
    /// Offsets of the first byte of each line but the first.
    breaks: Vec<usize>,
    problems: RefCell<Vec<Problem>>,
    /// Paths of all keys that were asked for, without indices.
    known: RefCell<BTreeSet<String>>,
    unknown: RefCell<Vec<Unknown>>,
}

struct Unknown {
    at: usize,
    path: String,
    name: String,
}

impl Report {
    pub(super) fn new(text: &str) -> Self {
        Self {
            breaks: text.match_indices('\n').map(|(at, _)| at + 1).collect(),
            problems: RefCell::default(),
            known: RefCell::default(),
            unknown: RefCell::default(),
        }
    }

    /// A problem at an offset of the document.
    pub(super) fn at(&self, at: usize, key: impl Into<String>, message: impl Into<String>) {
        let line = self.breaks.partition_point(|start| *start <= at) + 1;
        self.push(Spot::Line(line), key.into(), message.into());
    }

    /// A problem with an argument or a variable.
    pub(super) fn outside(&self, name: &str, message: impl Into<String>) {
        self.push(Spot::Outside, name.to_owned(), message.into());
    }

    fn push(&self, spot: Spot, key: String, message: String) {
        self.problems.borrow_mut().push(Problem { spot, key, message });
    }

    /// Notes that a key of a table is one that exists.
    pub(super) fn know(&self, table: &str, key: &str) {
        self.known.borrow_mut().insert(join(&without_indices(table), key));
    }

    /// Notes a key that nobody asked for.
    pub(super) fn unknown(&self, at: usize, table: &str, key: &str) {
        self.unknown.borrow_mut().push(Unknown { at, path: table.to_owned(), name: key.to_owned() });
    }

    /// Everything that was found.
    pub(super) fn finish(self) -> Vec<Problem> {
        let known = self.known.take();
        for Unknown { at, path, name } in self.unknown.take() {
            let message = match suggest::meant(&without_indices(&path), &name, &known) {
                Some(hint) => format!("unknown key; {hint}"),
                None => "unknown key".to_owned(),
            };
            self.at(at, join(&path, &written(&name)), message);
        }
        self.problems.take()
    }
}

/// `table.key`, or the one of both that is not empty.
pub(super) fn join(table: &str, key: &str) -> String {
    match (table, key) {
        ("", only) | (only, "") => only.to_owned(),
        _ => format!("{table}.{key}"),
    }
}

/// A key as TOML writes it, whatever is in it.
fn written(key: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !key.is_empty() && key.len() <= 60 && key.bytes().all(bare) { key.to_owned() } else { quoted(key) }
}

fn without_indices(path: &str) -> String {
    let mut inside = false;
    let keep = |c: &char| {
        inside = *c == '[' || (inside && *c != ']');
        !inside && *c != ']'
    };
    path.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_dropped() {
        assert_eq!(without_indices("room[10].release"), "room.release");
        assert_eq!(without_indices("server"), "server");
    }
}
