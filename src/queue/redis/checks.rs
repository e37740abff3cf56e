//! What a Redis must be before a line is trusted to it.
//!
//! A server that evicts keys loses people without any error, a replica may be behind, and a server without a
//! log comes back empty. None of this shows in an answer to a command, so it is asked for at each new
//! connection and again while it lasts. The judgement is pure: text of `INFO` in, verdict out.

use std::collections::HashMap;

use crate::queue::{Durability, Settings, StoreError};

/// The oldest server that knows everything that the scripts use.
const VERSION_MIN: (u32, u32) = (7, 0);

/// What a server says of itself.
pub(super) struct Report {
    fields: HashMap<String, String>,
    fsync: Fsync,
    standing: Standing,
}

/// How the server was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// By `store.url`: a replica there is a mistake that lasts.
    Named,
    /// By sentinels or by the nodes of a cluster: a replica there is a failover under way.
    Found,
}

/// The server's `appendfsync`, as far as it may be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fsync {
    /// Not needed for the verdict.
    NotAsked,
    /// As configured.
    Is(String),
    /// `CONFIG GET` is not allowed to us.
    Forbidden,
}

impl Report {
    /// Reads the text of `INFO`.
    pub(super) fn new(info: &str, fsync: Fsync, standing: Standing) -> Self {
        let pair = |line: &str| {
            let (key, value) = line.trim_end().split_once(':')?;
            Some((key.to_owned(), value.to_owned()))
        };
        Self { fields: info.lines().filter_map(pair).collect(), fsync, standing }
    }

    fn field(&self, name: &str) -> Result<&str, StoreError> {
        let missing = || StoreError::Unsafe(format!("its INFO has no {name}; is it really a Redis?"));
        self.fields.get(name).map(String::as_str).ok_or_else(missing)
    }

    fn version(&self) -> Result<(u32, u32), StoreError> {
        let mut parts = self.field("redis_version")?.split('.').map(|p| p.parse().unwrap_or(0));
        Ok((parts.next().unwrap_or(0), parts.next().unwrap_or(0)))
    }
}

/// Whether a line may live there. `Ok` carries what is tolerated but must be said aloud.
pub(super) fn judge(report: &Report, settings: &Settings) -> Result<Vec<&'static str>, StoreError> {
    alive(report)?;
    keeps_everything(report)?;
    durable(report, settings)
}

fn alive(report: &Report) -> Result<(), StoreError> {
    if report.field("loading")? != "0" {
        return Err(StoreError::Refused("the server is still loading its data".to_owned()));
    }
    let (major, minor) = report.version()?;
    if (major, minor) < VERSION_MIN {
        return bad(&format!("it is version {major}.{minor}; use 7.0 or newer"));
    }
    match (report.field("role")?, report.standing) {
        ("master", _) => Ok(()),
        (_, Standing::Named) => bad("it is a replica; point store.url at the primary"),
        (_, Standing::Found) => Err(StoreError::Refused("the server is a replica now".to_owned())),
    }
}

fn keeps_everything(report: &Report) -> Result<(), StoreError> {
    let policy = report.field("maxmemory_policy")?;
    if policy != "noeviction" {
        return bad(&format!(
            "maxmemory-policy is {policy}, so it may drop people from the line; set maxmemory-policy noeviction"
        ));
    }
    let evicted = report.field("evicted_keys")?;
    if evicted != "0" {
        return bad(&format!(
            "it has evicted {evicted} keys since it started, places may be among them; restore its data or \
             create the rooms anew, then restart it or run CONFIG RESETSTAT"
        ));
    }
    Ok(())
}

fn durable(report: &Report, settings: &Settings) -> Result<Vec<&'static str>, StoreError> {
    if report.field("aof_enabled")? != "1" {
        if settings.accept_loss {
            return Ok(vec![
                "the store keeps no log: when it stops, the line is gone (accepted by store.accept_loss)",
            ]);
        }
        return bad("it keeps no append-only log; set appendonly yes, or accept_loss = true to live with it");
    }
    if report.field("aof_last_write_status")? != "ok" {
        return Err(StoreError::Refused("the server cannot write its log; look at its disk".to_owned()));
    }
    match settings.durability {
        Durability::Disk => on_disk(&report.fsync)?,
        // On its disk too: a primary that starts again older than its replicas would make them forget.
        Durability::Replicas(count) => {
            on_disk(&report.fsync)?;
            enough_replicas(report, count)?;
        }
        Durability::Memory => {}
    }
    Ok(Vec::new())
}

