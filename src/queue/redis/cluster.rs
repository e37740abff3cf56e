//! A cluster: one supervised connection to each primary that keeps one of our rooms, and a map that says which.
//!
//! All keys of a room live in one slot, so a call leads to one node, and what holds for one server (ownership,
//! `WAIT`) holds there. The map is drawn anew when a node says that a room lives elsewhere or cannot be reached,
//! and now and then; nothing here follows a redirection by itself.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::{ScriptInvocation, Value};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::address::{Host, Login};
use super::dial::Dialler;
use super::failure::{self, Fate};
use super::link::{Failed, Link};
use super::pace::back_off;
use super::say::Said;
use super::slots::{Map, slot_of};
use super::target::{Target, Whom};
use crate::queue::{Settings, StoreError};
use crate::room::RoomId;

/// How often the map is drawn anew without a reason.
const REDRAW_EVERY: Duration = Duration::from_secs(30);
/// Failed attempts whose back-off a map that was just drawn rests for: a quarter to half a second.
const REST: u32 = 4;

/// The connections to a cluster.
pub(super) struct Cluster {
    seeds: Vec<Host>,
    login: Login,
    settings: Settings,
    dialler: Arc<Dialler>,
    handle: Handle,
    /// `None` until the first attempt to draw one has ended.
    map: watch::Sender<Option<Result<Arc<Map>, StoreError>>>,
    /// Something is not where the map says.
    stale: Notify,
    open: Mutex<Open>,
    /// Who is asked first for the next map.
    next: AtomicUsize,
}

/// What is connected: bounded by the rooms that are in use, and by the primaries.
#[derive(Default)]
struct Open {
    slots: BTreeSet<u16>,
    links: HashMap<Host, Arc<Link>>,
}

impl Cluster {
    pub(super) fn start(
        seeds: Vec<Host>,
        login: Login,
        settings: &Settings,
        dialler: Arc<Dialler>,
        handle: Handle,
    ) -> Arc<Self> {
        let cluster = Arc::new(Self {
            seeds,
            login,
            settings: settings.clone(),
            dialler,
            handle: handle.clone(),
            map: watch::Sender::new(None),
            stale: Notify::new(),
            open: Mutex::default(),
            next: AtomicUsize::new(0),
        });
        handle.spawn(Arc::clone(&cluster).keep_map());
        cluster
    }

    /// The first verdict on the cluster, and on the nodes that keep these rooms.
    pub(super) async fn verdict(&self, rooms: &[RoomId]) -> Result<(), StoreError> {
        let mut watching = self.map.subscribe();
        if let Ok(map) = watching.wait_for(Option::is_some).await
            && let Some(Err(error)) = &*map
        {
            return Err(error.clone());
        }
        let mut verdict = Ok(());
        for room in rooms {
            let this = match self.link(slot_of(room.as_str())) {
                Ok(link) => link.verdict().await,
                Err(error) => Err(error),
            };
            match this {
                Err(error @ StoreError::Unsafe(_)) => return Err(error),
                Err(error) => verdict = Err(error),
                Ok(()) => {}
            }
        }
        verdict
    }

    /// Runs a script where the room lives.
    pub(super) async fn call(
        &self,
        room: &RoomId,
        script: &ScriptInvocation<'_>,
    ) -> Result<Value, StoreError> {
        let link = self.link(slot_of(room.as_str())).inspect_err(|_| self.stale.notify_one())?;
        // A connection that was just begun is waited for: it is the first call to the room, or it has just moved.
        let _ = tokio::time::timeout(self.settings.timeout, link.verdict()).await;
        link.call(script).await.map_err(|Failed { error, fate }| {
            if fate != Fate::Keep {
                self.stale.notify_one();
            }
            error
        })
    }

