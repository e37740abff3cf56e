//! What kind of page a visitor sees. State of room and visitor lead to one scene; a scene has a heading, a
//! text, and parts of the page that it shows. `sceneOf` in `assets/page.js` follows the same rule for those
//! who are in line already: change both together.

use super::facts::{Facts, RoomState, VisitorState};

/// One kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// In line, and the line moves.
    Waiting,
    /// In line, stopped by an operator.
    Paused,
    /// In line, the store cannot be asked.
    Unavailable,
    /// Here before the room opens.
    Lobby,
    /// In line behind what stock can serve.
    Waitlisted,
    /// The turn has come.
    Entering,
    /// The turn has come, and the browser did not go in by itself (script only).
    ByHand,
    /// Missed the turn.
    Lapsed,
    /// Gave the place up.
    Left,
    /// Had a place, and lost the ticket (script only).
    Lost,
    /// The browser keeps no cookies.
    Cookies,
    /// The room is over.
    Closed,
    /// Nothing remains.
    SoldOut,
    /// No place left in the line.
    Full,
    /// Not open yet.
    Scheduled,
    /// No place could be had just now.
    Outage,
    /// An account is needed.
    Login,
}

impl Scene {
    /// All of them, in no order that matters.
    pub(super) const ALL: [Self; 17] = [
        Self::Waiting,
        Self::Paused,
        Self::Unavailable,
        Self::Lobby,
        Self::Waitlisted,
        Self::Entering,
        Self::ByHand,
        Self::Lapsed,
        Self::Left,
        Self::Lost,
        Self::Cookies,
        Self::Closed,
        Self::SoldOut,
        Self::Full,
        Self::Scheduled,
        Self::Outage,
        Self::Login,
    ];

    /// What these facts amount to.
    pub(super) fn of(facts: &Facts<'_>) -> Self {
        if facts.cookies_blocked {
            return Self::Cookies;
        }
        if facts.account.is_some() {
            return Self::Login;
        }
        match (facts.visitor, facts.room_state) {
            (VisitorState::Admitted, _) => Self::Entering,
            (VisitorState::Lapsed, _) => Self::Lapsed,
            (VisitorState::Left, _) => Self::Left,
            (_, RoomState::Closed) => Self::Closed,
            (VisitorState::None, room) => Self::outside(room),
            (_, RoomState::Paused) => Self::Paused,
            (_, RoomState::Unavailable) => Self::Unavailable,
            (_, RoomState::Lobby | RoomState::Scheduled) => Self::Lobby,
            (VisitorState::Waitlisted, _) => Self::Waitlisted,
            (VisitorState::Waiting, RoomState::SoldOut) => Self::SoldOut,
            (VisitorState::Waiting, RoomState::Open | RoomState::Full) => Self::Waiting,
        }
    }

    /// Without a place in the line.
    fn outside(room: RoomState) -> Self {
        match room {
            RoomState::Scheduled => Self::Scheduled,
            RoomState::SoldOut => Self::SoldOut,
            RoomState::Full => Self::Full,
            RoomState::Closed => Self::Closed,
            RoomState::Lobby | RoomState::Open | RoomState::Paused | RoomState::Unavailable => Self::Outage,
        }
    }

    /// The name that style and script know it by.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Unavailable => "unavailable",
            Self::Lobby => "lobby",
            Self::Waitlisted => "waitlisted",
            Self::Entering => "entering",
            Self::ByHand => "by_hand",
            Self::Lapsed => "lapsed",
            Self::Left => "left",
            Self::Lost => "lost",
            Self::Cookies => "cookies",
            Self::Closed => "closed",
            Self::SoldOut => "sold_out",
            Self::Full => "full",
            Self::Scheduled => "scheduled",
            Self::Outage => "outage",
            Self::Login => "login",
        }
    }

    /// The parts of the page that it shows, by their names in the style, each but the last followed by a
    /// space. `live`: the page goes on asking.
    pub(super) fn shows(self) -> &'static str {
        match self {
            Self::Waiting | Self::Paused | Self::Waitlisted => "place tips leave live",
            Self::Unavailable => "place tips live",
            Self::Lobby => "place early tips leave live",
            Self::Scheduled => "early live",
            Self::Entering | Self::ByHand => "enter",
            Self::Lapsed | Self::Left | Self::Lost => "rejoin",
            Self::Cookies => "retry",
            Self::Login => "login retry",
            Self::Closed => "",
            Self::SoldOut | Self::Full | Self::Outage => "live",
        }
    }

    /// Whether the line moves, so that a wait can be told.
    pub(super) fn moves(self) -> bool {
        matches!(self, Self::Waiting | Self::Waitlisted)
    }

    /// Whether the page goes on asking.
    pub(super) fn is_live(self) -> bool {
        self.shows().ends_with("live")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_states_has_its_scene() {
        use RoomState as R;
        use VisitorState as V;
        let table = [
            (V::Waiting, R::Open, Scene::Waiting),
            (V::Waiting, R::Full, Scene::Waiting),
            (V::Waiting, R::Paused, Scene::Paused),
            (V::Waiting, R::Unavailable, Scene::Unavailable),
            (V::Waiting, R::Lobby, Scene::Lobby),
            (V::Waiting, R::SoldOut, Scene::SoldOut),
            (V::Waiting, R::Closed, Scene::Closed),
            (V::Waitlisted, R::SoldOut, Scene::Waitlisted),
            (V::Waitlisted, R::Paused, Scene::Paused),
            (V::Admitted, R::Paused, Scene::Entering),
            (V::Lapsed, R::Open, Scene::Lapsed),
            (V::Left, R::Closed, Scene::Left),
            (V::None, R::Open, Scene::Outage),
            (V::None, R::Unavailable, Scene::Outage),
            (V::None, R::Full, Scene::Full),
            (V::None, R::Scheduled, Scene::Scheduled),
            (V::None, R::Closed, Scene::Closed),
        ];
        for (visitor, room_state, scene) in table {
            let facts = Facts { visitor, room_state, ..Facts::default() };
            assert_eq!(Scene::of(&facts), scene, "{visitor:?} in {room_state:?}");
            assert_eq!(Scene::of(&Facts { cookies_blocked: true, ..facts }), Scene::Cookies);
            let account = Some(crate::page::Account { login_url: None });
            assert_eq!(Scene::of(&Facts { account, ..facts }), Scene::Login);
        }
    }
}
