//! The distribution's nginx: one worker in one process, as the peer that answers by itself, as the peer that
//! forwards, and as the origin behind both.

use std::net::SocketAddr;
use std::path::Path;

use crate::fault::Result;
use crate::process::{Core, Running, free, pinned};

/// A running nginx.
pub(crate) struct Nginx {
    pub(crate) process: Running,
    pub(crate) address: SocketAddr,
    /// The file that it runs with.
    pub(crate) configuration: String,
}

/// Whether each request is written to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Log {
    Off,
    /// One line per request, to a file.
    Each,
}

impl Nginx {
    /// One that gives the same answer to everything: this body under these header lines.
    pub(crate) fn constant(
        home: &Path,
        core: Core,
        log: Log,
        headers: &[(String, String)],
        body: &str,
    ) -> Result<Self> {
        let mut lines = String::new();
        for (name, value) in headers {
            if name == "content-type" {
                lines += &format!("      default_type {value};\n");
            } else {
                lines += &format!("      add_header {name} \"{value}\";\n");
            }
        }
        Self::start(home, core, log, "", &format!("{lines}      return 200 '{body}';"))
    }

    /// One that forwards to an origin over kept connections, with as much work on headers as ropeline does.
    pub(crate) fn forwarding(home: &Path, origin: SocketAddr) -> Result<Self> {
        let upstream =
            format!("  upstream shop {{ server {origin}; keepalive 128; keepalive_requests 1000000000; }}");
        let location = [
            "proxy_pass http://shop;",
            "proxy_http_version 1.1;",
            "proxy_set_header Connection \"\";",
            "proxy_set_header Host $http_host;",
            "proxy_set_header Cookie $cookie_other;",
            "proxy_set_header X-Forwarded-For $remote_addr;",
            "proxy_set_header X-Forwarded-Proto $scheme;",
            "proxy_set_header X-Forwarded-Host $http_host;",
            "proxy_set_header x-ropeline-pass $cookie_rl_p_sale;",
            "proxy_set_header x-ropeline-room sale;",
            "proxy_set_header x-ropeline-visitor $cookie_rl_p_sale;",
        ];
        Self::start(home, Core::Server, Log::Off, &upstream, &format!("      {}", location.join("\n      ")))
    }

    fn start(home: &Path, core: Core, log: Log, upstream: &str, location: &str) -> Result<Self> {
        let address = free()?;
        let home = home.join(format!("nginx-{}", address.port()));
        std::fs::create_dir_all(&home)?;
        let access = match log {
            Log::Off => "off".to_owned(),
            Log::Each => home.join("access.log").display().to_string(),
        };
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("  {kind}_temp_path {}/{kind};\n", home.display()))
            .concat();
        let configuration = format!(
            "daemon off;\nmaster_process off;\nworker_processes 1;\npid {home}/pid;\nerror_log {home}/error.log;\n\
             events {{ worker_connections 8192; }}\nhttp {{\n  access_log {access};\n{temporary}  \
             keepalive_requests 1000000000;\n  tcp_nodelay on;\n{upstream}\n  server {{\n    listen {address} \
             backlog=4096;\n    location / {{\n{location}\n    }}\n  }}\n}}\n",
            home = home.display()
        );
        let file = home.join("nginx.conf");
        std::fs::write(&file, &configuration)?;
        let mut command = pinned(core, "nginx");
        command.arg("-p").arg(&home).arg("-c").arg(&file).arg("-e").arg(home.join("error.log"));
        let process = Running::start("nginx", command, &home.join("out"), address)?;
        Ok(Self { process, address, configuration })
    }
}
