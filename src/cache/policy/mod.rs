//! The rules of the cache. Pure: time and chance are arguments, nothing is read or written.
//!
//! | file | decides |
//! | --- | --- |
//! | `directives` | what `Cache-Control` and `Vary` say |
//! | `storable` | whether an answer may be kept, shared, or neither |
//! | `freshness` | what a reader is told by what is remembered, at a moment |
//! | `settle` | what is remembered after an attempt |
//! | `serve` | the answer as a reader gets it: `Age`, `Cache-Status`, 304 |

mod directives;
mod freshness;
mod serve;
mod settle;
mod storable;

pub use serve::applies;
pub use storable::Refusal;

pub(super) use freshness::{Judgement, judge, judge_failed};
pub(super) use serve::{Shown, answer, retry_after};
pub(super) use settle::{Outcome, Terms, settle};
pub(super) use storable::{Assessment, assess, refuses};
