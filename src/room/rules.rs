//! The numbers that an operator sets for a room, and what follows from them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::types::micros;
use super::{Schedule, StockRules};

/// Admissions per time, as written: `50/s`, `10/min`, `3600/h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Rate {
    count: u64,
    per: Duration,
}

impl Rate {
    /// The highest rate: one admission a microsecond, the resolution of the slot clock.
    pub const PER_SECOND_MAX: u64 = 1_000_000;

    /// `count` admissions in each second. `None` for 0 and past the maximum.
    #[must_use]
    pub fn per_second(count: u64) -> Option<Self> {
        Self::new(count, Duration::from_secs(1))
    }

    fn new(count: u64, per: Duration) -> Option<Self> {
        let fits = count > 0 && count <= Self::PER_SECOND_MAX.saturating_mul(per.as_secs());
        fits.then_some(Self { count, per })
    }

    /// Nanoseconds between two slots, rounded up so that rounding never raises the rate.
    #[must_use]
    pub fn spacing_ns(self) -> u64 {
        let per = u64::try_from(self.per.as_nanos()).unwrap_or(u64::MAX);
        per.div_ceil(self.count)
    }

    /// Admissions a second, for people.
    #[must_use]
    pub fn as_per_second(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let count = self.count as f64;
        count / self.per.as_secs_f64()
    }

    /// How many slots lie within `time`, rounded up, at least 1.
    #[must_use]
    pub fn slots_in(self, time: Duration) -> u64 {
        (micros(time).saturating_mul(1000)).div_ceil(self.spacing_ns()).max(1)
    }
}

/// Why a rate could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a rate such as \"50/s\", \"10/min\" or \"3600/h\", above 0 and at most 1000000/s")]
pub struct BadRate;

impl std::str::FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, BadRate> {
        let (count, unit) = text.split_once('/').ok_or(BadRate)?;
        let per = match unit {
            "s" => 1,
            "min" => 60,
            "h" => 3600,
            _ => return Err(BadRate),
        };
        if !count.bytes().all(|b| b.is_ascii_digit()) {
            return Err(BadRate);
        }
        let count = count.parse().map_err(|_| BadRate)?;
        Self::new(count, Duration::from_secs(per)).ok_or(BadRate)
    }
}

impl TryFrom<String> for Rate {
    type Error = BadRate;

    fn try_from(text: String) -> Result<Self, BadRate> {
        text.parse()
    }
}

impl From<Rate> for String {
    fn from(rate: Rate) -> Self {
        rate.to_string()
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per.as_secs() {
            1 => "s",
            60 => "min",
            _ => "h",
        };
        write!(f, "{}/{unit}", self.count)
    }
}

/// The rules of one room, as the store holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// Admissions per time.
    pub rate: Rate,
    /// Most admissions in one instant. Half of it is given to the slots, the other half absorbs what the way
    /// from the slot to the origin may add.
    pub burst: u64,
    /// A turn that comes within this time is waited for on the request itself.
    pub hold: Duration,
    /// The shortest poll interval; called visitors poll this often.
    pub poll_min: Duration,
    /// After a missed turn: may still go in first for so long.
    pub return_within: Duration,
    /// How long a pass lasts at most.
    pub pass_ttl: Duration,
    /// A stay whose pass is never presented ends after this.
    pub first_use: Duration,
    /// A stay ends so long after the last use of its pass.
    pub idle: Duration,
    /// Most places in line.
    pub max_waiting: u64,
    /// Most admissions since the room was created or flushed.
    pub max_total: Option<u64>,
    /// Most stays at once.
    pub max_active: Option<u64>,
    /// How the shop's stock bounds admissions, where it is read at all.
    pub stock: Option<StockRules>,
    /// When the room takes places and releases.
    #[serde(default)]
    pub schedule: Schedule,
}

/// Rules that contradict themselves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRules(pub &'static str);

impl Rules {
    /// Rules with the defaults of the manual for everything but the rate.
    #[must_use]
    pub fn at(rate: Rate) -> Self {
        Self {
            rate,
            burst: Self::default_burst(rate),
            hold: Duration::from_secs(1),
            poll_min: Duration::from_secs(2),
            return_within: Duration::from_secs(600),
            pass_ttl: Duration::from_secs(1800),
            first_use: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            max_waiting: 2_000_000,
            max_total: None,
            max_active: None,
            stock: None,
            schedule: Schedule::default(),
        }
    }

    /// A tenth of a second of rate, at least 1.
    #[must_use]
    pub fn default_burst(rate: Rate) -> u64 {
        (100_000_000 / rate.spacing_ns()).max(1)
    }

    /// One step of going in: whoever is called has this long to check in before being passed over.
    #[must_use]
    pub fn step(&self) -> Duration {
        self.poll_min + Duration::from_secs(1)
    }

    /// How long the memory of an admission must last, so that no number is admitted twice.
    #[must_use]
    pub fn mark_kept(&self) -> Duration {
        self.pass_ttl.max(self.return_within)
    }

    /// Slots that may be taken in one instant: the half of the burst that is not kept for jitter.
    #[must_use]
    pub fn burst_slots(&self) -> u64 {
        self.burst.div_ceil(2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_written_and_refused_when_unclear() {
        for good in ["50/s", "1/h", "1000000/s", "60000000/min"] {
            assert_eq!(good.parse::<Rate>().unwrap().to_string(), good);
        }
        for bad in [
            "0/s",
            "50",
            "/s",
            "-1/s",
            "1.5/s",
            "+5/s",
            "1000001/s",
            "5/d",
            "5 /s",
            "9999999999999999999999/s",
        ] {
            assert_eq!(bad.parse::<Rate>(), Err(BadRate), "{bad}");
        }
    }

    #[test]
    fn spacing_rounds_up_so_that_the_rate_is_never_exceeded() {
        assert_eq!("3/s".parse::<Rate>().unwrap().spacing_ns(), 333_333_334);
        assert_eq!("1000000/s".parse::<Rate>().unwrap().spacing_ns(), 1000);
    }
}
