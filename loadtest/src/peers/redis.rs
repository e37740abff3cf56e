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
}
