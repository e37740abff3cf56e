//! Our own answers to gated requests and polls: the document and the waiting page, with what must never be
//! forgotten about either: not stored, not indexed, tokens only where they may be.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use rand::Rng;

use super::cookies::Kind;
use super::desk::Desk;
use super::document::{Document, PassDocument, RoomDocument, VisitorDocument, VisitorState, millis, rfc3339};
use super::gated::{KEPT_WAITING, enter_url, tokens};
use super::intent::has_fetch_metadata;
use super::room::{Place, RoomDesk, Visitor};
use super::{Answer, Door, Request, stock};
use crate::metrics::RequestOutcome;
use crate::page::{self, Facts, Rejoin};
use crate::queue::View;
use crate::room::{Micros, Number};
use crate::token::IssuedPass;

/// The longest first poll after joining: a place counts only once its holder was heard of.
const FIRST_POLL_MAX: Duration = Duration::from_secs(10);

/// The document for an application whose request is kept waiting or refused.
pub(super) fn gated(desk: &Desk, room: &RoomDesk, request: &Request<'_>, visitor: &Visitor) -> Answer {
    let document = document(desk, room, request, visitor, &room.view());
    kept_waiting(room, request, visitor, &document, desk.now())
}

/// The document or page while the store cannot be asked.
pub(super) fn unavailable(
    desk: &Desk,
    room: &RoomDesk,
    request: &Request<'_>,
    visitor: &Visitor,
    navigation: bool,
) -> Answer {
    let view = View { fresh: false, ..room.view() };
    let document = document(desk, room, request, visitor, &view);
    if navigation {
        let mut answer = page_of(desk, room, request, visitor, &document, StatusCode::SERVICE_UNAVAILABLE);
        retry_after(&mut answer.headers, document.next_poll_ms);
        return answer;
    }
    kept_waiting(room, request, visitor, &document, desk.now())
}

fn kept_waiting(
    room: &RoomDesk,
    request: &Request<'_>,
    visitor: &Visitor,
    document: &Document,
    now: Micros,
) -> Answer {
    let mut answer = json(KEPT_WAITING, document);
    answer.outcome = RequestOutcome::WaitingDocument;
    retry_after(&mut answer.headers, document.next_poll_ms);
    for cookie in cookies_of(room, request, visitor, now) {
        answer.headers.append(header::SET_COOKIE, cookie);
    }
    answer
}

/// The waiting page.
pub(super) fn page(desk: &Desk, room: &RoomDesk, request: &Request<'_>, visitor: &Visitor) -> Answer {
    let document = document(desk, room, request, visitor, &room.view());
    let mut answer = page_of(desk, room, request, visitor, &document, room.settings.page_status);
    for cookie in cookies_of(room, request, visitor, desk.now()) {
        answer.headers.append(header::SET_COOKIE, cookie);
    }
    answer
}

/// Cookies that go with a visitor's answer at the edge; the crowd door sets none.
pub(super) fn cookies_of(
    room: &RoomDesk,
    request: &Request<'_>,
    visitor: &Visitor,
    now: Micros,
) -> Vec<HeaderValue> {
    if request.door == Door::Crowd {
        return Vec::new();
    }
    match visitor {
        Visitor::Waiting(place) => tokens(room, request, place, None, now),
        Visitor::Admitted(place, pass) => tokens(room, request, place, Some(pass), now),
        Visitor::Left(_) => room.cookies.clear(Kind::Ticket, request.https).into_iter().collect(),
        Visitor::Nobody | Visitor::Lapsed(_) => Vec::new(),
        Visitor::Full | Visitor::SoldOut | Visitor::NotOpen | Visitor::Closed => Vec::new(),
    }
}

/// The document for a visitor.
pub(super) fn document(
    desk: &Desk,
    room: &RoomDesk,
    request: &Request<'_>,
    visitor: &Visitor,
    view: &View,
) -> Document {
    let place = visitor.place();
    let shown = place.is_some_and(|place| may_show_tokens(request, place));
    Document {
        room: room_document(room, view, visitor, desk.now()),
        visitor: visitor_document(visitor, view),
        next_poll_ms: next_poll(room, place, view),
        ticket: place.filter(|place| place.new && shown).map(|place| place.ticket.clone()),
        pass: pass_document(request, visitor, shown),
    }
}

