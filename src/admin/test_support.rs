//! A desk over plain snapshots, and the API served on loopback, for the tests here and of `ctl`.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::sync::watch;

use super::{Desk, Doorkeeper, Failures, Holder, Listener, Parts, Readiness, Role, Settings, router};
use crate::metrics;
use crate::queue::{StoreError, View};
use crate::room::{
    Control, Forced, Lineage, Micros, Number, Overrides, Phase, Rate, RoomId, Rules, Snapshot,
};

/// A room with people in line.
pub(crate) fn snapshot() -> Snapshot {
    Snapshot {
        lineage: Lineage(7),
        epoch: 1,
        version: 3,
        now: Micros(1_798_084_800_000_000),
        phase: Phase::Open,
        reason: None,
        forced: None,
        draw: crate::room::Draw::default(),
        last: Number(67_310),
        called: Number(12_300),
        due: Number(12_200),
        frontier: Number(12_000),
        lapsed: Number(0),
        voids: crate::room::Voids::default(),
        keys: String::new(),
        lost: crate::room::Voids::default(),
        slots_to: crate::room::Micros(0),
        reach: 150,
        admitted: 11_500,
        granted: 0,
        active: 9,
        departed: 0,
        ended_to: 0,
        revoked_before: Micros(0),
        stock: None,
        rules: Rules::at(Rate::per_second(50).unwrap()),
        overrides: Overrides::default(),
        rules_written: Rules::at(Rate::per_second(50).unwrap()),
    }
}

pub(crate) fn room(name: &str) -> RoomId {
    RoomId::new(name).unwrap()
}

/// Rooms without a store behind them.
#[derive(Default)]
pub(crate) struct FakeDesk {
    rooms: Vec<RoomId>,
    kept: Mutex<HashMap<RoomId, Arc<Snapshot>>>,
    pub(crate) store_away: AtomicBool,
    pub(crate) stopping: AtomicBool,
    pub(crate) changes: AtomicU64,
    /// Changes that have come as far as the store.
    pub(crate) asked: AtomicU64,
    /// While a test holds this, the store does not answer.
    pub(crate) hung: tokio::sync::Mutex<()>,
}

impl FakeDesk {
    /// Two rooms, of which the store holds the first.
    pub(crate) fn new() -> Self {
        let kept = HashMap::from([(room("spring-tour"), Arc::new(snapshot()))]);
        let rooms = vec![room("spring-tour"), room("new-year")];
        Self { rooms, kept: Mutex::new(kept), ..Self::default() }
    }

    fn change(&self, id: &RoomId, f: impl FnOnce(&mut Snapshot)) -> Result<Arc<Snapshot>, StoreError> {
        if self.store_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unreachable("connection refused".to_owned()));
        }
        let mut kept = self.kept.lock().unwrap();
        let mut next = kept.get(id).ok_or(StoreError::NoRoom)?.as_ref().clone();
        f(&mut next);
        next.version += 1;
        self.changes.fetch_add(1, Ordering::SeqCst);
        let next = Arc::new(next);
        kept.insert(id.clone(), Arc::clone(&next));
        Ok(next)
    }
}

fn apply(snapshot: &mut Snapshot, change: Control) {
    match change {
        Control::Pause { reason } => {
            snapshot.phase = Phase::Paused;
            snapshot.reason = reason;
        }
        Control::Resume => {
            snapshot.phase = Phase::Open;
            snapshot.reason = None;
        }
        Control::Set(patch) => {
            snapshot.overrides = snapshot.overrides.patched(&patch);
            snapshot.rules = snapshot.overrides.over(&Rules::at(Rate::per_second(50).unwrap()));
        }
        Control::Rules(rules) => snapshot.rules = rules,
        Control::RevokeBefore => {
            snapshot.revoked_before = snapshot.now;
            snapshot.active = 0;
        }
        Control::StockRead { .. } => {}
        Control::Keys(keys) => snapshot.keys = keys,
        Control::Flush(lineage) => {
            snapshot.lineage = lineage;
            snapshot.frontier = snapshot.last;
            snapshot.admitted = 0;
        }
        Control::Open => (snapshot.forced, snapshot.phase) = (Some(Forced::Open), Phase::Open),
        Control::Close => (snapshot.forced, snapshot.phase) = (Some(Forced::Closed), Phase::Closed),
        Control::Follow => (snapshot.forced, snapshot.phase) = (None, Phase::Open),
        Control::Seed(_, seed) => snapshot.draw.seed = Some(seed),
        Control::DrawValue(value) => snapshot.draw.value = Some(value),
    }
}

