//! Every answer of the operator's API is made here: documents, and problems (RFC 9457) for all that went
//! wrong.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

use crate::answer::{self, Problem};
use crate::queue::StoreError;

pub(super) const UNAUTHORIZED: Problem =
    Problem::new("unauthorized", StatusCode::UNAUTHORIZED, "No valid token");
pub(super) const FORBIDDEN: Problem =
    Problem::new("forbidden", StatusCode::FORBIDDEN, "The token does not allow this");
pub(super) const TOO_MANY_FAILURES: Problem =
    Problem::new("too-many-failures", StatusCode::TOO_MANY_REQUESTS, "Too many wrong tokens");
pub(super) const NOT_FOUND: Problem =
    Problem::new("not-found", StatusCode::NOT_FOUND, "There is nothing here");
pub(super) const ROOM_UNKNOWN: Problem =
    Problem::new("room-unknown", StatusCode::NOT_FOUND, "There is no such room");
pub(super) const ADMISSION_UNKNOWN: Problem =
    Problem::new("admission-unknown", StatusCode::NOT_FOUND, "There is no such admission");
pub(super) const METHOD: Problem =
    Problem::new("method-not-allowed", StatusCode::METHOD_NOT_ALLOWED, "This cannot be done here");
pub(super) const BAD_BODY: Problem =
    Problem::new("bad-body", StatusCode::BAD_REQUEST, "The body cannot be read");
pub(super) const BAD_SETTING: Problem =
    Problem::new("bad-setting", StatusCode::BAD_REQUEST, "The change cannot be made as written");
pub(super) const BAD_PRECONDITION: Problem =
    Problem::new("bad-precondition", StatusCode::BAD_REQUEST, "The precondition cannot be read");
pub(super) const TOO_LARGE: Problem =
    Problem::new("body-too-large", StatusCode::PAYLOAD_TOO_LARGE, "The body is too large");
pub(super) const TOO_SLOW: Problem =
    Problem::new("body-too-slow", StatusCode::REQUEST_TIMEOUT, "The body did not come in time");
pub(super) const CHANGED_MEANWHILE: Problem =
    Problem::new("changed-meanwhile", StatusCode::PRECONDITION_FAILED, "Somebody else changed the room");
const NOT_CREATED: Problem =
    Problem::new("room-not-created", StatusCode::CONFLICT, "The store holds no such room");
const STORE_AWAY: Problem =
    Problem::new("store-unavailable", StatusCode::SERVICE_UNAVAILABLE, "The store cannot be asked");
const STORE_REFUSED: Problem =
    Problem::new("store-refused", StatusCode::SERVICE_UNAVAILABLE, "The store did not do it");
const INTERNAL: Problem =
    Problem::new("internal", StatusCode::INTERNAL_SERVER_ERROR, "Something unexpected happened");

/// A document, never cached, with the version of the room if it shows one.
pub(super) fn document(document: &impl Serialize, version: Option<&str>) -> Response {
    let Ok(body) = serde_json::to_vec(document) else {
        return internal();
    };
    let mut response = respond(StatusCode::OK, "application/json", body);
    if let Some(version) = version.and_then(|v| HeaderValue::from_str(v).ok()) {
        response.headers_mut().insert(header::ETAG, version);
    }
    response
}

/// Done, and nothing to say.
pub(super) fn nothing() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Text of any media type, never cached.
pub(super) fn respond(status: StatusCode, media_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A refusal. `retry_after` is in seconds.
pub(super) fn problem(kind: Problem, detail: &str, retry_after: Option<u64>) -> Response {
    let answer = answer::problem(kind, detail, retry_after);
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// A change that the store did not make. `retry_after` is used where trying again makes sense.
pub(super) fn store_failed(error: &StoreError, retry_after: u64) -> Response {
    let detail = error.to_string();
    match error {
        StoreError::NoRoom => problem(NOT_CREATED, &detail, None),
        StoreError::Unreachable(_) | StoreError::TimedOut | StoreError::Unsure(_) => maybe_done(retry_after),
        StoreError::RolledBack | StoreError::OtherKeys | StoreError::Unsafe(_) | StoreError::Refused(_) => {
            problem(STORE_REFUSED, &detail, Some(retry_after))
        }
        StoreError::Garbled(_) => internal(),
    }
}

/// The answer when nobody knows whether the store made the change.
pub(super) fn maybe_done(retry_after: u64) -> Response {
    let detail =
        "The store cannot be reached. The change may or may not have been made; it is safe to repeat.";
    problem(STORE_AWAY, detail, Some(retry_after))
}

/// The answer when a precondition cannot be checked for want of a recent view of the room.
pub(super) fn not_known(retry_after: u64) -> Response {
    let detail =
        "What the room is like right now is not known, so If-Match cannot be checked; nothing was changed.";
    problem(STORE_AWAY, detail, Some(retry_after))
}

/// The answer to a fault of ours; the log has the cause.
pub(super) fn internal() -> Response {
    problem(INTERNAL, "The log has more.", None)
}
