//! The line in Redis: one Lua script per verb, on a supervised connection to the server that keeps the room.
//!
//! A script is one atomic step, and the room's rules are in it (`scripts/`): whichever of many instances calls,
//! the outcome is as if one had. What is kept here is the little that Lua cannot do: the time of tests, the
//! arithmetic of rates, and the takeover after the server was started anew or replaced.

mod address;
mod answer;
mod checks;
mod cluster;
#[cfg(test)]
mod cut_off;
mod dial;
mod failure;
#[cfg(test)]
mod found;
mod link;
mod links;
#[cfg(test)]
mod lost;
mod mapping;
mod memory;
mod pace;
mod request;
mod say;
mod scripts;
mod sentinel;
mod slots;
mod takeover;
mod target;
#[cfg(test)]
mod tests;
mod tls;

use async_trait::async_trait;
use redis::{Script, ScriptInvocation};

pub use self::address::{Address, BadAddress, MASK};
use self::answer::{Answer, Parts, Read};
use self::links::Links;
use self::memory::Memory;
use self::scripts::SCRIPTS;
pub use self::tls::check_authorities;
use super::presence::{Heard, Shown};
use super::{
    Advanced, Clock, Durability, JoinBatch, Place, QueueStore, Restored, Seen, Settings, StoreError,
};
use crate::room::{
    Control, EndCause, Evidence, IdentityHash, Joined, Lineage, Number, Overrides, RoomId, Rules, Snapshot,
    StayReport, Stayed, Stock,
};

/// How often a verb is tried again after a takeover, or when the settings changed meanwhile.
const TRIES: usize = 5;

/// The store in Redis. Calls may come from any tokio runtime.
pub struct RedisStore {
    links: Links,
    clock: Option<Clock>,
    durability: Durability,
    memory: Memory,
}

impl RedisStore {
    /// Begins to connect, and goes on for as long as the store lives: a server that cannot be reached yet is
    /// no error here, and never blocks.
    ///
    /// # Errors
    /// `Refused` when the address cannot be read.
    pub fn connect(settings: &Settings) -> Result<Self, StoreError> {
        Self::new(settings, None)
    }

    /// Like [`RedisStore::connect`], on another clock than the server's. For tests.
    ///
    /// # Errors
    /// As there.
    pub fn with_clock(settings: &Settings, clock: Clock) -> Result<Self, StoreError> {
        Self::new(settings, Some(clock))
    }

    fn new(settings: &Settings, clock: Option<Clock>) -> Result<Self, StoreError> {
        let Place::Redis(url) = &settings.place else {
            return Err(StoreError::Refused("store.url is no Redis address".to_owned()));
        };
        let (durability, memory) = (settings.durability, Memory::default());
        Ok(Self { links: Links::start(url, settings)?, clock, durability, memory })
    }

    /// Waits for the first attempt to connect, at most a few times `timeout`, and says how things stand.
    ///
    /// # Errors
    /// `Unsafe` with reason and remedy when the server may forget: a start should end there. Anything else
    /// heals by itself or by the operator, without a restart.
    pub async fn probe(&self) -> Result<(), StoreError> {
        self.probe_for(&[]).await
    }

    /// As [`RedisStore::probe`]; of a cluster, the nodes that keep these rooms are asked.
    ///
    /// # Errors
    /// As there.
    pub async fn probe_for(&self, rooms: &[RoomId]) -> Result<(), StoreError> {
        self.links.verdict(rooms).await
    }

