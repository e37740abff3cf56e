//! The addresses under the reserved prefix: join, poll, leave, the room's public state, the keys of passes.

use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use rand::Rng;

use super::account::Who;
use super::cookies::Kind;
use super::desk::{Desk, NOT_FOUND, about};
use super::document::{RoomAlone, RoomDocument};
use super::intent::{Intent, has_fetch_metadata, is_cross_site};
use super::room::{Place, RoomDesk, Trouble, Visitor, bearer};
use super::{Answer, Door, Problem, Reply, Request, problem, query, reply};
use crate::metrics;
use crate::queue::View;
use crate::room::{EndCause, Micros};
use crate::token::Ticket;

/// A poll of somebody whose turn is near is held for so long at most: then the pick-up is at once. Longer would
/// run into the timeouts of ordinary clients.
const HELD_MAX: Duration = Duration::from_secs(4);

const METHOD: Problem = Problem::new(
    "method-not-allowed",
    StatusCode::METHOD_NOT_ALLOWED,
    "This address does not know the method",
);
pub(super) const CROSS_SITE: Problem =
    Problem::new("cross-site", StatusCode::FORBIDDEN, "Another site may not take a place for its visitors");
pub(super) const NO_TICKET: Problem =
    Problem::new("no-ticket", StatusCode::UNAUTHORIZED, "A valid ticket of this room is needed");
const SOLD_OUT: Problem =
    Problem::new("sold-out", StatusCode::CONFLICT, "The tickets that are left are spoken for");
const FULL: Problem = Problem::new("line-full", StatusCode::CONFLICT, "The line is full");
const NOT_OPEN: Problem = Problem::new("not-open", StatusCode::CONFLICT, "The doors are not open yet");
const CLOSED: Problem = Problem::new("closed", StatusCode::CONFLICT, "The room is closed");
const UNAVAILABLE: Problem = Problem::new(
    "unavailable",
    StatusCode::SERVICE_UNAVAILABLE,
    "The waiting room cannot be asked right now",
);

impl Desk {
    /// Answers a request under the prefix, or opens a stream; `rest` is its path below it.
    pub(super) async fn below_prefix(&self, rest: &str, request: &Request<'_>) -> Reply {
        if let Some(room) = rest.strip_prefix("/v1/rooms/").and_then(|rest| rest.strip_suffix("/events"))
            && *request.method == Method::GET
            && let Some(index) = self.room_index(room, request)
        {
            return self.events(index, request).await;
        }
        Reply::Answer(self.reserved(rest, request).await)
    }

    async fn reserved(&self, rest: &str, request: &Request<'_>) -> Answer {
        let mut answer = if *request.method == Method::OPTIONS {
            self.preflight(request)
        } else {
            self.endpoint(rest, request).await
        };
        self.share(request, &mut answer);
        answer
    }

    async fn endpoint(&self, rest: &str, request: &Request<'_>) -> Answer {
        let segments: Vec<&str> = rest.split('/').skip(1).collect();
        match segments.as_slice() {
            ["v1", "jwks.json"] => only(request, &[Method::GET, Method::HEAD]).unwrap_or_else(|| self.jwks()),
            ["v1", "rooms", id, what @ ..] => match self.room(id, request) {
                Some(room) => about(room, self.of_room(room, what, request).await),
                None => problem(NOT_FOUND, "There is no such room on this host.", None),
            },
            _ => problem(NOT_FOUND, "", None),
        }
    }

    fn room(&self, id: &str, request: &Request<'_>) -> Option<&RoomDesk> {
        self.room_index(id, request).and_then(|index| self.rooms.get(index))
    }

    fn room_index(&self, id: &str, request: &Request<'_>) -> Option<usize> {
        let on_host = |room: &RoomDesk| request.door == Door::Crowd || room.is_on(request.host.name());
        self.rooms.iter().position(|room| room.line.room().as_str() == id && on_host(room))
    }

