//! What the shop heard, and what may be asked about it afterwards.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::guard::Guard;
use super::wire::Request;
use crate::support::tokens;

/// One request, when it came (since 1970) and on which connection.
#[derive(Debug, Clone)]
pub struct Entry {
    pub connection: u64,
    pub at: Duration,
    pub request: Request,
}

/// The first use of an admission.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub at: Duration,
    pub number: u64,
}

/// Everything that was heard, in order.
#[derive(Debug, Default)]
pub struct Journal {
    entries: Mutex<Vec<Entry>>,
    guards: Mutex<Vec<Guard>>,
}

/// Now, since 1970.
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

impl Journal {
    /// Writes a request down.
    pub fn note(&self, connection: u64, request: &Request) {
        let entry = Entry { connection, at: now(), request: request.clone() };
        self.entries.lock().unwrap().push(entry);
    }

    /// All of it.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap().clone()
    }

    /// The requests whose raw target begins so.
    pub fn of(&self, target: &str) -> Vec<Entry> {
        self.entries().into_iter().filter(|e| e.request.target.starts_with(target)).collect()
    }

    /// The first use of every admission, in the order of arrival.
    pub fn arrivals(&self) -> Vec<Arrival> {
        let mut seen = BTreeSet::new();
        let mut arrivals = Vec::new();
        for entry in self.entries() {
            let Some(pass) = entry.request.header("x-ropeline-pass") else { continue };
            let claims = tokens::claims(pass).unwrap_or_else(|| panic!("no claims in a pass: {entry:?}"));
            let jti = claims["jti"].as_str().unwrap_or_default().to_owned();
            if seen.insert(jti) {
                let number = claims["num"].as_u64().unwrap_or_else(|| panic!("no num in {claims}"));
                arrivals.push(Arrival { at: entry.at, number });
            }
        }
        arrivals
    }

    /// The moments of the first uses.
    pub fn arrival_times(&self) -> Vec<Duration> {
        self.arrivals().iter().map(|a| a.at).collect()
    }

    /// Fails if somebody arrived before another with a smaller number by more than this machine's stalls explain.
    pub fn assert_in_order(&self, lag: Duration) {
        self.assert_in_order_among(lag, |_| true);
    }

    /// The same for those numbers alone.
    pub fn assert_in_order_among(&self, lag: Duration, counts: impl Fn(u64) -> bool) {
        let arrivals: Vec<Arrival> = self.arrivals().into_iter().filter(|a| counts(a.number)).collect();
        for (i, early) in arrivals.iter().enumerate() {
            for late in &arrivals[i + 1..] {
                let overtook = early.number > late.number && late.at > early.at + lag;
                assert!(!overtook, "{} went in before {}: {early:?}, {late:?}", early.number, late.number);
            }
        }
    }

    /// From now on, requests must carry what this guard asks for.
    pub fn guard(&self, guard: Guard) {
        self.guards.lock().unwrap().push(guard);
    }

    /// Fails if a request came to a room's path without a valid pass, however it was spelled.
    pub fn assert_nothing_without_a_pass(&self) {
        let guards = self.guards.lock().unwrap();
        for entry in self.entries.lock().unwrap().iter() {
            for guard in guards.iter() {
                if let Err(why) = guard.check(entry) {
                    panic!("the origin was reached without a valid pass ({why}): {entry:?}");
                }
            }
        }
    }
}
