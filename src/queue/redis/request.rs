//! Writes what the scripts are asked: keys, the arguments that all share, and the settings of a room.

use std::time::Duration;

use redis::{Script, ScriptInvocation};

use crate::queue::{Durability, Seen, StoreError};
use crate::room::{Micros, Overrides, RoomId, Rules, Schedule, StockRules};

/// The largest whole number that Lua keeps exact.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// A call of `script` for `room`, with the arguments that every script begins with.
pub(super) fn begin<'a>(
    script: &'a Script,
    room: &RoomId,
    now: Option<Micros>,
    seen: Seen,
    durability: Durability,
) -> ScriptInvocation<'a> {
    let mut call = script.prepare_invoke();
    call.key(format!("rl:{{{room}}}"));
    call.arg(now.map_or_else(String::new, |now| now.0.to_string()));
    call.arg(seen.epoch).arg(seen.version).arg(may_lose(durability));
    call
}

/// What may be lost with a server, as `prelude.lua` names it.
fn may_lose(durability: Durability) -> u8 {
    match durability {
        Durability::Replicas(_) => 0,
        Durability::Memory => 1,
        Durability::Disk => 2,
    }
}

/// The settings as the state keeps them: rules of the file, overrides, and what the scripts reckon with.
pub(super) struct Packed {
    pub(super) file: String,
    pub(super) overrides: String,
    pub(super) numbers: String,
}

/// Packs settings.
///
/// # Errors
/// `Garbled` if they cannot be written as JSON; never expected.
pub(super) fn pack(file: &Rules, overrides: &Overrides, rules: &Rules) -> Result<Packed, StoreError> {
    let unwritable = |error: serde_json::Error| StoreError::Garbled(error.to_string());
    Ok(Packed {
        file: serde_json::to_string(file).map_err(unwritable)?,
        overrides: serde_json::to_string(overrides).map_err(unwritable)?,
        numbers: numbers(rules),
    })
}

/// The numbers in the order of `RULES` in `prelude.lua`; -1 for a bound that is not set.
fn numbers(rules: &Rules) -> String {
    let numbers = [
        rules.rate.spacing_ns(),
        rules.burst,
        rules.burst_slots(),
        rules.rate.slots_in(rules.hold),
        rules.rate.slots_in(rules.step()),
        micros(rules.step()),
        micros(rules.return_within),
        micros(rules.pass_ttl),
        micros(rules.mark_kept()),
        rules.max_waiting,
    ];
    let bounded = numbers.into_iter().map(Some);
    let stock = rules.stock.as_ref();
    let (each, reserve) = stock.map(StockRules::bounded).unzip();
    let caps = [
        rules.max_total,
        Some(micros(rules.first_use)),
        Some(micros(rules.idle)),
        rules.max_active,
        each,
        reserve,
        stock.map(|stock| micros(stock.stale_after)),
    ];
    let text = |n: Option<u64>| n.map_or_else(|| "-1".to_owned(), |n| n.min(EXACT_MAX).to_string());
    bounded.chain(caps).map(text).collect::<Vec<_>>().join(" ") + &schedule(&rules.schedule)
}

/// Doors, opens, closes, and the draw: 0 none, 1 by the seed, 2 with a public value too.
fn schedule(schedule: &Schedule) -> String {
    let time = |time: Option<Micros>, absent: u64| time.map_or(absent, |time| time.0.min(EXACT_MAX));
    let draw = u8::from(schedule.draws()) * (1 + u8::from(schedule.public.is_some()));
    let (doors, opens) = (time(schedule.doors, 0), time(schedule.opens, 0));
    format!(" {doors} {opens} {} {draw}", time(schedule.closes, EXACT_MAX))
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