    async fn of_room(&self, room: &RoomDesk, what: &[&str], request: &Request<'_>) -> Answer {
        let read = [Method::GET, Method::HEAD];
        match what {
            [] => match only(request, &read) {
                Some(refused) => refused,
                None => self.public(room),
            },
            ["tickets"] => match only(request, &[Method::POST]) {
                Some(refused) => refused,
                None => self.join(room, request).await,
            },
            ["position"] => match only(request, &read) {
                Some(refused) => refused,
                None => self.poll(room, request).await,
            },
            // A GET has opened the stream before it came here.
            ["events"] => only(request, &[Method::GET]).unwrap_or_else(|| problem(NOT_FOUND, "", None)),
            ["ticket"] => match only(request, &[Method::DELETE]) {
                Some(refused) => refused,
                None => self.leave(room, request).await,
            },
            ["pass"] => match only(request, &[Method::DELETE]) {
                Some(refused) => refused,
                None => self.depart(room, request).await,
            },
            _ => problem(NOT_FOUND, "", None),
        }
    }

    /// The room alone, the same for everybody.
    fn public(&self, room: &RoomDesk) -> Answer {
        let room = RoomDocument::of(room.line.room(), &room.view(), self.now());
        let mut answer = reply::json(StatusCode::OK, &RoomAlone { room });
        answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=1"));
        answer.headers.remove(header::VARY);
        answer
    }

    fn jwks(&self) -> Answer {
        let mut answer = reply::json(StatusCode::OK, &());
        answer.body = self.keyring.jwks();
        answer.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/jwk-set+json"));
        answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=60"));
        answer.headers.remove(header::VARY);
        answer
    }

    /// Takes a place, or gives the one again that the visitor has.
    async fn join(&self, room: &RoomDesk, request: &Request<'_>) -> Answer {
        if self.is_foreign(request) {
            return problem(CROSS_SITE, "", None);
        }
        let who = room.who(request, self.now()).await;
        if let Some(answer) = self.without_account(room, request, &who) {
            return answer;
        }
        let visitor = match self.place(room, request, &who).await {
            Ok(visitor) => visitor,
            Err(_) => return unavailable(room),
        };
        if let Some(refusal) = refused(room, &visitor) {
            return refusal;
        }
        let form = Intent::of(request.method, request.headers) == Intent::Navigation;
        let mut answer = match query::return_to(request.target.raw()).filter(|_| form) {
            Some(target) if !self.is_reserved(&target) => see_other(&target),
            _ => self.joined(room, request, &visitor),
        };
        for cookie in self.joined_cookies(room, request, &visitor) {
            answer.headers.append(header::SET_COOKIE, cookie);
        }
        answer
    }

    /// The place of a valid ticket while it lives, else a new one.
    async fn place(&self, room: &RoomDesk, request: &Request<'_>, who: &Who) -> Result<Visitor, Trouble> {
        if !room.view().fresh {
            return Err(Trouble::Store);
        }
        if let Some((ticket, place)) = room.ticket(request, |bound| who.holds(bound)) {
            let visitor = room.standing(&ticket, place, Duration::ZERO, who).await?;
            if matches!(visitor, Visitor::Waiting(_) | Visitor::Admitted(..)) {
                metrics::joined(room.line.room(), metrics::Join::Again);
                return Ok(visitor);
            }
        }
        let visitor = room.join(self.now(), Duration::ZERO, bearer(request.headers).is_some(), who).await?;
        Ok(visitor.of_a_browser_if(has_fetch_metadata(request.headers)))
    }

    fn joined(&self, room: &RoomDesk, request: &Request<'_>, visitor: &Visitor) -> Answer {
        let place = visitor.place();
        let mut document = reply::document(self, room, request, visitor, &room.view());
        // Joining again brings the ticket again, to those who may have it in a body.
        let shown = place.filter(|place| reply::may_show_tokens(request, place));
        document.ticket = shown.map(|place| place.ticket.clone());
        let new = place.is_some_and(|place| place.new && !place.known);
        reply::json(if new { StatusCode::CREATED } else { StatusCode::OK }, &document)
    }

