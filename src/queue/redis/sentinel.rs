//! Asks sentinels which server is the primary. One answer is enough: whether it is true is asked of that server
//! itself, and a sentinel that was wrong is not the first to be asked the next time. Only to leave a connection that
//! works, more than half of them must say so.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::address::{Host, Login};
use super::dial::Dialler;
use super::failure;
use crate::queue::StoreError;

/// Sentinels that watch over one primary.
pub(super) struct Sentinels {
    hosts: Vec<Host>,
    /// What they call it.
    name: String,
    login: Login,
    /// Who is asked first the next time.
    next: AtomicUsize,
}

impl Sentinels {
    pub(super) fn new(hosts: Vec<Host>, name: String, login: Login) -> Self {
        Self { hosts, name, login, next: AtomicUsize::new(0) }
    }

    /// Where the primary is, by the first of them who knows. Each is asked on a connection of its own, which is closed at
    /// once.
    ///
    /// # Errors
    /// What the last one said, if none knows.
    pub(super) async fn primary(&self, dialler: &Dialler) -> Result<Host, StoreError> {
        let first = self.next.fetch_add(1, Ordering::Relaxed) % self.hosts.len().max(1);
        let (before, after) = self.hosts.split_at(first.min(self.hosts.len()));
        let mut last = StoreError::Refused("store.url names no sentinel".to_owned());
        for host in after.iter().chain(before) {
            match self.ask(host, dialler).await {
                Ok(primary) => return Ok(primary),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Where the primary is by more than half of all of them: one that was cut off outvotes nobody.
    pub(super) async fn agreed(&self, dialler: &Dialler) -> Option<Host> {
        let mut votes: HashMap<Host, usize> = HashMap::new();
        for host in &self.hosts {
            if let Ok(primary) = self.ask(host, dialler).await {
                *votes.entry(primary).or_default() += 1;
            }
        }
        votes.into_iter().find(|(_, votes)| *votes > self.hosts.len() / 2).map(|(primary, _)| primary)
    }

    async fn ask(&self, host: &Host, dialler: &Dialler) -> Result<Host, StoreError> {
        let mut connection = dialler.open(host, &self.login, 0).await.map_err(|error| of(host, error))?;
        let mut question = redis::cmd("SENTINEL");
        question.arg("get-master-addr-by-name").arg(&self.name);
        let answer: Option<(String, u16)> =
            question.query_async(&mut connection).await.map_err(|error| match error.code() {
                Some("ERR") => StoreError::Refused(format!("{host} is no sentinel")),
                Some("NOAUTH" | "WRONGPASS" | "NOPERM") => {
                    StoreError::Refused(format!("{host} wants another sentinel_password in store.url"))
                }
                _ => of(host, failure::judge(&error).0),
            })?;
        match answer {
            Some((name, port)) => Ok(Host { name, port }),
            None => Err(StoreError::Refused(format!("sentinel {host} knows no primary {}", self.name))),
        }
    }
}

/// Says which of them it was.
fn of(host: &Host, error: StoreError) -> StoreError {
    match error {
        StoreError::TimedOut => StoreError::Unreachable(format!("sentinel {host} did not answer in time")),
        StoreError::Unreachable(why) => StoreError::Unreachable(format!("sentinel {host}: {why}")),
        StoreError::Refused(why) => StoreError::Refused(format!("sentinel {host}: {why}")),
        other => other,
    }
}
