//! The rooms as the operator's API needs them; `server` puts the lines of the instance behind it.

use std::sync::Arc;

use async_trait::async_trait;

use super::Readiness;
use crate::queue::{StoreError, View};
use crate::room::{Control, Number, RoomId, Snapshot};

/// The rooms of this instance. Calls for a room that is not among [`Desk::rooms`] answer
/// [`StoreError::NoRoom`]; the API asks [`Desk::view`] first.
#[async_trait]
pub trait Desk: Send + Sync + 'static {
    /// Every room of the settings in force, in their order.
    fn rooms(&self) -> Vec<RoomId>;

    /// What is known of a room right now, from memory; `None` if the settings have no such room.
    fn view(&self, room: &RoomId) -> Option<View>;

    /// An operator's change; the room after it. Answers once the store has it.
    async fn control(&self, room: &RoomId, change: Control) -> Result<Arc<Snapshot>, StoreError>;

    /// The place of an admission id of the room's present life; `None` if it is no such id.
    fn admission(&self, room: &RoomId, id: &str) -> Option<Number>;

    /// Ends a stay; the room after it. Answers once the store has it; ending one that is over changes nothing.
    async fn end(&self, room: &RoomId, number: Number) -> Result<Arc<Snapshot>, StoreError>;

    /// Makes the room in the store if there is none; otherwise changes nothing.
    async fn create(&self, room: &RoomId) -> Result<Arc<Snapshot>, StoreError>;

    /// Whether traffic can be answered, and what is amiss besides the rooms' stores. The default: it can,
    /// and nothing is.
    fn readiness(&self) -> Readiness {
        Readiness::default()
    }
}
