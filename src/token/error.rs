//! What can go wrong: with key files (told to the operator, with a remedy) and with what visitors present
//! (counted, never told to them).

use std::io;
use std::path::PathBuf;

/// Why keys could not be read or made. Each message is one line, names the file and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file system refused.
    #[error("{path}: cannot {doing}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A secret that others on the machine may read or write.
    #[error("{path}: others than its owner may read or write it; run: chmod 600 {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// A directory in which others may put keys of their own.
    #[error("{path}: others than its owner may put keys there; run: chmod 700 {path}")]
    OpenDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// The directory lacks a kind of key.
    #[error("{path}: has no {what}; run: ropeline keys new {path}")]
    Missing {
        /// The directory.
        path: PathBuf,
        /// The kind of key.
        what: &'static str,
    },
    /// Keys without the identity key: a new one would give every visitor another identity.
    #[error(
        "{path}: identity.key is missing though other keys are there; put the one back that was made with them"
    )]
    IdentityLost {
        /// The directory.
        path: PathBuf,
    },
    /// The identity key is another one than at the start.
    #[error("{path}: differs from the key that this process started with; put that one back, or restart")]
    IdentityChanged {
        /// The file.
        path: PathBuf,
    },
    /// The content or name of a file is not what it should be.
    #[error("{path}: {why}")]
    Bad {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        why: &'static str,
    },
    /// The operating system gave no random bytes.
    #[error("the system gave no random bytes; check /dev/urandom and seccomp rules for getrandom")]
    NoRandom,
}

/// Signing failed although the key signed when it was read: memory or library trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a pass could not be signed")]
pub struct CannotSign;

/// Why a ticket or pass is treated as absent. For counters and for the operator's `pass inspect`; the visitor
/// is never told which.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenFault {
    /// Longer than any that we make.
    TooLong,
    /// Not of the form that we write.
    Malformed,
    /// Another algorithm than ours.
    Algorithm,
    /// Signed by no key that we have.
    UnknownKey,
    /// The signature does not fit: altered, made up, or of another room's ticket.
    Signature,
    /// Genuinely signed, but a claim is missing or of the wrong type.
    Claims,
    /// Another issuer or another room.
    Foreign,
    /// Would last longer than any pass may.
    Lasting,
    /// Over.
    Expired,
    /// Further ahead than a request is held.
    NotYet,
}

impl TokenFault {
    /// One word, for a metric's label.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::TooLong => "too_long",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::UnknownKey => "unknown_key",
            Self::Signature => "signature",
            Self::Claims => "claims",
            Self::Foreign => "foreign",
            Self::Lasting => "lasting",
            Self::Expired => "expired",
            Self::NotYet => "not_yet",
        }
    }

    /// One sentence, for the operator.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::TooLong => "it is longer than any that we make",
            Self::Malformed => "it is not of the form that we write",
            Self::Algorithm => "it names another algorithm than EdDSA",
            Self::UnknownKey => "it names a key that is not in the key directory",
            Self::Signature => "its signature does not fit: it was altered or made up",
            Self::Claims => "it is signed, but a claim is missing, mistyped or absurd",
            Self::Foreign => "it is of another issuer or another room",
            Self::Lasting => "it would last longer than any pass may",
            Self::Expired => "it has run out",
            Self::NotYet => "it is good only later",
        }
    }
}

impl std::error::Error for TokenFault {}

impl std::fmt::Display for TokenFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label())
    }
}
