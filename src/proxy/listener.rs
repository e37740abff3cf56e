//! One connection from accept to close: the head of every request is read here under one deadline and one
//! size, checked, and only then given to pingora together with what was read beyond it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Buf;
use http::StatusCode;
use pingora::apps::HttpServerApp;
use pingora::protocols::Stream;
use pingora::protocols::http::ServerSession;
use pingora::proxy::HttpProxy;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::conn::Conn;
use super::head::{self, BadHead};
use super::reply;
use super::service::Phases;
use crate::answer::Problem;
use crate::listen::{Limits, stopped};
use crate::metrics::{self, ConnectionRefusal, Listener};

/// How reading a head ended.
enum Head {
    Ready,
    /// Closed, idle for too long, or asked to stop: nothing to say.
    Gone,
    Late,
    Bad(BadHead),
}

/// Serves one connection until either side has enough.
pub(super) async fn serve(
    proxy: Arc<HttpProxy<Phases>>,
    stream: TcpStream,
    peer: SocketAddr,
    limits: Arc<Limits>,
    mut stop: watch::Receiver<bool>,
) {
    let _ = stream.set_nodelay(true);
    let mut conn = Box::new(Conn::new(stream, peer));
    loop {
        match read_head(&mut conn, &limits, &mut stop).await {
            Head::Ready => {}
            Head::Gone => return,
            Head::Late => {
                metrics::connection_refused(Listener::Edge, ConnectionRefusal::Slow);
                return refuse(&mut conn, &limits, &LATE).await;
            }
            Head::Bad(bad) => {
                metrics::connection_refused(Listener::Edge, ConnectionRefusal::Malformed);
                return refuse(&mut conn, &limits, problem_of(bad)).await;
            }
        }
        let mut session = ServerSession::new_http1(conn as Stream);
        session.set_keepalive(Some(limits.idle_timeout.as_secs().max(1)));
        let Some(reused) = proxy.process_new_http(session, &stop).await else { return };
        let (stream, _) = reused.consume();
        match stream.into_any().downcast::<Conn>() {
            Ok(same) => conn = same,
            Err(_) => return,
        }
    }
}

/// Reads until a whole head is there: idle for at most `idle_timeout`, then whole within `header_timeout`.
async fn read_head(conn: &mut Conn, limits: &Limits, stop: &mut watch::Receiver<bool>) -> Head {
    if conn.ahead.is_empty() {
        let first = tokio::select! {
            biased;
            first = timeout(limits.idle_timeout, conn.more()) => first,
            () = stopped(stop) => return Head::Gone,
        };
        if !matches!(first, Ok(Ok(1..))) {
            return Head::Gone;
        }
    }
    timeout(limits.header_timeout, rest_of_head(conn, limits)).await.unwrap_or(Head::Late)
}

async fn rest_of_head(conn: &mut Conn, limits: &Limits) -> Head {
    let mut seen = 0;
    loop {
        // A line end left over from the body before is allowed for.
        while seen == 0 && conn.ahead.starts_with(b"\r\n") {
            conn.ahead.advance(2);
        }
        match head::end(&conn.ahead, seen) {
            Err(bad) => return Head::Bad(bad),
            Ok(Some(end)) if end > limits.header_bytes => {
                return Head::Bad(head::too_long(&conn.ahead, limits.header_bytes));
            }
            Ok(Some(end)) => {
                let checked = head::check(conn.ahead.get(..end).unwrap_or_default(), limits.header_lines);
                return checked.map_or_else(Head::Bad, |()| Head::Ready);
            }
            Ok(None) if conn.ahead.len() > limits.header_bytes => {
                return Head::Bad(head::too_long(&conn.ahead, limits.header_bytes));
            }
            Ok(None) => seen = conn.ahead.len(),
        }
        if !matches!(conn.more().await, Ok(1..)) {
            return Head::Gone;
        }
    }
}

const LATE: Problem =
    Problem::new("request-timeout", StatusCode::REQUEST_TIMEOUT, "The request took too long");
const SYNTAX: Problem = Problem::new("bad-request", StatusCode::BAD_REQUEST, "The request cannot be read");
const HOST: Problem = Problem::new("bad-host", StatusCode::BAD_REQUEST, "The request must name one host");
const FRAMING: Problem = Problem::new(
    "ambiguous-framing",
    StatusCode::BAD_REQUEST,
    "The request's length can be read in two ways",
);
const URI_TOO_LONG: Problem =
    Problem::new("uri-too-long", StatusCode::URI_TOO_LONG, "The address is too long");
const TOO_LARGE: Problem = Problem::new(
    "headers-too-large",
    StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
    "The request's headers are too large",
);

fn problem_of(bad: BadHead) -> &'static Problem {
    match bad {
        BadHead::Syntax => &SYNTAX,
        BadHead::Host => &HOST,
        BadHead::Framing => &FRAMING,
        BadHead::LineTooLong => &URI_TOO_LONG,
        BadHead::TooLarge => &TOO_LARGE,
    }
}

/// Answers a request that pingora never sees, and closes.
async fn refuse(conn: &mut Conn, limits: &Limits, problem: &Problem) {
    tracing::info!(target: "ropeline::access", status = problem.status.as_u16(), outcome = "refused", "request");
    let bytes = reply::raw(&crate::answer::problem(*problem, "", None));
    let written = async {
        conn.write_all(&bytes).await?;
        conn.flush().await
    };
    if timeout(limits.write_timeout, written).await.is_ok_and(|result| result.is_ok()) {
        conn.linger().await;
    }
}
