//! Wires the parts: the only place that sees all of them. What happens at a start, in order: keys, store,
//! lines, listeners; and at a stop: no new connections, what is under way ends, then the store is closed.

mod accounts;
mod operators;
mod parts;
mod shelf;
mod stock;
mod stop;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::answer::{Clock, Desk};
use crate::config::Config;
use crate::queue::{Line, QueueStore};
use crate::room::Micros;
use crate::{admin, crowd, listen, metrics, proxy};

pub use parts::StartError;
pub use stop::signals;

/// How often keys are looked for on disk, and gauges are set.
const UPKEEP: Duration = Duration::from_secs(1);

/// A running instance. Dropping it ends everything at once; [`Server::stop`] ends it in order.
pub struct Server {
    edge: Vec<SocketAddr>,
    crowd: Vec<SocketAddr>,
    admin: SocketAddr,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
    store: Arc<dyn QueueStore>,
    _lines: Vec<Arc<Line>>,
}

impl Server {
    /// Starts an instance on the current runtime. A store that cannot be reached is no error: the instance
    /// listens, answers 503 and heals. One that may forget is.
    ///
    /// # Errors
    /// One line that says what is wrong and what to do.
    pub async fn start(config: &Config) -> Result<Self, StartError> {
        let counted = metrics::install();
        metrics::reload_ok(true);
        let keyring = parts::keyring(config)?;
        let listeners = Listeners::bind(config).await?;
        let (origin, resolved) = parts::origin(config)?;
        let routes = parts::routes(config)?;
        let store = parts::store(config).await?;
        let lines = parts::lines(config, &store, &keyring.identity_fingerprint())?;
        let clock: Clock = Arc::new(wall_clock);
        let settings = parts::answers(config)?;
        let (stop, stopping) = watch::channel(false);
        let keys = Arc::clone(&keyring);
        let desk = Desk::new(settings, routes, lines.clone(), keys, stopping.clone(), Arc::clone(&clock));
        let desk: Arc<dyn crate::answer::Gate> = Arc::new(desk);
        let admit = parts::admit(config);
        let shelf = shelf::shelf(config, &origin)?;

        let mut tasks = JoinSet::new();
        let addresses = listeners.addresses();
        let edge_settings = parts::edge(config)?;
        let edge = Arc::new(proxy::Edge::new(
            edge_settings,
            Arc::clone(&origin),
            Arc::clone(&desk),
            shelf,
            Arc::clone(&admit),
        ));
        for bound in listeners.edge {
            let (edge, stopping) = (Arc::clone(&edge), stopping.clone());
            tasks.spawn(async move { edge.serve(bound, stopping).await });
        }
        let crowd = Arc::new(crowd::Crowd::new(parts::crowd(config), desk, admit));
        for bound in listeners.crowd {
            let (crowd, stopping) = (Arc::clone(&crowd), stopping.clone());
            tasks.spawn(async move { crowd.serve(bound, stopping).await });
        }
        let router = operators::router(config, &lines, Arc::clone(&keyring), counted.clone())?;
        tasks.spawn(listeners.admin.serve(router, counted, stopping.clone()));
        let fetcher = Arc::new(proxy::Fetcher::new(Arc::clone(&origin), parts::secret(config)?));
        for reader in stock::readers(config, &lines, &fetcher) {
            tasks.spawn(reader.until_stopped(stopping.clone()));
        }
        tasks.spawn(resolved.until_stopped(stopping.clone()));
        tasks.spawn(upkeep(keyring, lines.clone(), stopping));
        let (edge, crowd, admin) = addresses;
        Ok(Self { edge, crowd, admin, stop, tasks, store, _lines: lines })
    }

    /// Where visitors come in.
    #[must_use]
    pub fn edge(&self) -> &[SocketAddr] {
        &self.edge
    }

    /// Where those who wait may ask, if there is a second door.
    #[must_use]
    pub fn crowd(&self) -> &[SocketAddr] {
        &self.crowd
    }

    /// Where operators come in.
    #[must_use]
    pub fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Stops in order: no new connections, requests under way end within the grace period, the store is
    /// closed last.
    pub async fn stop(mut self) {
        let _nobody_left = self.stop.send(true);
        while self.tasks.join_next().await.is_some() {}
        self.store.close().await;
    }
}

/// Every port of an instance, taken before anything else starts.
struct Listeners {
    edge: Vec<listen::Bound>,
    crowd: Vec<listen::Bound>,
    admin: admin::Listener,
}

impl Listeners {
    async fn bind(config: &Config) -> Result<Self, StartError> {
        let mut edge = Vec::new();
        for address in &config.server.listen {
            edge.push(listen::bind(*address).await?);
        }
        let mut crowd = Vec::new();
        for address in &config.server.crowd_listen {
            crowd.push(listen::bind(*address).await?);
        }
        let admin = admin::Listener::bind(admin::Settings::at(config.admin.listen)).await?;
        Ok(Self { edge, crowd, admin })
    }

    fn addresses(&self) -> (Vec<SocketAddr>, Vec<SocketAddr>, SocketAddr) {
        let of = |ports: &[listen::Bound]| ports.iter().map(listen::Bound::local_addr).collect();
        (of(&self.edge), of(&self.crowd), self.admin.local_addr())
    }
}

/// Keys come and go while the instance runs, and gauges follow the lines.
async fn upkeep(
    keyring: Arc<crate::token::Keyring>,
    lines: Vec<Arc<Line>>,
    mut stopping: watch::Receiver<bool>,
) {
    let mut wrong = false;
    while tokio::time::timeout(UPKEEP, listen::stopped(&mut stopping)).await.is_err() {
        for line in &lines {
            let view = line.view();
            metrics::store_up(line.room(), view.fresh);
            if let Some(snapshot) = &view.snapshot {
                metrics::snapshot(line.room(), snapshot);
            }
        }
        match keyring.reload() {
            Ok(true) => tracing::info!("keys were read anew"),
            Ok(false) => wrong = false,
            Err(error) if !wrong => {
                tracing::error!(%error, "keys cannot be read anew; the last good ones stay in force");
                wrong = true;
            }
            Err(_) => {}
        }
    }
}

/// The time of day.
#[must_use]
pub fn wall_clock() -> Micros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Micros(0).plus(since)
}
