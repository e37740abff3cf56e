//! What comes from outside the file: arguments, then variables, both before the file.

use super::report::Report;
use super::value::Parsed;

/// Arguments that stand over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overlay {
    /// `--origin URL`
    pub origin: Option<String>,
    /// `--listen ADDR`
    pub listen: Option<String>,
    /// `--rate 50/s`; for settings with one room.
    pub rate: Option<String>,
    /// `--store URL`
    pub store: Option<String>,
}

/// Looks a variable of the environment up.
pub type Env<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Where the store is, password included.
pub(super) const STORE_URL: &str = "ROPELINE_STORE_URL";
/// What the origin is told, so that it can refuse whoever goes around us.
pub(super) const ORIGIN_SECRET: &str = "ROPELINE_ORIGIN_SECRET";

/// Everything from outside, and where its problems go.
pub(super) struct Outside<'o> {
    pub(super) overlay: &'o Overlay,
    pub(super) env: Env<'o>,
    pub(super) report: &'o Report,
}

impl Outside<'_> {
    /// An argument, read.
    pub(super) fn argument<T>(
        &self,
        name: &str,
        value: Option<&String>,
        parse: impl Fn(&str) -> Parsed<T>,
    ) -> Option<T> {
        parse(value?).map_err(|message| self.report.outside(name, message)).ok()
    }

    /// A variable, read.
    pub(super) fn variable<T>(&self, name: &str, parse: impl Fn(&str) -> Parsed<T>) -> Option<T> {
        let value = (self.env)(name)?;
        self.argument(name, Some(&value), parse)
    }
}
