//! `wrk` as the load generator: a closed loop over kept connections, one thread on the core of the load.
//! What it sends and what it reports goes through a script, so that no text for people has to be read.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::fault::{Result, fault};
use crate::process::{Core, pinned};

/// What is sent, over and over.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) to: SocketAddr,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// One header line, in turn from these values; empty: none.
    pub(crate) header: &'static str,
    pub(crate) values: Vec<String>,
    pub(crate) connections: usize,
}

/// What came of one round.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Round {
    pub(crate) requests: f64,
    pub(crate) seconds: f64,
    /// Milliseconds.
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

const DONE: &str = r#"
function done(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.timeout + e.status, latency:percentile(50), latency:percentile(99)))
end
"#;

impl Load {
    /// One round. Any request that failed, or was answered with 400 or more, makes it void.
    pub(crate) async fn run(&self, home: &Path, lasts: Duration) -> Result<Round> {
        let script = home.join(format!("wrk-{}-{}.lua", self.to.port(), self.connections));
        std::fs::write(&script, self.script())?;
        let mut command = pinned(Core::Load, "wrk");
        command
            .arg("-t1")
            .arg(format!("-c{}", self.connections))
            .arg(format!("-d{}s", lasts.as_secs().max(1)));
        command
            .arg("--timeout")
            .arg("10s")
            .arg("-s")
            .arg(&script)
            .arg(format!("http://{}{}", self.to, self.path));
        let mut command = tokio::process::Command::from(command);
        let out = command.kill_on_drop(true).output().await.map_err(|error| {
            format!("cannot start wrk ({error}): install it, for example apt-get install wrk")
        })?;
        read(&String::from_utf8_lossy(&out.stdout))
    }

    fn script(&self) -> String {
        let mut script = format!("wrk.method = \"{}\"\nlocal values = {{\n", self.method);
        for value in &self.values {
            let _ = writeln!(script, "\"{value}\",");
        }
        script += "}\nlocal requests, turn = {}, 0\n";
        let _ = write!(
            script,
            "function init()\n  for i, value in ipairs(values) do\n    requests[i] = wrk.format(nil, nil, \
             {{[\"{}\"] = value}})\n  end\n  if #requests == 0 then requests[1] = wrk.format() end\nend\n",
            self.header
        );
        script += "function request()\n  turn = turn % #requests + 1\n  return requests[turn]\nend\n";
        script + DONE
    }
}

fn read(out: &str) -> Result<Round> {
    let line = out.lines().find_map(|line| line.strip_prefix("RESULT "));
    let fields: Vec<f64> = line.unwrap_or_default().split(' ').filter_map(|f| f.parse().ok()).collect();
    match fields.as_slice() {
        [requests, micros, 0.0, p50, p99] if *requests > 0.0 => {
            Ok(Round { requests: *requests, seconds: micros / 1e6, p50: p50 / 1e3, p99: p99 / 1e3 })
        }
        [_, _, errors, ..] if *errors > 0.0 => {
            fault(format!("{errors} requests failed, so the round is void: {out}"))
        }
        _ => fault(format!("wrk says: {out}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_read_and_errors_void_it() {
        let round = read("Running\nRESULT 90000 3000000 0 1500 9000\n").unwrap();
        assert_eq!((round.requests, round.seconds, round.p50, round.p99), (90_000.0, 3.0, 1.5, 9.0));
        assert!(read("RESULT 90000 3000000 1 1500 9000").is_err());
        assert!(read("RESULT 0 3000000 0 0 0").is_err());
        assert!(read("unable to connect").is_err());
    }

    #[test]
    fn values_take_turns() {
        let load = Load {
            to: SocketAddr::from(([127, 0, 0, 1], 1)),
            method: "GET",
            path: "/".into(),
            header: "Cookie",
            values: vec!["a=1".into(), "a=2".into()],
            connections: 4,
        };
        let script = load.script();
        assert!(script.contains("\"a=1\",\n\"a=2\",") && script.contains("[\"Cookie\"] = value"), "{script}");
    }
}
