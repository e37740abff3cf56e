//! The distribution's `redis-server`, with a log that a line may be trusted to.

use std::net::SocketAddr;
use std::path::Path;

use crate::fault::Result;
use crate::process::{Core, Running, free, pinned};

/// When Redis brings its log to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fsync {
    Always,
    EverySecond,
}

/// A running Redis.
pub(crate) struct Redis {
    pub(crate) process: Running,
    address: SocketAddr,
    /// Its command line, without the directory.
    pub(crate) configuration: String,
}

impl Redis {
    pub(crate) fn start(home: &Path, fsync: Fsync) -> Result<Self> {
        let address = free()?;
        let home = home.join(format!("redis-{}", address.port()));
        std::fs::create_dir_all(&home)?;
        let fsync = match fsync {
            Fsync::Always => "always",
            Fsync::EverySecond => "everysec",
        };
        let port = address.port().to_string();
        let options = [
            "--bind",
            "127.0.0.1",
            "--port",
            &port,
            "--appendonly",
            "yes",
            "--appendfsync",
            fsync,
            "--maxmemory-policy",
            "noeviction",
            "--save",
            "",
        ];
        let mut command = pinned(Core::Load, "redis-server");
        command.args(options).arg("--dir").arg(&home);
        let process = Running::start("redis-server", command, &home.join("out"), address)?;
        Ok(Self { process, address, configuration: format!("redis-server {} ''", options.join(" ").trim()) })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.address)
    }

    /// A field of `INFO`, as a number.
    pub(crate) fn info(&self, section: &str, field: &str) -> Result<f64> {
        let value = self.said(section, field)?.trim().parse();
        value.map_err(|_| format!("INFO {section}: {field} is no number").into())
    }

    /// How often a command was called.
    pub(crate) fn calls(&self, command: &str) -> Result<f64> {
        let said = self.said("commandstats", &format!("cmdstat_{command}"))?;
        let calls = said.split(',').find_map(|pair| pair.strip_prefix("calls="));
        calls.and_then(|calls| calls.parse().ok()).ok_or_else(|| format!("no count of {command}").into())
    }

    fn said(&self, section: &str, field: &str) -> Result<String> {
        use std::io::{Read as _, Write as _};
        let mut stream = std::net::TcpStream::connect(self.address)?;
        stream.write_all(format!("INFO {section}\r\nQUIT\r\n").as_bytes())?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        let line = said.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.map(str::to_owned).ok_or_else(|| format!("INFO {section} has no {field}").into())
    }
}
