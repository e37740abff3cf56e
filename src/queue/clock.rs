//! The clock of a store: what every moment of a room is measured on.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::room::Micros;

/// Tells the time. Redis has a clock of its own, which is only replaced by tests.
pub type Clock = Arc<dyn Fn() -> Micros + Send + Sync>;

/// The clock of this machine. A clock set before 1970 reads as 1970.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    })
}
