//! The one connection to Redis, and who looks after it.
//!
//! The client library does not dial anew after a timeout or when the server became a replica, so this does:
//! a thread with a small runtime of its own dials, checks, watches, and replaces. Callers come from
//! several runtimes and only ever look at what is published. While nothing is connected they fail at once:
//! there is no queue that could fill, and no call can cause a dial.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, ScriptInvocation, Value};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::dial::{self, DIAL_SPACING};
use super::failure::{self, Fate};
use crate::queue::{Durability, Settings, StoreError};

/// How often a connection that works is asked again whether the server is still what it must be.
const CHECK_EVERY: Duration = Duration::from_secs(30);
/// Timeouts in a row after which a connection is given up.
const TIMEOUTS_MAX: u32 = 2;
/// An unchanged trouble is said again after so long.
const SAY_AGAIN: Duration = Duration::from_secs(30);

/// A connection in use.
struct Wire {
    connection: MultiplexedConnection,
    timeouts: AtomicU32,
    broken: Notify,
}

#[derive(Clone)]
enum State {
    Starting,
    Down(StoreError),
    Up(Arc<Wire>),
}

/// The connection as callers see it. Dropping it ends the supervisor.
pub(super) struct Link {
    state: watch::Sender<State>,
    closing: Arc<Notify>,
    timeout: Duration,
    /// How many replicas must have a write before it counts.
    replicas: u32,
}

impl Link {
    /// Starts looking after a connection; returns at once, connected or not.
    ///
    /// # Errors
    /// The address cannot be read, or the thread cannot be started.
    pub(super) fn start(url: &str, settings: &Settings) -> Result<Self, StoreError> {
        let client = dial::client(url, settings.timeout)?;
        let (state, _) = watch::channel(State::Starting);
        let closing = Arc::new(Notify::new());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Refused(format!("no runtime for the connection: {error}")))?;
        let supervisor = Supervisor { client, settings: settings.clone(), state: state.clone() };
        let ending = Arc::clone(&closing);
        std::thread::Builder::new()
            .name("store-link".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        () = supervisor.run() => {}
                        () = ending.notified() => {}
                    }
                });
            })
            .map_err(|error| StoreError::Refused(format!("no thread for the connection: {error}")))?;
        let replicas = match settings.durability {
            Durability::Replicas(count) => count,
            Durability::Memory | Durability::Disk => 0,
        };
        Ok(Self { state, closing, timeout: settings.timeout, replicas })
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
    pub(super) async fn call(&self, script: &ScriptInvocation<'_>) -> Result<Value, StoreError> {
        let wire = match &*self.state.borrow() {
            State::Up(wire) => Arc::clone(wire),
            State::Down(error @ (StoreError::Unsafe(_) | StoreError::Refused(_))) => {
                return Err(error.clone());
            }
            State::Down(error) => return Err(StoreError::Unreachable(error.to_string())),
            State::Starting => return Err(StoreError::Unreachable("not connected yet".to_owned())),
        };
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

    /// Waits until enough replicas have what this connection wrote. Without them nobody may be told of it: the same
    /// call again finds it done, or does it on the server that took over.
    async fn acknowledged(&self, wire: &Arc<Wire>) -> Result<(), StoreError> {
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
            Ok(Ok(count)) => Err(StoreError::Unsure(count)),
            Ok(Err(error)) => Err(self.failed(wire, &error)),
            Err(_) => Err(self.slow(wire)),
        }
    }

    /// Ends the connection; later calls fail.
    pub(super) fn close(&self) {
        self.state.send_replace(State::Down(StoreError::Unreachable("closed".to_owned())));
        self.closing.notify_one();
    }

    fn failed(&self, wire: &Arc<Wire>, error: &RedisError) -> StoreError {
        let (meaning, fate) = failure::judge(error);
        if meaning == StoreError::TimedOut {
            return self.slow(wire);
        }
        wire.timeouts.store(0, Ordering::Relaxed);
        if fate == Fate::Drop {
            self.give_up(wire, &meaning);
        }
        meaning
    }

    fn slow(&self, wire: &Arc<Wire>) -> StoreError {
        if wire.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= TIMEOUTS_MAX {
            self.give_up(wire, &StoreError::TimedOut);
        }
        StoreError::TimedOut
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
    client: Client,
    settings: Settings,
    state: watch::Sender<State>,
}

impl Supervisor {
    async fn run(self) {
        let mut failures = 0;
        let mut said: Option<(StoreError, Instant)> = None;
        loop {
            let begun = Instant::now();
            let trouble = match dial::dial(&self.client, &self.settings).await {
                Ok(connection) => {
                    (failures, said) = (0, None);
                    self.stay(connection).await
                }
                Err(error) => {
                    failures += 1;
                    error
                }
            };
            say(&mut said, &trouble);
            self.state.send_replace(State::Down(trouble));
            if failures > 0 {
                tokio::time::sleep(dial::back_off(failures, rand::random())).await;
            }
            tokio::time::sleep_until(begun + DIAL_SPACING).await;
        }
    }

    /// Publishes a connection and watches over it until it has to go; why it had to.
    async fn stay(&self, connection: MultiplexedConnection) -> StoreError {
        let wire = Arc::new(Wire { connection, timeouts: AtomicU32::new(0), broken: Notify::new() });
        self.state.send_replace(State::Up(Arc::clone(&wire)));
        tracing::info!("connected to the store");
        loop {
            tokio::select! {
                () = wire.broken.notified() => {
                    return match &*self.state.borrow() {
                        State::Down(error) => error.clone(),
                        _ => StoreError::Unreachable("the connection broke".to_owned()),
                    };
                }
                () = tokio::time::sleep(CHECK_EVERY) => {
                    if let Err(error) = dial::check(&mut wire.connection.clone(), &self.settings).await {
                        return error;
                    }
                }
            }
        }
    }
}

/// One line per trouble, and again only when it changes or lasts.
fn say(said: &mut Option<(StoreError, Instant)>, trouble: &StoreError) {
    let again = |(last, at): &(StoreError, Instant)| last != trouble || at.elapsed() >= SAY_AGAIN;
    if said.as_ref().is_none_or(again) {
        tracing::warn!("{trouble}");
        *said = Some((trouble.clone(), Instant::now()));
    }
}
