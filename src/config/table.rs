//! A typed reader over one table of the document.
//!
//! Each read marks its key as known; what was never asked for is reported when the reader is dropped, so no
//! key can be ignored by mistake. A value that cannot be read is reported and reading goes on.

use std::collections::BTreeSet;

use toml::de::{DeTable, DeValue};

use super::report::{NOT_YET, Report, join};
use super::value::{Parsed, expected};

/// One table, present in the document or not: an absent one reads as empty, so that defaults come out.
pub(super) struct Table<'d> {
    entries: Option<&'d DeTable<'d>>,
    at: usize,
    path: String,
    /// Named in every problem inside a room, because an index is hard to count.
    room: Option<String>,
    asked: BTreeSet<&'static str>,
    report: &'d Report,
}

/// A value with the place where it stands.
pub(super) struct Placed<T> {
    pub(super) value: T,
    pub(super) at: usize,
    pub(super) key: String,
}

impl<'d> Table<'d> {
    /// The whole document.
    pub(super) fn root(entries: &'d DeTable<'d>, report: &'d Report) -> Self {
        Self {
            entries: Some(entries),
            at: 0,
            path: String::new(),
            room: None,
            asked: BTreeSet::new(),
            report,
        }
    }

    /// Names the room that this table is or belongs to.
    pub(super) fn call_room(&mut self, id: &str) {
        self.room = Some(id.to_owned());
    }

