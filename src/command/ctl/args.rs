//! The verbs of `ropeline ctl` as they are typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::room::{Rate, RoomId};

/// `ropeline ctl`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
#[command(after_help = "The address is --url, else $ROPELINE_ADMIN_URL, else http://127.0.0.1:9090.\n\
    The token is read from --token-file, else $ROPELINE_ADMIN_TOKEN_FILE, else ./ropeline-keys/admin.token \
    if there is one.")]
pub struct CtlArgs {
    /// Print the API's own JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Where the admin API listens.
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// The file that holds the bearer token.
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What an operator can do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Verb {
    /// Show all rooms, or one in detail.
    Status {
        /// The room.
        #[arg(value_parser = room)]
        room: Option<RoomId>,
    },
    /// Stop letting people in, on every instance. Places are kept, joining goes on, passes stay good.
    Pause {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// Shown to the visitors.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Let people in again, in the same order, without making up for the pause.
    Resume {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
    },
    /// Change how many go in, until it is unset.
    Rate {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// Such as 50/s, 10/min or 3600/h.
        #[arg(required_unless_present = "unset", conflicts_with = "unset")]
        rate: Option<Rate>,
        /// Go back to the rate of the settings file.
        #[arg(long)]
        unset: bool,
    },
    /// Make the room in a store that holds none. Only for a new room, or when its data is truly gone.
    Create {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
    },
    /// Show a line of text to everybody who waits, until it is unset.
    Message {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// The text.
        #[arg(required_unless_present = "unset", conflicts_with = "unset")]
        text: Option<String>,
        /// Show none any more.
        #[arg(long)]
        unset: bool,
    },
    /// Change several settings at once, as in the settings file: rate, burst, max_active,
    /// max_total, message, schedule.opens (doors, closes, lobby_order).
    Set {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// Settings such as rate=50/s; nothing after the sign goes back to the file.
        #[arg(required = true, value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// Open the room whatever its schedule says, until it follows the schedule again.
    Open {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
    },
    /// Close the room whatever its schedule says: no new places, nobody goes in.
    Close {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
    },
    /// Undo open or close: as the schedule says again.
    Follow {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
    },
    /// Tell a draw its public value, once the lobby has ended and everybody knows it. The first one counts.
    Draw {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// The value, exactly as it was published.
        value: String,
    },
    /// End the stay of one admitted visitor, or of all who were admitted so far. Their passes open nothing more.
    Revoke {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// The admission: the `jti` of a pass.
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        admission: Option<String>,
        /// Everybody who is inside must join anew.
        #[arg(long)]
        all: bool,
    },
    /// Empty the line: everybody who waits loses the place and must join anew, behind whoever is faster.
    Flush {
        /// The room.
        #[arg(value_parser = room)]
        room: RoomId,
        /// Needed, because this cannot be undone.
        #[arg(long)]
        yes: bool,
    },
}

fn room(name: &str) -> Result<RoomId, String> {
    RoomId::new(name).ok_or_else(|| "room names are 1 to 64 of a-z, 0-9 and -".to_owned())
}
