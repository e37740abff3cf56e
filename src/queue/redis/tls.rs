//! TLS towards Redis: the authorities of `store.ca_file`, or the system's, say who may answer, by the name or number
//! that was dialled. They are read anew for each connection, so that they may be renewed while we run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::Host;
use crate::queue::StoreError;

/// Whom to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tls {
    /// `None`: the system's (or those that `SSL_CERT_FILE` names).
    pub(super) authorities: Option<PathBuf>,
}

impl Tls {
    /// Makes a connection a trusted one.
    pub(super) async fn wrap(
        &self,
        host: &Host,
        stream: TcpStream,
    ) -> Result<TlsStream<TcpStream>, StoreError> {
        let name = ServerName::try_from(host.name.clone())
            .map_err(|_| StoreError::Refused(format!("{host}: no certificate can be for such a name")))?;
        let (this, own) = (self.clone(), self.authorities.is_some());
        let read = tokio::task::spawn_blocking(move || this.config()).await;
        let config = read
            .map_err(|_| StoreError::Unreachable("interrupted".to_owned()))?
            .map_err(StoreError::Refused)?;
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| {
            let remedy = if own {
                "does store.ca_file hold the authority of its certificate?"
            } else {
                "store.ca_file names the authority of its certificate, unless the system trusts it"
            };
            StoreError::Refused(format!("no trusted TLS with {host}: {error}; {remedy}"))
        })
    }

    fn config(&self) -> Result<ClientConfig, String> {
        let found = match &self.authorities {
            Some(path) => authorities(path).map_err(|why| format!("store.ca_file: {why}"))?,
            None => rustls_native_certs::load_native_certs()
                .map_err(|error| format!("the system's certificates cannot be read: {error}"))?,
        };
        let mut roots = RootCertStore::empty();
        let (good, _) = roots.add_parsable_certificates(found);
        if good == 0 {
            return Err("there is no certificate of an authority; name a file in store.ca_file".to_owned());
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        Ok(builder.with_root_certificates(roots).with_no_client_auth())
    }
}

/// Nobody there answered to a greeting by TLS: a server that waits for a line of text does just that.
pub(super) fn silent(host: &Host) -> StoreError {
    StoreError::Unreachable(format!("{host} did not answer by TLS in time; is that its tls-port?"))
}

/// The certificates of a PEM file, at least one.
fn authorities(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let cannot = |why: String| format!("{} cannot be read ({why})", path.display());
    let bytes = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let found = found.map_err(|error| cannot(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    match roots.add_parsable_certificates(found.iter().cloned()) {
        (0, _) => Err(format!("{} holds no certificate of an authority in PEM", path.display())),
        _ => Ok(found),
    }
}

/// Whether a file can be a `store.ca_file`.
///
/// # Errors
/// Why not, with its name.
pub fn check_authorities(path: &Path) -> Result<(), String> {
    authorities(path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls");

    #[test]
    fn a_file_of_authorities_is_told_from_others() {
        let path = |name: &str| Path::new(TLS).join(name);
        assert_eq!(check_authorities(&path("ca.pem")), Ok(()));
        assert!(check_authorities(&path("key.pem")).unwrap_err().contains("holds no certificate"));
        assert!(check_authorities(&path("none.pem")).unwrap_err().contains("none.pem cannot be read"));
        let own = Tls { authorities: Some(path("key.pem")) };
        assert!(own.config().unwrap_err().starts_with("store.ca_file: "));
        assert!(Tls { authorities: Some(path("ca.pem")) }.config().is_ok());
    }
}
