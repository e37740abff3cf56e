//! One room at the desk: its line, its page, its cookies, and the questions that both kinds of answers ask.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

use super::account::{Teller, Who};
use super::cookies::{Cookies, DAY, Kind, TICKET_MAX_AGE};
use super::sharing::Sharing;
use super::{Request, RoomSettings};
use crate::metrics;
use crate::page::Page;
use crate::queue::{Line, StoreError, View};
use crate::room::{Admission, JoinOutcome, Lineage, Micros, Number, Seat, Snapshot, Standing};
use crate::token::{Binding, CannotSign, IssuedPass, Keyring, Pass, Ticket};

/// The header that carries a pass for clients without cookies.
pub(super) const PASS_HEADER: &str = "x-ropeline-pass";

/// Why a genuine token is not believed: it is somebody else's.
const OTHERS: &str = "other_account";

pub(super) struct RoomDesk {
    pub(super) settings: RoomSettings,
    pub(super) line: Arc<Line>,
    pub(super) page: Page,
    pub(super) cookies: Cookies,
    pub(super) keyring: Arc<Keyring>,
    /// Tells accounts, where the room does.
    pub(super) teller: Option<Teller>,
    pub(super) sharing: Arc<Sharing>,
}

/// A valid pass that a request showed.
#[derive(Debug, Clone)]
pub(super) struct Held {
    pub(super) pass: Arc<Pass>,
    pub(super) token: String,
    /// Shown by the header for clients without cookies.
    pub(super) by_header: bool,
}

/// What is known of a visitor after asking.
#[derive(Debug, Clone)]
pub(super) enum Visitor {
    /// No place, and none was asked for.
    Nobody,
    /// In line.
    Waiting(Place),
    /// The turn has come; the pass is ready.
    Admitted(Place, Box<IssuedPass>),
    /// Must join anew.
    Lapsed(Place),
    /// Gave the place up.
    Left(Place),
    /// The line is full.
    Full,
    /// There are no new places: whoever joined now would stand behind what the shop has left.
    SoldOut,
    /// The doors are not open yet.
    NotOpen,
    /// The room is closed.
    Closed,
}

/// A place and the ticket that proves it.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// As in the ticket; [`Snapshot::seat`] says what it is by now.
    pub(super) number: Number,
    pub(super) ticket: String,
    /// Whether this request made the ticket.
    pub(super) new: bool,
    /// Whether the account had the place already, from another device.
    pub(super) known: bool,
    /// Whether the holder is an application that keeps its tokens itself and sends the ticket as a bearer.
    pub(super) bearer: bool,
}

impl Visitor {
    /// An account's place that was there already is shown to no script of a page: any could ask for it with a
    /// bearer of its own, and the account's cookie comes along by itself.
    pub(super) fn of_a_browser_if(mut self, browser: bool) -> Self {
        if let (true, Self::Waiting(place) | Self::Admitted(place, _)) = (browser, &mut self) {
            place.bearer &= !place.known;
        }
        self
    }

    /// The place of a visitor who waits or goes in.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            Self::Waiting(place) | Self::Admitted(place, _) => Some(place),
            Self::Nobody | Self::Lapsed(_) | Self::Left(_) => None,
            Self::Full | Self::SoldOut | Self::NotOpen | Self::Closed => None,
        }
    }
}

/// Why a visitor could not be told anything.
#[derive(Debug, Clone)]
pub(super) enum Trouble {
    /// The store, or before the first snapshot.
    Store,
    /// A pass could not be signed.
    Signing,
}

impl From<StoreError> for Trouble {
    fn from(_: StoreError) -> Self {
        Self::Store
    }
}

impl From<CannotSign> for Trouble {
    fn from(_: CannotSign) -> Self {
        Self::Signing
    }
}

impl RoomDesk {
    /// The valid pass of a request, if it is this visitor's and its stay goes on. No store call.
    pub(super) fn pass(&self, request: &Request<'_>, now: Micros, who: &Who) -> Option<Held> {
        let cookies = self.cookies.values(Kind::Pass, request.https, request.headers);
        let header = request.headers.get(PASS_HEADER).and_then(|v| v.to_str().ok());
        let shown = header.map(|text| (text, true)).into_iter().chain(cookies.map(|text| (text, false)));
        shown.into_iter().find_map(|(text, by_header)| {
            match self.keyring.check_pass(self.line.room(), text, now, self.settings.leeway) {
                Ok(pass) if !who.holds(pass.bound) => {
                    metrics::token_refused(metrics::Token::Pass, OTHERS);
                    None
                }
                Ok(pass) if self.line.is_over(pass.lineage, pass.number, pass.not_before) => {
                    metrics::token_refused(metrics::Token::Pass, "over");
                    None
                }
                Ok(pass) => Some(Held { pass, token: text.to_owned(), by_header }),
                Err(fault) => {
                    metrics::token_refused(metrics::Token::Pass, fault.label());
                    None
                }
            }
        })
    }

    /// The valid ticket of a request, from the bearer header or the cookie, and the place that it proves, if
    /// `mine` says that it is this visitor's. A bearer that is no ticket of ours is the shop's business.
    pub(super) fn ticket(
        &self,
        request: &Request<'_>,
        mine: impl Fn(Option<Binding>) -> bool,
    ) -> Option<(Ticket, Place)> {
        let cookies = self.cookies.values(Kind::Ticket, request.https, request.headers);
        let own = bearer(request.headers).map(|text| (text, true));
        own.into_iter().chain(cookies.map(|text| (text, false))).find_map(|(text, bearer)| {
            match self.keyring.open_ticket(self.line.room(), text) {
                Ok(ticket) if mine(ticket.bound) => {
                    let ticket_text = text.to_owned();
                    let place = Place {
                        number: ticket.number,
                        ticket: ticket_text,
                        new: false,
                        known: false,
                        bearer,
                    };
                    Some((ticket, place))
                }
                Ok(_) => {
                    metrics::token_refused(metrics::Token::Ticket, OTHERS);
                    None
                }
                Err(fault) => {
                    metrics::token_refused(metrics::Token::Ticket, fault.label());
                    None
                }
            }
        })
    }

