//! A place by https that answers every request with one document, and the authority that vouches for it.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::ports;

/// Vouches for `localhost` and 127.0.0.1, and for nobody outside tests.
pub const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls/ca.pem");
/// The files of who is vouched for, and a file of an authority that vouches for nobody.
pub const CERTIFICATE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls/cert.pem");
pub const KEY_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls/key.pem");
pub const STRANGER: &str = CERTIFICATE_FILE;
const CERTIFICATE: &[u8] = include_bytes!("tls/cert.pem");
const KEY: &[u8] = include_bytes!("tls/key.pem");

/// Serves `document` until the test ends; the port.
pub async fn serve(document: Arc<Mutex<String>>) -> u16 {
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let port = ports::free();
    let listener = TcpListener::bind(ports::at(port)).await.unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, document) = (acceptor.clone(), Arc::clone(&document));
            tokio::spawn(async move {
                let mut stream = acceptor.accept(stream).await.ok()?;
                let _head = stream.read(&mut [0; 4096]).await.ok()?;
                let body = document.lock().unwrap().clone();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                stream.write_all(answer.as_bytes()).await.ok()?;
                stream.shutdown().await.ok()
            });
        }
    });
    port
}
