//! pingora's phases, each a sentence. What is decided is decided elsewhere; here it is only carried out.

use std::time::{Duration, Instant, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use http::{StatusCode, header};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::proxy::{FailToProxy, ProxyHttp, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorSource, ErrorType};

use super::ctx::Ctx;
use super::events;
use super::failure::{BODY_TOO_LARGE, BUSY, LATE, NO_ADDRESS, TOO_LARGE, outcome_of, problem_of};
use super::forward;
use super::reading::Reading;
use super::reply;
use super::service::{ATTEMPTS_MAX, Phases};
use super::shared;
use super::watch::Watch;
use crate::answer::{Answer, Permit, Verdict, problem};
use crate::metrics::RequestOutcome;
use crate::room::Micros;

/// Longest hold for a slot.
const HOLD_MAX: Duration = Duration::from_secs(15);

/// Seconds after which a visitor may try again when the origin is busy or down.
const RETRY_AFTER: u64 = 2;

#[async_trait]
impl ProxyHttp for Phases {
    type CTX = Ctx;

    fn new_ctx(&self) -> Ctx {
        Ctx::new(Instant::now())
    }

    /// Reads the request, asks the gate, and answers or lets it go on.
    async fn request_filter(&self, session: &mut Session, ctx: &mut Ctx) -> pingora::Result<bool> {
        self.bound(session);
        if announced(session) > self.settings.limits.body_bytes {
            return answer(session, ctx, problem(BODY_TOO_LARGE, "", None)).await;
        }
        let reading = match Reading::of(session, &self.settings.trusted) {
            Ok(reading) => ctx.reading.insert(Box::new(reading)),
            Err(unreadable) => {
                session.set_keepalive(None);
                return answer(session, ctx, unreadable.answer()).await;
            }
        };
        let request = reading.request(&session.req_header().headers);
        match self.gate.decide(&request).await {
            Verdict::Answer(refusal) => answer(session, ctx, refusal).await,
            Verdict::Events(stream) => {
                let head = stream.head();
                (ctx.outcome, ctx.room, ctx.status) = (head.outcome, head.room, Some(head.status));
                events::write(session, &*self.gate, *stream).await?;
                Ok(true)
            }
            Verdict::Forward(permit) => {
                hold(&permit).await;
                let kept = match &self.shelf {
                    Some(shelf) => shelf.take(&request, &reading.target, request.headers).await,
                    None => None,
                };
                match kept {
                    Some(mut kept) => {
                        shared::keep_from_shared(&mut kept.headers, &permit);
                        kept.room = permit.room().cloned();
                        answer(session, ctx, kept).await
                    }
                    None => {
                        ctx.room = permit.room().cloned();
                        ctx.permit = Some(Box::new(permit));
                        ctx.outcome = RequestOutcome::Forwarded;
                        Ok(false)
                    }
                }
            }
        }
    }

    /// Takes a share of the origin once, and names its address.
    async fn upstream_peer(&self, session: &mut Session, ctx: &mut Ctx) -> pingora::Result<Box<HttpPeer>> {
        let watch = ctx.watch.get_or_insert_with(Watch::new);
        if ctx.slot.is_none() {
            ctx.slot = Some(self.origin.share().await.ok_or_else(|| Error::new_up(BUSY))?);
            watch.begins();
        }
        ctx.attempts += 1;
        ctx.received = 0;
        let upgrade = session.is_upgrade_req();
        if !upgrade && ctx.deadline.is_none() {
            ctx.deadline = Instant::now().checked_add(self.origin.settings().total_timeout);
        }
        let stay = ctx.permit.as_ref().and_then(|permit| permit.stay()).filter(|_| upgrade);
        self.origin.peer(upgrade, stay).map(Box::new).ok_or_else(|| Error::new_up(NO_ADDRESS))
    }

    /// Dresses the request; without a permit there is nothing to forward.
    async fn upstream_request_filter(
        &self,
        _session: &mut Session,
        request: &mut RequestHeader,
        ctx: &mut Ctx,
    ) -> pingora::Result<()> {
        match (&ctx.reading, &ctx.permit) {
            (Some(reading), Some(permit)) => {
                forward::dress(request, reading, permit, self.settings.secret.as_ref())
            }
            _ => Err(Error::explain(ErrorType::InternalError, "a request without a permit")),
        }
    }

    /// Ends a request whose body turns out longer than it may be.
    async fn request_body_filter(
        &self,
        session: &mut Session,
        body: &mut Option<Bytes>,
        _end: bool,
        ctx: &mut Ctx,
    ) -> pingora::Result<()> {
        if session.was_upgraded() {
            return Ok(());
        }
        ctx.received += body.as_ref().map_or(0, |chunk| chunk.len() as u64);
        if ctx.received > self.settings.limits.body_bytes {
            return Err(Error::new_down(TOO_LARGE));
        }
        Ok(())
    }

    /// Gives the response its framing and its cookies, after any cache.
    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        ctx: &mut Ctx,
    ) -> pingora::Result<()> {
        let streams = response.headers.get(header::CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        if streams.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
            ctx.deadline = None;
        }
        forward::frame(response, session.req_header().version)?;
        if response.status.is_informational() && response.status != StatusCode::SWITCHING_PROTOCOLS {
            return forward::undress(response, None);
        }
        if let Some(watch) = &mut ctx.watch {
            watch.answered(response.status);
        }
        if let Some(permit) = ctx.permit.as_deref_mut().filter(|_| forward::ends_stay(&response.headers)) {
            permit.end();
        }
        forward::undress(response, ctx.permit.as_deref())
    }

    /// Ends a response that drips for longer than it may.
    fn response_body_filter(
        &self,
        _session: &mut Session,
        _body: &mut Option<Bytes>,
        end: bool,
        ctx: &mut Ctx,
    ) -> pingora::Result<Option<Duration>> {
        if !end && ctx.is_late(Instant::now()) {
            return Err(Error::new_up(LATE));
        }
        Ok(None)
    }

    /// A connection that was never made has sent nothing: once more.
    fn fail_to_connect(
        &self,
        _session: &mut Session,
        _peer: &HttpPeer,
        ctx: &mut Ctx,
        mut error: Box<Error>,
    ) -> Box<Error> {
        error.set_retry(ctx.attempts < ATTEMPTS_MAX);
        error
    }

    /// A kept connection that turned out closed: once more, if repeating does no harm.
    fn error_while_proxy(
        &self,
        _peer: &HttpPeer,
        session: &mut Session,
        mut error: Box<Error>,
        ctx: &mut Ctx,
        reused: bool,
    ) -> Box<Error> {
        let harmless =
            session.req_header().method.is_idempotent() && !session.as_ref().retry_buffer_truncated();
        if harmless && ctx.attempts < ATTEMPTS_MAX && session.response_written().is_none() {
            error.retry.decide_reuse(reused);
        } else {
            error.set_retry(false);
        }
        error
    }

    /// Says what went wrong as a problem document; places and passes are untouched.
    async fn fail_to_proxy(&self, session: &mut Session, error: &Error, ctx: &mut Ctx) -> FailToProxy {
        session.set_keepalive(None);
        let Some(kind) = problem_of(error) else {
            return FailToProxy { error_code: 0, can_reuse_downstream: false };
        };
        ctx.status = Some(kind.status);
        ctx.outcome = problem(kind, "", None).outcome;
        let begun =
            session.response_written().is_some_and(|r| !r.status.is_informational() || r.status == 101);
        if !begun {
            let retry = kind.status.is_server_error().then_some(RETRY_AFTER);
            let mut answer = problem(kind, "", retry);
            if let Some(permit) = ctx.permit.as_deref() {
                shared::keep_from_shared(&mut answer.headers, permit);
            }
            if reply::write(session, answer).await.is_ok() {
                session.shutdown().await;
            }
        }
        FailToProxy { error_code: kind.status.as_u16(), can_reuse_downstream: false }
    }

    /// pingora's own line would hold the whole address, query included; ours does not.
    fn request_summary(&self, _session: &Session, ctx: &Ctx) -> String {
        ctx.reading.as_ref().map(|r| format!("{} {}", r.method, r.target.path())).unwrap_or_default()
    }

    /// A client that went away is not an error of ours.
    fn suppress_error_log(&self, _session: &Session, _ctx: &Ctx, error: &Error) -> bool {
        *error.esource() == ErrorSource::Downstream
    }

    /// One line for every request.
    async fn logging(&self, session: &mut Session, error: Option<&Error>, ctx: &mut Ctx) {
        if let (Some(watch), Some(error)) = (&mut ctx.watch, error) {
            watch.ended(outcome_of(error));
        }
        let written = session.response_written().map(|response| response.status);
        let reading = ctx.reading.as_deref();
        tracing::info!(
            target: "ropeline::access",
            method = reading.map_or("-", |r| r.method.as_str()),
            path = reading.map_or("-", |r| r.target.path()),
            outcome = ctx.outcome.label(),
            status = written.or(ctx.status).map_or(0, |status| status.as_u16()),
            ms = u64::try_from(ctx.took(Instant::now()).as_millis()).unwrap_or(u64::MAX),
            room = ctx.room.as_ref().map_or("-", |room| room.as_str()),
            error = error.map(|e| e.etype().as_str()),
            "request"
        );
    }
}

