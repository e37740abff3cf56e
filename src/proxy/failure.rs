//! What can go wrong between us and the origin: in whose words it is told, and how it is counted.

use http::StatusCode;
use pingora::{Error, ErrorSource, ErrorType};

use crate::answer::Problem;
use crate::metrics::Origin;

/// All shares of the origin are taken.
pub(super) const BUSY: ErrorType = ErrorType::Custom("OriginBusy");
/// The origin's name was never found.
pub(super) const NO_ADDRESS: ErrorType = ErrorType::Custom("OriginWithoutAddress");
/// The response took longer than it may as a whole.
pub(super) const LATE: ErrorType = ErrorType::Custom("OriginLate");
/// The body of a request turned out longer than it may be.
pub(super) const TOO_LARGE: ErrorType = ErrorType::Custom("BodyTooLarge");

pub(super) const BODY_TOO_LARGE: Problem =
    Problem::new("body-too-large", StatusCode::PAYLOAD_TOO_LARGE, "The request's body is too large");
const BAD_REQUEST: Problem =
    Problem::new("bad-request", StatusCode::BAD_REQUEST, "The request cannot be read");
const ORIGIN_BUSY: Problem = Problem::new("origin-busy", StatusCode::SERVICE_UNAVAILABLE, "The shop is busy");
const UNREACHABLE: Problem =
    Problem::new("origin-unreachable", StatusCode::BAD_GATEWAY, "The shop cannot be reached");
const ORIGIN_LATE: Problem =
    Problem::new("origin-late", StatusCode::GATEWAY_TIMEOUT, "The shop took too long");
const INTERNAL: Problem =
    Problem::new("internal", StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong here");

/// The document for an error, by whose fault it is; none when the client is gone.
pub(super) fn problem_of(error: &Error) -> Option<Problem> {
    use ErrorType::{
        ConnectTimedout, ConnectionClosed, HTTPStatus, ReadError, ReadTimedout, TLSHandshakeTimedout,
        WriteError, WriteTimedout,
    };
    let kind = error.etype();
    if *kind == BUSY {
        return Some(ORIGIN_BUSY);
    }
    if *kind == TOO_LARGE {
        return Some(BODY_TOO_LARGE);
    }
    match (error.esource(), kind) {
        (_, HTTPStatus(code)) => {
            let status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(Problem::new("refused", status, "The request was refused"))
        }
        (ErrorSource::Upstream, ConnectTimedout | ReadTimedout | WriteTimedout | TLSHandshakeTimedout) => {
            Some(ORIGIN_LATE)
        }
        (ErrorSource::Upstream, kind) if *kind == LATE => Some(ORIGIN_LATE),
        (ErrorSource::Upstream, _) => Some(UNREACHABLE),
        (
            ErrorSource::Downstream,
            WriteError | ReadError | ConnectionClosed | WriteTimedout | ReadTimedout,
        ) => None,
        (ErrorSource::Downstream, _) => Some(BAD_REQUEST),
        (ErrorSource::Internal | ErrorSource::Unset, _) => Some(INTERNAL),
    }
}

/// How an error that ended a request to the origin is counted.
pub(super) fn outcome_of(error: &Error) -> Origin {
    use ErrorType::{
        ConnectError, ConnectNoRoute, ConnectRefused, ConnectTimedout, ReadTimedout, TLSHandshakeFailure,
        TLSHandshakeTimedout, WriteTimedout,
    };
    match error.etype() {
        kind if *kind == BUSY => Origin::Full,
        kind if *kind == NO_ADDRESS => Origin::Unreachable,
        kind if *kind == LATE => Origin::TimedOut,
        _ if *error.esource() == ErrorSource::Downstream => Origin::Abandoned,
        ConnectTimedout | ConnectRefused | ConnectNoRoute | ConnectError | TLSHandshakeTimedout
        | TLSHandshakeFailure => Origin::Unreachable,
        ReadTimedout | WriteTimedout => Origin::TimedOut,
        _ => Origin::Broken,
    }
}
