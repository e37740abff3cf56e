//! The settings as a whole: bad documents, the shipped files, what stands over the file, and printing.

mod accounts;
mod bad;
mod manual;
mod outside;
mod printing;
mod schedule;
mod store;

use super::load::of_text;
use super::{Config, Overlay, Problems};

/// What every document needs, in five lines.
pub(super) const BASE: &str = r#"[origin]
url = "http://127.0.0.1:3000"
[[room]]
id = "a"
paths = ["/buy/**"]
release.rate = "50/s"
"#;

fn none(_: &str) -> Option<String> {
    None
}

pub(super) fn load(text: &str) -> Result<Config, Problems> {
    of_text("f", text, &Overlay::default(), &none)
}

pub(super) fn good(text: &str) -> Config {
    load(text).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The report of a document that must be bad.
fn report(text: &str) -> String {
    load(text).expect_err("must be refused").to_string()
}
