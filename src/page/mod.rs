//! The waiting page: one self-contained HTML document for every state that a visitor can meet, and its languages.
//!
//! The server renders all of it, so that it is complete without scripts; the script in `assets/page.js` then
//! only keeps it true. Style and script are the same for everybody, so the content security policy names them
//! by hash; what differs by visitor is escaped text and one block of JSON. It knows nothing of the line:
//! whoever calls it says what is to be shown ([`Facts`]).

mod colour;
mod data;
mod escape;
mod facts;
mod language;
mod policy;
mod render;
mod scene;
mod settings;
mod template;
#[cfg(test)]
mod tests;
mod view;
mod wording;

pub use colour::Colour;
pub use facts::{Account, Facts, Rejoin, RoomState, VisitorState, Wait};
pub use language::Language;
pub use render::{Page, Rendered};
pub use settings::{Logo, Settings, Source};
