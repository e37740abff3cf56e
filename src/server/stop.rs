//! The signals that end an instance.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGTERM or SIGINT. A SIGHUP, by which others read their settings anew, must not end a line: it is
/// answered with a log line.
///
/// # Errors
/// If the system lets no handler be set.
pub async fn signals() -> io::Result<&'static str> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok("SIGTERM"),
            _ = interrupt.recv() => return Ok("SIGINT"),
            _ = hangup.recv() => tracing::warn!("settings are not read anew while running; start again to use them"),
        }
    }
}
