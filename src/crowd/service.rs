//! One request at the crowd door: read in the same one way as at the edge, answered by the gate.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;

use super::body::{Body, Stream};
use crate::answer::{Answer, Door, Events, Gate, Problem, Reply, Request, finish, problem};
use crate::metrics;
use crate::route::{Host, Target, Trusted};

const AMBIGUOUS: Problem = Problem::new(
    "ambiguous-request",
    StatusCode::BAD_REQUEST,
    "The request can be read in more than one way",
);

/// Answers one request and writes its line to the log.
pub(super) async fn serve(
    request: HttpRequest<Incoming>,
    peer: IpAddr,
    trusted: &Trusted,
    gate: &Arc<dyn Gate>,
) -> Result<Response<Body>, Infallible> {
    let started = Instant::now();
    let (parts, _) = request.into_parts();
    let reply = match read(&parts.uri, &parts.headers) {
        Ok((host, target)) => {
            let client = trusted.client(peer, &parts.headers);
            let asked = Request {
                method: &parts.method,
                https: client.https,
                host: &host,
                target: &target,
                headers: &parts.headers,
                client: client.address,
                peer_trusted: client.peer_trusted,
                door: Door::Crowd,
            };
            gate.wait(&asked).await
        }
        Err(detail) => Reply::Answer(problem(AMBIGUOUS, &detail, None)),
    };
    let (mut answer, stream) = match reply {
        Reply::Answer(answer) => (answer, None),
        Reply::Events(events) => (events.head(), Some(events)),
    };
    finish(&mut answer);
    metrics::request(answer.room.as_ref(), answer.outcome);
    tracing::info!(
        target: "ropeline::access",
        door = "crowd",
        method = parts.method.as_str(),
        outcome = answer.outcome.label(),
        status = answer.status.as_u16(),
        room = answer.room.as_ref().map_or("-", |room| room.as_str()),
        ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX),
        "request"
    );
    Ok(match stream {
        Some(events) => streamed(answer, Arc::clone(gate), events),
        None => response(answer, &parts.method),
    })
}

fn read(uri: &http::Uri, headers: &HeaderMap) -> Result<(Host, Target), String> {
    let raw = uri.path_and_query().map_or_else(|| uri.path(), |path| path.as_str());
    let target = Target::read(raw).map_err(|error| error.to_string())?;
    let host =
        Host::of(headers, uri.authority().map(http::uri::Authority::as_str)).map_err(|e| e.to_string())?;
    Ok((host, target))
}

fn streamed(head: Answer, gate: Arc<dyn Gate>, events: Box<Events>) -> Response<Body> {
    let mut response = Response::new(Body::Right(Stream::new(gate, events)));
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    response
}

fn response(answer: Answer, method: &Method) -> Response<Body> {
    let bodiless = matches!(answer.status.as_u16(), 100..=199 | 204 | 304);
    let mut response = Response::new(Body::Left(Full::new(answer.body.clone())));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    if method == Method::HEAD && !bodiless {
        response.headers_mut().insert(http::header::CONTENT_LENGTH, answer.body.len().into());
    }
    if method == Method::HEAD || bodiless {
        *response.body_mut() = Body::Left(Full::default());
    }
    response
}