    fn begin<'a>(&self, script: &'a Script, room: &RoomId, seen: Seen) -> ScriptInvocation<'a> {
        let now = self.clock.as_ref().map(|clock| clock());
        request::begin(script, room, now, self.memory.seen(room, seen), self.durability)
    }

    /// Runs a verb; on a server that the epoch did not begin on, takes over first.
    async fn run(
        &self,
        room: &RoomId,
        seen: Seen,
        call: &ScriptInvocation<'_>,
    ) -> Result<Answer, StoreError> {
        for _ in 0..TRIES {
            match answer::sort(self.links.call(room, call).await?)? {
                Answer::OtherOwner(owner) => self.take_over(room, &owner).await?,
                Answer::Behind(owner) => self.recall(room, seen, &owner).await?,
                Answer::DrawDue(parts) => self.make_draw(room, seen, parts).await?,
                other => return Ok(other),
            }
        }
        Err(StoreError::Refused("the server was replaced again and again".to_owned()))
    }

    /// The snapshot of an answer, which is remembered.
    fn learned(&self, room: &RoomId, parts: &mut Parts) -> Result<Snapshot, StoreError> {
        let seen = parts.snapshot()?.seen;
        self.memory.learn(room, &seen);
        Ok(seen.snapshot)
    }

    async fn read(&self, room: &RoomId, seen: Seen) -> Result<Read, StoreError> {
        let call = self.begin(&SCRIPTS.read, room, seen);
        let read = done(self.run(room, seen, &call).await?)?.snapshot()?;
        self.memory.learn(room, &read.seen);
        Ok(read)
    }

    /// Changes rules or overrides: read, reckon here, and write if nobody else wrote in between.
    async fn settle(&self, room: &RoomId, seen: Seen, change: &Control) -> Result<Snapshot, StoreError> {
        for _ in 0..TRIES {
            let Read { seen: Evidence { snapshot, .. }, settings } = self.read(room, seen).await?;
            let (file, overrides) = match change {
                Control::Rules(rules) => (rules.clone(), snapshot.overrides),
                Control::Set(patch) => (snapshot.rules_written, snapshot.overrides.patched(patch)),
                _ => (snapshot.rules_written, snapshot.overrides),
            };
            let packed = request::pack(&file, &overrides, &overrides.over(&file))?;
            let mut call = self.begin(&SCRIPTS.control, room, seen);
            call.arg("rules").arg(settings).arg(packed.file).arg(packed.overrides).arg(packed.numbers);
            match self.run(room, seen, &call).await? {
                Answer::Stale => {}
                other => return self.learned(room, &mut done(other)?),
            }
        }
        Err(StoreError::Refused("the settings kept changing; try again".to_owned()))
    }
}

fn done(answer: Answer) -> Result<Parts, StoreError> {
    match answer {
        Answer::Done(parts) => Ok(parts),
        Answer::OtherOwner(_)
        | Answer::Behind(_)
        | Answer::Stale
        | Answer::DrawDue(_)
        | Answer::Unmapped(_) => Err(StoreError::Garbled("an answer to something else".to_owned())),
    }
}

#[async_trait]
impl QueueStore for RedisStore {
    async fn create(&self, room: &RoomId, rules: &Rules, lineage: Lineage) -> Result<Snapshot, StoreError> {
        let packed = request::pack(rules, &Overrides::default(), rules)?;
        let mut call = self.begin(&SCRIPTS.create, room, Seen::default());
        call.arg(lineage.0).arg(packed.file).arg(packed.overrides).arg(packed.numbers);
        self.learned(room, &mut done(self.run(room, Seen::default(), &call).await?)?)
    }

    async fn join(&self, room: &RoomId, seen: Seen, batch: &JoinBatch) -> Result<Joined, StoreError> {
        let call = |map: &str| {
            let mut call = self.begin(&SCRIPTS.join, room, seen);
            call.arg(batch.instance.0).arg(batch.sequence).arg(map);
            for entry in &batch.entries {
                let bytes: &[u8] = entry.as_ref().map_or(&[], |identity| &identity.0);
                call.arg(bytes);
            }
            call
        };
        let mut parts = self.run_mapped(room, seen, call).await?;
        let snapshot = self.learned(room, &mut parts)?;
        Ok(Joined { outcomes: parts.outcomes(batch.entries.len(), &snapshot.draw)?, snapshot })
    }

