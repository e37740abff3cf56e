//! Who may hold a connection, and the counting of those who do.

use std::any::Any;
use std::net::IpAddr;

use crate::metrics::{self, ConnectionRefusal, Listener, OpenConnection};

/// Who may hold a connection.
pub trait Admit: Send + Sync + 'static {
    /// A guard that frees the place when it is dropped, or why the connection is closed at once. `peer` is
    /// `None` when the peer is a trusted proxy, which only counts towards the total.
    ///
    /// # Errors
    /// [`ConnectionRefusal::Full`] or [`ConnectionRefusal::ClientFull`].
    fn admit(&self, peer: Option<IpAddr>) -> Result<Box<dyn Any + Send>, ConnectionRefusal>;
}

/// The place of an open connection: given back, and no longer counted, when it is dropped.
pub(crate) struct Held {
    _guard: Box<dyn Any + Send>,
    _open: OpenConnection,
}

/// Takes a connection in at a door, or counts that it was turned away.
pub(crate) fn take_in(door: Listener, admit: &dyn Admit, peer: Option<IpAddr>) -> Option<Held> {
    match admit.admit(peer) {
        Ok(guard) => Some(Held { _guard: guard, _open: OpenConnection::at(door) }),
        Err(cause) => {
            metrics::connection_refused(door, cause);
            None
        }
    }
}
