//! The distribution's real `redis-server`, in a directory of its own on a port of its own.

use std::io;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::eventually::eventually;
use super::ports;
use super::process::Process;

const HINT: &str = "The stories need the real Redis: install it with `apt-get install redis-server` \
                    (or your system's package) so that `redis-server` is on the PATH.";

/// Settings under which a store may keep a line.
pub const SAFE: &[(&str, &str)] =
    &[("appendonly", "yes"), ("appendfsync", "always"), ("maxmemory-policy", "noeviction"), ("save", "")];

/// A running Redis.
pub struct Redis {
    port: u16,
    dir: TempDir,
    settings: Vec<(String, String)>,
    process: Option<Process>,
}

impl Redis {
    /// Starts one that is safe to use.
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Starts one with some settings changed.
    pub async fn with(changes: &[(&str, &str)]) -> Self {
        let mut redis = Self::absent(changes);
        redis.up().await;
        redis
    }

    /// Knows port and directory, but does not start yet.
    pub fn absent(changes: &[(&str, &str)]) -> Self {
        let mut settings: Vec<(String, String)> = Vec::new();
        for (key, value) in SAFE.iter().chain(changes) {
            settings.retain(|(k, _)| k != key);
            settings.push(((*key).to_owned(), (*value).to_owned()));
        }
        let dir = tempfile::tempdir().unwrap();
        Self { port: ports::free(), dir, settings, process: None }
    }

    /// Starts it, on the files that are there and the same port, and waits until it answers.
    pub async fn up(&mut self) {
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &self.port.to_string(), "--dir"]).arg(self.dir.path());
        for (key, value) in &self.settings {
            command.arg(format!("--{key}"));
            command.args(value.split(' '));
        }
        let log = self.dir.path().join("redis.log");
        self.process = Some(Process::start("redis-server", &mut command, &log, HINT));
        let here = &*self;
        eventually("redis-server answers", async || {
            here.say(&["PING"]).await.ok().filter(|a| a.contains("PONG") || a.contains("NOAUTH"))
        })
        .await;
    }

    /// `kill -9`.
    pub fn kill_hard(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill_hard();
        }
    }

    /// Hangs it: its socket accepts, nothing is answered.
    pub fn hang(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        if let Some(process) = &self.process {
            process.signal(name);
        }
    }

    /// Where to find it.
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Connections of clients to it, except those of sentinels and the one that asks.
    pub async fn clients(&self) -> usize {
        let list = self.say(&["CLIENT LIST TYPE normal"]).await.unwrap_or_default();
        let theirs = |line: &&str| !line.contains(" name=sentinel-") && !line.contains(" cmd=client|list");
        list.lines().filter(|line| line.starts_with("id=")).filter(theirs).count()
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends inline commands over one connection; all that came back.
    pub async fn say(&self, lines: &[&str]) -> io::Result<String> {
        timeout(Duration::from_secs(5), self.talk(lines)).await.map_err(io::Error::other)?
    }

    async fn talk(&self, lines: &[&str]) -> io::Result<String> {
        let mut stream = TcpStream::connect(ports::at(self.port)).await?;
        for line in lines {
            stream.write_all(format!("{line}\r\n").as_bytes()).await?;
        }
        stream.write_all(b"QUIT\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}
