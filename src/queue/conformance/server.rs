//! The distribution's `redis-server`, started for one test.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The same ports as the stories take: a server that is stopped finds its own free when it starts again.
#[path = "../../../tests/support/ports.rs"]
#[expect(unreachable_pub, reason = "shared with the stories")]
mod ports;

/// How long a server may take to start.
const START_MAX: Duration = Duration::from_secs(60);

/// A port that nobody else takes.
pub(in crate::queue) fn free_port() -> u16 {
    ports::free()
}

/// A Redis of one test's own; killed when dropped.
pub(in crate::queue) struct RedisServer {
    dir: TempDir,
    port: u16,
    options: Vec<String>,
    cluster: bool,
    child: Option<Child>,
}

impl RedisServer {
    /// A server that a line may be trusted to.
    pub(in crate::queue) fn durable() -> Self {
        Self::with(&["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"])
    }

    /// A server with these options, started.
    pub(in crate::queue) fn with(options: &[&str]) -> Self {
        let mut server = Self::stopped(options);
        server.start();
        server
    }

    /// A server that will be started on a port that is free now.
    pub(in crate::queue) fn stopped(options: &[&str]) -> Self {
        let port = ports::free();
        let options = options.iter().map(ToString::to_string).collect();
        Self { dir: tempfile::tempdir().unwrap(), port, options, cluster: false, child: None }
    }

    /// A cluster of one that serves the slot of this room and no other: whoever touches a key elsewhere is refused.
    pub(in crate::queue) fn cluster(room: &str) -> Self {
        let bus = ports::free().to_string();
        let mut server = Self::stopped(&[
            "--appendonly",
            "yes",
            "--appendfsync",
            "always",
            "--cluster-enabled",
            "yes",
            "--cluster-port",
            &bus,
            "--cluster-require-full-coverage",
            "no",
        ]);
        server.start();
        let slot = server.say(&format!("CLUSTER KEYSLOT rl:{{{room}}}")).unwrap();
        let added = server.say(&format!("CLUSTER ADDSLOTS {}", slot.trim().trim_start_matches(':')));
        assert!(added.unwrap().starts_with("+OK"));
        server.cluster = true;
        server.wait("CLUSTER INFO", |said| said.contains("cluster_state:ok"));
        server
    }

    /// The address.
    pub(in crate::queue) fn url(&self) -> String {
        let kind = if self.cluster { "+cluster" } else { "" };
        format!("redis{kind}://127.0.0.1:{}", self.port)
    }

    /// Starts it, on the files of the last time, and waits until it has loaded them.
    pub(in crate::queue) fn start(&mut self) {
        let child = Command::new("redis-server")
            .args(["--port", &self.port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .args(["--dir", self.dir.path().to_str().unwrap()])
            .args(&self.options)
            .stdout(Stdio::null())
            .spawn();
        let child = child.unwrap_or_else(|error| {
            panic!("cannot start redis-server ({error}); install it: apt-get install redis-server")
        });
        self.child = Some(child);
        self.wait("PING", |said| said.starts_with("+PONG") || said.starts_with("-NOAUTH"));
        if self.cluster {
            self.wait("CLUSTER INFO", |said| said.contains("cluster_state:ok"));
        }
    }

    fn wait(&self, question: &str, good: impl Fn(&str) -> bool) {
        let begun = Instant::now();
        while !self.say(question).is_some_and(|said| good(&said)) {
            assert!(begun.elapsed() < START_MAX, "redis-server: no good answer to {question}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it as a crash would.
    pub(in crate::queue) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Stops its process where it is, or lets it go on.
    pub(in crate::queue) fn hang(&self, hang: bool) {
        let signal = if hang { "-STOP" } else { "-CONT" };
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// One command in the inline form, and what came back, as far as it came at once.
    pub(in crate::queue) fn say(&self, command: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        stream.write_all(format!("{command}\r\n").as_bytes()).ok()?;
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
