//! What probes and scrapes ask, without a token: nothing here names a setting, a reason or an address.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde_json::json;

use super::reply;
use super::router::Admin;
use crate::metrics::Handle;
use crate::queue::StoreError;
use crate::room::RoomId;

/// Whether this instance can answer traffic, and what is amiss all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readiness {
    /// Whether traffic can be answered; false before the doors are open and once the stop has begun.
    pub serving: bool,
    /// What is amiss besides the rooms' stores, one short sentence each; anybody may read them.
    pub amiss: Vec<String>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { serving: true, amiss: Vec::new() }
    }
}

/// `GET /livez`: the process answers.
pub(super) async fn livez() -> Response {
    reply::respond(StatusCode::OK, "application/json", json!({"status": "ok"}).to_string())
}

/// `GET /readyz`: 200 while traffic can be answered. While a store is away everyone is still answered, with
/// the waiting page and by valid passes, so that is degraded and not unready: taking the instance out of
/// service would only turn a pause into an outage.
pub(super) async fn readyz(State(admin): State<Admin>) -> Response {
    let readiness = admin.desk.readiness();
    if !readiness.serving {
        let body = json!({"status": "not ready"}).to_string();
        return reply::respond(StatusCode::SERVICE_UNAVAILABLE, "application/json", body);
    }
    let rooms = admin.desk.rooms().into_iter();
    // Nobody's ticket or pass can be read here: this instance is of no use until it has the others' keys.
    let others =
        |room: &RoomId| admin.desk.view(room).is_some_and(|v| v.fault == Some(StoreError::OtherKeys));
    if let Some(room) = admin.desk.rooms().into_iter().find(|room| others(room)) {
        let because = format!("room {room}: {}", StoreError::OtherKeys);
        let body = json!({"status": "not ready", "because": [because]}).to_string();
        return reply::respond(StatusCode::SERVICE_UNAVAILABLE, "application/json", body);
    }
    let away = rooms.filter(|room| !admin.desk.view(room).is_some_and(|v| v.fresh && v.snapshot.is_some()));
    let mut because: Vec<String> =
        away.map(|room| format!("room {room}: its store cannot be asked")).collect();
    because.extend(readiness.amiss);
    let body = match because.as_slice() {
        [] => json!({"status": "ok"}),
        because => json!({"status": "degraded", "because": because}),
    };
    reply::respond(StatusCode::OK, "application/json", body.to_string())
}

/// `GET /metrics`, for Prometheus.
pub(super) async fn metrics(State(admin): State<Admin>) -> Response {
    reply::respond(StatusCode::OK, Handle::CONTENT_TYPE, admin.metrics.render())
}
