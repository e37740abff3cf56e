//! One thing that is measured over HTTP, round after round: requests a second, latencies, and the CPU time of
//! the serving process, which is the figure that a busy machine disturbs least.

use super::Bounds;
use crate::fault::Result;
use crate::load::wrk::Load;
use crate::process::Running;
use crate::report::figure;
use crate::stats::{median, ratio, spread};

/// A load and the process that has to bear it.
pub(crate) struct Subject<'p> {
    pub(crate) name: &'static str,
    pub(crate) load: Load,
    pub(crate) process: &'p Running,
    pub(crate) seen: Seen,
}

/// One value a round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) a_second: Vec<f64>,
    /// Milliseconds.
    pub(crate) p50: Vec<f64>,
    pub(crate) p99: Vec<f64>,
    /// Microseconds of CPU a request.
    pub(crate) cpu: Vec<f64>,
    /// Percent of a core that the process used.
    pub(crate) busy: Vec<f64>,
}

impl<'p> Subject<'p> {
    pub(crate) fn new(name: &'static str, load: Load, process: &'p Running) -> Self {
        Self { name, load, process, seen: Seen::default() }
    }

    /// One round that counts, or one that does not.
    pub(crate) async fn round(&mut self, bounds: &Bounds, counts: bool) -> Result<()> {
        let before = self.process.cpu()?;
        let round = self.load.run(&bounds.home, bounds.lasts).await?;
        let cpu = (self.process.cpu()?.saturating_sub(before)).as_secs_f64();
        if counts {
            self.seen.a_second.push(ratio(round.requests, round.seconds));
            self.seen.p50.push(round.p50);
            self.seen.p99.push(round.p99);
            self.seen.cpu.push(ratio(cpu * 1e6, round.requests));
            self.seen.busy.push(100.0 * ratio(cpu, round.seconds));
        }
        Ok(())
    }
}

impl Seen {
    pub(crate) fn cpu_median(&self) -> f64 {
        median(&self.cpu)
    }

    pub(crate) fn a_second_median(&self) -> f64 {
        median(&self.a_second)
    }

    /// The columns that go with [`Seen::cells`].
    pub(crate) const COLUMNS: [&'static str; 9] =
        ["", "a second", "spread", "p50 ms", "p99 ms", "CPU us each", "spread", "core busy", "CPU ratio"];

    /// A row of a table; `base` is the CPU time of the subject that everything is compared with.
    pub(crate) fn cells(&self, name: &str, base: f64) -> Vec<String> {
        vec![
            name.to_owned(),
            figure(self.a_second_median()),
            format!("{:.0} %", spread(&self.a_second)),
            figure(median(&self.p50)),
            figure(median(&self.p99)),
            figure(self.cpu_median()),
            format!("{:.0} %", spread(&self.cpu)),
            format!("{:.0} %", median(&self.busy)),
            format!("{:.2}", ratio(self.cpu_median(), base)),
        ]
    }
}

/// All rounds of all subjects, in turn.
pub(crate) async fn measure(subjects: &mut [Subject<'_>], bounds: &Bounds) -> Result<()> {
    for round in 0..=bounds.rounds {
        for subject in &mut *subjects {
            subject.round(bounds, round > 0).await.map_err(|error| format!("{}: {error}", subject.name))?;
        }
    }
    Ok(())
}
