//! Fetches a key set, from a file or by HTTP: once, whole, within a time and a size. Redirects are not
//! followed: whoever could answer with one would choose whose keys count.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::handshake;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;

use super::keyset::BYTES_MAX;
use super::tls;

/// Where a key set is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(PathBuf),
    /// An address, `http://host:port/target` or the same by https.
    Http {
        /// Whether by https: then the system's certificates say who may answer.
        tls: bool,
        /// A name or an address, IPv6 in brackets.
        host: String,
        /// The port.
        port: u16,
        /// Path and query.
        target: String,
    },
}

/// Why no set could be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error("cannot be read: {0}")]
    File(std::io::Error),
    #[error("cannot be reached: {0}")]
    Connect(std::io::Error),
    #[error("the system's certificates cannot be read: {0}; install ca-certificates or set SSL_CERT_FILE")]
    Roots(String),
    #[error("cannot be trusted: {0}")]
    Tls(std::io::Error),
    #[error("answers badly: {0}")]
    Http(#[from] hyper::Error),
    #[error("answers with status {0}, and only 200 counts")]
    Status(StatusCode),
    #[error("is longer than {BYTES_MAX} bytes or broke off")]
    Body,
    #[error("has no address that a request can be sent to")]
    Address,
    #[error("took longer than {0:?}")]
    Slow(Duration),
}

/// The document that is there now.
pub(super) async fn fetch(place: &Place, longest: Duration) -> Result<Vec<u8>, FetchError> {
    let fetched = async {
        match place {
            Place::File(path) => read(path).await,
            Place::Http { tls, host, port, target } => get(*tls, host, *port, target).await,
        }
    };
    tokio::time::timeout(longest, fetched).await.unwrap_or(Err(FetchError::Slow(longest)))
}

async fn read(path: &std::path::Path) -> Result<Vec<u8>, FetchError> {
    let file = tokio::fs::File::open(path).await.map_err(FetchError::File)?;
    let mut document = Vec::new();
    // One byte more than allowed, so that too long a file is seen to be too long.
    file.take(BYTES_MAX as u64 + 1).read_to_end(&mut document).await.map_err(FetchError::File)?;
    Ok(document)
}

async fn get(tls: bool, host: &str, port: u16, target: &str) -> Result<Vec<u8>, FetchError> {
    let name = host.trim_matches(['[', ']']);
    let stream = TcpStream::connect((name, port)).await.map_err(FetchError::Connect)?;
    if tls {
        return ask(tls::dial(name, stream).await?, host, port, target).await;
    }
    ask(stream, host, port, target).await
}

async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    host: &str,
    port: u16,
    target: &str,
) -> Result<Vec<u8>, FetchError> {
    let (mut sender, connection) = handshake(TokioIo::new(stream)).await?;
    // Ends with the sender, at the latest when the time is over.
    let conversing = tokio::spawn(connection);
    let ended = EndsWith(conversing.abort_handle());
    let request = Request::get(target)
        .header(header::HOST, format!("{host}:{port}"))
        .header(header::ACCEPT, "application/jwk-set+json, application/json")
        .header(header::USER_AGENT, concat!("ropeline/", env!("CARGO_PKG_VERSION")))
        .body(Empty::<Bytes>::new())
        .map_err(|_| FetchError::Address)?;
    let response = sender.send_request(request).await?;
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status(response.status()));
    }
    let body = Limited::new(response.into_body(), BYTES_MAX).collect().await.map_err(|_| FetchError::Body)?;
    drop(ended);
    Ok(body.to_bytes().to_vec())
}

struct EndsWith(tokio::task::AbortHandle);

impl Drop for EndsWith {
    fn drop(&mut self) {
        self.0.abort();
    }
}
