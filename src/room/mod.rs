//! The rules of a room, pure: no I/O, no clock read, no randomness. Time and chance are arguments.
//!
//! One room is used three times: the embedded store makes it durable, the Redis scripts are compared with
//! it, and the simulator drives it through histories that no test bench could wait for. So whatever it does
//! must be doable with whole numbers below 2^53, the only ones that Lua keeps exact.

mod change;
mod rules;
mod types;

pub use change::{Control, Overrides, Patch};
pub use rules::{BadRate, BadRules, Rate, Rules};
pub use types::{
    Admission, IdentityHash, JoinOutcome, Joined, Lineage, Micros, Number, Phase, RoomId, Snapshot, Standing,
};
