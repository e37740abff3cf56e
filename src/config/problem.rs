//! What is wrong with the settings, in one line each: `FILE:LINE: key.path: message`.
//!
//! A message names what is wrong and what is expected. It never holds the value of a secret.

use std::fmt;

/// Where a problem stands. The order is the order of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spot {
    /// The file as a whole, when it cannot be read.
    File,
    /// A line of the file, from 1.
    Line(usize),
    /// Outside the file: an argument or a variable, which the key then names.
    Outside,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it stands.
    pub spot: Spot,
    /// The path of the key, such as `room[0].release.rate`, or `--rate`, or `ROPELINE_STORE_URL`. Empty when
    /// it is the file as a whole.
    pub key: String,
    /// What is wrong and what is expected.
    pub message: String,
}

/// Everything that is wrong, by line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problems {
    of: String,
    list: Vec<Problem>,
}

impl Problems {
    /// Problems of the settings in `source` (a file's name), in order and without repetition.
    pub(super) fn new(source: &str, mut list: Vec<Problem>) -> Self {
        list.sort();
        list.dedup();
        Self { of: source.to_owned(), list }
    }

    /// The one problem of a file that cannot be read.
    pub(super) fn of_file(source: &str, message: String) -> Self {
        Self::new(source, vec![Problem { spot: Spot::File, key: String::new(), message }])
    }

    /// The problems, by line; at least one.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.list
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            let Problem { spot, key, message } = problem;
            match spot {
                Spot::File => write!(f, "{}: {message}", self.of)?,
                Spot::Line(line) if key.is_empty() => write!(f, "{}:{line}: {message}", self.of)?,
                Spot::Line(line) => write!(f, "{}:{line}: {key}: {message}", self.of)?,
                Spot::Outside => write!(f, "{key}: {message}")?,
            }
        }
        Ok(())
    }
}
