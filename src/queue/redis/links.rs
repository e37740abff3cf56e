//! All connections of one store, on a thread with a small runtime of its own: callers come from several runtimes, and a
//! connection must not end with the one that happened to dial it.

use std::sync::Arc;

use redis::{ScriptInvocation, Value};
use tokio::runtime::Handle;
use tokio::sync::Notify;

use super::address::{Address, To};
use super::cluster::Cluster;
use super::dial::Dialler;
use super::link::Link;
use super::pace::Pace;
use super::sentinel::Sentinels;
use super::target::{Target, Whom};
use super::tls::Tls;
use crate::queue::{Settings, StoreError};
use crate::room::RoomId;

/// The connections as the store's verbs see them. Dropping them ends all of them.
pub(super) struct Links {
    kind: Kind,
    closing: Arc<Notify>,
}

enum Kind {
    /// One server keeps all rooms.
    One(Link),
    Cluster(Arc<Cluster>),
}

impl Links {
    /// Starts looking after connections; returns at once, connected or not.
    ///
    /// # Errors
    /// The address cannot be read, or the thread cannot be started.
    pub(super) fn start(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        let address =
            Address::parse(url).map_err(|error| StoreError::Refused(format!("store.url: {error}")))?;
        let tls = address.tls.then(|| Tls { authorities: settings.ca_file.clone() });
        let dialler = Arc::new(Dialler { tls, timeout: settings.timeout, pace: Pace::new() });
        let (handle, closing) = runtime()?;
        let Address { login, db, .. } = address;
        let to = match address.to {
            To::Server(host) => Whom::Server(host),
            To::Sentinels { hosts, name, login } => Whom::Sentinels(Sentinels::new(hosts, name, login)),
            To::Cluster(seeds) => {
                let cluster = Cluster::start(seeds, login, settings, dialler, handle);
                return Ok(Self { kind: Kind::Cluster(cluster), closing });
            }
        };
        let link = Link::start(Target { to, login, db }, settings, dialler, &handle);
        Ok(Self { kind: Kind::One(link), closing })
    }

    /// The first verdict on whatever keeps these rooms: waits for one attempt to end, then says how things stand.
    pub(super) async fn verdict(&self, rooms: &[RoomId]) -> Result<(), StoreError> {
        match &self.kind {
            Kind::One(link) => link.verdict().await,
            Kind::Cluster(cluster) => cluster.verdict(rooms).await,
        }
    }

    /// Runs a script where the room lives and gives its answer. A timeout means that it may still run.
    pub(super) async fn call(
        &self,
        room: &RoomId,
        script: &ScriptInvocation<'_>,
    ) -> Result<Value, StoreError> {
        match &self.kind {
            Kind::One(link) => link.call(script).await.map_err(|failed| failed.error),
            Kind::Cluster(cluster) => cluster.call(room, script).await,
        }
    }

    /// Ends all connections; later calls fail.
    pub(super) fn close(&self) {
        match &self.kind {
            Kind::One(link) => link.close(),
            Kind::Cluster(cluster) => cluster.close(),
        }
        self.closing.notify_one();
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.close();
    }
}

/// A runtime on a thread, until it is told to end.
fn runtime() -> Result<(Handle, Arc<Notify>), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| StoreError::Refused(format!("no runtime for the connection: {error}")))?;
    let handle = runtime.handle().clone();
    let closing = Arc::new(Notify::new());
    let ending = Arc::clone(&closing);
    std::thread::Builder::new()
        .name("store-link".to_owned())
        .spawn(move || runtime.block_on(ending.notified()))
        .map_err(|error| StoreError::Refused(format!("no thread for the connection: {error}")))?;
    Ok((handle, closing))
}
