//! Real sentinels (`redis-server --sentinel`) that watch over one primary, each with a directory and a port of its own.

use std::collections::HashMap;
use std::process::Command;

use redis::{Client, FromRedisValue, RedisResult};
use tempfile::TempDir;

use super::eventually::eventually;
use super::ports;
use super::process::Process;
use super::redis::Redis;

/// What they call the primary.
pub const NAME: &str = "the-line";

/// One running sentinel.
pub struct Sentinel {
    pub port: u16,
    /// Its password; empty: none.
    password: String,
    _dir: TempDir,
    process: Process,
}

impl Sentinel {
    /// Starts several that know each other and the primary's one replica.
    pub async fn watch(primary: &Redis, count: usize) -> Vec<Self> {
        Self::guarded(primary, count, "", "").await
    }

    /// The same with further settings, which set this password.
    pub async fn guarded(primary: &Redis, count: usize, lines: &str, password: &str) -> Vec<Self> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(Self::start(primary.port(), count / 2 + 1, lines, password).await);
        }
        for sentinel in &all {
            eventually("the sentinels know each other and the replica", async || {
                let known: HashMap<String, String> = sentinel.ask(&["MASTER", NAME]).await.ok()?;
                let count_of = |field: &str| known.get(field)?.parse().ok();
                let known = (count_of("num-other-sentinels"), count_of("num-slaves"));
                (known == (Some(count - 1), Some(1))).then_some(())
            })
            .await;
        }
        all
    }

    /// One alone, over whatever listens there, with further settings.
    pub async fn alone(primary: u16, lines: &str) -> Self {
        Self::start(primary, 1, lines, "").await
    }

    async fn start(primary: u16, quorum: usize, lines: &str, password: &str) -> Self {
        let (port, dir) = (ports::free(), tempfile::tempdir().unwrap());
        let file = dir.path().join("sentinel.conf");
        let settings = format!(
            "port {port}\nbind 127.0.0.1\ndir {}\nsentinel monitor {NAME} 127.0.0.1 {primary} {quorum}\n\
             sentinel down-after-milliseconds {NAME} 1000\nsentinel failover-timeout {NAME} 5000\n{lines}\n",
            dir.path().display(),
        );
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new("redis-server");
        command.arg(&file).arg("--sentinel");
        let process = Process::start("sentinel", &mut command, &dir.path().join("sentinel.log"), "");
        let this = Self { port, password: password.to_owned(), _dir: dir, process };
        eventually("the sentinel answers", async || this.primary().await).await;
        this
    }

    /// Asks it, on a connection of its own: `SENTINEL ...`.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut connection = self.client().get_multiplexed_async_connection().await?;
        redis::cmd("SENTINEL").arg(words).query_async(&mut connection).await
    }

    fn client(&self) -> Client {
        let login = if self.password.is_empty() { String::new() } else { format!(":{}@", self.password) };
        Client::open(format!("redis://{login}127.0.0.1:{}", self.port)).unwrap()
    }

    /// The port of the primary, as this one sees it.
    pub async fn primary(&self) -> Option<u16> {
        let (_, port): (String, u16) = self.ask(&["get-master-addr-by-name", NAME]).await.ok()?;
        Some(port)
    }

    /// Connections to it besides those of other sentinels and the one that asks.
    pub async fn clients(&self) -> Option<usize> {
        let mut connection = self.client().get_multiplexed_async_connection().await.ok()?;
        let list = redis::cmd("CLIENT").arg("LIST").query_async::<String>(&mut connection).await.ok()?;
        let theirs = |line: &&str| !line.contains(" name=sentinel-") && !line.contains(" cmd=client|list");
        Some(list.lines().filter(theirs).count())
    }

    /// `kill -9`.
    pub fn kill_hard(&mut self) {
        self.process.kill_hard();
    }
}