    fn joined_cookies(&self, room: &RoomDesk, request: &Request<'_>, visitor: &Visitor) -> Vec<HeaderValue> {
        reply::cookies_of(room, request, visitor, self.now())
    }

    /// The position; for the called also the check-in, and at the turn the pass.
    async fn poll(&self, room: &RoomDesk, request: &Request<'_>) -> Answer {
        metrics::polled(room.line.room());
        let who = room.who(request, self.now()).await;
        let Some((ticket, place)) = room.ticket(request, |bound| who.may_ask(bound)) else {
            return if room.view().fresh { problem(NO_TICKET, "", None) } else { unavailable(room) };
        };
        let (visitor, view) = look(room, &ticket, place, HELD_MAX, &who).await;
        if let Visitor::Admitted(_, pass) = &visitor {
            until(Micros(pass.claims.slot), self.now()).await;
        }
        let status = match visitor {
            Visitor::Lapsed(_) | Visitor::Left(_) => StatusCode::GONE,
            _ => StatusCode::OK,
        };
        let mut answer = reply::json(status, &reply::document(self, room, request, &visitor, &view));
        for cookie in reply::cookies_of(room, request, &visitor, self.now()) {
            answer.headers.append(header::SET_COOKIE, cookie);
        }
        answer
    }

    /// Gives the place up; repeatable.
    async fn leave(&self, room: &RoomDesk, request: &Request<'_>) -> Answer {
        if self.is_foreign(request) {
            return problem(CROSS_SITE, "", None);
        }
        let who = room.who(request, self.now()).await;
        if let Some((ticket, _)) = room.ticket(request, |bound| who.may_ask(bound)) {
            let current = room.snapshot().is_some_and(|snapshot| snapshot.lineage == ticket.lineage);
            if current && room.line.leave(ticket.number).await.is_err() {
                return unavailable(room);
            }
            metrics::left(room.line.room());
        }
        let mut answer = reply::json(StatusCode::NO_CONTENT, &());
        answer.headers.remove(header::CONTENT_TYPE);
        answer.body.clear();
        if request.door == Door::Edge {
            let cleared = room.cookies.clear(Kind::Ticket, request.https);
            answer.headers.extend(cleared.map(|cookie| (header::SET_COOKIE, cookie)));
        }
        answer
    }

    /// Ends the visitor's stay in the shop; repeatable. The place inside is free once this is answered.
    async fn depart(&self, room: &RoomDesk, request: &Request<'_>) -> Answer {
        if self.is_foreign(request) {
            return problem(CROSS_SITE, "", None);
        }
        let who = room.who(request, self.now()).await;
        if let Some(held) = room.pass(request, self.now(), &who)
            && room.line.end(held.pass.number, EndCause::Visitor).await.is_err()
        {
            return unavailable(room);
        }
        let mut answer = reply::json(StatusCode::NO_CONTENT, &());
        answer.headers.remove(header::CONTENT_TYPE);
        answer.body.clear();
        if request.door == Door::Edge {
            for kind in [Kind::Pass, Kind::Ticket] {
                let cleared = room.cookies.clear(kind, request.https);
                answer.headers.extend(cleared.map(|cookie| (header::SET_COOKIE, cookie)));
            }
        }
        answer
    }

    /// Another site that is not on the list.
    pub(super) fn is_foreign(&self, request: &Request<'_>) -> bool {
        let origin = request.headers.get(header::ORIGIN).and_then(|v| v.to_str().ok());
        let allowed = origin.is_some_and(|origin| self.may_call(origin));
        !allowed && is_cross_site(request.headers, request.host.authority())
    }

    fn preflight(&self, request: &Request<'_>) -> Answer {
        let mut answer = reply::json(StatusCode::NO_CONTENT, &());
        answer.headers.remove(header::CONTENT_TYPE);
        answer.body.clear();
        if self.origin(request).is_some() {
            let mut set = |name: header::HeaderName, value: &'static str| {
                answer.headers.insert(name, HeaderValue::from_static(value));
            };
            set(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE");
            set(header::ACCESS_CONTROL_ALLOW_HEADERS, "Authorization, Content-Type, X-Ropeline-Pass");
            set(header::ACCESS_CONTROL_MAX_AGE, "600");
        }
        answer
    }