/// Replicas that are connected now. Too few is no setting that is wrong but a state that may pass.
fn enough_replicas(report: &Report, count: u32) -> Result<(), StoreError> {
    let connected = report.field("connected_slaves")?.parse().unwrap_or(0);
    if connected >= count {
        return Ok(());
    }
    Err(StoreError::Refused(format!(
        "store.replicas asks for {count}, connected are {connected}; start the missing ones, or ask for fewer"
    )))
}

fn on_disk(fsync: &Fsync) -> Result<(), StoreError> {
    match fsync {
        Fsync::Is(value) if value == "always" => Ok(()),
        Fsync::Is(value) => bad(&format!(
            "appendfsync is {value}, which is not enough for durability = \"disk\" or \"replicas\"; set appendfsync always, or \
             durability = \"memory\""
        )),
        Fsync::Forbidden | Fsync::NotAsked => bad(
            "durability = \"disk\" needs appendfsync always, and CONFIG GET is forbidden, so nobody can tell; \
             allow config|get, or set durability = \"memory\"",
        ),
    }
}

fn bad<T>(why: &str) -> Result<T, StoreError> {
    Err(StoreError::Unsafe(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::queue::Place;

    const GOOD: &str = "# Server\r\nredis_version:7.0.15\r\nloading:0\r\nrole:master\r\n\
        maxmemory_policy:noeviction\r\nevicted_keys:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n";

    fn settings(durability: Durability, accept_loss: bool) -> Settings {
        let place = Place::Redis("redis://127.0.0.1".to_owned());
        Settings { place, ca_file: None, timeout: Duration::from_millis(500), durability, accept_loss }
    }

    fn verdict(info: &str, fsync: &str) -> Result<Vec<&'static str>, StoreError> {
        let report = Report::new(info, Fsync::Is(fsync.to_owned()), Standing::Named);
        judge(&report, &settings(Durability::Disk, false))
    }

    #[test]
    fn a_durable_primary_that_never_evicts_is_trusted() {
        assert_eq!(verdict(GOOD, "always"), Ok(vec![]));
    }

    #[test]
    fn each_way_to_forget_is_refused_with_its_remedy() {
        let cases = [
            ("maxmemory_policy:noeviction", "maxmemory_policy:allkeys-lru", "noeviction"),
            ("evicted_keys:0", "evicted_keys:2", "evicted 2"),
            ("aof_enabled:1", "aof_enabled:0", "appendonly yes"),
            ("role:master", "role:slave", "primary"),
            ("redis_version:7.0.15", "redis_version:6.2.9", "7.0"),
        ];
        for (from, to, says) in cases {
            match verdict(&GOOD.replace(from, to), "always") {
                Err(StoreError::Unsafe(why)) => assert!(why.contains(says), "{why}"),
                other => panic!("{to}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_passes_by_itself_is_not_called_unsafe() {
        for (from, to) in
            [("loading:0", "loading:1"), ("aof_last_write_status:ok", "aof_last_write_status:err")]
        {
            assert!(matches!(verdict(&GOOD.replace(from, to), "always"), Err(StoreError::Refused(_))));
        }
    }

    #[test]
    fn a_replica_that_was_found_by_asking_is_a_failover_under_way() {
        let info = GOOD.replace("role:master", "role:slave");
        let report = Report::new(&info, Fsync::Is("always".to_owned()), Standing::Found);
        let verdict = judge(&report, &settings(Durability::Disk, false));
        assert!(matches!(verdict, Err(StoreError::Refused(_))), "{verdict:?}");
    }

    #[test]
    fn disk_wants_every_write_synced_and_wants_to_know_it() {
        assert!(matches!(verdict(GOOD, "everysec"), Err(StoreError::Unsafe(_))));
        let hidden = Report::new(GOOD, Fsync::Forbidden, Standing::Named);
        match judge(&hidden, &settings(Durability::Disk, false)) {
            Err(StoreError::Unsafe(why)) => assert!(why.contains("forbidden"), "{why}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(judge(&hidden, &settings(Durability::Memory, false)), Ok(vec![]));
    }

    #[test]
    fn loss_is_accepted_only_aloud() {
        let info = GOOD.replace("aof_enabled:1", "aof_enabled:0");
        let report = Report::new(&info, Fsync::NotAsked, Standing::Named);
        let said = judge(&report, &settings(Durability::Disk, true)).unwrap();
        assert_eq!(said.len(), 1);
    }

    #[test]
    fn something_else_on_the_port_is_not_a_store() {
        assert!(matches!(verdict("hello", "always"), Err(StoreError::Unsafe(_))));
    }
}
