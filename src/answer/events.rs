//! Event streams: the document of a poll, sent when something has changed for its visitor.
//!
//! A stream asks where its visitor stands as often as a poll would, and through the same code: from memory far
//! back, by the line's batched check-in once called, so it gets its turn as a poll does. The heads are sent long
//! before the turn, so a stream sets no cookie: it announces `admitted` and ends, and the page's next request
//! brings the same admission as a cookie. Streams hold no documents: the door asks for the next one when the
//! last is written, so a reader that is too slow gets fewer.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use rand::Rng;
use tokio::sync::watch;
use tokio::time::Instant;

use super::account::Who;
use super::desk::{Desk, about};
use super::document::Document;
use super::intent::fetch_metadata;
use super::reserved::{CROSS_SITE, NO_TICKET, jitter, look, unavailable, until};
use super::room::{Place, RoomDesk, Visitor};
use super::{Answer, Door, Problem, Reply, Request, problem, reply};
use crate::limit::Guard;
use crate::metrics::{self, ConnectionRefusal, OpenStream};
use crate::queue::View;
use crate::room::Micros;
use crate::route::{Host, Target};
use crate::token::Ticket;

/// A stream is never silent for longer, so that nothing on the way takes it for dead.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// A turn that is near is waited for in pieces of this length, with the position told in between.
const HELD: Duration = Duration::from_secs(1);
/// Positions are told at most so often near the front, and at least so often at the end of a long line.
const PACE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// The wait that is left, divided by this, lies between two positions.
const STEPS: u32 = 64;
/// News for everybody go out over this time, so that a crowd never answers in step.
const SPREAD: Duration = Duration::from_millis(300);

const TOO_MANY: Problem = Problem::new(
    "too-many-streams",
    StatusCode::SERVICE_UNAVAILABLE,
    "As many event streams are held as may be",
);

/// The event stream of one visitor.
#[derive(Debug)]
pub struct Events {
    head: Answer,
    room: usize,
    asked: Asked,
    ticket: Ticket,
    place: Place,
    who: Who,
    /// What the opening request found, to be told first.
    found: Option<(Visitor, View)>,
    /// The last document without what changes all the time.
    told: Vec<u8>,
    /// Nothing more will be told.
    over: bool,
    /// When to look again.
    due: Instant,
    /// When something was last sent.
    sent: Instant,
    news: watch::Receiver<u64>,
    _held: Guard,
    _open: OpenStream,
}

impl Events {
    /// The head: an answer without its body.
    #[must_use]
    pub fn head(&self) -> Answer {
        self.head.clone()
    }
}

/// What is kept of the request, to write documents as for it.
#[derive(Debug)]
struct Asked {
    https: bool,
    host: Host,
    target: Target,
    headers: HeaderMap,
    client: IpAddr,
    door: Door,
}

impl Asked {
    fn of(request: &Request<'_>) -> Self {
        Self {
            https: request.https,
            host: request.host.clone(),
            target: request.target.clone(),
            headers: fetch_metadata(request.headers),
            client: request.client,
            door: request.door,
        }
    }

    fn request(&self) -> Request<'_> {
        Request {
            method: &Method::GET,
            https: self.https,
            host: &self.host,
            target: &self.target,
            headers: &self.headers,
            client: self.client,
            // Whose stream it is was settled when it was opened.
            peer_trusted: false,
            door: self.door,
        }
    }
}

impl Desk {
    /// Opens a stream, or says why not as a poll would.
    pub(super) async fn events(&self, index: usize, request: &Request<'_>) -> Reply {
        let Some(room) = self.rooms.get(index) else {
            return Reply::Answer(problem(super::desk::NOT_FOUND, "", None));
        };
        match self.open(room, index, request).await {
            Ok(mut events) => {
                self.share(request, &mut events.head);
                Reply::Events(Box::new(events))
            }
            Err(mut refusal) => {
                self.share(request, &mut refusal);
                Reply::Answer(about(room, *refusal))
            }
        }
    }

    async fn open(
        &self,
        room: &RoomDesk,
        index: usize,
        request: &Request<'_>,
    ) -> Result<Events, Box<Answer>> {
        if self.is_foreign(request) {
            return Err(Box::new(problem(CROSS_SITE, "", None)));
        }
        let who = room.who(request, self.now()).await;
        let Some((ticket, place)) = room.ticket(request, |bound| who.may_ask(bound)) else {
            let known = room.view().fresh;
            return Err(Box::new(if known { problem(NO_TICKET, "", None) } else { unavailable(room) }));
        };
        let held = self.streams.try_admit(request.client).ok_or_else(|| self.too_many(room))?;
        let (visitor, view) = look(room, &ticket, place.clone(), Duration::ZERO, &who).await;
        if matches!(visitor, Visitor::Lapsed(_) | Visitor::Left(_)) {
            let document = reply::document(self, room, request, &visitor, &view);
            return Err(Box::new(reply::json(StatusCode::GONE, &document)));
        }
        Ok(Events {
            head: about(room, head()),
            room: index,
            asked: Asked::of(request),
            ticket,
            place,
            who,
            found: Some((visitor, view)),
            told: Vec::new(),
            over: false,
            due: Instant::now(),
            sent: Instant::now(),
            news: room.line.news(),
            _held: held,
            _open: OpenStream::of(room.line.room()),
        })
    }