impl Phases {
    /// Bounds on a client that sends or takes its bytes slowly.
    fn bound(&self, session: &mut Session) {
        let limits = &self.settings.limits;
        let upgrade = session.is_upgrade_req();
        session.set_read_timeout(Some(if upgrade { limits.upgrade_idle } else { limits.body_timeout }));
        session.set_write_timeout(Some(limits.write_timeout));
        session.set_total_drain_timeout(Some(limits.body_timeout));
    }
}

/// The length of the body as the head says it; 0 where it does not.
fn announced(session: &Session) -> u64 {
    let value = session.get_header(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    value.map_or(0, |text| text.trim().parse().unwrap_or(u64::MAX))
}

/// Writes an answer of ours; the request is over.
async fn answer(session: &mut Session, ctx: &mut Ctx, answer: Answer) -> pingora::Result<bool> {
    ctx.outcome = answer.outcome;
    ctx.room = answer.room.clone();
    ctx.status = Some(answer.status);
    reply::write(session, answer).await?;
    Ok(true)
}

/// Waits for the slot of a turn that has come, so that arrivals keep the rate.
async fn hold(permit: &Permit) {
    let Some(slot) = permit.not_before() else { return };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Micros(u64::try_from(now.as_micros()).unwrap_or(u64::MAX));
    let wait = slot.since(now).min(HOLD_MAX);
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
}