    /// Whether the document holds the key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.is_some_and(|entries| entries.contains_key(key))
    }

    /// The value under a key, if it is there and can be read.
    pub(super) fn read<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Option<T> {
        let (at, value) = self.find(key)?;
        parse(value).map_err(|message| self.tell(at, key, message)).ok()
    }

    /// The same for a key that must be there. `example` shows what is expected.
    pub(super) fn need<T>(
        &mut self,
        key: &'static str,
        example: &str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Option<T> {
        self.know(key);
        if !self.has(key) {
            self.problem(key, format!("missing; for example {key} = {example}"));
            return None;
        }
        self.read(key, parse)
    }

    /// The elements of an array, each with its place; those that cannot be read are left out.
    pub(super) fn list_placed<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Option<Vec<Placed<T>>> {
        let (at, value) = self.find(key)?;
        let Some(elements) = value.as_array() else {
            self.tell(at, key, expected("an array", value));
            return None;
        };
        let read = |(index, element): (usize, &toml::Spanned<DeValue<'_>>)| {
            let (at, name) = (element.span().start, format!("{key}[{index}]"));
            let value = parse(element.get_ref()).map_err(|message| self.tell(at, &name, message)).ok()?;
            Some(Placed { value, at, key: join(&self.path, &name) })
        };
        Some(elements.iter().enumerate().filter_map(read).collect())
    }

    /// The elements of an array.
    pub(super) fn list<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Option<Vec<T>> {
        Some(self.list_placed(key, parse)?.into_iter().map(|placed| placed.value).collect())
    }

    /// The elements of an array that must hold something if it is there.
    pub(super) fn some_list<T>(
        &mut self,
        key: &'static str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Option<Vec<T>> {
        let read = self.list(key, parse)?;
        if self.is_empty(key) {
            self.problem(key, "must not be empty");
        }
        Some(read).filter(|list| !list.is_empty())
    }

    /// Whether an array is absent or empty.
    pub(super) fn is_empty(&self, key: &str) -> bool {
        let value = self.entries.and_then(|entries| entries.get(key));
        value.is_none_or(|value| value.get_ref().as_array().is_some_and(|list| list.is_empty()))
    }

    /// The elements of an array that must be there and hold something.
    pub(super) fn need_list<T>(
        &mut self,
        key: &'static str,
        example: &str,
        parse: impl Fn(&DeValue<'_>) -> Parsed<T>,
    ) -> Vec<Placed<T>> {
        self.know(key);
        if self.is_empty(key) {
            let what = if self.has(key) { "must not be empty" } else { "missing" };
            self.problem(key, format!("{what}; for example {key} = {example}"));
        }
        self.list_placed(key, parse).unwrap_or_default()
    }

    /// Where a key stands, or its table if it is not there, and its path.
    pub(super) fn place_of(&self, key: &str) -> (usize, String) {
        let at = self.entries.and_then(|entries| entries.get_key_value(key)).map(|(k, _)| k.span().start);
        (at.unwrap_or(self.at), join(&self.path, key))
    }

    /// The same for a key of a table inside this one.
    pub(super) fn place_in(&self, table: &str, key: &str) -> (usize, String) {
        let inside = self.entries.and_then(|entries| entries.get(table)?.get_ref().as_table());
        let at = inside.and_then(|entries| entries.get_key_value(key)).map(|(k, _)| k.span().start);
        (at.unwrap_or_else(|| self.place_of(table).0), join(table, key))
    }

    /// A table inside this one.
    pub(super) fn table(&mut self, key: &'static str) -> Self {
        match self.find(key) {
            Some((at, DeValue::Table(entries))) => self.inner(key, at, Some(entries)),
            Some((at, value)) => {
                self.tell(at, key, expected("a table", value));
                self.inner(key, at, None)
            }
            None => self.inner(key, self.at, None),
        }
    }

    /// An array of tables inside this one, of at most `most`.
    pub(super) fn tables(&mut self, key: &'static str, most: usize) -> Vec<Self> {
        let Some((at, value)) = self.find(key) else {
            return Vec::new();
        };
        let Some(elements) = value.as_array() else {
            self.tell(
                at,
                key,
                expected(&format!("an array of tables, written [[{}]]", join(&self.path, key)), value),
            );
            return Vec::new();
        };
        if elements.len() > most {
            self.tell(at, key, format!("{} of them, and at most {most} are possible", elements.len()));
        }
        let inner = |(index, element): (usize, &'d toml::Spanned<DeValue<'d>>)| {
            let (at, name) = (element.span().start, format!("{key}[{index}]"));
            match element.get_ref() {
                DeValue::Table(entries) => Some(self.inner(&name, at, Some(entries))),
                value => {
                    self.tell(at, &name, expected("a table", value));
                    None
                }
            }
        };
        elements.iter().take(most).enumerate().filter_map(inner).collect()
    }

    /// Refuses keys whose feature does not work yet.
    pub(super) fn not_yet(&mut self, keys: &[&'static str]) {
        for key in keys {
            if let Some((at, _)) = self.find(key) {
                self.tell(at, key, NOT_YET.to_owned());
            }
        }
    }

    /// A problem with a key of this table, at its line if it is there, else at the table's.
    pub(super) fn problem(&self, key: &str, message: impl Into<String>) {
        self.tell(self.place_of(key).0, key, message.into());
    }

    /// Whatever the key holds, without a judgement on it.
    pub(super) fn find(&mut self, key: &'static str) -> Option<(usize, &'d DeValue<'d>)> {
        self.know(key);
        let (name, value) = self.entries?.get_key_value(key)?;
        Some((name.span().start, value.get_ref()))
    }

    fn know(&mut self, key: &'static str) {
        self.asked.insert(key);
        self.report.know(&self.path, key);
    }

    fn inner(&self, name: &str, at: usize, entries: Option<&'d DeTable<'d>>) -> Self {
        let (path, room) = (join(&self.path, name), self.room.clone());
        Self { entries, at, path, room, asked: BTreeSet::new(), report: self.report }
    }

    fn tell(&self, at: usize, key: &str, message: String) {
        let message = match &self.room {
            Some(room) => format!("{message} (room {room})"),
            None => message,
        };
        self.report.at(at, join(&self.path, key), message);
    }
}

impl Drop for Table<'_> {
    fn drop(&mut self) {
        for (key, _) in self.entries.into_iter().flatten() {
            if !self.asked.contains(key.get_ref().as_ref()) {
                self.report.unknown(key.span().start, &self.path, key.get_ref());
            }
        }
    }
}