fn room_document(room: &RoomDesk, view: &View, visitor: &Visitor, now: Micros) -> RoomDocument {
    let mut document = RoomDocument::of(room.line.room(), view, now);
    if matches!(visitor, Visitor::Full) && document.message.is_none() {
        document.message = Some("The line is full. Please try again later.".to_owned());
    }
    document
}

fn visitor_document(visitor: &Visitor, view: &View) -> Option<VisitorDocument> {
    match visitor {
        Visitor::Nobody | Visitor::Full | Visitor::SoldOut | Visitor::NotOpen | Visitor::Closed => None,
        Visitor::Waiting(place) => Some(VisitorDocument::waiting(place.number, view)),
        Visitor::Admitted(place, _) => {
            Some(VisitorDocument::settled(VisitorState::Admitted, place.number, view))
        }
        Visitor::Lapsed(place) => Some(VisitorDocument::settled(VisitorState::Lapsed, place.number, view)),
        Visitor::Left(place) => Some(VisitorDocument::settled(VisitorState::Left, place.number, view)),
    }
}

/// A token may be in a body only for clients that keep their tokens themselves, never where a script of a
/// page could read it; and the crowd door hands no pass out. A bearer that is not the ticket shows nothing, or
/// any script could read the cookies of its visitor by sending one.
pub(super) fn may_show_tokens(request: &Request<'_>, place: &Place) -> bool {
    place.bearer || !has_fetch_metadata(request.headers)
}

fn pass_document(request: &Request<'_>, visitor: &Visitor, shown: bool) -> Option<PassDocument> {
    let Visitor::Admitted(_, pass) = visitor else { return None };
    if request.door == Door::Crowd {
        return None;
    }
    let IssuedPass { token, claims, .. } = &**pass;
    let expires_at = rfc3339(Micros(claims.exp * 1_000_000));
    Some(PassDocument { expires_at, token: shown.then(|| token.clone()) })
}

/// When to ask next: as the line says; with some spread, so that a crowd never asks in step.
fn next_poll(room: &RoomDesk, place: Option<&Place>, view: &View) -> u64 {
    let chance = rand::rng().random_range(0.0..1.0);
    let poll_max = room.settings.poll_max;
    let Some(snapshot) = view.snapshot.as_deref() else {
        return millis(spread(poll_max.min(FIRST_POLL_MAX), chance));
    };
    if !view.fresh {
        // Whoever is called, or may be next, must be there to check in when the store is back.
        let number = |place: &Place| snapshot.draw.number_of(place.number);
        let soon = place.is_some_and(|place| snapshot.is_called_soon(number(place)));
        let most = if soon { snapshot.rules.poll_min } else { poll_max.min(FIRST_POLL_MAX) };
        return millis(spread(most, chance));
    }
    match place {
        // Tickets come back seldom, and then in order: who is far behind need not ask often.
        Some(place) if !place.new && stock::rests(snapshot, snapshot.draw.number_of(place.number)) => {
            millis(spread(poll_max, chance))
        }
        Some(place) => {
            let longest = if place.new { poll_max.min(FIRST_POLL_MAX) } else { poll_max };
            millis(snapshot.next_poll(place.number, longest, chance))
        }
        // Without a place: as if at the end of the line.
        None => millis(snapshot.next_poll(Number(snapshot.last.0 + 1), poll_max, chance)),
    }
}

/// Somewhere in the upper two thirds of `most`.
fn spread(most: Duration, chance: f64) -> Duration {
    most.mul_f64(0.33 + 0.67 * chance)
}

fn retry_after(headers: &mut HeaderMap, ms: u64) {
    headers.insert(header::RETRY_AFTER, HeaderValue::from(ms.div_ceil(1000).max(1)));
}

