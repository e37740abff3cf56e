//! A process under measurement: pinned to a core, its CPU time read, killed when dropped.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use crate::fault::{Result, fault};

/// How long a process may take until it listens.
const START: Duration = Duration::from_secs(20);
/// Unit of the CPU times in `/proc/PID/stat`; 100 a second on every Linux that Rust knows.
const TICK: Duration = Duration::from_millis(10);

/// Where a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Core {
    /// The one that is measured.
    Server,
    /// Load generator and whatever stands behind the measured one.
    Load,
}

impl Core {
    /// The number of the core; `None` on a machine with a single one, where nothing can be kept apart.
    fn number(self) -> Option<usize> {
        let several = std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        several.then_some(match self {
            Self::Server => 0,
            Self::Load => 1,
        })
    }
}

/// A command line that is pinned to a core.
pub(crate) fn pinned(core: Core, program: impl AsRef<std::ffi::OsStr>) -> Command {
    match core.number() {
        Some(number) => {
            let mut command = Command::new("taskset");
            command.arg("-c").arg(number.to_string()).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// A running process.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    name: &'static str,
}

impl Running {
    /// Starts a process whose output goes to a file, and waits until it listens.
    pub(crate) fn start(
        name: &'static str,
        mut command: Command,
        log: &Path,
        listens: SocketAddr,
    ) -> Result<Self> {
        let out = File::create(log)?;
        command.stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
        let child =
            command.spawn().map_err(|error| format!("cannot start {name} ({error}): is it installed?"))?;
        let mut running = Self { child, name };
        let begun = Instant::now();
        while TcpStream::connect(listens).is_err() {
            let ended = running.child.try_wait()?.is_some();
            if ended || begun.elapsed() > START {
                let said = std::fs::read_to_string(log).unwrap_or_default();
                return fault(format!("{name} does not listen on {listens}: {}", said.trim()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(running)
    }

    /// User and system time so far, of all its threads. `taskset` becomes the program itself, so the id fits.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))
            .map_err(|error| format!("{} has ended: {error}", self.name))?;
        read_stat(&stat).ok_or_else(|| "/proc/PID/stat cannot be read".into())
    }

    /// Resident memory in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))
            .map_err(|error| format!("{} has ended: {error}", self.name))?;
        read_resident(&status).ok_or_else(|| "/proc/PID/status cannot be read".into())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _nothing_left = self.child.wait();
    }
}

/// `utime` and `stime`: the 14th and 15th field; the second is a name in parentheses that may hold blanks.
fn read_stat(stat: &str) -> Option<Duration> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut fields = rest.split(' ').skip(11).map(|field| field.parse::<u32>().ok());
    let (user, system) = (fields.next()??, fields.next()??);
    Some(TICK * (user + system))
}

/// `VmRSS:   12345 kB`.
fn read_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// A loopback address that nobody listens on, below the ports that outgoing connections take.
pub(crate) fn free() -> Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    for _ in 0..10_000 {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let start = u16::try_from(std::process::id() * 31 % 9_000).unwrap_or_default();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 21_000 + (start + step) % 9_000));
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    fault("no free loopback port")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_behind_any_name() {
        let stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 5 0 100 1 1";
        assert_eq!(read_stat(stat), Some(Duration::from_secs(3)));
        assert_eq!(read_stat("42 (x"), None);
        assert_eq!(read_stat("42 (x) S 1"), None);
    }

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(read_resident("Name:\tx\nVmRSS:\t   2048 kB\nThreads:\t1\n"), Some(2 << 20));
        assert_eq!(read_resident("Name:\tx\n"), None);
    }

    #[test]
    fn free_ports_differ() {
        assert_ne!(free().unwrap(), free().unwrap());
    }
}
