//! One attempt to get a connection: wait for a turn, dial, encrypt, greet. And what a server must be before the
//! connection may be used.

use std::time::Duration;

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};

use super::address::{Host, Login};
use super::checks::{self, Fsync, Report, Standing};
use super::failure;
use super::pace::Pace;
use super::tls::{self, Tls};
use crate::metrics;
use crate::queue::{Durability, Settings, StoreError};

/// How to dial, whomever; shared by all that dial for one store.
pub(super) struct Dialler {
    pub(super) tls: Option<Tls>,
    pub(super) timeout: Duration,
    pub(super) pace: Pace,
}

impl Dialler {
    /// Dials and greets, within `store.timeout`.
    ///
    /// # Errors
    /// Whatever stands in the way, sorted by what to do about it.
    pub(super) async fn open(
        &self,
        host: &Host,
        login: &Login,
        db: u32,
    ) -> Result<MultiplexedConnection, StoreError> {
        self.pace.turn().await;
        metrics::store_dial();
        let deadline = Instant::now() + self.timeout;
        let in_time = |_| StoreError::TimedOut;
        let stream = timeout_at(deadline, self.connect(host)).await.map_err(in_time)??;
        let Some(tls) = &self.tls else {
            return timeout_at(deadline, self.greet(stream, login, db)).await.map_err(in_time)?;
        };
        let stream = timeout_at(deadline, tls.wrap(host, stream)).await.map_err(|_| tls::silent(host))??;
        timeout_at(deadline, self.greet(stream, login, db)).await.map_err(in_time)?
    }

    async fn connect(&self, host: &Host) -> Result<TcpStream, StoreError> {
        let unreachable = |error: std::io::Error| StoreError::Unreachable(format!("{host}: {error}"));
        let stream = TcpStream::connect((host.name.as_str(), host.port)).await.map_err(unreachable)?;
        self.noticing(&stream).map_err(unreachable)?;
        Ok(stream)
    }

    /// Makes the system notice a machine that is gone.
    fn noticing(&self, stream: &TcpStream) -> std::io::Result<()> {
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(5))
            .with_interval(Duration::from_secs(1))
            .with_retries(3);
        stream.set_nodelay(true)?;
        let socket = SockRef::from(stream);
        socket.set_tcp_keepalive(&keepalive)?;
        socket.set_tcp_user_timeout(Some(self.timeout * 2))
    }

    async fn greet<S>(&self, stream: S, login: &Login, db: u32) -> Result<MultiplexedConnection, StoreError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let config = AsyncConnectionConfig::new().set_response_timeout(Some(self.timeout));
        let greeted = MultiplexedConnection::new_with_config(&login.greeting(db), stream, config).await;
        let (connection, driver) = greeted.map_err(|error| failure::judge(&error).0)?;
        // It ends with the last clone of the connection.
        tokio::spawn(driver);
        Ok(connection)
    }
}

/// Asks the server what it is, and judges.
pub(super) async fn check(
    connection: &mut MultiplexedConnection,
    settings: &Settings,
    standing: Standing,
) -> Result<Vec<&'static str>, StoreError> {
    let info: String =
        redis::cmd("INFO").query_async(connection).await.map_err(|error| failure::judge(&error).0)?;
    let fsync =
        if settings.durability == Durability::Memory { Fsync::NotAsked } else { fsync(connection).await? };
    checks::judge(&Report::new(&info, fsync, standing), settings)
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
