//! One connection to Redis, and who looks after it.
//!
//! The client library does not dial anew after a timeout or when the server became a replica, so this does:
//! a supervisor dials, checks, watches, and replaces. Callers only ever look at what is published. While nothing is
//! connected they fail at once: there is no queue that could fill, and no call can cause a dial.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisError, ScriptInvocation, Value};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::address::Host;
use super::dial::Dialler;
use super::failure::{self, Fate};
use super::pace::back_off;
use super::say::Said;
use super::target::Target;
use crate::metrics;
use crate::queue::{Durability, Settings, StoreError};

/// How often a connection that works is asked again whether the server is still what it must be.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// And sentinels, whether it is still the one: a primary that only they cannot reach would serve us beside its successor.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// Timeouts in a row after which a connection is given up.
const TIMEOUTS_MAX: u32 = 2;

/// A connection in use.
struct Wire {
    connection: MultiplexedConnection,
    timeouts: AtomicU32,
    broken: Notify,
}

/// Counts a connection for as long as it is in use, however that ends.
struct InUse;

impl InUse {
    fn new() -> Self {
        metrics::store_connections(true);
        Self
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        metrics::store_connections(false);
    }
}

#[derive(Clone)]
enum State {
    Starting,
    Down(StoreError),
    Up(Arc<Wire>),
}

/// Why a call failed, and what that says of the connection.
pub(super) struct Failed {
    pub(super) error: StoreError,
    pub(super) fate: Fate,
}

/// The connection as callers see it. Dropping it ends the supervisor.
pub(super) struct Link {
    state: watch::Sender<State>,
    supervisor: AbortHandle,
    timeout: Duration,
    /// How many replicas must have a write before it counts.
    replicas: u32,
}

impl Link {
    /// Starts looking after a connection, on that runtime; returns at once, connected or not.
    pub(super) fn start(target: Target, settings: &Settings, dialler: Arc<Dialler>, handle: &Handle) -> Self {
        let (state, _) = watch::channel(State::Starting);
        let supervisor = Supervisor { target, dialler, settings: settings.clone(), state: state.clone() };
        let replicas = match settings.durability {
            Durability::Replicas(count) => count,
            Durability::Memory | Durability::Disk => 0,
        };
        let supervisor = handle.spawn(supervisor.run()).abort_handle();
        Self { state, supervisor, timeout: settings.timeout, replicas }
    }

    /// The first verdict on the server: waits for one attempt to end, then says how things stand.
    pub(super) async fn verdict(&self) -> Result<(), StoreError> {
        let mut watching = self.state.subscribe();
        let state = watching.wait_for(|state| !matches!(state, State::Starting)).await;
        match state.as_deref() {
            Ok(State::Up(_)) => Ok(()),
            Ok(State::Down(error)) => Err(error.clone()),
            Ok(State::Starting) | Err(_) => Err(StoreError::Unreachable("not connected yet".to_owned())),
        }
    }

    /// Runs a script and gives its answer. A timeout means that it may still run.
    pub(super) async fn call(&self, script: &ScriptInvocation<'_>) -> Result<Value, Failed> {
        let wire = self.wire().map_err(|error| Failed { error, fate: Fate::Drop })?;
        let mut connection = wire.connection.clone();
        let answer = tokio::time::timeout(self.timeout, script.invoke_async(&mut connection)).await;
        match answer {
            Ok(Ok(value)) => {
                wire.timeouts.store(0, Ordering::Relaxed);
                self.acknowledged(&wire).await?;
                Ok(value)
            }
            Ok(Err(error)) => Err(self.failed(&wire, &error)),
            Err(_) => Err(self.slow(&wire)),
        }
    }

    /// The connection, if there is one.
    fn wire(&self) -> Result<Arc<Wire>, StoreError> {
        match &*self.state.borrow() {
            State::Up(wire) => Ok(Arc::clone(wire)),
            State::Down(StoreError::TimedOut) => {
                Err(StoreError::Unreachable("it did not answer in time".to_owned()))
            }
            State::Down(error) => Err(error.clone()),
            State::Starting => Err(StoreError::Unreachable("not connected yet".to_owned())),
        }
    }

