//! One attempt to get a connection that may be used: dial, greet, check. And how long to wait between two.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::{TcpSettings, socket2};
use redis::{AsyncConnectionConfig, Client, IntoConnectionInfo};

use super::checks::{self, Fsync, Report};
use super::failure;
use crate::queue::{Durability, Settings, StoreError};

/// Shortest time between the beginnings of two attempts: at most ten a second, whatever happens.
pub(super) const DIAL_SPACING: Duration = Duration::from_millis(100);

const BACK_OFF_FIRST: u64 = 100;
const BACK_OFF_MAX: u64 = 500;

/// How long to wait after `failures` attempts in a row, between half and all of a doubling span: 50 to 500 ms.
pub(super) fn back_off(failures: u32, random: u64) -> Duration {
    let span = BACK_OFF_FIRST.saturating_mul(1 << failures.saturating_sub(1).min(3)).min(BACK_OFF_MAX);
    let half = span / 2;
    Duration::from_millis(half + random % (span - half + 1))
}

/// A client for an address; nothing is dialled yet. The address holds a password and is never repeated.
pub(super) fn client(url: &str, timeout: Duration) -> Result<Client, StoreError> {
    let unusable = |_| StoreError::Refused("store.url cannot be read as a Redis address".to_owned());
    let keepalive = socket2::TcpKeepalive::new()
        .with_time(Duration::from_secs(5))
        .with_interval(Duration::from_secs(1))
        .with_retries(3);
    let tcp = TcpSettings::default().set_nodelay(true).set_keepalive(keepalive).set_user_timeout(timeout * 2);
    let info = url.into_connection_info().map_err(unusable)?;
    let redis = info.redis_settings().clone().set_skip_set_lib_name();
    Client::open(info.set_tcp_settings(tcp).set_redis_settings(redis)).map_err(unusable)
}

/// Dials and checks.
///
/// # Errors
/// Whatever stands in the way, sorted by what to do about it.
pub(super) async fn dial(client: &Client, settings: &Settings) -> Result<MultiplexedConnection, StoreError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(Some(settings.timeout))
        .set_response_timeout(Some(settings.timeout));
    let connecting = client.get_multiplexed_async_connection_with_config(&config);
    let mut connection = match tokio::time::timeout(settings.timeout, connecting).await {
        Err(_) => return Err(StoreError::TimedOut),
        Ok(Err(error)) => return Err(failure::judge(&error).0),
        Ok(Ok(connection)) => connection,
    };
    for aloud in check(&mut connection, settings).await? {
        tracing::warn!("{aloud}");
    }
    Ok(connection)
}

/// Asks the server what it is, and judges.
pub(super) async fn check(
    connection: &mut MultiplexedConnection,
    settings: &Settings,
) -> Result<Vec<&'static str>, StoreError> {
    let info: String =
        redis::cmd("INFO").query_async(connection).await.map_err(|error| failure::judge(&error).0)?;
    let fsync =
        if settings.durability == Durability::Memory { Fsync::NotAsked } else { fsync(connection).await? };
    checks::judge(&Report::new(&info, fsync), settings)
}

async fn fsync(connection: &mut MultiplexedConnection) -> Result<Fsync, StoreError> {
    let asked: redis::RedisResult<Vec<String>> =
        redis::cmd("CONFIG").arg("GET").arg("appendfsync").query_async(connection).await;
    match asked {
        Ok(pair) => Ok(pair.into_iter().nth(1).map_or(Fsync::Forbidden, Fsync::Is)),
        Err(error) if matches!(error.code(), Some("NOPERM" | "ERR")) => Ok(Fsync::Forbidden),
        Err(error) => Err(failure::judge(&error).0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_half_a_second_and_are_never_in_step() {
        for failures in 1..20 {
            let waits: Vec<_> = (0..1000).map(|random| back_off(failures, random)).collect();
            assert!(waits.iter().all(|w| (50..=500).contains(&w.as_millis())));
            assert_ne!(waits.first(), waits.last());
        }
        assert!(back_off(9, 0) > back_off(1, 999));
    }

    #[test]
    fn a_bad_address_is_refused_without_repeating_it() {
        let error = client("http://someone:secret@shop.example", Duration::from_millis(500)).unwrap_err();
        assert!(!error.to_string().contains("secret"));
    }
}
