//! The desk where every request is decided: routes it, and asks the room that it leads to.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use tokio::sync::watch;

use super::account::Teller;
use super::cookies::Cookies;
use super::room::{RoomDesk, bearer_in};
use super::sharing::Sharing;
use super::{Answer, Events, Gate, Permit, Problem, Reply, Request, Settings, Verdict, problem};
use crate::limit::Connections;
use crate::page::Page;
use crate::queue::Line;
use crate::room::Micros;
use crate::route::{Found, Routes};
use crate::token::Keyring;

/// Where the time of day comes from.
pub type Clock = Arc<dyn Fn() -> Micros + Send + Sync>;

/// A host that is not served here.
pub(super) const UNSERVED: Problem =
    Problem::new("unserved-host", StatusCode::MISDIRECTED_REQUEST, "This host is not served here");
const AMBIGUOUS: Problem = Problem::new(
    "ambiguous-request",
    StatusCode::BAD_REQUEST,
    "The request can be read in more than one way",
);
pub(super) const NOT_FOUND: Problem = Problem::new("not-found", StatusCode::NOT_FOUND, "Nothing is here");

/// Decides requests for all rooms. Holds no state of its own.
pub struct Desk {
    routes: Routes,
    pub(super) rooms: Vec<RoomDesk>,
    pub(super) keyring: Arc<Keyring>,
    prefix: String,
    crowd_url: Option<String>,
    cors_origins: Vec<String>,
    pub(super) streams: Connections,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) clock: Clock,
}

/// Addresses that the waiting page needs.
pub(super) struct Links {
    pub(super) poll: String,
    pub(super) leave: String,
    pub(super) rejoin: String,
}

impl Desk {
    /// Starts the tasks that keep the keys of the shop's tokens, so it must be called on a runtime.
    ///
    /// A desk for rooms whose lines are given in the order of the settings, which is that of the routes.
    /// Event streams end when `stop` turns true.
    #[must_use]
    pub fn new(
        settings: Settings,
        routes: Routes,
        lines: Vec<Arc<Line>>,
        keyring: Arc<Keyring>,
        stop: watch::Receiver<bool>,
        clock: Clock,
    ) -> Self {
        debug_assert_eq!(settings.rooms.len(), lines.len());
        let sharing = Arc::new(Sharing::default());
        let rooms = settings.rooms.into_iter().zip(lines).map(|(settings, line)| RoomDesk {
            page: Page::new(&settings.page),
            cookies: Cookies::new(&settings.id, settings.same_site),
            keyring: Arc::clone(&keyring),
            teller: settings.accounts.as_ref().map(Teller::start),
            sharing: Arc::clone(&sharing),
            settings,
            line,
        });
        Self {
            routes,
            rooms: rooms.collect(),
            keyring,
            prefix: settings.prefix,
            crowd_url: settings.crowd_url,
            cors_origins: settings.cors_origins,
            streams: Connections::new(settings.streams),
            stop,
            clock,
        }
    }

    pub(super) fn now(&self) -> Micros {
        (self.clock)()
    }

    pub(super) fn crowd_url(&self) -> Option<&str> {
        self.crowd_url.as_deref()
    }

    pub(super) fn may_call(&self, origin: &str) -> bool {
        self.cors_origins.iter().any(|allowed| allowed == origin)
    }

    /// Whether any other origin may call.
    pub(super) fn is_shared(&self) -> bool {
        !self.cors_origins.is_empty()
    }

    /// Whether a target, read as we read every request, lies under the reserved prefix.
    pub(super) fn is_reserved(&self, path: &str) -> bool {
        path == self.prefix || path.strip_prefix(&self.prefix).is_some_and(|rest| rest.starts_with('/'))
    }

    pub(super) fn links(&self, room: &RoomDesk, enter: &str) -> Links {
        let at = format!("{}/v1/rooms/{}", self.prefix, room.line.room());
        let polled = self.crowd_url.as_deref().unwrap_or_default().trim_end_matches('/');
        Links {
            poll: format!("{polled}{at}/position"),
            leave: format!("{polled}{at}/ticket"),
            rejoin: format!("{at}/tickets?return={}", super::query::escape(enter)),
        }
    }
}

/// Says which room an answer is about.
pub(super) fn about(room: &RoomDesk, answer: Answer) -> Answer {
    Answer { room: Some(room.line.room().clone()), ..answer }
}

impl Desk {
    /// Whether a bearer of the request is a ticket of any room: on the shop's own paths a bearer is the shop's,
    /// but a client that sends its ticket everywhere must not tell it to the shop.
    fn is_ticket_of_ours(&self, request: &Request<'_>) -> bool {
        let opens = |text: &str| {
            self.rooms.iter().any(|room| self.keyring.open_ticket(room.line.room(), text).is_ok())
        };
        let lines = request.headers.get_all(http::header::AUTHORIZATION).iter();
        lines.filter_map(|line| bearer_in(line)).any(opens)
    }

    async fn verdict(&self, request: &Request<'_>) -> Verdict {
        match self.routes.find(request.host, request.target) {
            Found::Room(index) => match self.rooms.get(index) {
                Some(room) => match self.gated(room, request).await {
                    Verdict::Answer(answer) => Verdict::Answer(about(room, answer)),
                    other => other,
                },
                None => Verdict::Answer(problem(NOT_FOUND, "", None)),
            },
            Found::Open(_) | Found::Free => Verdict::Forward(Permit::open()),
            Found::Prefix(rest) => match self.below_prefix(rest, request).await {
                Reply::Answer(answer) => Verdict::Answer(answer),
                Reply::Events(events) => Verdict::Events(events),
            },
            Found::Unserved => Verdict::Answer(problem(UNSERVED, "", None)),
            Found::Ambiguous => Verdict::Answer(problem(
                AMBIGUOUS,
                "Servers read such a path in different ways; please send it in its plain spelling.",
                None,
            )),
        }
    }
}

#[async_trait]
impl Gate for Desk {
    async fn decide(&self, request: &Request<'_>) -> Verdict {
        match self.verdict(request).await {
            Verdict::Forward(permit) => {
                Verdict::Forward(Permit { bearer_is_ours: self.is_ticket_of_ours(request), ..permit })
            }
            other => other,
        }
    }

    async fn wait(&self, request: &Request<'_>) -> Reply {
        match self.routes.below_prefix(request.target) {
            Some(rest) => self.below_prefix(rest, request).await,
            None => {
                let detail = "Only the waiting room's own addresses are served here.";
                Reply::Answer(problem(NOT_FOUND, detail, None))
            }
        }
    }

    async fn next(&self, events: &mut Events) -> Option<Bytes> {
        self.next_event(events).await
    }
}
