//! The rules of presence, pure: what one room keeps, and how a version follows from the last. The embedded store runs
//! this; `scripts/presence.lua` is the same in Redis, and one list of scenarios holds both to it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::{Bits, EVERY, Heard, LEFT_KEPT_MAX, PARTS, STRIDE_MAX, Shown, YOUNG};
use crate::room::{DrawStage, Micros, Number, Snapshot, Voids};

/// More versions than are ever made between two that are written down.
const VERSIONS_UNKEPT: u64 = 1 << 30;

/// What a room knows of who is there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Presence {
    version: u64,
    made: Micros,
    frontier: Number,
    last: Number,
    use_from: Micros,
    /// Runs while versions are made; the parts lie on it.
    clock: u64,
    shown: Bits,
    live: Bits,
    /// What was heard, by part of the clock; the newest last.
    parts: VecDeque<(u64, Bits)>,
    /// The last number at each version of the last seconds, by the clock.
    ages: VecDeque<(u64, Number)>,
    /// Who came after this one and before there are ages is young.
    birth: Number,
    /// Numbers that gave their place up, until the next version, or as long as they would be young.
    left: BTreeSet<Number>,
    /// The last place of the draw that the bits have followed.
    drawn: Number,
}

/// The room as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Around {
    /// F.
    pub frontier: Number,
    /// The last number handed out.
    pub last: Number,
    /// The places of the lobby that were drawn: those after the first up to the second.
    pub drawn: Option<(Number, Number)>,
    /// Numbers that nobody was told of: they are not there.
    pub voids: Voids,
    /// How long before its use a version is made: so that all instances have it, where there may be several.
    pub ahead: Duration,
}

impl Around {
    /// What a snapshot says of it.
    #[must_use]
    pub fn of(snapshot: &Snapshot, ahead: Duration) -> Self {
        let Snapshot { frontier, last, draw, voids, .. } = snapshot;
        let drawn = draw.stage == DrawStage::Drawn;
        let to = Number(draw.base.0 + draw.size);
        Self {
            frontier: *frontier,
            last: *last,
            drawn: drawn.then_some((draw.base, to)),
            voids: voids.clone(),
            ahead,
        }
    }
}

impl Presence {
    /// Takes what an instance heard; makes the next version if that is due.
    pub fn tell(&mut self, now: Micros, room: &Around, told: &Heard) -> Shown {
        let part_us = told.part_us();
        if self.version == 0 {
            (self.birth, self.last) = (room.frontier, room.frontier);
        }
        self.follow_draw(room, part_us);
        if !told.heard.is_empty() {
            self.part(part_us, |bits| bits.or(&told.heard));
        }
        for number in told.left.iter().filter(|number| **number <= room.last) {
            if self.left.len() < LEFT_KEPT_MAX {
                self.left.insert(*number);
            }
        }
        if self.version == 0 || now.since(self.made) >= EVERY || now < self.made {
            self.fold(now, room, part_us);
        }
        let base = self.frontier.0 / 8;
        let window = |bits: &Bits| bits.window(base, self.last);
        Shown {
            version: self.version,
            frontier: self.frontier,
            last: self.last,
            use_from: self.use_from,
            bits: (told.version != self.version).then(|| (window(&self.shown), window(&self.live))),
            now,
        }
    }

    /// After a restart: who was shown counts as heard of just now, and of those before nobody else is shown. Versions
    /// go on beyond any that were made without a bit falling, so that no instance takes a new one for its own.
    #[must_use]
    pub fn restored(kept: Kept) -> Self {
        let Kept { version, frontier, last, drawn, shown } = kept;
        let parts = VecDeque::from([(0, shown.clone())]);
        let version = version + VERSIONS_UNKEPT;
        Self {
            version,
            frontier,
            last,
            birth: last,
            drawn,
            live: shown.clone(),
            shown,
            parts,
            ..Self::default()
        }
    }

