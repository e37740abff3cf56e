//! Running instances of the product: the real binary with a real file, on ports of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::eventually::within;
use super::home::Home;
use super::http::Ask;
use super::origin::Origin;
use super::origin::guard::{Guard, keys_of};
use super::origin::journal::Journal;
use super::plan::{Plan, Ports};
use super::process::Process;
use super::{chance, ports, process};

/// How long a start may take on a busy machine.
const START: Duration = Duration::from_secs(30);

/// One running instance.
pub struct Ropeline {
    pub room: &'static str,
    pub home: Arc<Home>,
    ports: Ports,
    command: Vec<String>,
    /// Variables of its environment besides the test's own.
    pub env: Vec<(&'static str, String)>,
    log: PathBuf,
    process: Option<Process>,
}

impl Ropeline {
    /// One instance, ready and its room open; the shop's journal is checked against its keys.
    pub async fn start(plan: Plan, origin: &Origin) -> Self {
        let mut all = Self::start_many(plan, origin, 1).await;
        all.remove(0)
    }

    /// Several instances that share store and keys.
    pub async fn start_many(plan: Plan, origin: &Origin, count: usize) -> Vec<Self> {
        Self::start_until(plan, origin, count, "open").await
    }

    /// Several that wait until their room is in this state.
    pub async fn start_until(plan: Plan, origin: &Origin, count: usize, state: &str) -> Vec<Self> {
        let home = Arc::new(Home::new());
        if plan.redis.is_some() {
            make_keys(&home).await;
        }
        let mut all = Vec::new();
        for _ in 0..count {
            let mut one = Self::planned(&plan, &home);
            one.up().await;
            one.until_state(state).await;
            all.push(one);
        }
        all[0].watch(&plan, origin.journal()).await;
        all
    }

    /// Written down but not started.
    pub fn planned(plan: &Plan, home: &Arc<Home>) -> Self {
        let ports = Ports { edge: ports::free(), crowd: ports::free(), admin: ports::free() };
        let document = plan.document(home.path(), ports, &home.token_hashes());
        let file = home.file(&format!("ropeline-{}.toml", ports.edge), &document);
        let command = vec!["run".into(), "--config".into(), file.display().to_string()];
        Self::with_command(plan.room, home, ports, command)
    }

    /// An instance that is started with these arguments.
    pub fn with_command(room: &'static str, home: &Arc<Home>, ports: Ports, command: Vec<String>) -> Self {
        let log = home.path().join(format!("log-{:x}", chance::bits()));
        Self { room, home: Arc::clone(home), ports, command, env: Vec::new(), log, process: None }
    }

    /// Starts it and waits until it listens on both of its listeners.
    pub async fn up(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ropeline"));
        command.args(&self.command).current_dir(self.home.path());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        self.process = Some(Process::start("ropeline", &mut command, &self.log, ""));
        within("ropeline listens", START, async || self.listens().await).await;
    }

    async fn listens(&mut self) -> Result<(), String> {
        if let Some(process) = &mut self.process
            && let Some(status) = process.ended()
        {
            panic!("ropeline ended at once with {status}:\n{}", process.log());
        }
        let live = Ask::get("/livez").send(self.admin()).await.map_err(|e| format!("admin: {e}"))?;
        tokio::net::TcpStream::connect(self.edge()).await.map_err(|e| format!("edge: {e}"))?;
        if live.status == 200 { Ok(()) } else { Err(format!("livez says {}", live.status)) }
    }

    /// The edge's address.
    pub fn edge(&self) -> SocketAddr {
        ports::at(self.ports.edge)
    }

    /// The crowd door's address.
    pub fn crowd(&self) -> SocketAddr {
        ports::at(self.ports.crowd)
    }

    /// The admin listener's address.
    pub fn admin(&self) -> SocketAddr {
        ports::at(self.ports.admin)
    }

    /// A path below the room's prefix.
    pub fn path(&self, rest: &str) -> String {
        room_path(self.room, rest)
    }

    /// `room` of the public room document.
    pub async fn room_now(&self) -> std::io::Result<Value> {
        let reply = Ask::get(&self.path("")).program().send(self.edge()).await?;
        Ok(serde_json::from_slice::<Value>(&reply.body).unwrap_or_default()["room"].clone())
    }

    /// How many are said to wait.
    pub async fn waiting(&self) -> u64 {
        self.room_now().await.unwrap()["waiting"].as_u64().unwrap()
    }

    /// Waits until the room is in this state.
    pub async fn until_state(&self, state: &str) {
        within(&format!("the room is {state}"), START, async || {
            let room = self.room_now().await.map_err(|e| e.to_string())?;
            if room["state"] == state { Ok(()) } else { Err(room.to_string()) }
        })
        .await;
    }

    /// Makes a journal check passes against this instance's published keys.
    pub async fn watch(&self, plan: &Plan, journal: &Journal) {
        self.watch_on(&plan.hosts, &plan.paths, &plan.open_paths, journal).await;
    }

    /// The same for these paths of its room, on all hosts.
    pub async fn watch_paths(&self, paths: &[&str], open: &[&str], journal: &Journal) {
        self.watch_on(&[], paths, open, journal).await;
    }

    async fn watch_on(&self, hosts: &[&str], paths: &[&str], open: &[&str], journal: &Journal) {
        let jwks = Ask::get("/_ropeline/v1/jwks.json").send(self.edge()).await.unwrap().json();
        let roots = |list: &[&str]| list.iter().map(|p| p.trim_end_matches("/**").to_owned()).collect();
        journal.guard(Guard {
            room: self.room.to_owned(),
            hosts: roots(hosts),
            paths: roots(paths),
            open: roots(open),
            leeway: Duration::from_secs(5),
            keys: keys_of(&jwks),
            ..Guard::default()
        });
    }

    /// `kill -9`.
    pub fn kill_hard(&mut self) {
        if let Some(process) = &mut self.process {
            process.kill_hard();
        }
        self.process = None;
    }

    /// Asks it to end and waits for that.
    pub async fn terminate(&mut self) {
        if let Some(process) = &mut self.process {
            process.signal("TERM");
            process.wait(Duration::from_secs(30)).await;
        }
        self.process = None;
    }

    /// Everything that it printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

/// A path of a room below the reserved prefix.
pub fn room_path(room: &str, rest: &str) -> String {
    format!("/_ropeline/v1/rooms/{room}{rest}")
}

/// Makes the keys of an installation, as instances on a shared store need them.
pub async fn make_keys(home: &Home) {
    let made = process::ropeline(home.path(), &["keys", "new", "keys"]).await;
    assert_eq!(made.code, 0, "ropeline keys new: {}", made.text);
}
