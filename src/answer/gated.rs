//! A request on a room's path: the one place that says forward, wait or refuse.

use std::time::Duration;

use http::{HeaderValue, Method, StatusCode};

use super::account::Who;
use super::cookies::Kind;
use super::desk::Desk;
use super::intent::{Intent, is_cross_site};
use super::room::{Held, Place, RoomDesk, Trouble, Visitor};
use super::stay::{self, Renewed};
use super::{Permit, Problem, Request, Stay, Verdict, problem, reply};
use crate::metrics;
use crate::room::{Micros, Number};
use crate::token::IssuedPass;

/// A pass that is used from too many places.
const SHARED: Problem =
    Problem::new("pass-shared", StatusCode::FORBIDDEN, "This admission is used from too many places");

impl Desk {
    /// Forward with a valid pass; otherwise ask the line, if the request is one that may.
    pub(super) async fn gated(&self, room: &RoomDesk, request: &Request<'_>) -> Verdict {
        let now = self.now();
        let who = room.who(request, now).await;
        if let Some(held) = room.pass(request, now, &who) {
            let most = room.settings.networks_max;
            if !room.sharing.used(room.line.room(), &held.pass, request.client, most) {
                metrics::token_refused(metrics::Token::Pass, "shared");
                let detail =
                    "It goes on where it was used first. Whoever has no place of their own can take one.";
                return Verdict::Answer(problem(SHARED, detail, None));
            }
            return Verdict::Forward(self.inside(room, request, held, now));
        }
        if let Some(answer) = self.without_account(room, request, &who) {
            return Verdict::Answer(answer);
        }
        let intent = Intent::of(request.method, request.headers);
        let cross_site = is_cross_site(request.headers, request.host.authority());
        if !intent.takes_place(request.method, cross_site) {
            return Verdict::Answer(reply::gated(self, room, request, &Visitor::Nobody));
        }
        match self.visitor(room, request, room.hold(), &who).await {
            Ok(Visitor::Admitted(place, pass)) => {
                Verdict::Forward(self.enters(room, request, &place, &pass, now))
            }
            Ok(visitor) if intent == Intent::Navigation => {
                Verdict::Answer(reply::page(self, room, request, &visitor))
            }
            Ok(visitor) => Verdict::Answer(reply::gated(self, room, request, &visitor)),
            Err(trouble) => Verdict::Answer(self.unavailable(room, request, intent, &trouble, &who)),
        }
    }

    /// Somebody who is inside: the use counts, and what earlier uses have won is handed out.
    fn inside(&self, room: &RoomDesk, request: &Request<'_>, held: Held, now: Micros) -> Permit {
        let Renewed { header, cookies } = stay::renewed(room, request, &held, now);
        let Held { pass, token, .. } = held;
        let whose = (pass.lineage, pass.number);
        let stay = Stay::new(room, &self.clock, request.https, whose, (pass.not_before, pass.expires));
        Permit {
            room: Some(room.line.room().clone()),
            visitor: Some(pass.visitor.clone()),
            pass: Some(token),
            not_before: (pass.not_before > now).then_some(pass.not_before),
            cookies,
            renewed: header,
            stay: Some(Box::new(stay)),
            bearer_is_ours: false,
        }
    }

    /// The turn has come with this very request: it goes on at its slot, and the answer brings the pass.
    fn enters(
        &self,
        room: &RoomDesk,
        request: &Request<'_>,
        place: &Place,
        pass: &IssuedPass,
        now: Micros,
    ) -> Permit {
        let (slot, printed) = (Micros(pass.claims.slot), Micros(pass.claims.exp * 1_000_000));
        let whose = (pass.lineage, Number(pass.claims.num));
        let stay = Stay::new(room, &self.clock, request.https, whose, (slot, printed));
        Permit {
            room: Some(room.line.room().clone()),
            visitor: Some(pass.claims.sub.clone()),
            pass: Some(pass.token.clone()),
            not_before: (slot > now).then_some(slot),
            cookies: tokens(room, request, place, Some(pass), now),
            renewed: None,
            stay: Some(Box::new(stay)),
            bearer_is_ours: false,
        }
    }

    /// The visitor behind a request that may take a place: by ticket, or by joining.
    async fn visitor(
        &self,
        room: &RoomDesk,
        request: &Request<'_>,
        patience: Duration,
        who: &Who,
    ) -> Result<Visitor, Trouble> {
        if !room.view().fresh {
            return Err(Trouble::Store);
        }
        match room.ticket(request, |bound| who.holds(bound)) {
            Some((ticket, place)) => room.standing(&ticket, place, patience, who).await,
            // On the shop's own paths a bearer is the shop's: whoever sends one keeps our tokens as cookies.
            None => room.join(self.now(), patience, false, who).await,
        }
    }

    /// The store cannot be asked: whoever holds a ticket is told that the place is kept.
    fn unavailable(
        &self,
        room: &RoomDesk,
        request: &Request<'_>,
        intent: Intent,
        trouble: &Trouble,
        who: &Who,
    ) -> super::Answer {
        tracing::debug!(room = %room.line.room(), ?trouble, "answered as unavailable");
        let held = room.ticket(request, |bound| who.holds(bound));
        let visitor = held.map_or(Visitor::Nobody, |(_, place)| Visitor::Waiting(place));
        reply::unavailable(self, room, request, &visitor, intent == Intent::Navigation)
    }
}

/// `Set-Cookie` lines that a visitor should get: the ticket of a new place, the pass of an admission. An
/// application that sent its ticket as a bearer keeps its tokens itself.
pub(super) fn tokens(
    room: &RoomDesk,
    request: &Request<'_>,
    place: &Place,
    pass: Option<&IssuedPass>,
    now: Micros,
) -> Vec<HeaderValue> {
    if place.bearer {
        return Vec::new();
    }
    let ticket = place
        .new
        .then(|| room.cookies.set(Kind::Ticket, request.https, &place.ticket, room.ticket_max_age()));
    let pass = pass.map(|pass| {
        let left = Duration::from_secs(pass.claims.exp.saturating_sub(now.seconds()));
        room.cookies.set(Kind::Pass, request.https, &pass.token, left)
    });
    [ticket, pass].into_iter().flatten().flatten().collect()
}

/// Where a visitor goes when the turn has come, always by GET and on the same site: the page that was asked
/// for, or after a form was posted the page that the form was on.
pub(super) fn enter_url<'r>(request: &Request<'r>) -> &'r str {
    if *request.method == Method::GET {
        return request.target.raw();
    }
    let referer = request.headers.get(http::header::REFERER).and_then(|v| v.to_str().ok());
    let own = referer.and_then(|url| {
        let (_, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_at(rest.find('/')?);
        authority.eq_ignore_ascii_case(request.host.authority()).then_some(path)
    });
    own.unwrap_or(request.target.raw())
}

/// The status of an answer that keeps a request of an application waiting.
pub(super) const KEPT_WAITING: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