    /// Waits until enough replicas have what this connection wrote. Without them nobody may be told of it: the same
    /// call again finds it done, or does it on the server that took over.
    async fn acknowledged(&self, wire: &Arc<Wire>) -> Result<(), Failed> {
        if self.replicas == 0 {
            return Ok(());
        }
        let within = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
        let mut wait = redis::cmd("WAIT");
        wait.arg(self.replicas).arg(within);
        let mut connection = wire.connection.clone();
        let counted = tokio::time::timeout(self.timeout * 2, wait.query_async::<u32>(&mut connection)).await;
        match counted {
            Ok(Ok(count)) if count >= self.replicas => Ok(()),
            Ok(Ok(count)) => Err(Failed { error: StoreError::Unsure(count), fate: Fate::Keep }),
            Ok(Err(error)) => Err(self.failed(wire, &error)),
            Err(_) => Err(self.slow(wire)),
        }
    }

    /// Ends the connection; later calls fail.
    pub(super) fn close(&self) {
        self.state.send_replace(State::Down(StoreError::Unreachable("closed".to_owned())));
        self.supervisor.abort();
    }

    fn failed(&self, wire: &Arc<Wire>, error: &RedisError) -> Failed {
        let (error, fate) = failure::judge(error);
        if error == StoreError::TimedOut {
            return self.slow(wire);
        }
        wire.timeouts.store(0, Ordering::Relaxed);
        if fate == Fate::Drop {
            self.give_up(wire, &error);
        }
        Failed { error, fate }
    }

    fn slow(&self, wire: &Arc<Wire>) -> Failed {
        let error = StoreError::TimedOut;
        if wire.timeouts.fetch_add(1, Ordering::Relaxed) + 1 < TIMEOUTS_MAX {
            return Failed { error, fate: Fate::Keep };
        }
        self.give_up(wire, &error);
        Failed { error, fate: Fate::Drop }
    }

    /// Nobody uses this connection any more, from now on and not only once the supervisor has woken up.
    fn give_up(&self, wire: &Arc<Wire>, why: &StoreError) {
        self.state.send_if_modified(|state| {
            let current = matches!(state, State::Up(up) if Arc::ptr_eq(up, wire));
            if current {
                *state = State::Down(why.clone());
            }
            current
        });
        wire.broken.notify_one();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

struct Supervisor {
    target: Target,
    dialler: Arc<Dialler>,
    settings: Settings,
    state: watch::Sender<State>,
}

impl Supervisor {
    async fn run(self) {
        let (mut failures, mut said) = (0, Said::default());
        loop {
            let trouble = match self.target.dial(&self.dialler, &self.settings).await {
                Ok((host, connection)) => {
                    (failures, said) = (0, Said::default());
                    self.stay(&host, connection).await
                }
                Err(error) => {
                    failures += 1;
                    error
                }
            };
            said.say(&trouble);
            self.state.send_replace(State::Down(trouble));
            if failures > 0 {
                tokio::time::sleep(back_off(failures, rand::random())).await;
            }
        }
    }

    /// Publishes a connection and watches over it until it has to go; why it had to.
    async fn stay(&self, host: &Host, connection: MultiplexedConnection) -> StoreError {
        let wire = Arc::new(Wire { connection, timeouts: AtomicU32::new(0), broken: Notify::new() });
        self.state.send_replace(State::Up(Arc::clone(&wire)));
        tracing::info!(server = %host, "connected to the store");
        let _counted = InUse::new();
        let doubt = tokio::select! {
            () = wire.broken.notified() => None,
            error = self.no_longer_primary(host) => Some(error),
            error = self.no_longer_safe(host, &wire) => Some(error),
        };
        match (&doubt, &*self.state.borrow()) {
            (Some(error), _) | (None, State::Down(error)) => error.clone(),
            _ => StoreError::Unreachable("the connection broke".to_owned()),
        }
    }

    /// Asks now and then, and ends once the server is not what it must be any more.
    async fn no_longer_safe(&self, host: &Host, wire: &Wire) -> StoreError {
        loop {
            tokio::time::sleep(CHECK_EVERY).await;
            let mut connection = wire.connection.clone();
            if let Err(error) = self.target.check(host, &mut connection, &self.settings).await {
                return error;
            }
        }
    }

    /// Asks now and then, and ends once another server is the primary.
    async fn no_longer_primary(&self, host: &Host) -> StoreError {
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            if let Err(error) = self.target.still(host, &self.dialler).await {
                return error;
            }
        }
    }
}
