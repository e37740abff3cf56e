//! Taking a room over on a server that its epoch did not begin on, and telling it what it has lost.

use redis::ScriptInvocation;

use super::answer::{self, Answer};
use super::scripts::SCRIPTS;
use super::{RedisStore, done, request};
use crate::queue::{Seen, StoreError};
use crate::room::{DrawStage, Evidence, Forced, RoomId};

impl RedisStore {
    /// Begins a new life of the room, unless somebody else did, with what this instance has seen of the last one.
    pub(super) async fn take_over(&self, room: &RoomId, owner: &str) -> Result<(), StoreError> {
        let known = self.memory.of(room);
        let call = self.takeover(room, owner, known.as_ref())?;
        let seen = self.learned(room, &mut done(answer::sort(self.links.call(room, &call).await?)?)?)?;
        tracing::warn!(
            %room, epoch = seen.epoch,
            "the store was started anew or replaced; the line goes on in a new epoch"
        );
        Ok(())
    }

    /// Tells a server that holds less than this instance has seen.
    ///
    /// # Errors
    /// `RolledBack` if the caller has seen more than this store ever told: there is nothing to tell.
    pub(super) async fn recall(&self, room: &RoomId, said: Seen, owner: &str) -> Result<(), StoreError> {
        let known = self
            .memory
            .of(room)
            .filter(|known| said <= Seen { epoch: known.snapshot.epoch, version: known.snapshot.version });
        let known = known.ok_or(StoreError::RolledBack)?;
        let call = self.takeover(room, owner, Some(&known))?;
        match answer::sort(self.links.call(room, &call).await?)? {
            Answer::Done(mut parts) => {
                let now = parts.snapshot()?.seen;
                self.memory.learn(room, &now);
                tracing::error!(
                    %room, seen = %known.snapshot.last, holds = %now.snapshot.last, epoch = now.snapshot.epoch,
                    "the store has lost writes that were acknowledged; the line goes on above all that was told"
                );
                Ok(())
            }
            _ => Err(StoreError::RolledBack),
        }
    }

    /// The call of `takeover.lua`.
    fn takeover(
        &self,
        room: &RoomId,
        owner: &str,
        known: Option<&Evidence>,
    ) -> Result<ScriptInvocation<'static>, StoreError> {
        let mut call = self.begin(&SCRIPTS.takeover, room, Seen::default());
        call.arg(owner);
        let Some(Evidence { snapshot, paused, last, admitted }) = known else {
            call.arg("");
            return Ok(call);
        };
        call.arg("1").arg(snapshot.lineage.0).arg(last.0).arg(admitted);
        call.arg(snapshot.last.0).arg(snapshot.admitted).arg(snapshot.departed);
        for horizon in [snapshot.called, snapshot.due, snapshot.frontier, snapshot.lapsed] {
            call.arg(horizon.0);
        }
        call.arg(snapshot.revoked_before.0).arg(if *paused { "paused" } else { "open" });
        call.arg(snapshot.reason.as_ref().map_or_else(String::new, |reason| format!("={reason}")));
        call.arg(match snapshot.forced {
            None => "",
            Some(Forced::Open) => "open",
            Some(Forced::Closed) => "closed",
        });
        let draw = &snapshot.draw;
        call.arg(match draw.stage {
            DrawStage::None => 0,
            DrawStage::Lobby => 1,
            DrawStage::Frozen => 2,
            DrawStage::Drawn => 3,
        });
        call.arg(draw.base.0).arg(draw.size).arg(draw.at.0);
        call.arg(draw.seed.as_ref().map_or_else(String::new, crate::room::Seed::reveal));
        call.arg(draw.value.as_deref().unwrap_or_default());
        let packed = request::pack(&snapshot.rules_written, &snapshot.overrides, &snapshot.rules)?;
        call.arg(packed.file).arg(packed.overrides).arg(packed.numbers);
        let ranges = snapshot.voids.ranges().iter().map(|(from, to)| format!("{from}:{to}"));
        call.arg(ranges.collect::<Vec<_>>().join(" ")).arg(snapshot.slots_to.0);
        Ok(call)
    }
}
