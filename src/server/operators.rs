//! The operator's API with the lines, tokens and limits of this instance behind it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;

use super::StartError;
use crate::admin::{self, Holder, Parts};
use crate::config::{self, Config};
use crate::limit;
use crate::metrics;
use crate::queue::{Line, StoreError, View};
use crate::room::{Control, EndCause, Lineage, Number, RoomId, Snapshot};
use crate::token::admin::{AdminToken, AdminTokens, Role, TokenDigest, make_admin_token_file};
use crate::token::{Keyring, random};

/// The API over these lines.
pub(super) fn router(
    config: &Config,
    lines: &[Arc<Line>],
    keyring: Arc<Keyring>,
    counted: metrics::Handle,
) -> Result<Router, StartError> {
    let failures = limit::Failures::new(&limit::FailuresSettings::default());
    let parts = Parts {
        desk: Arc::new(Rooms { lines: lines.to_vec(), keyring }),
        doorkeeper: Arc::new(Tokens(tokens(config)?)),
        failures: Arc::new(Slowed(failures)),
        lineage: Arc::new(lineage),
        metrics: counted,
    };
    Ok(admin::router(parts, &admin::Settings::at(config.admin.listen)))
}

/// A random life. Without random bytes from the system the time is still different each time.
fn lineage() -> Lineage {
    Lineage(random::number().unwrap_or_else(|_| super::wall_clock().0))
}

/// The tokens of the file; with none there, one that is made once and kept beside the keys.
fn tokens(config: &Config) -> Result<AdminTokens, StartError> {
    if config.admin.tokens.is_empty() {
        let (token, file) = make_admin_token_file(&config.keys_dir)?;
        tracing::info!(file = %file.display(), "the operator's token is in this file");
        return Ok(AdminTokens::new(vec![token]));
    }
    let read = |token: &config::TokenConfig| AdminToken {
        name: token.name.clone(),
        role: match token.role {
            config::Role::Viewer => Role::Viewer,
            config::Role::Operator => Role::Operator,
            config::Role::Origin => Role::Origin,
        },
        sha256: TokenDigest::from(token.sha256),
    };
    Ok(AdminTokens::new(config.admin.tokens.iter().map(read).collect()))
}

struct Tokens(AdminTokens);

impl admin::Doorkeeper for Tokens {
    fn find(&self, bearer: &str) -> Option<Holder> {
        let (name, role) = self.0.find(bearer)?;
        let role = match role {
            Role::Viewer => admin::Role::Viewer,
            Role::Operator => admin::Role::Operator,
            Role::Origin => admin::Role::Origin,
        };
        Some(Holder { name: name.to_owned(), role })
    }
}

struct Slowed(limit::Failures);

impl admin::Failures for Slowed {
    fn failed(&self, client: IpAddr) -> Option<Duration> {
        self.0.failed(client)
    }
}

struct Rooms {
    lines: Vec<Arc<Line>>,
    keyring: Arc<Keyring>,
}

impl Rooms {
    fn line(&self, room: &RoomId) -> Option<&Arc<Line>> {
        self.lines.iter().find(|line| line.room() == room)
    }
}

#[async_trait]
impl admin::Desk for Rooms {
    fn rooms(&self) -> Vec<RoomId> {
        self.lines.iter().map(|line| line.room().clone()).collect()
    }

    fn readiness(&self) -> admin::Readiness {
        let amiss = self.lines.iter().filter_map(|line| super::stock::amiss(line)).collect();
        admin::Readiness { amiss, ..admin::Readiness::default() }
    }

    fn view(&self, room: &RoomId) -> Option<View> {
        Some(self.line(room)?.view())
    }

    async fn control(&self, room: &RoomId, change: Control) -> Result<Arc<Snapshot>, StoreError> {
        self.line(room).ok_or(StoreError::NoRoom)?.control(change).await
    }

    fn admission(&self, room: &RoomId, id: &str) -> Option<Number> {
        let lineage = self.line(room)?.view().snapshot?.lineage;
        self.keyring.admission_number(room, lineage, id)
    }

    async fn end(&self, room: &RoomId, number: Number) -> Result<Arc<Snapshot>, StoreError> {
        let line = self.line(room).ok_or(StoreError::NoRoom)?;
        line.end(number, EndCause::Operator).await?;
        line.view().snapshot.ok_or(StoreError::NoRoom)
    }

    async fn create(&self, room: &RoomId) -> Result<Arc<Snapshot>, StoreError> {
        self.line(room).ok_or(StoreError::NoRoom)?.create(lineage()).await
    }
}
