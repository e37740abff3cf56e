//! The draw: who came while the lobby was open has a lobby index, and gets a number when the room opens.
//!
//! A place from the lobby is `first + index` in the room's one counter and stays that for ever: in the ticket,
//! in the row of an identity, in the answer to a join. Its *number* is computed on every read from the seed and
//! the frozen count, and no shuffle is stored. Places outside the lobby are their own numbers. So a place says
//! by itself which of the two it is, and nothing of it changes at a restart.

mod permutation;
mod seed;

use aws_lc_rs::hmac;
use serde::{Deserialize, Serialize};

use super::schedule::Stage;
use super::{Lineage, Micros, Number, Room, Standing};

pub use permutation::Permutation;
pub use seed::{BadSeed, Seed};

/// How far the draw of a lineage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum DrawStage {
    /// There is none, or nobody has come yet.
    #[default]
    None,
    /// Lobby indices are handed out.
    Lobby,
    /// The count is fixed; the seed or the public value is still missing.
    Frozen,
    /// Every lobby index has a number.
    Drawn,
}

impl DrawStage {
    /// Whether there are lobby indices without numbers.
    #[must_use]
    pub fn is_pending(self) -> bool {
        matches!(self, Self::Lobby | Self::Frozen)
    }
}

/// What a place is to its holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seat {
    /// A place in the lobby, by the order of coming, from 1. It has no number yet.
    Lobby(u64),
    /// A number in the line.
    Number(Number),
}

/// The draw of one lineage. Instances see it in every snapshot.
///
/// To turn a lobby index into a number, ask [`Draw::number`], or [`Draw::permutation`] for many at once: both
/// answer only once the draw is made, and from then on always the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct Draw {
    /// How far it is.
    pub stage: DrawStage,
    /// The last number before those of the draw: index 1 is the place after it.
    pub base: Number,
    /// M: how many are drawn; 0 until it is frozen.
    pub size: u64,
    /// When the draw was made.
    pub at: Micros,
    /// Secret until the draw is made; its commitment is not.
    pub seed: Option<Seed>,
    /// The public value, where one was named.
    pub value: Option<String>,
}

impl Draw {
    /// The number of a lobby index in 1..=M; `None` before the draw and outside of it. A few microseconds.
    #[must_use]
    pub fn number(&self, index: u64) -> Option<Number> {
        let place = self.permutation()?.place(index)?;
        Some(Number(self.base.0 + place))
    }

    /// The permutation of 1..=M; `None` before the draw.
    #[must_use]
    pub fn permutation(&self) -> Option<Permutation> {
        let seed = self.seed.as_ref().filter(|_| self.stage == DrawStage::Drawn)?;
        Some(Permutation::new(&key(seed, self.size, self.value.as_deref()), self.size))
    }

    /// What a place is: an index in the lobby, or a number.
    #[must_use]
    pub fn seat(&self, place: Number) -> Seat {
        let index = place.0.saturating_sub(self.base.0);
        match self.stage {
            DrawStage::Lobby if index > 0 => Seat::Lobby(index),
            DrawStage::Frozen if self.has(place) => Seat::Lobby(index),
            DrawStage::Drawn if self.has(place) => Seat::Number(self.number(index).unwrap_or(place)),
            _ => Seat::Number(place),
        }
    }

    /// The number of a place; for a place in the lobby, which has none yet, the place itself.
    #[must_use]
    pub fn number_of(&self, place: Number) -> Number {
        match self.seat(place) {
            Seat::Number(number) => number,
            Seat::Lobby(_) => place,
        }
    }

    /// Whether the frozen draw is about this place.
    fn has(&self, place: Number) -> bool {
        place > self.base && place.0 - self.base.0 <= self.size
    }
}

/// The key of a draw: HMAC-SHA256 under the seed, of the count as eight bytes, highest first, and the public value
/// as UTF-8 where there is one.
#[must_use]
pub fn key(seed: &Seed, size: u64, value: Option<&str>) -> [u8; 32] {
    let mut mac = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &seed.0));
    mac.update(&size.to_be_bytes());
    mac.update(value.unwrap_or_default().as_bytes());
    mac.sign().as_ref().first_chunk().copied().unwrap_or_default()
}

