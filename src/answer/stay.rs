//! The stay behind a permit: what it costs to renew it, what the shop's end of it means, and whether it goes on
//! while a connection is open.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;

use super::Request;
use super::cookies::{Cookies, Kind};
use super::desk::Clock;
use super::room::{Held, RoomDesk};
use crate::queue::Line;
use crate::room::{Admission, EndCause, Lineage, Micros, Number};

/// Renewed when at least this part of `idle` was won, so that a busy visitor is signed for now and then only.
const WORTH: u32 = 10;
/// Passes print whole seconds.
const LEAST_WON: Duration = Duration::from_secs(1);

/// One admitted visitor's stay, as the doors need it while a request is under way.
#[derive(Clone)]
pub struct Stay {
    line: Arc<Line>,
    lineage: Lineage,
    number: Number,
    slot: Micros,
    /// The printed expiry of the pass that was shown or given.
    printed: Micros,
    leeway: Duration,
    cookies: Cookies,
    https: bool,
    clock: Clock,
}

impl fmt::Debug for Stay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stay")
            .field("room", self.line.room())
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Stay {
    pub(super) fn new(
        room: &RoomDesk,
        clock: &Clock,
        https: bool,
        (lineage, number): (Lineage, Number),
        (slot, printed): (Micros, Micros),
    ) -> Self {
        Self {
            line: Arc::clone(&room.line),
            lineage,
            number,
            slot,
            printed,
            leeway: room.settings.leeway,
            cookies: room.cookies.clone(),
            https,
            clock: Arc::clone(clock),
        }
    }

    /// Whether it still goes on; asking is a use of the pass. For connections that stay open.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        let now = (self.clock)();
        let until = self.line.acknowledged(self.number).unwrap_or_default().max(self.printed);
        if self.line.is_over(self.lineage, self.number, self.slot) || now >= until.plus(self.leeway) {
            return false;
        }
        self.line.used(self.number);
        true
    }

    /// The shop is done with the visitor.
    pub(super) fn end(&self) {
        let until = self.line.acknowledged(self.number).unwrap_or_default().max(self.printed);
        self.line.end_here(self.number, EndCause::Shop, until.plus(self.leeway * 2 + LEAST_WON));
    }

    /// `Set-Cookie` lines that take pass and ticket away.
    pub(super) fn cleared(&self) -> Vec<HeaderValue> {
        let clear = |kind| self.cookies.clear(kind, self.https);
        [clear(Kind::Pass), clear(Kind::Ticket)].into_iter().flatten().collect()
    }
}

/// The pass that a later response should carry: only what the store has acknowledged, and only if it is worth a
/// signature. `Set-Cookie` for a cookie, a response header for a header.
pub(super) fn renewed(room: &RoomDesk, request: &Request<'_>, held: &Held, now: Micros) -> Renewed {
    let pass = &held.pass;
    room.line.used(pass.number);
    let (Some(until), Some(snapshot)) = (room.line.acknowledged(pass.number), room.snapshot()) else {
        return Renewed::default();
    };
    let worth = (snapshot.rules.idle / WORTH).max(LEAST_WON);
    if until.since(pass.expires) < worth {
        return Renewed::default();
    }
    let admission = Admission { number: pass.number, slot: pass.not_before, until };
    let Ok(issued) = room.issue(pass.lineage, admission, pass.bound) else { return Renewed::default() };
    if held.by_header {
        return Renewed { header: HeaderValue::from_str(&issued.token).ok(), cookies: Vec::new() };
    }
    let left = Duration::from_secs(issued.claims.exp.saturating_sub(now.seconds()));
    let cookie = room.cookies.set(Kind::Pass, request.https, &issued.token, left);
    Renewed { header: None, cookies: cookie.into_iter().collect() }
}

/// See [`renewed`].
#[derive(Debug, Default)]
pub(super) struct Renewed {
    pub(super) header: Option<HeaderValue>,
    pub(super) cookies: Vec<HeaderValue>,
}
