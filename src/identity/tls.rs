//! TLS towards whoever publishes a key set: the system's certificates (or those that `SSL_CERT_FILE` names) say
//! who may, by the host's name.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::fetch::FetchError;

/// Makes a connection a trusted one. The certificates are read anew each time, which is seldom, so that they may
/// be renewed while we run.
pub(super) async fn dial(name: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, FetchError> {
    let server = ServerName::try_from(name.to_owned()).map_err(|_| FetchError::Address)?;
    let told = tokio::task::spawn_blocking(config).await;
    let config = told.map_err(|_| FetchError::Roots("interrupted".to_owned()))??;
    TlsConnector::from(Arc::new(config)).connect(server, stream).await.map_err(FetchError::Tls)
}

fn config() -> Result<ClientConfig, FetchError> {
    let bad = |why: String| FetchError::Roots(why);
    let found = rustls_native_certs::load_native_certs().map_err(|error| bad(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    let (good, _) = roots.add_parsable_certificates(found);
    if good == 0 {
        return Err(bad("there are none".to_owned()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}
