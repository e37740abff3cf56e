//! What this part must be told.

use std::time::Duration;

use crate::identity;
use crate::limit::ConnectionsSettings;
use crate::page;
use crate::room::RoomId;

/// `SameSite` of our cookies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SameSite {
    /// Sent along when a link leads here from another site.
    #[default]
    Lax,
    /// Never sent along from another site.
    Strict,
    /// For shops in frames: `Secure; Partitioned` too, so it needs TLS.
    None,
}

/// One room, as its visitors meet it.
#[derive(Debug, Clone)]
pub struct RoomSettings {
    /// The room.
    pub id: RoomId,
    /// The hosts that the room is on, normalised; empty: any that is served.
    pub hosts: Vec<String>,
    /// How accounts are told; `None`: the browser's cookie alone tells visitors apart.
    pub accounts: Option<Accounts>,
    /// `SameSite` of its cookies.
    pub same_site: SameSite,
    /// Status of the waiting page.
    pub page_status: http::StatusCode,
    /// How the page looks.
    pub page: page::Settings,
    /// The longest poll interval.
    pub poll_max: Duration,
    /// How far clocks may differ when a pass is checked.
    pub leeway: Duration,
    /// From how many client networks a pass may be used here, at most 16; 0: any.
    pub networks_max: usize,
}

/// How a room tells accounts, and what it does without one.
#[derive(Debug, Clone)]
pub struct Accounts {
    /// By what.
    pub identity: identity::Settings,
    /// Whether a place is the browser's where no account is shown; otherwise it is refused.
    pub browsers_too: bool,
    /// Where to log in; `{return}` in it is where to come back to.
    pub login_url: Option<String>,
}

/// Everything that is answered without the origin.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The reserved prefix, such as `/_ropeline`.
    pub prefix: String,
    /// The rooms, in the order of the routes.
    pub rooms: Vec<RoomSettings>,
    /// Where the waiting page polls, if not at the shop's own address.
    pub crowd_url: Option<String>,
    /// Who may call the prefix from another origin; compared exactly, never reflected.
    pub cors_origins: Vec<String>,
    /// How many event streams may be held, in all and per client network.
    pub streams: ConnectionsSettings,
}