    /// What has to outlive a restart.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let (version, frontier, last, drawn) = (self.version, self.frontier, self.last, self.drawn);
        Kept { version, frontier, last, drawn, shown: self.shown.window(frontier.0 / 8, last) }
    }

    /// A draw gave the places of the lobby their numbers, in another order: all of them count as heard of just now.
    fn follow_draw(&mut self, room: &Around, part_us: u64) {
        let Some((from, to)) = room.drawn.filter(|(_, to)| *to != self.drawn) else { return };
        self.drawn = to;
        self.parts.clear();
        self.left.clear();
        self.part(part_us, |bits| bits.fill(from, to));
        self.shown.fill(from, to);
    }

    /// Changes what was heard in the present part.
    fn part(&mut self, part_us: u64, change: impl FnOnce(&mut Bits)) {
        let part = self.clock / part_us;
        if self.parts.back().is_none_or(|(newest, _)| *newest < part) {
            self.parts.push_back((part, Bits::at(0)));
        }
        if let Some((_, bits)) = self.parts.back_mut() {
            change(bits);
        }
    }

    /// Takes out those who left, from everything. Only with a version: whoever has one has all of it.
    fn forget(&mut self, number: Number) {
        self.shown.clear(number);
        self.live.clear(number);
        self.parts.iter_mut().for_each(|(_, bits)| bits.clear(number));
    }

    fn fold(&mut self, now: Micros, room: &Around, part_us: u64) {
        if self.version > 0 {
            self.clock += micros(now.since(self.made).min(STRIDE_MAX));
        }
        let young = self.young_from(room.last);
        let oldest = (self.clock / part_us).saturating_sub(PARTS);
        self.parts.retain(|(part, _)| *part >= oldest);
        self.live = Bits::at(0);
        self.parts.iter().for_each(|(_, heard)| self.live.or(heard));
        for (from, to) in told(&room.voids, young, room.last) {
            self.live.fill(from, to);
        }
        for (from, to) in told(&room.voids, self.last, room.last) {
            self.shown.fill(from, to);
        }
        for number in std::mem::take(&mut self.left) {
            self.forget(number);
            if number > young {
                self.left.insert(number);
            }
        }
        self.shown.and(&self.live);
        self.version += 1;
        self.made = now;
        self.frontier = self.frontier.max(room.frontier);
        self.last = self.last.max(room.last);
        self.use_from = now.plus(room.ahead);
    }

    /// Numbers after this one joined a moment ago.
    fn young_from(&mut self, last: Number) -> Number {
        let since = self.clock.checked_sub(micros(YOUNG));
        while self.ages.get(1).is_some_and(|(at, _)| Some(*at) <= since) {
            self.ages.pop_front();
        }
        let old = self.ages.front().filter(|(at, _)| Some(*at) <= since);
        let young = old.map_or(self.birth, |(_, number)| *number);
        self.ages.push_back((self.clock, last));
        young
    }
}

/// The numbers after `from` up to `to` that somebody was told of, as ranges.
fn told(voids: &Voids, from: Number, to: Number) -> Vec<(Number, Number)> {
    let mut told = Vec::new();
    let mut begins = from;
    for (first, last) in voids.ranges().iter().filter(|(first, last)| *last > from && *first < to) {
        told.push((begins, (*first).min(to)));
        begins = begins.max(*last);
    }
    told.push((begins, to));
    told
}

/// What of a room's presence has to outlive a restart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Kept {
    /// See [`Shown::version`].
    pub version: u64,
    /// See [`Shown::frontier`].
    pub frontier: Number,
    /// See [`Shown::last`].
    pub last: Number,
    /// The last place of the draw that the bits have followed.
    pub drawn: Number,
    /// Who is shown beyond the frontier.
    pub shown: Bits,
}

impl Kept {
    /// As bytes: five numbers, then the bitmap.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.version, self.frontier.0, self.last.0, self.drawn.0, self.shown.base];
        let mut bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_be_bytes).collect();
        bytes.extend(&self.shown.bytes);
        bytes
    }

    /// From such bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, map) = bytes.split_first_chunk::<40>()?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|n| u64::from_be_bytes(*n));
        let mut next = || numbers.next();
        let (version, frontier, last, drawn, base) = (next()?, next()?, next()?, next()?, next()?);
        let shown = Bits { base, bytes: map.to_vec() };
        Some(Self { version, frontier: Number(frontier), last: Number(last), drawn: Number(drawn), shown })
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
