//! The rules by name, and what the observer says when one of them does not hold.

use std::fmt;

/// The rules R1 to R8, and that the room is sound in itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Unique,
    Order,
    Rate,
    Cap,
    Once,
    Steady,
    Closed,
    Busy,
    Sound,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unique => "R1 unique",
            Self::Order => "R2 order",
            Self::Rate => "R3 rate",
            Self::Cap => "R4 cap",
            Self::Once => "R5 once",
            Self::Steady => "R6 steady",
            Self::Closed => "R7 closed",
            Self::Busy => "R8 busy",
            Self::Sound => "an assertion of the room itself",
        })
    }
}

/// A rule that did not hold.
#[derive(Debug, Clone)]
pub(super) struct Broken {
    pub(super) rule: Rule,
    /// Microseconds since the sale began.
    pub(super) at: u64,
    pub(super) what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is broken after {:.3} s: {}", self.rule, seconds(self.at), self.what)
    }
}

/// Microseconds as seconds, for people.
#[expect(clippy::cast_precision_loss, reason = "a sale is short")]
pub(super) fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}