    /// Ends everything; later calls fail.
    pub(super) fn close(&self) {
        let closed = StoreError::Unreachable("closed".to_owned());
        self.map.send_replace(Some(Err(closed)));
        self.open().links.clear();
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection to the primary of a slot, begun if there is none yet.
    fn link(&self, slot: u16) -> Result<Arc<Link>, StoreError> {
        let map = match &*self.map.borrow() {
            Some(Ok(map)) => Arc::clone(map),
            Some(Err(error)) => return Err(error.clone()),
            None => return Err(StoreError::Unreachable("not connected yet".to_owned())),
        };
        let mut open = self.open();
        open.slots.insert(slot);
        let Some(host) = map.primary(slot) else {
            return Err(StoreError::Refused(format!("no node of the cluster serves slot {slot}")));
        };
        if let Some(link) = open.links.get(host) {
            return Ok(Arc::clone(link));
        }
        let target = Target { to: Whom::Node(host.clone()), login: self.login.clone(), db: 0 };
        let link = Link::start(target, &self.settings, Arc::clone(&self.dialler), &self.handle);
        let link = Arc::new(link);
        open.links.insert(host.clone(), Arc::clone(&link));
        Ok(link)
    }

    /// Draws the map again and again, for as long as the runtime lives.
    async fn keep_map(self: Arc<Self>) {
        let (mut failures, mut said) = (0, Said::default());
        loop {
            match self.drawn().await {
                Ok(map) => {
                    (failures, said) = (0, Said::default());
                    self.take(map);
                    tokio::time::sleep(back_off(REST, rand::random())).await;
                    let _ = tokio::time::timeout(REDRAW_EVERY, self.stale.notified()).await;
                }
                Err(error) => {
                    failures += 1;
                    said.say(&error);
                    self.map.send_if_modified(|map| match map {
                        // An old map may still be right; whether it is, shows in the calls.
                        Some(Ok(_)) => false,
                        _ => map.replace(Err(error.clone())) != Some(Err(error)),
                    });
                    tokio::time::sleep(back_off(failures, rand::random())).await;
                }
            }
        }
    }

    /// Puts a map in force and leaves nodes that keep none of our rooms any more.
    fn take(&self, map: Map) {
        let mut open = self.open();
        let Open { slots, links } = &mut *open;
        let wanted: BTreeSet<&Host> = slots.iter().filter_map(|slot| map.primary(*slot)).collect();
        links.retain(|host, _| wanted.contains(host));
        drop(open);
        self.map.send_if_modified(|now| {
            let changed = !matches!(now, Some(Ok(old)) if **old == map);
            if changed {
                tracing::info!(nodes = map.nodes().len(), "the map of the cluster has changed");
                *now = Some(Ok(Arc::new(map)));
            }
            changed
        });
    }

    /// The map as the first node that answers tells it.
    async fn drawn(&self) -> Result<Map, StoreError> {
        let mut hosts = match &*self.map.borrow() {
            Some(Ok(map)) => map.nodes().to_vec(),
            _ => Vec::new(),
        };
        hosts.extend(self.seeds.iter().cloned());
        let first = self.next.fetch_add(1, Ordering::Relaxed) % hosts.len().max(1);
        hosts.rotate_left(first);
        let mut last = StoreError::Refused("store.url names no node".to_owned());
        for host in hosts {
            match self.told_by(&host).await {
                Ok(map) => return Ok(map),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    async fn told_by(&self, host: &Host) -> Result<Map, StoreError> {
        let mut connection = self.dialler.open(host, &self.login, 0).await?;
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let answer: Value =
            question.query_async(&mut connection).await.map_err(|error| match error.code() {
                Some("ERR") => StoreError::Refused(format!("{host} is no node of a cluster")),
                _ => failure::judge(&error).0,
            })?;
        match Map::read(&answer, host) {
            map if map.nodes().is_empty() => {
                Err(StoreError::Refused(format!("no slot of the cluster is served, says {host}")))
            }
            map => Ok(map),
        }
    }
}
