//! Waiting on a condition. The patience only bounds how long a failing test takes; no test passes because of it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Long enough for a busy two-core machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks `look` again and again until it finds something.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    within(what, PATIENCE, async || look().await.ok_or_else(String::new)).await
}

/// As [`eventually`], with its own patience and with the last reason shown when it runs out.
pub async fn within<T>(
    what: &str,
    patience: Duration,
    mut look: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let end = Instant::now() + patience;
    loop {
        match look().await {
            Ok(found) => return found,
            Err(why) if Instant::now() >= end => panic!("waited {patience:?} in vain: {what}; last: {why}"),
            Err(_) => sleep(Duration::from_millis(25)).await,
        }
    }
}
