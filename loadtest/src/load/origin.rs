//! A shop that does nothing but note who is let in, and when: the first request of each admission.

use std::collections::HashSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::fault::Result;

/// One admission, as the shop saw it first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) number: u64,
    /// The slot that the pass was given for, in microseconds since 1970.
    pub(crate) slot: u64,
    /// When the request came, since the shop opened.
    pub(crate) at: Duration,
}

/// A running shop.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    book: Arc<Book>,
}

struct Book {
    opened: Instant,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    admissions: HashSet<String>,
    arrivals: Vec<Arrival>,
}

impl Origin {
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let book = Arc::new(Book { opened: Instant::now(), seen: Mutex::default() });
        let keeper = Arc::clone(&book);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let book = Arc::clone(&keeper);
                tokio::spawn(async move {
                    let serve = service_fn(|request| {
                        let answer = book.answer(request.headers());
                        async move { Ok::<_, Infallible>(answer) }
                    });
                    let _gone = http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await;
                });
            }
        });
        Ok(Self { address, book })
    }

    /// Everybody who was let in so far, in the order of their coming.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        self.book.seen.lock().unwrap_or_else(PoisonError::into_inner).arrivals.clone()
    }
}

impl Book {
    fn answer(&self, headers: &HeaderMap) -> Response<Full<Bytes>> {
        let at = self.opened.elapsed();
        let mut answer = Response::new(Full::new(Bytes::from_static(b"in")));
        match headers.get("x-ropeline-pass").and_then(|pass| claims(pass.as_bytes())) {
            Some((jti, number, slot)) => {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.admissions.insert(jti) {
                    seen.arrivals.push(Arrival { number, slot, at });
                }
            }
            None => *answer.status_mut() = StatusCode::FORBIDDEN,
        }
        answer
    }
}

/// Admission, number and slot of a pass. Signatures are the business of others: here only counting matters.
fn claims(pass: &[u8]) -> Option<(String, u64, u64)> {
    let body = pass.split(|byte| *byte == b'.').nth(1)?;
    let claims: serde_json::Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(body).ok()?).ok()?;
    Some((claims["jti"].as_str()?.to_owned(), claims["num"].as_u64()?, claims["slot"].as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admission_is_counted_at_its_first_request() {
        let book = Book { opened: Instant::now(), seen: Mutex::default() };
        let pass = |jti: &str| {
            let claims = format!(r#"{{"jti":"{jti}","num":7,"slot":99}}"#);
            let mut headers = HeaderMap::new();
            let pass = format!("x.{}.y", URL_SAFE_NO_PAD.encode(claims));
            headers.insert("x-ropeline-pass", pass.parse().unwrap());
            headers
        };
        for (headers, status) in
            [(pass("a"), 200), (pass("a"), 200), (pass("b"), 200), (HeaderMap::new(), 403)]
        {
            assert_eq!(book.answer(&headers).status(), status);
        }
        let seen = book.seen.lock().unwrap();
        assert_eq!(seen.arrivals.iter().map(|a| (a.number, a.slot)).collect::<Vec<_>>(), [(7, 99), (7, 99)]);
    }
}