/// A document as an answer.
pub(super) fn json(status: StatusCode, document: &impl serde::Serialize) -> Answer {
    let body = serde_json::to_vec(document).map(Bytes::from).unwrap_or_default();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::VARY, HeaderValue::from_static("Accept, Cookie"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Answer { status, headers, body, outcome: RequestOutcome::Endpoint, room: None }
}

/// The page for who must log in first; `back`: where to come back to.
pub(super) fn login(room: &RoomDesk, request: &Request<'_>, back: &str, url: Option<&str>) -> Answer {
    let shown = Facts {
        room: room.line.room().as_str(),
        enter_url: back,
        account: Some(page::Account { login_url: url }),
        ..Facts::default()
    };
    let language = request.headers.get(header::ACCEPT_LANGUAGE).and_then(|v| v.to_str().ok());
    let mut answer = html(StatusCode::UNAUTHORIZED, room.page.render(&shown, language));
    answer.outcome = RequestOutcome::Refused;
    answer
}

fn page_of(
    desk: &Desk,
    room: &RoomDesk,
    request: &Request<'_>,
    visitor: &Visitor,
    document: &Document,
    status: StatusCode,
) -> Answer {
    let enter = enter_url(request);
    let links = desk.links(room, enter);
    let shown = Facts {
        room: room.line.room().as_str(),
        room_state: room_state(visitor, document),
        visitor: visitor_state(visitor, is_waitlisted(document)),
        number: document.visitor.and_then(|v| v.number),
        lobby_index: document.visitor.and_then(|v| v.lobby_index),
        opens_at: document.room.opens_at.as_deref(),
        server_time: &document.room.server_time,
        position: document.visitor.and_then(|v| v.position),
        start: None,
        wait: document.visitor.and_then(|v| v.wait_seconds).map(|w| page::Wait { low: w.low, high: w.high }),
        waiting: document.room.waiting,
        message: document.room.message.as_deref(),
        next_poll_ms: document.next_poll_ms,
        poll_url: &links.poll,
        leave_url: &links.leave,
        enter_url: enter,
        rejoin: Some(Rejoin::Form { action: &links.rejoin, fields: &[] }),
        ticket: ticket_for_crowd(desk, visitor),
        account: None,
        cookies_blocked: false,
    };
    let language = request.headers.get(header::ACCEPT_LANGUAGE).and_then(|v| v.to_str().ok());
    let rendered = room.page.render(&shown, language);
    html(status, rendered)
}

/// The page polls the crowd door as a bearer, so there it carries the ticket itself.
fn ticket_for_crowd<'v>(desk: &Desk, visitor: &'v Visitor) -> Option<&'v str> {
    match visitor {
        Visitor::Waiting(place) if desk.crowd_url().is_some() => Some(&place.ticket),
        _ => None,
    }
}

fn room_state(visitor: &Visitor, document: &Document) -> page::RoomState {
    match (visitor, document.room.state) {
        (_, "unavailable") => page::RoomState::Unavailable,
        (Visitor::SoldOut, _) => page::RoomState::SoldOut,
        (Visitor::Full, _) => page::RoomState::Full,
        (_, "paused") => page::RoomState::Paused,
        (_, "sold_out") => page::RoomState::SoldOut,
        (Visitor::NotOpen, _) | (_, "scheduled") => page::RoomState::Scheduled,
        (Visitor::Closed, _) | (_, "closed") => page::RoomState::Closed,
        (_, "lobby") => page::RoomState::Lobby,
        _ => page::RoomState::Open,
    }
}

/// Whom stock does not reach is told so in the same words, whether the room has a waiting list or only warns.
fn is_waitlisted(document: &Document) -> bool {
    let sold_out = document.room.state == "sold_out";
    document.visitor.is_some_and(|visitor| match visitor.state {
        VisitorState::Waitlisted => true,
        VisitorState::Waiting => visitor.likely == Some(false) && !sold_out,
        _ => false,
    })
}

fn visitor_state(visitor: &Visitor, waitlisted: bool) -> page::VisitorState {
    match visitor {
        Visitor::Nobody | Visitor::Full | Visitor::SoldOut | Visitor::NotOpen | Visitor::Closed => {
            page::VisitorState::None
        }
        Visitor::Waiting(_) if waitlisted => page::VisitorState::Waitlisted,
        Visitor::Waiting(_) => page::VisitorState::Waiting,
        Visitor::Admitted(..) => page::VisitorState::Admitted,
        Visitor::Lapsed(_) => page::VisitorState::Lapsed,
        Visitor::Left(_) => page::VisitorState::Left,
    }
}

fn html(status: StatusCode, rendered: page::Rendered) -> Answer {
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(header::CONTENT_TYPE, "text/html; charset=utf-8");
    set(header::CACHE_CONTROL, "no-store");
    set(header::VARY, "Accept, Accept-Language, Cookie");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "same-origin");
    set(HeaderName::from_static("x-robots-tag"), "noindex");
    headers.insert(header::CONTENT_SECURITY_POLICY, rendered.csp);
    headers.insert(header::CONTENT_LANGUAGE, rendered.content_language);
    Answer { status, headers, body: rendered.html, outcome: RequestOutcome::WaitingPage, room: None }
}
