//! Where one supervised connection leads: asked anew before each attempt, so that a failover is followed by dialling
//! again and nothing else.

use redis::aio::MultiplexedConnection;

use super::address::{Host, Login};
use super::checks::Standing;
use super::dial::{self, Dialler};
use super::sentinel::Sentinels;
use crate::queue::{Settings, StoreError};

/// A server that may have to be found first.
pub(super) struct Target {
    pub(super) to: Whom,
    pub(super) login: Login,
    pub(super) db: u32,
}

/// How to find it.
pub(super) enum Whom {
    /// `store.url` names it.
    Server(Host),
    /// These know it.
    Sentinels(Sentinels),
    /// The map of the cluster names it, for now.
    Node(Host),
}

impl Target {
    /// Finds, dials, checks.
    ///
    /// # Errors
    /// Whatever stands in the way, sorted by what to do about it.
    pub(super) async fn dial(
        &self,
        dialler: &Dialler,
        settings: &Settings,
    ) -> Result<(Host, MultiplexedConnection), StoreError> {
        let host = match &self.to {
            Whom::Server(host) | Whom::Node(host) => host.clone(),
            Whom::Sentinels(sentinels) => sentinels.primary(dialler).await?,
        };
        let mut connection = dialler.open(&host, &self.login, self.db).await?;
        for aloud in self.check(&host, &mut connection, settings).await? {
            tracing::warn!("{aloud}");
        }
        Ok((host, connection))
    }

    /// Asks the server what it is.
    ///
    /// # Errors
    /// It is not what it must be.
    pub(super) async fn check(
        &self,
        host: &Host,
        connection: &mut MultiplexedConnection,
        settings: &Settings,
    ) -> Result<Vec<&'static str>, StoreError> {
        let standing = match self.to {
            Whom::Server(_) => Standing::Named,
            Whom::Sentinels(_) | Whom::Node(_) => Standing::Found,
        };
        dial::check(connection, settings, standing).await.map_err(|error| match (error, standing) {
            (StoreError::Unsafe(why), Standing::Found) => StoreError::Unsafe(format!("{host}: {why}")),
            (other, _) => other,
        })
    }

    /// Whether `host` is still the one. Sentinels of whom too few can be asked are no reason to leave it.
    ///
    /// # Errors
    /// Most of them call another one the primary.
    pub(super) async fn still(&self, host: &Host, dialler: &Dialler) -> Result<(), StoreError> {
        let Whom::Sentinels(sentinels) = &self.to else { return Ok(()) };
        match sentinels.agreed(dialler).await {
            Some(other) if other != *host => {
                Err(StoreError::Refused(format!("the primary is {other} now, no longer {host}")))
            }
            _ => Ok(()),
        }
    }
}