impl Room {
    /// Begins a draw with the first who comes to a lobby that has one; places before are not drawn.
    pub(super) fn draw_joining(&mut self, now: Micros) {
        let core = &mut self.core;
        let lobby = core.rules.schedule.draws() && core.is_early(now);
        if lobby && core.draw.stage == DrawStage::None {
            core.draw.stage = DrawStage::Lobby;
            core.draw.base = core.last;
        }
    }

    /// Every verb asks whether the draw is due. The first call at or after `opens` freezes the count; with seed
    /// and public value at hand the draw is made, and those in front are called and due at once.
    pub(super) fn draw_due(&mut self, now: Micros) {
        let core = &mut self.core;
        let schedule = &core.rules.schedule;
        if core.draw.stage == DrawStage::Lobby && !schedule.draws() {
            core.draw.stage = DrawStage::None;
        }
        if !core.draw.stage.is_pending() || core.stage(now) != Stage::Open {
            return;
        }
        if core.draw.stage == DrawStage::Lobby {
            core.draw.stage = DrawStage::Frozen;
            // Whoever was called by number already, under rules that drew nobody, keeps it.
            core.draw.base = core.draw.base.max(core.called);
            core.draw.size = core.last.0 - core.draw.base.0;
            self.changes.material = true;
        }
        let core = &self.core;
        let schedule = &core.rules.schedule;
        let named = schedule.draws() && schedule.public.is_some();
        if core.draw.seed.is_some() && (!named || core.draw.value.is_some()) {
            self.draw(now);
        }
    }

    fn draw(&mut self, now: Micros) {
        self.core.draw.stage = DrawStage::Drawn;
        self.core.draw.at = now;
        self.number_the_left();
        let core = &mut self.core;
        if core.called == core.draw.base {
            core.called = Number(core.last.0.min(core.called.0 + core.inventory()));
            core.due = core.called;
            core.stepped = now;
        }
        self.touch();
    }

    /// Whoever left the lobby has left the number that the draw gave.
    fn number_the_left(&mut self) {
        let Some(permutation) = self.core.draw.permutation() else { return };
        let base = self.core.draw.base;
        let mut left = self.left.split_off(&Number(base.0 + 1));
        let mut after = left.split_off(&Number(base.0 + self.core.draw.size + 1));
        self.left.append(&mut after);
        let number = |place: &Number| permutation.place(place.0 - base.0).map(|n| Number(base.0 + n));
        let numbers: Vec<Number> = left.iter().filter_map(number).collect();
        self.changes.left.retain(|place| !left.contains(place));
        self.changes.left.extend(&numbers);
        self.changes.left_undone.extend(left);
        self.left.extend(numbers);
    }

    /// Whether the draw was made less than a step ago: those of the lobby are learning their numbers, and whoever
    /// comes only now is not due before they had the time to ask.
    pub(super) fn is_just_drawn(&self, now: Micros) -> bool {
        let Draw { stage, at, .. } = self.core.draw;
        stage == DrawStage::Drawn && at <= now && now.since(at) < self.core.rules.step()
    }

    /// Keeps the first seed that is offered to a lineage.
    pub(super) fn take_seed(&mut self, lineage: Lineage, seed: &Seed) {
        if lineage == self.core.lineage && self.core.draw.seed.is_none() {
            self.core.draw.seed = Some(seed.clone());
        }
    }

    /// Takes the public value once the count is fixed, and never another.
    pub(super) fn take_value(&mut self, value: &str) {
        let core = &mut self.core;
        let due = core.draw.stage == DrawStage::Frozen && core.rules.schedule.public.is_some();
        if due && core.draw.value.is_none() {
            core.draw.value = Some(value.to_owned());
        }
    }

    /// Where the holder of a place stands.
    #[must_use]
    pub fn standing_of(&self, now: Micros, place: Number) -> Standing {
        self.standing(now, self.core.draw.number_of(place))
    }
}
