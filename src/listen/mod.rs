//! What both doors stand on: taking a port, accepting on it, and the bounds on those who connect. Knows no HTTP,
//! so that either door may use it without seeing the other.

mod accept;
mod admit;
mod limits;

pub(crate) use accept::stopped;
pub use accept::{BindError, Bound, bind};
pub use admit::Admit;
pub(crate) use admit::take_in;
pub use limits::Limits;
