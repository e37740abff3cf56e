//! The routes of the operator's API and their handlers. Whoever reads a handler's arguments sees what it asks
//! of the caller: a [`Viewer`] or an [`Operator`], a room, a precondition, a body.

use std::ops::Deref;
use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts, Path, RawPathParams, State};
use axum::response::Response;
use axum::routing::{delete, get, post};
use tokio::sync::Mutex;

use super::access::{Doorkeeper, Ender, Failures, Operator, Viewer};
use super::body::Fields;
use super::change::{self, Change};
use super::desk::Desk;
use super::document::{RoomDocument, RoomsDocument};
use super::patch::Revocation;
use super::reply::{
    self, ADMISSION_UNKNOWN, BAD_BODY, BAD_PRECONDITION, BAD_SETTING, METHOD, NOT_FOUND, ROOM_UNKNOWN,
};
use super::version::{self, Precondition};
use super::{Settings, health, patch};
use crate::metrics;
use crate::queue::View;
use crate::room::{Control, Lineage, RoomId};

/// What the API needs of the rest.
pub struct Parts {
    /// The rooms.
    pub desk: Arc<dyn Desk>,
    /// The tokens.
    pub doorkeeper: Arc<dyn Doorkeeper>,
    /// Who came with wrong tokens.
    pub failures: Arc<dyn Failures>,
    /// Draws the next life of a room, for a flush.
    pub lineage: Arc<dyn Fn() -> Lineage + Send + Sync>,
    /// What was counted.
    pub metrics: metrics::Handle,
}

/// The parts, as all handlers share them.
#[derive(Clone)]
pub(super) struct Admin(Arc<Shared>);

pub(super) struct Shared {
    pub(super) desk: Arc<dyn Desk>,
    pub(super) doorkeeper: Arc<dyn Doorkeeper>,
    pub(super) failures: Arc<dyn Failures>,
    lineage: Arc<dyn Fn() -> Lineage + Send + Sync>,
    pub(super) metrics: metrics::Handle,
    pub(super) settings: Settings,
    /// Held while a change is made.
    pub(super) changes: Mutex<()>,
}

impl Deref for Admin {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}

/// The API.
pub fn router(parts: Parts, settings: &Settings) -> Router {
    let Parts { desk, doorkeeper, failures, lineage, metrics } = parts;
    let settings = settings.clone();
    let shared = Shared { desk, doorkeeper, failures, lineage, metrics, settings, changes: Mutex::new(()) };
    Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(health::metrics))
        .route("/v1/rooms", get(list))
        .route("/v1/rooms/{room}", get(show).patch(set))
        .route("/v1/rooms/{room}/pause", post(pause))
        .route("/v1/rooms/{room}/resume", post(resume))
        .route("/v1/rooms/{room}/create", post(create))
        .route("/v1/rooms/{room}/flush", post(flush))
        .route("/v1/rooms/{room}/open", post(open))
        .route("/v1/rooms/{room}/close", post(close))
        .route("/v1/rooms/{room}/follow", post(follow))
        .route("/v1/rooms/{room}/draw", post(draw))
        .route("/v1/rooms/{room}/revoke", post(revoke))
        .route("/v1/rooms/{room}/passes/{admission}", delete(end))
        .fallback(async || reply::problem(NOT_FOUND, "No such path on the admin listener.", None))
        .method_not_allowed_fallback(async || reply::problem(METHOD, "See the Allow header.", None))
        .with_state(Admin(Arc::new(shared)))
}

/// A room that the settings have. Taken after the token, so that nobody without one learns which exist.
struct Room(RoomId, View);

impl FromRequestParts<Admin> for Room {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut http::request::Parts, admin: &Admin) -> Result<Self, Response> {
        let named = RawPathParams::from_request_parts(parts, admin).await.ok();
        let id =
            named.and_then(|all| all.iter().find_map(|(key, v)| (key == "room").then(|| RoomId::new(v))?));
        let known = id.and_then(|id| admin.desk.view(&id).map(|view| Self(id, view)));
        known.ok_or_else(|| reply::problem(ROOM_UNKNOWN, "The settings have no room of this name.", None))
    }
}

/// The admission id in the path.
struct Admission(String);

