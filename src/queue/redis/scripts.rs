//! The Lua scripts, one per verb, each with the shared prelude and the rules of the room (`voids`, `inside`, `rules` ...) in front.
//!
//! Called by hash; the client library loads a script again where the server has lost it, as it does when
//! it starts anew.

use std::sync::LazyLock;

use redis::Script;

/// One script per verb.
pub(super) struct Scripts {
    pub(super) create: Script,
    pub(super) read: Script,
    pub(super) join: Script,
    pub(super) advance: Script,
    pub(super) leave: Script,
    pub(super) stays: Script,
    pub(super) presence: Script,
    pub(super) control: Script,
    pub(super) takeover: Script,
    pub(super) drawn: Script,
    pub(super) restore: Script,
}

macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(
            include_str!("scripts/prelude.lua"),
            include_str!("scripts/schedule.lua"),
            include_str!("scripts/voids.lua"),
            include_str!("scripts/inside.lua"),
            include_str!("scripts/rules.lua"),
            include_str!("scripts/draw.lua"),
            include_str!("scripts/lives.lua"),
            include_str!($file)
        ))
    };
}

/// All of them, hashed once.
pub(super) static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    create: script!("scripts/create.lua"),
    read: script!("scripts/read.lua"),
    join: script!("scripts/join.lua"),
    advance: script!("scripts/advance.lua"),
    leave: script!("scripts/leave.lua"),
    stays: script!("scripts/stays.lua"),
    presence: script!("scripts/presence.lua"),
    control: script!("scripts/control.lua"),
    takeover: script!("scripts/takeover.lua"),
    drawn: script!("scripts/drawn.lua"),
    restore: script!("scripts/restore.lua"),
});
