//! The settings: one TOML document, with arguments and variables over it, as data for every part.
//!
//! [`load`] reports everything that is wrong at once, each with key path and line. The reader is our own: a
//! derived one stops at the first mistake. Every key is either acted on or refused; keys whose feature does
//! not work yet are refused as such. `config/ropeline.toml` is the manual; a key that is added here is added
//! there too, and in `print.rs`.

mod admin;
mod cache;
mod clash;
mod files;
mod identity;
mod load;
mod net;
mod origin;
mod overlay;
mod page;
mod pattern;
mod print;
mod problem;
mod report;
mod room;
mod schedule;
mod server;
mod stock;
mod store;
mod suggest;
mod syntax;
mod table;
mod types;
mod value;
mod warn;

#[cfg(test)]
mod tests;

pub use load::load;
pub use overlay::{Env, Overlay};
pub use print::print;
pub use problem::{Problem, Problems, Spot};
pub use types::{
    AdminConfig, CacheConfig, Config, IdentityConfig, IdentityKind, JwksConfig, JwtConfig, LimitsConfig,
    LogoConfig, Missing, OriginConfig, PageConfig, Role, RoomConfig, SameSite, Secret, ServerConfig,
    StockConfig, TokenConfig,
};
pub use warn::{Warning, warnings};