    /// Where the holder of a ticket stands. From memory for those who are not called yet, unless the store may have lost
    /// the place.
    pub(super) async fn standing(
        &self,
        ticket: &Ticket,
        place: Place,
        patience: Duration,
        who: &Who,
    ) -> Result<Visitor, Trouble> {
        let life = self.snapshot().ok_or(Trouble::Store)?.lineage;
        let identity = who.identity().filter(|_| ticket.bound.is_some());
        if ticket.lineage != life || self.line.place_of(ticket.number, identity).await? != ticket.number {
            return Ok(Visitor::Lapsed(place));
        }
        let snapshot = self.snapshot().ok_or(Trouble::Store)?;
        self.line.hear(ticket.number);
        let (number, lobby) = match snapshot.seat(ticket.number) {
            Seat::Number(number) => (number, false),
            Seat::Lobby(_) => (ticket.number, true),
        };
        if lobby || number > snapshot.called && number <= snapshot.last {
            let left = self.line.has_left(ticket.number);
            return Ok(if left { Visitor::Left(place) } else { Visitor::Waiting(place) });
        }
        let standing = self.line.ask(number, patience).await?;
        self.visitor(place, standing, ticket.lineage, ticket.bound)
    }

    /// Takes a place, or finds the one that the account has, and waits for the turn if that comes at once.
    /// `bearer`: for an application that keeps its tokens itself.
    pub(super) async fn join(
        &self,
        now: Micros,
        patience: Duration,
        bearer: bool,
        who: &Who,
    ) -> Result<Visitor, Trouble> {
        if self.snapshot().is_some_and(|snapshot| snapshot.closed_by_stock()) {
            metrics::joined(self.line.room(), metrics::Join::SoldOut);
            return Ok(Visitor::SoldOut);
        }
        let outcome = self.line.join(who.identity()).await?;
        let snapshot = self.snapshot().ok_or(Trouble::Store)?;
        let JoinOutcome::Placed { number, standing, new } = outcome else {
            return Ok(self.refused(outcome));
        };
        metrics::joined(self.line.room(), if new { metrics::Join::New } else { metrics::Join::Again });
        let (room, lineage, bound) = (self.line.room().clone(), snapshot.lineage, who.binding());
        let ticket = self.keyring.seal_ticket(&Ticket { room, lineage, number, issued: now, bound });
        let place = Place { number, ticket, new: true, known: !new, bearer };
        let drawn = snapshot.draw.number_of(number);
        let near = standing == Standing::Waiting && snapshot.is_near(drawn) && !patience.is_zero();
        // The place is made: if the store goes away now, it is kept and told as waiting.
        let standing =
            if near { self.line.ask(drawn, patience).await.unwrap_or(Standing::Waiting) } else { standing };
        self.visitor(place, standing, lineage, bound)
    }

    /// A join that got no place.
    fn refused(&self, outcome: JoinOutcome) -> Visitor {
        let (word, visitor) = match outcome {
            JoinOutcome::NotOpen => (metrics::Join::NotOpen, Visitor::NotOpen),
            JoinOutcome::Closed => (metrics::Join::Closed, Visitor::Closed),
            JoinOutcome::Full | JoinOutcome::Placed { .. } => (metrics::Join::Full, Visitor::Full),
        };
        metrics::joined(self.line.room(), word);
        visitor
    }

    fn visitor(
        &self,
        place: Place,
        standing: Standing,
        lineage: Lineage,
        bound: Option<Binding>,
    ) -> Result<Visitor, Trouble> {
        Ok(match standing {
            Standing::Waiting => Visitor::Waiting(place),
            Standing::Admitted(admission) => {
                Visitor::Admitted(place, Box::new(self.issue(lineage, admission, bound)?))
            }
            Standing::Left => Visitor::Left(place),
            Standing::Lapsed | Standing::Unknown => Visitor::Lapsed(place),
        })
    }

    /// The pass of an admission. It prints what the store has acknowledged and nothing beyond.
    pub(super) fn issue(
        &self,
        lineage: Lineage,
        admission: Admission,
        bound: Option<Binding>,
    ) -> Result<IssuedPass, CannotSign> {
        let lasts = admission.until.since(admission.slot);
        self.keyring.issue_pass(self.line.room(), lineage, admission, lasts, bound)
    }

    pub(super) fn view(&self) -> View {
        self.line.view()
    }

    pub(super) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.line.view().snapshot
    }

    /// A turn that comes within this time is waited for on the request.
    pub(super) fn hold(&self) -> Duration {
        self.snapshot().map_or(Duration::ZERO, |snapshot| snapshot.rules.hold)
    }

    /// How long a browser keeps a ticket: until a day after the room closes.
    pub(super) fn ticket_max_age(&self) -> Duration {
        let closes = self.snapshot().and_then(|s| Some(s.rules.schedule.closes?.since(s.now)));
        closes.map_or(TICKET_MAX_AGE, |left| left + DAY)
    }

    /// Whether the room is on this host.
    pub(super) fn is_on(&self, host: &str) -> bool {
        self.settings.hosts.is_empty() || self.settings.hosts.iter().any(|h| h == host)
    }
}

/// The bearer token of a request.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    bearer_in(headers.get(header::AUTHORIZATION)?)
}

/// The bearer token in a line of `Authorization`.
pub(super) fn bearer_in(line: &HeaderValue) -> Option<&str> {
    let value = line.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
