//! A small HTTP client, for setting up and for reading metrics. Nothing is measured with it.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::fault::Result;

/// Most idle connections to one address.
const IDLE_MAX: usize = 1_000;

/// See the top of the file.
#[derive(Debug, Clone)]
pub(crate) struct Client(legacy::Client<HttpConnector, Empty<Bytes>>);

/// A request without a body.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: Method,
    url: String,
    headers: Vec<(&'static str, String)>,
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Ask {
    pub(crate) fn get(to: SocketAddr, path: &str) -> Self {
        Self { method: Method::GET, url: format!("http://{to}{path}"), headers: Vec::new() }
    }

    pub(crate) fn post(to: SocketAddr, path: &str) -> Self {
        Self { method: Method::POST, ..Self::get(to, path) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Said {
    /// The body as JSON; null if it is none.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Client {
    pub(crate) fn new() -> Self {
        // A connection that was begun while another became free is kept too: without a bound they pile up.
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        Self(builder.pool_max_idle_per_host(IDLE_MAX).build(HttpConnector::new()))
    }

    pub(crate) async fn send(&self, ask: Ask) -> Result<Said> {
        let mut request = Request::builder().method(ask.method).uri(&ask.url);
        for (name, value) in ask.headers {
            request = request.header(name, value);
        }
        let answer = self.0.request(request.body(Empty::new())?).await;
        let (head, body) = answer.map_err(|error| told(&error))?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Said { status: head.status, headers: head.headers, body })
    }
}

/// An error with its causes: the client's own says little.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
