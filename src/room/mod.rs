//! The rules of a room, pure: no I/O, no clock read, no randomness. Time and chance are arguments.
//!
//! One room is used three times: the embedded store makes it durable, the Redis scripts are compared with
//! it, and the simulator drives it through histories that no test bench could wait for. So whatever it does
//! must be doable with whole numbers below 2^53, the only ones that Lua keeps exact.
//!
//! The life of a place: [`Room::join`] hands out a number. Once the called horizon has reached it, its holder
//! checks in by asking ([`Room::advance`]). A tick grants the smallest checked-in numbers; a grant is the
//! right to the next slot, and the slot is taken at pick-up, when the holder asks again. So arrivals keep the
//! rate and not only grants, and whoever went away costs no slot.

mod caps;
mod change;
mod clock;
mod core;
pub mod draw;
mod early;
mod ended;
mod line;
mod lives;
mod marks;
#[cfg(test)]
pub(crate) mod mutation;
mod poll;
mod rules;
mod schedule;
mod stays;
mod step;
mod stock;
#[cfg(test)]
mod tests;
mod turn;
mod types;
mod voids;

pub use change::{Control, Overrides, Patch};
pub use clock::SlotClock;
pub use core::{Changes, Core, Room, Saved};
pub use draw::{Draw, DrawStage, Seat, Seed};
pub use lives::{Evidence, Loss};
pub use rules::{BadRate, BadRules, Rate, Rules};
pub use schedule::{BadSchedule, Forced, LobbyOrder, Schedule, ScheduleChange};
pub use stays::{EndCause, StayReport, Stayed};
pub use stock::{Stock, StockRules, WhenShort};
pub use types::{
    Admission, IdentityHash, JoinOutcome, Joined, Lineage, Micros, Number, Phase, RoomId, Snapshot, Standing,
};
pub use voids::Voids;