impl FromRequestParts<Admin> for Admission {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut http::request::Parts, admin: &Admin) -> Result<Self, Response> {
        let named = Path::<(String, String)>::from_request_parts(parts, admin).await;
        named
            .map(|Path((_, admission))| Self(admission))
            .map_err(|_| reply::problem(ADMISSION_UNKNOWN, "The path names no admission.", None))
    }
}

impl FromRequestParts<Admin> for Precondition {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut http::request::Parts, _: &Admin) -> Result<Self, Response> {
        Self::read(&parts.headers).map_err(|_| {
            reply::problem(BAD_PRECONDITION, "If-Match takes entity tags in quotes, or *.", None)
        })
    }
}

async fn list(_: Viewer, State(admin): State<Admin>) -> Response {
    let document = |id: &RoomId| admin.desk.view(id).map(|view| RoomDocument::of(id, &view));
    let rooms = admin.desk.rooms().iter().filter_map(document).collect();
    reply::document(&RoomsDocument { rooms }, None)
}

async fn show(_: Viewer, Room(id, view): Room) -> Response {
    let version = view.snapshot.as_deref().map(version::of);
    reply::document(&RoomDocument::of(&id, &view), version.as_deref())
}

async fn set(
    who: Operator,
    Room(id, view): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    match patch::read(&fields, view.snapshot.as_deref()) {
        Ok(patch) => change::make(admin, who, id, condition, Change::Control(Control::Set(patch))).await,
        Err(why) => reply::problem(BAD_SETTING, &why, None),
    }
}

async fn pause(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    match patch::reason(&fields) {
        Ok(reason) => {
            change::make(admin, who, id, condition, Change::Control(Control::Pause { reason })).await
        }
        Err(why) => reply::problem(BAD_BODY, &why, None),
    }
}

async fn resume(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    bare(admin, who, id, condition, &fields, Change::Control(Control::Resume)).await
}

async fn create(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    bare(admin, who, id, condition, &fields, Change::Create).await
}

async fn flush(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    let lineage = (admin.lineage)();
    bare(admin, who, id, condition, &fields, Change::Control(Control::Flush(lineage))).await
}

/// Open whatever the schedule says, until `follow`.
async fn open(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    bare(admin, who, id, condition, &fields, Change::Control(Control::Open)).await
}

/// Closed whatever the schedule says, until `follow`.
async fn close(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    bare(admin, who, id, condition, &fields, Change::Control(Control::Close)).await
}

/// As the schedule says again.
async fn follow(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    bare(admin, who, id, condition, &fields, Change::Control(Control::Follow)).await
}

/// The public value of a draw, once everybody knows it.
async fn draw(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    match patch::public_value(&fields) {
        Ok(value) => {
            change::make(admin, who, id, condition, Change::Control(Control::DrawValue(value))).await
        }
        Err(why) => reply::problem(BAD_BODY, &why, None),
    }
}

/// One admission, or all that were made so far. Neither is not taken for all.
async fn revoke(
    who: Operator,
    Room(id, _): Room,
    condition: Precondition,
    State(admin): State<Admin>,
    fields: Fields,
) -> Response {
    match patch::revocation(&fields) {
        Ok(Revocation::All) => {
            change::make(admin, who, id, condition, Change::Control(Control::RevokeBefore)).await
        }
        Ok(Revocation::One(admission)) => end_one(admin, who, id, condition, &admission).await,
        Err(why) => reply::problem(BAD_BODY, &why, None),
    }
}

async fn end(
    Ender(who): Ender,
    Room(id, _): Room,
    Admission(admission): Admission,
    State(admin): State<Admin>,
) -> Response {
    match end_one(admin, who, id, Precondition::None, &admission).await {
        done if done.status().is_success() => reply::nothing(),
        other => other,
    }
}

async fn end_one(
    admin: Admin,
    who: Operator,
    id: RoomId,
    condition: Precondition,
    admission: &str,
) -> Response {
    match admin.desk.admission(&id, admission) {
        Some(number) => change::make(admin, who, id, condition, Change::End(number)).await,
        None => reply::problem(ADMISSION_UNKNOWN, "The room's present life has no such admission.", None),
    }
}

/// A change without fields.
async fn bare(
    admin: Admin,
    who: Operator,
    id: RoomId,
    condition: Precondition,
    fields: &Fields,
    change: Change,
) -> Response {
    match fields.none() {
        Ok(()) => change::make(admin, who, id, condition, change).await,
        Err(why) => reply::problem(BAD_BODY, &why, None),
    }
}
