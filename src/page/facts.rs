//! What the page is to say to one visitor: plain values, borrowed from whoever asks for the page.

/// The state of the room, as in the poll document, and `Full`: there is no place left in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoomState {
    /// Not open to anybody yet.
    Scheduled,
    /// Visitors gather; nobody goes in yet.
    Lobby,
    /// Letting people in at its rate.
    #[default]
    Open,
    /// Stopped by an operator.
    Paused,
    /// The line is as long as it may get.
    Full,
    /// Nothing remains in stock.
    SoldOut,
    /// Over.
    Closed,
    /// The store cannot be asked.
    Unavailable,
}

/// The state of the visitor, as in the poll document, and `None` for those without a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VisitorState {
    /// No place in the line.
    #[default]
    None,
    /// In line.
    Waiting,
    /// May go in now.
    Admitted,
    /// In line behind what stock can serve.
    Waitlisted,
    /// Was away for too long after the turn came.
    Lapsed,
    /// Gave the place up.
    Left,
}

/// The estimated wait in seconds, as a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// At least so long.
    pub low: u64,
    /// At most so long.
    pub high: u64,
}

/// The one step by which a visitor without a place may take a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejoin<'a> {
    /// A link to this path of the same site.
    Link(&'a str),
    /// A form that posts these fields (name, value) to this path of the same site.
    Form {
        /// Where it posts to.
        action: &'a str,
        /// Its hidden fields.
        fields: &'a [(&'a str, &'a str)],
    },
}

/// An account that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account<'a> {
    /// Where to log in: a path of the same site, or an address that an operator set.
    pub login_url: Option<&'a str>,
}

/// Everything about one visitor that the page shows or needs to go on. All texts are taken as they are and
/// escaped here.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts<'a> {
    /// The room's id.
    pub room: &'a str,
    /// The state of the room.
    pub room_state: RoomState,
    /// The state of the visitor.
    pub visitor: VisitorState,
    /// The visitor's number.
    pub number: Option<u64>,
    /// The place in a lobby with a draw, by the order of coming; shown in place of position and number.
    pub lobby_index: Option<u64>,
    /// When the room opens, while that is to come: RFC 3339.
    pub opens_at: Option<&'a str>,
    /// The time of the server, as `opens_at`.
    pub server_time: &'a str,
    /// The visitor's position, from 1; how many are ahead follows from it. Without it no place is shown.
    pub position: Option<u64>,
    /// The position that the visitor began with, where it is known; without it, progress is shown from the
    /// position that this browser tab saw first, and without scripts not at all.
    pub start: Option<u64>,
    /// The estimated wait; `None` while unknown.
    pub wait: Option<Wait>,
    /// How many are in line.
    pub waiting: Option<u64>,
    /// The operator's message, or the reason of a pause.
    pub message: Option<&'a str>,
    /// When to ask next, in milliseconds, jittered by the caller.
    pub next_poll_ms: u64,
    /// Where to ask: a path of the same site, or an address at [`Settings::crowd`](super::Settings::crowd).
    pub poll_url: &'a str,
    /// Where a DELETE gives the place up; as for `poll_url`.
    pub leave_url: &'a str,
    /// Where the turn leads to, by GET: path and query of the same site. Anything else becomes `/`.
    pub enter_url: &'a str,
    /// How to take a new place; also needed by those in line, whose place may lapse while the page is open.
    pub rejoin: Option<Rejoin<'a>>,
    /// The ticket, only where the page polls another origin as a bearer.
    pub ticket: Option<&'a str>,
    /// No account was shown, and none can have a place without: say so, and do nothing more.
    pub account: Option<Account<'a>>,
    /// The browser kept none of our cookies: say so, and do nothing more.
    pub cookies_blocked: bool,
}