#[async_trait]
impl Desk for FakeDesk {
    fn rooms(&self) -> Vec<RoomId> {
        self.rooms.clone()
    }

    fn view(&self, room: &RoomId) -> Option<View> {
        self.rooms.contains(room).then(|| View {
            snapshot: self.kept.lock().unwrap().get(room).cloned(),
            fresh: !self.store_away.load(Ordering::SeqCst),
            fault: None,
            speed: None,
            there: None,
        })
    }

    async fn control(&self, room: &RoomId, change: Control) -> Result<Arc<Snapshot>, StoreError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        drop(self.hung.lock().await);
        self.change(room, |snapshot| apply(snapshot, change))
    }

    async fn create(&self, room: &RoomId) -> Result<Arc<Snapshot>, StoreError> {
        let fresh = || Arc::new(Snapshot { last: Number(0), frontier: Number(0), admitted: 0, ..snapshot() });
        self.kept.lock().unwrap().entry(room.clone()).or_insert_with(fresh);
        self.change(room, |_| {})
    }

    fn admission(&self, _room: &RoomId, id: &str) -> Option<Number> {
        (id == "seven").then_some(Number(7))
    }

    async fn end(&self, room: &RoomId, number: Number) -> Result<Arc<Snapshot>, StoreError> {
        assert_eq!(number, Number(7));
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.change(room, |snapshot| snapshot.active = snapshot.active.saturating_sub(1))
    }

    fn readiness(&self) -> Readiness {
        Readiness { serving: !self.stopping.load(Ordering::SeqCst), amiss: vec![] }
    }
}

/// Three tokens, one a role.
struct Names;

impl Doorkeeper for Names {
    fn find(&self, bearer: &str) -> Option<Holder> {
        let role = match bearer {
            "see" => Role::Viewer,
            "act" => Role::Operator,
            "shop" => Role::Origin,
            _ => return None,
        };
        Some(Holder { name: format!("{bearer}-desk"), role })
    }
}

/// Three failures are free.
#[derive(Default)]
struct ThreeFree(Mutex<HashMap<IpAddr, u32>>);

impl Failures for ThreeFree {
    fn failed(&self, client: IpAddr) -> Option<Duration> {
        let mut all = self.0.lock().unwrap();
        let failed = all.entry(client).or_default();
        *failed += 1;
        (*failed > 3).then_some(Duration::from_secs(30))
    }
}

/// The API on loopback.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) desk: Arc<FakeDesk>,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) done: tokio::task::JoinHandle<()>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) text: String,
}

impl Got {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }

    /// The slug of a problem, after checking its form.
    pub(crate) fn slug(&self) -> String {
        let json = self.json();
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        assert_eq!(json["status"], self.status);
        json["type"].as_str().unwrap().strip_prefix("urn:ropeline:problem:").unwrap().to_owned()
    }
}

impl Served {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::at(SocketAddr::from(([127, 0, 0, 1], 0)));
        change(&mut settings);
        let desk = Arc::new(FakeDesk::new());
        let counted = metrics::install();
        let parts = Parts {
            desk: Arc::clone(&desk) as _,
            doorkeeper: Arc::new(Names),
            failures: Arc::new(ThreeFree::default()),
            lineage: Arc::new(|| Lineage(0xabcd)),
            metrics: counted.clone(),
        };
        let api = router(parts, &settings);
        let listener = Listener::bind(settings).await.unwrap();
        let address = listener.local_addr();
        let (stop, stopped) = watch::channel(false);
        let done = tokio::spawn(listener.serve(api, counted, stopped));
        Self { address, desk, stop, done }
    }

    /// One request. `token` may be empty; headers are `(name, value)`.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Got {
        let uri = format!("http://{}{path}", self.address);
        let mut request = http::Request::builder().method(method).uri(uri);
        if !token.is_empty() {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        let body = Full::new(bytes::Bytes::from(body.to_owned()));
        let response = client.request(request.body(body).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
        Got { status: parts.status.as_u16(), headers: parts.headers, text }
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.ask("GET", path, "see", &[], "").await
    }

    pub(crate) async fn act(&self, method: &str, path: &str, body: &str) -> Got {
        self.ask(method, path, "act", &[], body).await
    }
}
