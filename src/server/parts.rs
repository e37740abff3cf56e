//! Each part's settings out of the configuration, and each part out of its settings.

use std::any::Any;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderValue, StatusCode};
use tokio::sync::watch;

use super::accounts;
use crate::answer;
use crate::config::{Config, PageConfig, RoomConfig, SameSite};
use crate::limit::{Connections, ConnectionsSettings};
use crate::metrics::ConnectionRefusal;
use crate::queue::embedded::EmbeddedStore;
use crate::queue::redis::RedisStore;
use crate::queue::{InstanceId, Line, LineSettings, Measured, Place, QueueStore, StoreError};
use crate::room::Lineage;
use crate::route::{BadRoutes, Pattern, RoomPaths, Routes, RoutesSettings, Trusted};
use crate::token::{self, KeyError, Keyring, random};
use crate::{crowd, listen, page, proxy};

/// Why an instance does not start; one line each.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Keys are missing, unreadable, or readable by others.
    #[error(transparent)]
    Keys(#[from] KeyError),
    /// A port of a door or of the operator's API.
    #[error(transparent)]
    Port(#[from] listen::BindError),
    /// The store may forget, or is in use.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The origin's address.
    #[error(transparent)]
    Origin(#[from] proxy::BadOrigin),
    /// Paths or hosts that cannot be told apart.
    #[error("{0}")]
    Routes(String),
    /// A setting that another part could not use.
    #[error("{0}: {1}")]
    Setting(&'static str, String),
}

/// The keys: made at the first start with an embedded store, shared by hand otherwise.
pub(super) fn keyring(config: &Config) -> Result<Arc<Keyring>, StartError> {
    let longest = config.rooms.iter().map(|room| room.rules.pass_ttl).max().unwrap_or_default();
    let mut settings = token::Settings::at(&config.keys_dir);
    settings.pass_ttl_max = settings.pass_ttl_max.max(longest);
    let keyring = match config.store.place {
        Place::File(_) => Keyring::create_missing(settings, super::wall_clock())?,
        Place::Redis(_) => Keyring::open(settings)?,
    };
    Ok(Arc::new(keyring))
}

/// The store; one that may forget stops the start, one that cannot be reached does not.
pub(super) async fn store(config: &Config) -> Result<Arc<dyn QueueStore>, StartError> {
    match config.store.place {
        Place::File(_) => Ok(measured(EmbeddedStore::open(&config.store)?)),
        Place::Redis(_) => {
            let store = RedisStore::connect(&config.store)?;
            let rooms: Vec<_> = config.rooms.iter().map(|room| room.id.clone()).collect();
            match store.probe_for(&rooms).await {
                Err(error @ StoreError::Unsafe(_)) => return Err(error.into()),
                Err(error) => tracing::warn!(%error, "starting without the store"),
                Ok(()) => {}
            }
            Ok(measured(store))
        }
    }
}

fn measured(store: impl QueueStore) -> Arc<dyn QueueStore> {
    Arc::new(Measured::new(Arc::new(store)))
}

/// One line a room.
pub(super) fn lines(
    config: &Config,
    store: &Arc<dyn QueueStore>,
    keys: &str,
) -> Result<Vec<Arc<Line>>, StartError> {
    let instance = InstanceId(random::number()?);
    let start = |room: &RoomConfig| {
        let settings = LineSettings {
            room: room.id.clone(),
            rules: room.rules.clone(),
            instance,
            lineage: Lineage(random::number()?),
            keys: keys.to_owned(),
            absent_after: room.absent_after,
            timeout: config.store.timeout,
        };
        Ok(Line::start(settings, Arc::clone(store)))
    };
    config.rooms.iter().map(start).collect()
}

/// Where requests lead to.
pub(super) fn routes(config: &Config) -> Result<Routes, StartError> {
    let rooms = config.rooms.iter().map(|room| {
        Ok(RoomPaths {
            id: room.id.to_string(),
            hosts: room.hosts.clone(),
            paths: patterns("room.paths", &room.paths)?,
            open_paths: patterns("room.open_paths", &room.open_paths)?,
        })
    });
    let settings = RoutesSettings {
        prefix: config.server.prefix.clone(),
        hosts: config.server.hosts.clone(),
        ignore_case: config.origin.paths_ignore_case,
        rooms: rooms.collect::<Result<_, StartError>>()?,
    };
    Routes::new(&settings).map_err(|wrong| StartError::Routes(one_line(&wrong)))
}

/// Path patterns out of their text.
pub(super) fn patterns(key: &'static str, paths: &[String]) -> Result<Vec<Pattern>, StartError> {
    let read = |path: &String| {
        Pattern::parse(path).map_err(|error| StartError::Setting(key, format!("{path}: {error}")))
    };
    paths.iter().map(read).collect()
}

fn one_line(wrong: &[BadRoutes]) -> String {
    wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// What the answering part is told.
pub(super) fn answers(config: &Config) -> Result<answer::Settings, StartError> {
    let rooms = config.rooms.iter().map(|room| room_answers(config, room)).collect::<Result<_, _>>()?;
    Ok(answer::Settings {
        prefix: config.server.prefix.clone(),
        rooms,
        crowd_url: config.server.crowd_url.clone(),
        cors_origins: config.server.cors_origins.clone(),
        streams: ConnectionsSettings {
            total_max: config.server.limits.event_streams,
            per_network_max: config.server.limits.event_streams_per_address,
        },
    })
}

fn room_answers(config: &Config, room: &RoomConfig) -> Result<answer::RoomSettings, StartError> {
    let status = StatusCode::from_u16(room.page.status)
        .map_err(|_| StartError::Setting("room.page.status", room.page.status.to_string()))?;
    Ok(answer::RoomSettings {
        id: room.id.clone(),
        hosts: room.hosts.clone(),
        accounts: accounts::of(config, room)?,
        same_site: match room.same_site {
            SameSite::Lax => answer::SameSite::Lax,
            SameSite::Strict => answer::SameSite::Strict,
            SameSite::None => answer::SameSite::None,
        },
        page_status: status,
        page: page_settings(config, &room.page)?,
        poll_max: room.poll_max,
        leeway: room.leeway,
        networks_max: room.networks_max,
    })
}

fn page_settings(config: &Config, page: &PageConfig) -> Result<page::Settings, StartError> {
    let bad =
        |what: &'static str, value: &str| StartError::Setting(what, format!("`{value}` cannot be used"));
    let mut settings = page::Settings { title: page.title.clone(), ..page::Settings::default() };
    if let Some(accent) = &page.accent {
        settings.accent = page::Colour::parse(accent).ok_or_else(|| bad("room.page.colours", accent))?;
    }
    if let Some(logo) = &page.logo {
        use base64::Engine;
        let bytes = base64::engine::general_purpose::STANDARD.encode(&logo.bytes);
        let uri = format!("data:{};base64,{bytes}", logo.media_type);
        let name = logo.file.display().to_string();
        settings.logo = Some(page::Logo::parse(&uri).ok_or_else(|| bad("room.page.logo", &name))?);
    }
    for tag in &page.languages {
        let language = page::Language::by_tag(tag).ok_or_else(|| bad("room.page.languages", tag))?;
        settings.languages.push(language);
    }
    if let Some(url) = &config.server.crowd_url {
        settings.crowd = Some(page::Source::parse(url).ok_or_else(|| bad("server.crowd_url", url))?);
    }
    Ok(settings)
}

/// What the edge is told.
pub(super) fn edge(config: &Config) -> Result<proxy::Settings, StartError> {
    Ok(proxy::Settings { limits: limits(config), trusted: trusted(config), secret: secret(config)? })
}

/// What the crowd door is told.
pub(super) fn crowd(config: &Config) -> crowd::Settings {
    crowd::Settings { limits: limits(config), trusted: trusted(config) }
}

fn limits(config: &Config) -> listen::Limits {
    let limits = &config.server.limits;
    listen::Limits {
        header_timeout: limits.header_timeout,
        header_bytes: limits.header_bytes,
        idle_timeout: limits.idle_timeout,
        body_bytes: limits.body_bytes,
        ..listen::Limits::default()
    }
}

fn trusted(config: &Config) -> Trusted {
    Trusted::new(config.server.trusted_proxies.clone())
}

pub(super) fn secret(config: &Config) -> Result<Option<HeaderValue>, StartError> {
    let read = |secret: &crate::config::Secret| {
        let mut value = HeaderValue::from_str(&secret.0).map_err(|_| {
            StartError::Setting("origin.secret_file", "must be one line of plain text".into())
        })?;
        value.set_sensitive(true);
        Ok(value)
    };
    config.origin.secret.as_ref().map(read).transpose()
}

/// The origin, and the task that keeps its address known.
pub(super) fn origin(config: &Config) -> Result<(Arc<proxy::Origin>, Resolved), StartError> {
    let settings = proxy::OriginSettings {
        url: origin_url(&config.origin.host, config.origin.port),
        connect_timeout: config.origin.connect_timeout,
        response_timeout: config.origin.response_timeout,
        max_in_flight: config.origin.max_connections,
        ..proxy::OriginSettings::default()
    };
    let origin = Arc::new(proxy::Origin::new(settings)?);
    Ok((Arc::clone(&origin), Resolved(origin)))
}

fn origin_url(host: &str, port: u16) -> String {
    let bare = host.contains(':') && !host.starts_with('[');
    if bare { format!("http://[{host}]:{port}") } else { format!("http://{host}:{port}") }
}

/// Keeps the origin's address known.
pub(super) struct Resolved(Arc<proxy::Origin>);

impl Resolved {
    pub(super) async fn until_stopped(self, mut stopping: watch::Receiver<bool>) {
        let keep = async {
            self.0.keep_resolved().await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = keep => {}
            () = listen::stopped(&mut stopping) => {}
        }
    }
}

/// Who may hold a connection, counted over both doors.
pub(super) fn admit(config: &Config) -> Arc<dyn listen::Admit> {
    let limits = &config.server.limits;
    Arc::new(Door(Connections::new(ConnectionsSettings {
        total_max: limits.connections,
        per_network_max: limits.connections_per_address,
    })))
}

struct Door(Connections);

impl listen::Admit for Door {
    fn admit(&self, peer: Option<IpAddr>) -> Result<Box<dyn Any + Send>, ConnectionRefusal> {
        let guard = peer.map_or_else(|| self.0.try_admit_trusted(), |peer| self.0.try_admit(peer));
        match guard {
            Some(guard) => Ok(Box::new(guard)),
            None if self.0.len() < self.0.total_max() => Err(ConnectionRefusal::ClientFull),
            None => Err(ConnectionRefusal::Full),
        }
    }
}
