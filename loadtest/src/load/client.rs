//! A small HTTP client, for setting up and for reading metrics. Nothing is measured with it.

use std::net::SocketAddr;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::fault::Result;

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
        Self(legacy::Client::builder(TokioExecutor::new()).build(HttpConnector::new()))
    }

    pub(crate) async fn send(&self, ask: Ask) -> Result<Said> {
        let mut request = Request::builder().method(ask.method).uri(&ask.url);
        for (name, value) in ask.headers {
            request = request.header(name, value);
        }
        let (head, body) = self.0.request(request.body(Empty::new())?).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        Ok(Said { status: head.status, headers: head.headers, body })
    }
}
