//! What a figure is worth nothing without: the machine, the commit and the day.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// The facts at the head of a report.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) cpu: String,
    pub(crate) kernel: String,
    /// [`load`] at the start.
    pub(crate) load: String,
    pub(crate) commit: String,
    pub(crate) date: String,
}

impl Machine {
    pub(crate) fn read() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let cpu = cpuinfo.lines().find(|line| line.starts_with("model name"));
        Self {
            cores: cpuinfo.lines().filter(|line| line.starts_with("processor")).count().max(1),
            cpu: cpu.and_then(|line| line.split_once(": ")).map_or("unknown", |(_, name)| name).to_owned(),
            kernel: read("/proc/sys/kernel/osrelease"),
            load: load(),
            commit: commit(),
            date: date(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()),
        }
    }
}

/// The load average of the last minute: before a run of ours what else the machine was doing, after it that and us.
pub(crate) fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The commit of the source tree, and whether tracked files besides the results differ from it.
fn commit() -> String {
    let Some(hash) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ":!loadtest/results"]);
    let dirty = changed.is_none_or(|lines| !lines.is_empty());
    format!("{hash}{}", if dirty { " (dirty: uncommitted changes)" } else { " (clean)" })
}

fn git(arguments: &[&str]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let out = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    out.status.success().then(|| String::from_utf8_lossy(&out.stdout).trim().to_owned())
}

/// Seconds since 1970 as a day and a minute in UTC.
fn date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let minutes = seconds / 60 % 1440;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minutes / 60, minutes % 60)
}

fn civil(mut days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut year = 1970;
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(date(1_798_174_800), "2026-12-25 05:00 UTC");
        assert_eq!(date(1_798_761_599), "2026-12-31 23:59 UTC");
    }
}
