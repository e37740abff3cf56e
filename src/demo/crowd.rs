//! People for the demo: they open the shop's form, wait in line as they are told, buy, and some of them vanish.
//!
//! Never more than [`Settings::first`] are about at once, and never more than [`Settings::most`] come in all.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::person::{Outcome, Person};
use crate::room::Rate;

/// How many come, and how they behave.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How many come at first, and the most that are about at once.
    pub first: usize,
    /// The time over which the first ones come.
    pub within: Duration,
    /// How many come a second afterwards, as far as `first` allows.
    pub per_second: u32,
    /// How many come in all.
    pub most: usize,
    /// The share that closes the window while waiting, 0 to 1.
    pub vanish: f64,
}

impl Eq for Settings {}

impl Default for Settings {
    /// 250 in five seconds, then 13 a second, 8,000 in all; one in eight vanishes.
    fn default() -> Self {
        Self { first: 250, within: Duration::from_secs(5), per_second: 13, most: 8000, vanish: 0.125 }
    }
}

impl Settings {
    /// With as many arrivals a second as keep the line from running dry at `rate`, the ones who vanish not counted;
    /// at most 50, so that the crowd does not take the machine for itself.
    #[must_use]
    pub fn for_rate(self, rate: Rate) -> Self {
        let more = rate.slots_in(Duration::from_millis(1300)).min(50);
        Self { per_second: u32::try_from(more).unwrap_or(50), ..self }
    }
}

/// What became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Report {
    /// How many came.
    pub came: usize,
    /// How many went in.
    pub inside: usize,
    /// How many of those bought a ticket.
    pub bought: usize,
    /// How many left the line without a word.
    pub vanished: usize,
    /// How many gave up over errors.
    pub failed: usize,
}

impl Report {
    fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Bought => {
                self.inside += 1;
                self.bought += 1;
            }
            Outcome::SoldOut => self.inside += 1,
            Outcome::Vanished => self.vanished += 1,
            Outcome::Failed => self.failed += 1,
        }
    }
}

/// Sends the crowd to the shop at `edge` until `over` resolves or the last one is done.
pub async fn run(edge: SocketAddr, settings: Settings, over: impl Future<Output = ()>) -> Report {
    let mut report = Report::default();
    let mut about = JoinSet::new();
    let first = settings.within / u32::try_from(settings.first.max(1)).unwrap_or(u32::MAX);
    let mut arrivals = every(first);
    tokio::pin!(over);
    loop {
        let more = report.came < settings.most && (report.came < settings.first || settings.per_second > 0);
        let room = about.len() < settings.first;
        if !more && about.is_empty() {
            break;
        }
        tokio::select! {
            () = &mut over => break,
            _ = arrivals.tick(), if more && room => {
                about.spawn(Person::new(edge, report.came).shop(settings.vanish));
                report.came += 1;
                if report.came == settings.first && settings.per_second > 0 {
                    arrivals = every(Duration::from_secs(1) / settings.per_second);
                }
            }
            Some(done) = about.join_next() => report.count(done.unwrap_or(Outcome::Failed)),
        }
    }
    report
}

fn every(pause: Duration) -> tokio::time::Interval {
    let mut interval = interval(pause.max(Duration::from_millis(1)));
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_come_than_go_in() {
        let come = |rate: &str| {
            let settings = Settings::default().for_rate(rate.parse().unwrap());
            f64::from(settings.per_second) * (1.0 - settings.vanish)
        };
        assert!(come("10/s") > 10.0 && come("1/s") > 1.0 && come("30/min") > 0.5);
        assert!(come("1000/s") < 51.0, "bounded");
    }
}
