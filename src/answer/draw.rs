//! What everybody is told of a draw: the commitment to the seed before it, and after it all that is needed to
//! compute every place anew.

use serde::Serialize;

use crate::room::{DrawStage, Snapshot};

/// `room.draw`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct DrawDocument {
    pub(super) state: DrawState,
    /// SHA-256 of the seed, in hex.
    pub(super) commitment: String,
    /// M: how many places are drawn; known from the end of the lobby on.
    pub(super) size: Option<u64>,
    /// The number of the place that is drawn first.
    pub(super) first_number: Option<u64>,
    /// The seed in hex, once the draw is made.
    pub(super) seed: Option<String>,
    /// What public value goes in, in words, where one was named.
    pub(super) public_name: Option<String>,
    /// That value.
    pub(super) public_value: Option<String>,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DrawState {
    /// Places are taken.
    Lobby,
    /// The count is fixed, and the public value is waited for.
    Frozen,
    /// Everybody has a number.
    Drawn,
}

impl DrawDocument {
    /// `None` in a room without a draw, and before its seed is in the store.
    pub(super) fn of(snapshot: &Snapshot) -> Option<Self> {
        let (draw, schedule) = (&snapshot.draw, &snapshot.rules.schedule);
        let early = snapshot.opens_at().is_some() && schedule.draws();
        let state = match draw.stage {
            DrawStage::None if !early => return None,
            DrawStage::None | DrawStage::Lobby => DrawState::Lobby,
            DrawStage::Frozen => DrawState::Frozen,
            DrawStage::Drawn => DrawState::Drawn,
        };
        let seed = draw.seed.as_ref()?;
        let frozen = state != DrawState::Lobby;
        Some(Self {
            state,
            commitment: seed.commitment(),
            size: frozen.then_some(draw.size),
            first_number: frozen.then_some(draw.base.0 + 1),
            seed: (state == DrawState::Drawn).then(|| seed.reveal()),
            public_name: schedule.public.clone(),
            public_value: draw.value.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::{Control, Lineage, LobbyOrder, Micros, Room, Rules, Schedule, Seed};

    #[test]
    fn the_seed_is_committed_to_before_the_draw_and_shown_only_after_it() {
        let schedule = Schedule {
            opens: Some(Micros(2_000_000)),
            lobby_order: LobbyOrder::Draw,
            public: Some("a beacon".to_owned()),
            ..Schedule::default()
        };
        let rules = Rules { schedule, ..Rules::at("1/s".parse().unwrap()) };
        let mut room = Room::new(rules, Lineage(1), Micros(1_000_000));
        assert_eq!(DrawDocument::of(&room.snapshot()), None);
        let seed = Seed([7; 32]);
        room.control(Micros(1_000_000), &Control::Seed(Lineage(1), seed.clone()));
        room.join(Micros(1_000_000), &[None, None, None]);
        let lobby = DrawDocument::of(&room.snapshot()).unwrap();
        assert_eq!((lobby.commitment.clone(), lobby.state), (seed.commitment(), DrawState::Lobby));
        assert_eq!((lobby.seed, lobby.size, lobby.public_value), (None, None, None));
        room.advance(Micros(2_000_000), &[]);
        let frozen = DrawDocument::of(&room.snapshot()).unwrap();
        assert_eq!((frozen.state, frozen.size, frozen.seed), (DrawState::Frozen, Some(3), None));
        room.control(Micros(2_100_000), &Control::DrawValue("42".to_owned()));
        room.advance(Micros(2_200_000), &[]);
        let drawn = DrawDocument::of(&room.snapshot()).unwrap();
        assert_eq!(
            (drawn.state, drawn.seed, drawn.first_number),
            (DrawState::Drawn, Some(seed.reveal()), Some(1))
        );
        assert_eq!((drawn.public_value.as_deref(), drawn.commitment), (Some("42"), lobby.commitment));
    }
}
