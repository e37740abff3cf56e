//! The edge put together: pingora's proxy, our phases, the ports.

use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use pingora::proxy::{HttpProxy, http_proxy};
use pingora::server::configuration::ServerConf;
use tokio::sync::watch;

use super::listener;
use super::origin::Origin;
use super::settings::Settings;
use crate::answer::{Answer, Gate, Request};
use crate::listen::{self, Admit, Bound, Limits};
use crate::metrics::Listener;
use crate::route::Target;

/// Attempts to reach the origin: one, and one more when nothing had been sent or a kept connection was stale.
pub(super) const ATTEMPTS_MAX: u8 = 2;

/// Idle connections to the origin that are kept, per thread.
const POOL: usize = 128;

/// Where answers that are kept in memory come from. Asked after the gate has said yes.
#[async_trait]
pub trait Shelf: Send + Sync + 'static {
    /// The answer to be given in the origin's place, or `None` to ask the origin.
    async fn take(&self, request: &Request<'_>, target: &Target, headers: &HeaderMap) -> Option<Answer>;
}

/// What the phases work with; one for all connections.
pub(super) struct Phases {
    pub(super) settings: Settings,
    pub(super) gate: Arc<dyn Gate>,
    pub(super) shelf: Option<Arc<dyn Shelf>>,
    pub(super) origin: Arc<Origin>,
}

/// The edge.
pub struct Edge {
    proxy: Arc<HttpProxy<Phases>>,
    admit: Arc<dyn Admit>,
    limits: Arc<Limits>,
    settings: Settings,
}

impl Edge {
    /// Puts the edge together; must be called inside the runtime that will serve it.
    #[must_use]
    pub fn new(
        settings: Settings,
        origin: Arc<Origin>,
        gate: Arc<dyn Gate>,
        shelf: Option<Arc<dyn Shelf>>,
        admit: Arc<dyn Admit>,
    ) -> Self {
        let conf = ServerConf {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            upstream_keepalive_pool_size: POOL,
            max_retries: usize::from(ATTEMPTS_MAX),
            ..ServerConf::default()
        };
        let phases = Phases { settings: settings.clone(), gate, shelf, origin };
        let proxy = Arc::new(http_proxy(&Arc::new(conf), phases));
        Self { proxy, admit, limits: Arc::new(settings.limits.clone()), settings }
    }

    /// Serves a port until `stop` turns true and the grace period is over or used up.
    pub async fn serve(&self, bound: Bound, stop: watch::Receiver<bool>) {
        let grace = self.limits.grace;
        let seen = stop.clone();
        bound.run(stop, grace, |stream, peer| self.connection(stream, peer, seen.clone())).await;
    }

    fn connection(
        &self,
        stream: tokio::net::TcpStream,
        peer: std::net::SocketAddr,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let held = listen::take_in(Listener::Edge, &*self.admit, self.counted(peer.ip()));
        let (proxy, limits) = (self.proxy.clone(), self.limits.clone());
        async move {
            let Some(_held) = held else { return };
            listener::serve(proxy, stream, peer, limits, stop).await;
        }
    }

    /// The address that a connection counts against: none for a proxy that brings everybody's.
    fn counted(&self, peer: IpAddr) -> Option<IpAddr> {
        (!self.settings.trusted.holds(peer)).then(|| peer.to_canonical())
    }
}