    fn too_many(&self, room: &RoomDesk) -> Box<Answer> {
        let full = self.streams.len() >= self.streams.total_max();
        let cause = if full { ConnectionRefusal::Full } else { ConnectionRefusal::ClientFull };
        metrics::stream_refused(room.line.room(), cause);
        Box::new(problem(TOO_MANY, "Please poll for the position instead.", Some(jitter(30))))
    }

    /// The next bytes of a stream; `None` when it is over or the instance stops.
    pub(super) async fn next_event(&self, events: &mut Events) -> Option<Bytes> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => None,
            bytes = self.tell(events) => bytes,
        }
    }

    async fn tell(&self, events: &mut Events) -> Option<Bytes> {
        let room = self.rooms.get(events.room)?;
        loop {
            let found = match events.found.take() {
                Some(found) => found,
                None if events.over => return None,
                None if events.rest().await => {
                    let (ticket, place) = (&events.ticket, events.place.clone());
                    look(room, ticket, place, HELD, &events.who).await
                }
                None => return Some(events.send(Bytes::from_static(b":\n\n"))),
            };
            if let Some(bytes) = self.document(room, events, &found).await {
                return Some(events.send(bytes));
            }
        }
    }

    /// The document if it says something new.
    async fn document(&self, room: &RoomDesk, events: &mut Events, found: &(Visitor, View)) -> Option<Bytes> {
        let (visitor, view) = found;
        if let Visitor::Admitted(_, pass) = visitor {
            until(Micros(pass.claims.slot), self.now()).await;
        }
        events.over = !matches!(visitor, Visitor::Waiting(_));
        let document = reply::document(self, room, &events.asked.request(), visitor, view);
        events.due = Instant::now() + pace(&document, events.place.number, view);
        let told = essence(&document);
        if told == events.told {
            return None;
        }
        let first = events.told.is_empty();
        events.told = told;
        Some(framed(&document, first))
    }
}

impl Events {
    /// Waits until it is time to look again; false when something must be sent first to stay alive.
    async fn rest(&mut self) -> bool {
        let alive = self.sent + HEARTBEAT;
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(self.due.min(alive)) => self.due <= alive,
            news = self.news.changed() => {
                // Without a line there is nothing more to hear.
                self.over |= news.is_err();
                let spread = SPREAD.mul_f64(rand::rng().random_range(0.0..1.0));
                tokio::time::sleep(spread).await;
                true
            }
        }
    }

    fn send(&mut self, bytes: Bytes) -> Bytes {
        self.sent = Instant::now();
        bytes
    }
}

fn head() -> Answer {
    let mut head = reply::json(StatusCode::OK, &());
    head.body.clear();
    let mut set = |name, value| head.headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, "text/event-stream");
    // Compressing on the way would hold documents back.
    set(header::CACHE_CONTROL, "no-store, no-transform");
    set(header::HeaderName::from_static("x-accel-buffering"), "no");
    head
}

/// As soon as a poll would come, and sooner where the position moves.
fn pace(document: &Document, number: crate::room::Number, view: &View) -> Duration {
    let poll = Duration::from_millis(document.next_poll_ms);
    let turn =
        view.snapshot.as_deref().map_or(PACE.1, |snapshot| snapshot.turn_in(snapshot.draw.number_of(number)));
    poll.min((turn / STEPS).clamp(PACE.0, PACE.1))
}

/// The document without what changes all the time and for everybody: two that are alike say nothing new.
fn essence(document: &Document) -> Vec<u8> {
    let mut document = document.clone();
    document.next_poll_ms = 0;
    document.room.server_time.clear();
    document.room.waiting = None;
    if let Some(visitor) = &mut document.visitor {
        visitor.wait_seconds = None;
    }
    serde_json::to_vec(&document).unwrap_or_default()
}

/// A document as an event; the first also says when to come back after a break.
fn framed(document: &Document, first: bool) -> Bytes {
    let mut text = Vec::with_capacity(512);
    if first {
        text.extend_from_slice(format!("retry: {}\n", 1000 * jitter(3)).as_bytes());
    }
    text.extend_from_slice(b"data: ");
    text.extend_from_slice(&serde_json::to_vec(document).unwrap_or_default());
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

#[cfg(test)]
mod tests;
