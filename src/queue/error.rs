//! What can go wrong with a store, by what the caller should do about it.

/// Why a verb was not done, or may not have been.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// No connection, or it broke: the command may or may not have run.
    #[error("the store cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within `store.timeout`: the command may still run.
    #[error("the store did not answer in time")]
    TimedOut,
    /// Done, but too few replicas have it: it may be lost, so it does not count.
    #[error("only {0} replicas have acknowledged it in time")]
    Unsure(u32),
    /// The room does not exist there. An operator creates it (`ropeline ctl create`); nobody else does.
    #[error("the store holds no such room; if its data is truly gone, an operator may create it anew")]
    NoRoom,
    /// The store is older than what this instance has seen: acknowledged writes were lost.
    #[error(
        "the store holds less of the room than was seen, and what is missing is not known here; it goes on once \
         another instance has told it, or its files are restored"
    )]
    RolledBack,
    /// The room belongs to instances with other keys: tickets and passes of theirs mean nothing here.
    #[error(
        "the room was made by instances with other keys; give this one a copy of their key directory, or flush \
         the room, and everybody joins anew"
    )]
    OtherKeys,
    /// The store may forget, or cannot give the durability that was asked for.
    #[error("the store is not safe to use: {0}")]
    Unsafe(String),
    /// The store refused for a reason of its own (out of memory, disk full, read only, loading).
    #[error("the store refused: {0}")]
    Refused(String),
    /// What came back makes no sense; never expected.
    #[error("the store answered something unexpected: {0}")]
    Garbled(String),
}

impl StoreError {
    /// One word, for a metric's label.
    #[must_use]
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Unreachable(_) => "unreachable",
            Self::TimedOut => "timed_out",
            Self::Unsure(_) => "unsure",
            Self::NoRoom => "no_room",
            Self::RolledBack => "rolled_back",
            Self::OtherKeys => "other_keys",
            Self::Unsafe(_) => "unsafe",
            Self::Refused(_) => "refused",
            Self::Garbled(_) => "garbled",
        }
    }
}
