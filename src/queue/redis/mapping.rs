//! The numbers of drawn places, which the scripts do not compute: they ask for them (`scripts/draw.lua`), and the
//! same call is made again with what they lack.

use redis::ScriptInvocation;

use super::answer::{Answer, Parts};
use super::scripts::SCRIPTS;
use super::{RedisStore, TRIES, done};
use crate::queue::{Seen, StoreError};
use crate::room::RoomId;

impl RedisStore {
    /// Makes the draw that a script found due. One of many callers does it; the others find it made.
    pub(super) async fn make_draw(&self, room: &RoomId, seen: Seen, asked: Parts) -> Result<(), StoreError> {
        let map = mapping(asked, true)?;
        let mut call = self.begin(&SCRIPTS.drawn, room, seen);
        call.arg(map);
        match super::answer::sort(self.links.call(room, &call).await?)? {
            Answer::Done(mut parts) => {
                let drawn = self.learned(room, &mut parts)?.draw.size;
                tracing::info!(%room, drawn, "the lobby is drawn");
                Ok(())
            }
            // More left meanwhile, or another server took over: whoever called asks again.
            _ => Ok(()),
        }
    }

    /// Runs a verb that may need numbers of drawn places.
    pub(super) async fn run_mapped(
        &self,
        room: &RoomId,
        seen: Seen,
        call: impl Fn(&str) -> ScriptInvocation<'static>,
    ) -> Result<Parts, StoreError> {
        let mut map = String::new();
        for _ in 0..TRIES {
            match self.run(room, seen, &call(&map)).await? {
                Answer::Unmapped(parts) => map = mapping(parts, false)?,
                other => return done(other),
            }
        }
        Err(StoreError::Garbled("it kept asking for numbers".to_owned()))
    }
}

/// The numbers of the places that a script asks for, as `read_map` in `draw.lua` reads them. `ahead`: as they will
/// be once the draw is made.
fn mapping(mut asked: Parts, ahead: bool) -> Result<String, StoreError> {
    let mut draw = asked.snapshot()?.seen.snapshot.draw;
    if ahead {
        draw.stage = crate::room::DrawStage::Drawn;
    }
    let places = asked.places()?;
    let permutation =
        draw.permutation().ok_or_else(|| StoreError::Garbled("a draw without a seed".to_owned()))?;
    let pairs = places.iter().filter_map(|place| {
        let drawn = permutation.place(place.0.checked_sub(draw.base.0)?)?;
        Some(format!("{}:{}", place.0, draw.base.0 + drawn))
    });
    Ok(pairs.collect::<Vec<_>>().join(" "))
}
