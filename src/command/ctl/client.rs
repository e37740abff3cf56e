//! One request to the admin API, with deadlines and bounds, and failures that say what to check.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use super::words::Request;

/// Where the admin API listens unless it was told otherwise.
pub(super) const DEFAULT_URL: &str = "http://127.0.0.1:9090";
const DEFAULT_TOKEN_FILE: &str = "./ropeline-keys/admin.token";
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Longer than the admin API itself waits for the store.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
const BODY_MAX: usize = 16 * 1024 * 1024;
const TOKEN_MAX: usize = 4096;

/// Why a verb was not done, in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failure(String);

/// Speaks to one admin API.
pub(super) struct Client {
    url: String,
    token: Option<HeaderValue>,
    file: Option<PathBuf>,
}

impl Client {
    /// A client for an address; the token is read now. Without a named file the usual one is used if there
    /// is one.
    pub(super) fn new(url: &str, file: Option<PathBuf>) -> Result<Self, String> {
        let url = url.trim_end_matches('/').to_owned();
        check_url(&url)?;
        let usual = || Some(PathBuf::from(DEFAULT_TOKEN_FILE)).filter(|file| file.exists());
        let file = file.or_else(usual);
        let token = file.as_deref().map(read_token).transpose()?;
        Ok(Self { url, token, file })
    }

    /// Sends a request; the body of a good answer.
    pub(super) async fn send(&self, request: &Request) -> Result<String, Failure> {
        let asked = tokio::time::timeout(ANSWER_WITHIN, self.ask(request)).await;
        let (status, body) = asked.map_err(|_| {
            Failure(format!("{} did not answer within {} s", self.url, ANSWER_WITHIN.as_secs()))
        })??;
        if status.is_success() { Ok(body) } else { Err(Failure(self.refused(status, &body))) }
    }

    /// What to say of a good answer that is not of our API.
    pub(super) fn not_ours(&self, error: &serde_json::Error) -> String {
        format!(
            "{} answered, but not as the admin API of ropeline does ({error}); check the address",
            self.url
        )
    }

    async fn ask(&self, request: &Request) -> Result<(StatusCode, String), Failure> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_WITHIN));
        let client = legacy::Client::builder(TokioExecutor::new()).build(connector);
        let response = client.request(self.message(request)?).await.map_err(|e| self.unreachable(&e))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), BODY_MAX).collect().await;
        let body = body.map_err(|e| Failure(format!("the answer of {} broke off: {e}", self.url)))?;
        Ok((status, String::from_utf8_lossy(&body.to_bytes()).into_owned()))
    }

    fn message(&self, request: &Request) -> Result<http::Request<Full<Bytes>>, Failure> {
        let body = request.body.as_ref().map(Value::to_string).unwrap_or_default();
        let mut message = http::Request::builder()
            .method(request.method.clone())
            .uri(format!("{}{}", self.url, request.path))
            .header(header::ACCEPT, "application/json");
        if request.body.is_some() {
            message = message.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            message = message.header(header::AUTHORIZATION, token.clone());
        }
        message.body(Full::from(body)).map_err(|e| Failure(e.to_string()))
    }

    fn unreachable(&self, error: &legacy::Error) -> Failure {
        let what = if error.is_connect() { "cannot reach the admin API at" } else { "no answer came from" };
        Failure(format!(
            "{what} {}: {}. Is ropeline running, and is this the address of [admin] listen? \
             (--url or ROPELINE_ADMIN_URL)",
            self.url,
            innermost(error)
        ))
    }

    /// What to say of a problem document, or of whatever else came.
    fn refused(&self, status: StatusCode, body: &str) -> String {
        let problem: Value = serde_json::from_str(body).unwrap_or_default();
        let text = |name: &str| problem.get(name).and_then(Value::as_str).unwrap_or_default();
        let said = match (text("title"), text("detail")) {
            ("", _) => format!("{} answered {status}, but not as the admin API does", self.url),
            (title, "") => title.to_owned(),
            (title, detail) => format!("{title}: {detail}"),
        };
        match (status, &self.file) {
            (StatusCode::UNAUTHORIZED, None) => format!(
                "{said} No token was sent: name its file with --token-file or ROPELINE_ADMIN_TOKEN_FILE \
                 ({DEFAULT_TOKEN_FILE} does not exist here)."
            ),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(file)) => {
                format!("{said} The token was read from {}.", file.display())
            }
            _ => said,
        }
    }
}

fn check_url(url: &str) -> Result<(), String> {
    let parsed: Uri = url.parse().map_err(|_| format!("{url:?} is not an address such as {DEFAULT_URL}"))?;
    match (parsed.scheme_str(), parsed.path()) {
        (Some("http"), "" | "/") if parsed.query().is_none() => Ok(()),
        (Some("https"), _) => Err(format!(
            "{url:?}: the admin API speaks plain http; reach one on another machine through a tunnel, such as ssh -L"
        )),
        _ => Err(format!("{url:?} is not an address such as {DEFAULT_URL}")),
    }
}

/// The token in a file, ready to be sent and never to be printed.
fn read_token(file: &Path) -> Result<HeaderValue, String> {
    let text =
        std::fs::read_to_string(file).map_err(|e| format!("the token file {}: {e}", file.display()))?;
    let token = text.trim();
    let fits = !token.is_empty() && token.len() <= TOKEN_MAX;
    let value = HeaderValue::from_str(&format!("Bearer {token}")).ok().filter(|_| fits);
    let mut value = value.ok_or_else(|| format!("the token file {} holds no token", file.display()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// The last cause of an error: "connection refused" rather than "client error (Connect)".
fn innermost(error: &dyn Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plain_http_without_a_path() {
        for good in ["http://127.0.0.1:9090", "http://[::1]:9090", "http://admin.internal:9090/"] {
            assert!(Client::new(good, None).is_ok(), "{good}");
        }
        assert!(check_url("https://127.0.0.1:9090").unwrap_err().contains("tunnel"));
        for bad in ["127.0.0.1:9090", "http://", "ftp://x", "http://x/y", "http://x?y", "http://x y"] {
            assert!(check_url(bad).unwrap_err().contains("is not an address"), "{bad}");
        }
    }

    #[test]
    fn a_token_file_is_named_when_it_cannot_be_used() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("admin.token");
        assert!(read_token(&file).unwrap_err().contains("admin.token"));
        for bad in ["", " \n", "a\nb"] {
            std::fs::write(&file, bad).unwrap();
            assert!(read_token(&file).unwrap_err().contains("holds no token"), "{bad:?}");
        }
        std::fs::write(&file, "abc\n").unwrap();
        let token = read_token(&file).unwrap();
        assert_eq!(token.as_bytes(), b"Bearer abc");
        assert!(!format!("{token:?}").contains("abc"), "a token is not printed");
    }

    #[test]
    fn a_foreign_answer_is_called_so() {
        let client = Client { url: DEFAULT_URL.to_owned(), token: None, file: None };
        let said = client.refused(StatusCode::NOT_FOUND, "<html>");
        assert!(said.contains("not as the admin API does"), "{said}");
    }
}
