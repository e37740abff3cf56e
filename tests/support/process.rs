//! A child process that is killed with its owner, and whose output is shown when the test fails.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A running child with its output in a file.
pub struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it prints is appended to `log`.
    pub fn start(name: &str, command: &mut Command, log: &Path, hint: &str) -> Self {
        let out = File::options().create(true).append(true).open(log).unwrap();
        let err = out.try_clone().unwrap();
        let child = command.stdin(Stdio::null()).stdout(out).stderr(err).spawn();
        let child = child.unwrap_or_else(|e| panic!("cannot start {name}: {e}. {hint}"));
        Self { name: name.to_owned(), child, log: log.to_owned() }
    }

    /// `kill -9`, and waits until it is gone.
    pub fn kill_hard(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal by name: `TERM`, `STOP`, `CONT`, `HUP`.
    pub fn signal(&self, name: &str) {
        let line = format!("kill -{name} {}", self.child.id());
        let done = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(done.success(), "{line} failed");
    }

    /// Its exit, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Waits for its end.
    pub async fn wait(&mut self, patience: Duration) -> ExitStatus {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            assert!(Instant::now() < end, "{} did not end within {patience:?}", self.name);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Everything that it printed so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            let tail = lines[lines.len().saturating_sub(40)..].join("\n");
            eprintln!("--- last lines of {} ---\n{tail}\n---", self.name);
        }
    }
}

/// What a command that ends by itself said.
pub struct Said {
    /// The exit code; -1 when a signal ended it.
    pub code: i32,
    /// Its output and errors together.
    pub text: String,
}

/// Runs the product with these arguments in `dir` until it ends by itself.
pub async fn ropeline(dir: &Path, args: &[&str]) -> Said {
    ropeline_with(dir, args, &[]).await
}

/// As [`ropeline`], with variables in its environment.
pub async fn ropeline_with(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ropeline"));
    command.args(args).envs(env.iter().copied()).current_dir(dir);
    let aside = tempfile::tempdir().unwrap();
    let log = aside.path().join("said.log");
    let mut process = Process::start(&format!("ropeline {args:?}"), &mut command, &log, "");
    let status = process.wait(Duration::from_secs(30)).await;
    Said { code: status.code().unwrap_or(-1), text: process.log() }
}
