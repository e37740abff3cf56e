//! The benchmarks, one file each, and what they share: rounds that alternate between subjects.

pub(crate) mod admitted;
pub(crate) mod joins;
mod joins_http;
mod joins_line;
mod lines;
pub(crate) mod million;
pub(crate) mod polls;
pub(crate) mod rush;
pub(crate) mod shared;
mod shared_reading;
mod subject;
pub(crate) mod wait;

use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long everything takes, and where it happens.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// Rounds of each subject.
    pub(crate) rounds: usize,
    /// Length of one.
    pub(crate) lasts: Duration,
    /// For files of the processes; on the disk that is measured.
    pub(crate) home: PathBuf,
}

/// A configuration without the names of temporary directories.
fn shown(configuration: &str, home: &Path) -> String {
    configuration.replace(&home.display().to_string(), "DIR")
}

/// How the rounds went, for the head of a report.
fn how(bounds: &Bounds) -> String {
    format!(
        "Rounds of {} s, {} for each subject, in turn (A, B, C, A, B, C, ...), after one that does not count. Figures are \
         medians over the rounds; spread is (largest - smallest) / median.",
        bounds.lasts.as_secs(),
        bounds.rounds
    )
}

/// Where processes ran.
fn pinning() -> String {
    let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
    if several {
        "The process that is measured is pinned to core 0 (`taskset`; one worker thread each), load generator, origin and Redis \
         to core 1; others on the machine may run on both. Loopback, plain HTTP/1.1, kept connections."
    } else {
        "One core for everything: figures per second mean little, CPU per request still does. Loopback, plain HTTP/1.1."
    }
    .to_owned()
}