    fn origin<'r>(&self, request: &Request<'r>) -> Option<&'r HeaderValue> {
        let origin = request.headers.get(header::ORIGIN)?;
        origin.to_str().is_ok_and(|text| self.may_call(text)).then_some(origin)
    }

    /// Lets scripts of listed origins read the answer.
    pub(super) fn share(&self, request: &Request<'_>, answer: &mut Answer) {
        if !self.is_shared() {
            return;
        }
        let vary = answer.headers.get(header::VARY).and_then(|v| v.to_str().ok());
        let vary = vary.map_or_else(|| "Origin".to_owned(), |vary| format!("{vary}, Origin"));
        if let Ok(vary) = HeaderValue::from_str(&vary) {
            answer.headers.insert(header::VARY, vary);
        }
        if let Some(origin) = self.origin(request) {
            answer.headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            let exposed = HeaderValue::from_static("Retry-After");
            answer.headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        }
    }
}

/// Where the holder of a ticket stands, as well as it can be known.
pub(super) async fn look(
    room: &RoomDesk,
    ticket: &Ticket,
    place: Place,
    patience: Duration,
    who: &Who,
) -> (Visitor, View) {
    match room.standing(ticket, place.clone(), patience, who).await {
        Ok(visitor) => (visitor, room.view()),
        // The place is kept, and the position is known from memory.
        Err(_) => (Visitor::Waiting(place), View { fresh: false, ..room.view() }),
    }
}

/// The answer for a method that the address does not know.
fn only(request: &Request<'_>, methods: &[Method]) -> Option<Answer> {
    if methods.contains(request.method) {
        return None;
    }
    let mut answer = problem(METHOD, "", None);
    let allowed = methods.iter().map(Method::as_str).collect::<Vec<_>>().join(", ");
    answer.headers.extend(HeaderValue::from_str(&allowed).ok().map(|value| (header::ALLOW, value)));
    Some(answer)
}

/// No place, and no trouble either: full, not open yet, closed. An application is told when to come again.
fn refused(room: &RoomDesk, visitor: &Visitor) -> Option<Answer> {
    let doors = || {
        let snapshot = room.snapshot()?;
        Some(snapshot.rules.schedule.doors?.since(snapshot.now).as_secs())
    };
    Some(match visitor {
        Visitor::SoldOut => {
            let detail = "There are no places beyond what is left. Please try again later.";
            problem(SOLD_OUT, detail, Some(jitter(30)))
        }
        Visitor::Full => problem(FULL, "Please try again later.", Some(jitter(30))),
        // Spread over some seconds after the doors open.
        Visitor::NotOpen => problem(NOT_OPEN, "", Some(doors().unwrap_or(60) + jitter(4))),
        Visitor::Closed => problem(CLOSED, "", Some(jitter(600))),
        _ => return None,
    })
}

pub(super) fn unavailable(room: &RoomDesk) -> Answer {
    tracing::debug!(room = %room.line.room(), "answered as unavailable");
    problem(UNAVAILABLE, "Places that were taken are kept. Please try again.", Some(jitter(5)))
}

fn see_other(target: &str) -> Answer {
    let mut answer = reply::json(StatusCode::SEE_OTHER, &());
    answer.headers.remove(header::CONTENT_TYPE);
    answer.headers.extend(HeaderValue::from_str(target).ok().map(|value| (header::LOCATION, value)));
    answer.body.clear();
    answer
}

/// Between half of `seconds` and one and a half of it.
pub(super) fn jitter(seconds: u64) -> u64 {
    rand::rng().random_range(seconds.div_ceil(2)..=seconds + seconds / 2)
}

/// Waits for a slot; they lie at most a few seconds ahead.
pub(super) async fn until(slot: Micros, now: Micros) {
    let ahead = slot.since(now).min(Duration::from_secs(10));
    if !ahead.is_zero() {
        tokio::time::sleep(ahead).await;
    }
}
