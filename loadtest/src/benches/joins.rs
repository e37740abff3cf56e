//! How many can join: through the line alone, and over HTTP with everything that belongs to it. Every place is
//! as durable as the store promises before anybody is told of it.

use super::{Bounds, how, joins_http, joins_line, pinning};
use crate::fault::Result;
use crate::report::Report;

const NAME: &str = "joins";
const QUESTION: &str = "How many visitors can join in a second, with which batches and how long each waits: embedded with fsync, \
                        Redis with AOF always and everysec, through the line alone and over HTTP?";

/// Runs it.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let mut report = Report::new(NAME, QUESTION);
    report.setup(how(bounds));
    report.setup(pinning());
    report.setup(format!("The files of all stores lie on {}.", disk(bounds)));
    joins_line::run(bounds, &mut report).await?;
    joins_http::run(bounds, &mut report).await?;
    Ok(report)
}

/// The file system under the stores, and what a write with `fdatasync` takes there without any of us.
fn disk(bounds: &Bounds) -> String {
    let kind = std::process::Command::new("df").arg("--output=fstype").arg(&bounds.home).output();
    let kind =
        kind.map(|out| String::from_utf8_lossy(&out.stdout).lines().last().unwrap_or_default().to_owned());
    let kind = kind.unwrap_or_default();
    match sync_time(bounds) {
        Ok(micros) => format!(
            "{kind}, where 4 KiB written and synced take {micros:.0} us (median of 200, before any load of ours)"
        ),
        Err(_) => kind,
    }
}

fn sync_time(bounds: &Bounds) -> Result<f64> {
    use std::io::{Seek as _, Write as _};
    let mut file = std::fs::File::create(bounds.home.join("probe"))?;
    let mut times = Vec::new();
    for _ in 0..200 {
        let begun = std::time::Instant::now();
        file.rewind()?;
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    Ok(crate::stats::median(&times))
}
