//! The release build of ropeline: the real binary with a real file, pinned to the core that is measured.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::{Result, fault};
use crate::load::client::{Ask, Client};
use crate::process::{Core, Running, free, pinned};
use crate::scrape::Scrape;

/// The one room of every benchmark.
pub(crate) const ROOM: &str = "sale";

/// What differs between benchmarks.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) rate: &'static str,
    pub(crate) origin: SocketAddr,
    /// `None`: the embedded store.
    pub(crate) store: Option<String>,
    /// `info`: a line per request, as shipped. `warn`: none.
    pub(crate) log: &'static str,
    /// Keys that several instances share; `None`: keys of its own.
    pub(crate) keys: Option<PathBuf>,
    /// Whether it shares all cores with the load, instead of having one that is measured.
    pub(crate) loose: bool,
}

impl Plan {
    pub(crate) fn new(rate: &'static str) -> Self {
        let origin = SocketAddr::from(([127, 0, 0, 1], 9));
        Self { rate, origin, store: None, log: "warn", keys: None, loose: false }
    }
}

/// A running instance.
pub(crate) struct Ropeline {
    pub(crate) process: Running,
    pub(crate) edge: SocketAddr,
    pub(crate) crowd: SocketAddr,
    admin: SocketAddr,
    keys: PathBuf,
    /// The file that it runs with.
    pub(crate) configuration: String,
}

impl Ropeline {
    /// Starts an instance and waits until its room is open.
    pub(crate) async fn start(home: &Path, plan: &Plan, client: &Client) -> Result<Self> {
        let binary = binary()?;
        let (edge, crowd, admin) = (free()?, free()?, free()?);
        let home = home.join(format!("ropeline-{}", edge.port()));
        std::fs::create_dir_all(&home)?;
        let keys = plan.keys.clone().unwrap_or_else(|| home.join("keys"));
        if !keys.exists() {
            make_keys(&binary, &keys)?;
        }
        let store = plan.store.clone().unwrap_or_else(|| format!("file:{}", home.join("data").display()));
        let configuration = format!(
            "[server]\nlisten = [\"{edge}\"]\ncrowd_listen = [\"{crowd}\"]\n[origin]\nurl = \"http://{}\"\n[store]\n\
             url = \"{store}\"\n[keys]\ndir = \"{}\"\n[admin]\nlisten = \"{admin}\"\n[[room]]\n\
             id = \"{ROOM}\"\npaths = [\"/buy/**\"]\nopen_paths = [\"/buy/open/**\"]\n[room.release]\nrate = \"{}\"\n\
             [room.pass]\nfirst_use = \"30m\"\nidle = \"30m\"\n",
            plan.origin,
            keys.display(),
            plan.rate
        );
        let file = home.join("ropeline.toml");
        std::fs::write(&file, &configuration)?;
        let mut command = if plan.loose { Command::new(&binary) } else { pinned(Core::Server, &binary) };
        command.arg("run").arg("--config").arg(&file).env("ROPELINE_LOG", plan.log).current_dir(&home);
        let process = Running::start("ropeline", command, &home.join("log"), edge)?;
        let running = Self { process, edge, crowd, admin, keys, configuration };
        running.until_open(client).await?;
        Ok(running)
    }

    async fn until_open(&self, client: &Client) -> Result<()> {
        for _ in 0..500 {
            let said = client.send(Ask::get(self.edge, &room_path(""))).await?;
            if said.json()["room"]["state"] == "open" {
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        fault("the room does not open")
    }

    /// What it counted so far.
    pub(crate) async fn scrape(&self, client: &Client) -> Result<Scrape> {
        let said = client.send(Ask::get(self.admin, "/metrics")).await?;
        Ok(Scrape::read(&String::from_utf8_lossy(&said.body)))
    }
}

impl Ropeline {
    /// An operator's verb on the room, `pause` or `resume`, with the token that the first start made.
    pub(crate) async fn operate(&self, client: &Client, verb: &str) -> Result<()> {
        let token = std::fs::read_to_string(self.keys.join("admin.token"))?;
        let ask = Ask::post(self.admin, &format!("/v1/rooms/{ROOM}/{verb}"))
            .header("authorization", format!("Bearer {}", token.trim()))
            .header("content-type", "application/json");
        let said = client.send(ask).await?;
        if said.status.is_success() { Ok(()) } else { fault(format!("{verb}: {}", said.json())) }
    }
}

impl Ropeline {
    /// Another rate, by the command line that an operator would use.
    pub(crate) fn rate(&self, rate: &str) -> Result<()> {
        let mut command = Command::new(binary()?);
        command.args(["ctl", "rate", ROOM, rate, "--url"]).arg(format!("http://{}", self.admin));
        let said = command.arg("--token-file").arg(self.keys.join("admin.token")).output()?;
        if said.status.success() { Ok(()) } else { fault(String::from_utf8_lossy(&said.stderr)) }
    }
}

fn make_keys(binary: &Path, keys: &Path) -> Result<()> {
    let made = Command::new(binary).args(["keys", "new"]).arg(keys).output()?;
    if made.status.success() { Ok(()) } else { fault(String::from_utf8_lossy(&made.stderr)) }
}

/// A path of the room below the reserved prefix.
pub(crate) fn room_path(rest: &str) -> String {
    format!("/_ropeline/v1/rooms/{ROOM}{rest}")
}

/// The binary that was built beside this one.
fn binary() -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name("ropeline");
    if path.exists() {
        return Ok(path);
    }
    fault("no ropeline beside this binary: cargo build --release -p ropeline -p loadtest")
}