    async fn advance(&self, room: &RoomId, seen: Seen, present: &[Number]) -> Result<Advanced, StoreError> {
        let mut call = self.begin(&SCRIPTS.advance, room, seen);
        for number in present {
            call.arg(number.0);
        }
        let mut parts = done(self.run(room, seen, &call).await?)?;
        let snapshot = self.learned(room, &mut parts)?;
        Ok(Advanced { standings: parts.standings(present)?, snapshot })
    }

    async fn leave(&self, room: &RoomId, seen: Seen, places: &[Number]) -> Result<Snapshot, StoreError> {
        let call = |map: &str| {
            let mut call = self.begin(&SCRIPTS.leave, room, seen);
            call.arg(map);
            for place in places {
                call.arg(place.0);
            }
            call
        };
        self.learned(room, &mut self.run_mapped(room, seen, call).await?)
    }

    async fn restore(
        &self,
        room: &RoomId,
        seen: Seen,
        places: &[(Number, Option<IdentityHash>)],
    ) -> Result<Restored, StoreError> {
        let call = |map: &str| {
            let mut call = self.begin(&SCRIPTS.restore, room, seen);
            call.arg(map);
            for (place, identity) in places {
                let identity: &[u8] = identity.as_ref().map_or(&[], |identity| &identity.0);
                call.arg(place.0).arg(identity);
            }
            call
        };
        let mut parts = self.run_mapped(room, seen, call).await?;
        let snapshot = self.learned(room, &mut parts)?;
        Ok(Restored { places: parts.moved(places.iter().map(|(place, _)| *place))?, snapshot })
    }

    async fn stays(&self, room: &RoomId, seen: Seen, report: &StayReport) -> Result<Stayed, StoreError> {
        let mut call = self.begin(&SCRIPTS.stays, room, seen);
        call.arg(report.log_from).arg(report.used.len());
        for number in &report.used {
            call.arg(number.0);
        }
        for (number, cause) in &report.ended {
            call.arg(number.0).arg(u8::from(*cause != EndCause::Operator));
        }
        let mut parts = done(self.run(room, seen, &call).await?)?;
        let snapshot = self.learned(room, &mut parts)?;
        let until = parts.expiries(report.used.len())?;
        let (ended, log_to) = parts.log()?;
        Ok(Stayed { until, ended, log_to, snapshot })
    }

    async fn presence(&self, room: &RoomId, seen: Seen, heard: &Heard) -> Result<Shown, StoreError> {
        let mut call = self.begin(&SCRIPTS.presence, room, seen);
        call.arg(heard.version).arg(heard.part_us()).arg(heard.heard.base).arg(heard.heard.bytes.as_slice());
        for number in &heard.left {
            call.arg(number.0);
        }
        done(self.run(room, seen, &call).await?)?.shown()
    }

    async fn control(&self, room: &RoomId, seen: Seen, change: &Control) -> Result<Snapshot, StoreError> {
        let mut call = self.begin(&SCRIPTS.control, room, seen);
        match change {
            Control::Pause { reason } => {
                let reason = reason.as_ref().map_or_else(String::new, |reason| format!("={reason}"));
                call.arg("pause").arg(reason);
            }
            Control::Resume => {
                call.arg("resume");
            }
            Control::Open => {
                call.arg("open");
            }
            Control::Close => {
                call.arg("close");
            }
            Control::Follow => {
                call.arg("follow");
            }
            Control::Seed(lineage, seed) => {
                call.arg("seed").arg(lineage.0).arg(seed.reveal());
            }
            Control::DrawValue(value) => {
                call.arg("value").arg(value);
            }
            Control::Keys(keys) => {
                call.arg("keys").arg(keys);
            }
            Control::Flush(lineage) => {
                call.arg("flush").arg(lineage.0);
            }
            Control::RevokeBefore => {
                call.arg("revoke");
            }
            Control::StockRead { remaining } => {
                call.arg("stock").arg(remaining.min(&Stock::MAX));
            }
            Control::Set(_) | Control::Rules(_) => return self.settle(room, seen, change).await,
        }
        self.learned(room, &mut done(self.run(room, seen, &call).await?)?)
    }

    async fn close(&self) {
        self.links.close();
    }
}
