//! Fetches of our own from the origin, for answers that are kept in memory: no visitor's cookies, credentials or
//! conditions are in them, since what comes back is for everybody.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, header};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::origin::Origin;
use super::watch::Watch;
use crate::metrics;

/// Idle connections kept for fetches.
const IDLE_MAX: usize = 8;

/// Request headers that a shared answer may depend on; all others are left out, whoever set them.
const PASSED: [HeaderName; 6] = [
    header::ACCEPT,
    header::ACCEPT_LANGUAGE,
    header::ACCEPT_ENCODING,
    header::USER_AGENT,
    HeaderName::from_static("x-forwarded-proto"),
    HeaderName::from_static("x-forwarded-host"),
];

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum FetcherError {
    /// The origin's name is not resolved, or its address speaks only TLS, which fetches do not yet.
    #[error("the origin has no address for fetches")]
    NoAddress,
    /// All shares of the origin are taken.
    #[error("the origin is busy")]
    Busy,
    /// No connection, or it broke.
    #[error("the origin cannot be reached: {0}")]
    Unreachable(String),
    /// The body broke off.
    #[error("the answer broke off: {0}")]
    Truncated(String),
    /// Not whole within `response_timeout`.
    #[error("the origin took too long")]
    Late,
    /// The body is longer than allowed.
    #[error("the answer is too long to keep")]
    TooLong,
    /// The target or host is not valid in a request.
    #[error("the request cannot be written")]
    BadRequest,
}

impl FetcherError {
    fn outcome(&self) -> metrics::Origin {
        match self {
            Self::Busy => metrics::Origin::Full,
            Self::Late => metrics::Origin::TimedOut,
            Self::Truncated(_) => metrics::Origin::Broken,
            Self::TooLong => metrics::Origin::Answered,
            Self::NoAddress | Self::Unreachable(_) | Self::BadRequest => metrics::Origin::Unreachable,
        }
    }
}

/// A client of the origin with a pool of its own; counts against the same shares as visitors' requests.
#[derive(Debug)]
pub struct Fetcher {
    origin: Arc<Origin>,
    client: Client<HttpConnector, Empty<Bytes>>,
    secret: Option<HeaderValue>,
}

impl Fetcher {
    /// Must be called inside the runtime that will use it.
    #[must_use]
    pub fn new(origin: Arc<Origin>, secret: Option<HeaderValue>) -> Self {
        let settings = origin.settings();
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(settings.connect_timeout));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(settings.idle_timeout)
            .pool_max_idle_per_host(IDLE_MAX)
            .retry_canceled_requests(true)
            .build(connector);
        Self { origin, client, secret }
    }

    /// GETs `target` (path and query) for `host`, whole, within `response_timeout`. `body_max` is in bytes.
    ///
    /// # Errors
    /// See [`FetcherError`].
    pub async fn get(
        &self,
        host: &str,
        target: &str,
        headers: &HeaderMap,
        body_max: usize,
    ) -> Result<Response<Bytes>, FetcherError> {
        let limit: Duration = self.origin.settings().response_timeout;
        let request = self.request(host, target, headers)?;
        let mut watch = Watch::new();
        let answer = match self.origin.share().await {
            None => Err(FetcherError::Busy),
            Some(_share) => {
                watch.begins();
                let whole = tokio::time::timeout(limit, self.exchange(request, body_max)).await;
                whole.unwrap_or(Err(FetcherError::Late))
            }
        };
        match &answer {
            Ok(response) => watch.answered(response.status()),
            Err(error) => watch.ended(error.outcome()),
        }
        answer
    }

    fn request(
        &self,
        host: &str,
        target: &str,
        headers: &HeaderMap,
    ) -> Result<Request<Empty<Bytes>>, FetcherError> {
        let address = self.origin.address().filter(|_| !self.origin.tls()).ok_or(FetcherError::NoAddress)?;
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(format!("http://{address}{target}"))
            .header(header::HOST, host)
            .body(Empty::new())
            .map_err(|_| FetcherError::BadRequest)?;
        for name in PASSED {
            if let Some(value) = headers.get(&name) {
                request.headers_mut().insert(name, value.clone());
            }
        }
        if let Some(secret) = &self.secret {
            request.headers_mut().insert("x-ropeline-secret", secret.clone());
        }
        Ok(request)
    }

    async fn exchange(
        &self,
        request: Request<Empty<Bytes>>,
        body_max: usize,
    ) -> Result<Response<Bytes>, FetcherError> {
        let unreachable = |error: &dyn std::error::Error| FetcherError::Unreachable(error.to_string());
        let response = self.client.request(request).await.map_err(|e| unreachable(&e))?;
        let (parts, mut body) = response.into_parts();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| FetcherError::Truncated(e.to_string()))?;
            let Some(data) = frame.data_ref() else { continue };
            if whole.len() + data.len() > body_max {
                return Err(FetcherError::TooLong);
            }
            whole.extend_from_slice(data);
        }
        Ok(Response::from_parts(parts, whole.freeze()))
    }
}
