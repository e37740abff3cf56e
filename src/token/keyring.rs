//! The keys of this instance, and all that is done with them.
//!
//! # The directory
//!
//! | file | holds |
//! | --- | --- |
//! | `ticket-<kid>.key` | 32 random bytes (base64url): signs and verifies tickets |
//! | `pass-<kid>.pem` | an Ed25519 key (PKCS#8): signs and verifies passes; its public half is in the JWKS |
//! | `identity.key` | 32 random bytes (base64url): turns accounts into identities, numbers into ids |
//!
//! The directory has rights 0700 and the files 0600; a file that others may read is refused. A `<kid>` is the
//! moment from which a key signs and eight random digits: `20261224T110000Z-3fa9c1d2`.
//!
//! # Rotation
//!
//! 1. `ropeline keys new DIR` adds a pair that verifies as soon as an instance reads it and signs a minute
//!    later (`--signs-in` says otherwise). Copy the two new files to every instance within that time.
//! 2. When tickets and passes of the old pair have run out, remove its two files: they verify nothing more.
//!
//! [`Keyring::reload`] takes both up without a restart. `identity.key` never changes while a room lives.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;

use super::bound::Binding;
use super::claims::{self, IssuedPass, Pass};
use super::files::in_dir;
use super::hash::{derived_id, fingerprint, keyed_hash, sha256};
use super::keys::{IDENTITY, Keys};
use super::memory::Memory;
use super::{CannotSign, KeyError, Ticket, TokenFault, admission, check, make, ticket};
use crate::room::{Admission, IdentityHash, Lineage, Micros, Number, RoomId};

/// The `[keys]` table, and the bounds of what is done with keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where the key files are.
    pub dir: PathBuf,
    /// Most verified passes to remember, about 400 bytes each. More passes in use than this cost a signature
    /// check (some 50 us) now and then; fewer cost memory only when they are there.
    pub passes_remembered_max: usize,
    /// Longest life of a pass. What claims to last longer is refused, whoever signed it; so it must be at
    /// least every room's `pass.ttl`.
    pub pass_ttl_max: Duration,
}

impl Settings {
    /// The settings for a directory with everything else as the manual has it: 100,000 passes, 24 hours.
    #[must_use]
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            passes_remembered_max: 100_000,
            pass_ttl_max: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// See the top of the file. Every method may be called from any thread; none but those that say so touches
/// the disk, and verifying takes no lock over the keys.
pub struct Keyring {
    settings: Settings,
    keys: ArcSwap<Keys>,
    generations: AtomicU64,
    memory: Memory<Pass>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Keyring {
    /// Reads a key directory.
    ///
    /// # Errors
    /// The first thing that is wrong with it, in one line with the remedy.
    pub fn open(settings: Settings) -> Result<Self, KeyError> {
        let keys = Keys::read(&settings.dir, 0)?;
        let memory = Memory::new(settings.passes_remembered_max);
        Ok(Self { settings, keys: ArcSwap::from_pointee(keys), generations: AtomicU64::new(0), memory })
    }

    /// Reads a key directory after making the keys that it lacks. Only for a store on this machine: instances
    /// that share a store must share keys, too, and made-up ones would hide that they do not.
    ///
    /// # Errors
    /// As [`Keyring::open`]; and a missing `identity.key` beside other keys is not made but reported.
    pub fn create_missing(settings: Settings, now: Micros) -> Result<Self, KeyError> {
        make::fill_in(&settings.dir, now)?;
        Self::open(settings)
    }

    /// Reads the directory again: new keys verify from here on, removed ones no more. True if anything
    /// changed.
    ///
    /// # Errors
    /// As [`Keyring::open`], and when `identity.key` is another one. The keys stay as they were.
    pub fn reload(&self) -> Result<bool, KeyError> {
        let generation = self.generations.fetch_add(1, Ordering::Relaxed) + 1;
        let read = Keys::read(&self.settings.dir, generation)?;
        let held = self.keys.load();
        if held.same_as(&read) {
            return Ok(false);
        }
        if fingerprint(&held.identity) != fingerprint(&read.identity) {
            return Err(KeyError::IdentityChanged { path: in_dir(&self.settings.dir, IDENTITY) });
        }
        self.keys.store(Arc::new(read));
        self.memory.clear();
        Ok(true)
    }

    /// The text of a ticket: 60 characters, 72 of an account's, that fit in a cookie as they are.
    #[must_use]
    pub fn seal_ticket(&self, ticket: &Ticket) -> String {
        ticket::seal(&self.keys.load(), ticket)
    }

    /// The ticket in a text, if it is one of this room.
    ///
    /// # Errors
    /// Why it is not, for counting only: whoever presented it is treated as having none.
    pub fn open_ticket(&self, room: &RoomId, text: &str) -> Result<Ticket, TokenFault> {
        ticket::open(&self.keys.load(), room, text)
    }

    /// The pass of an admission, good for `ttl` (whole seconds, at least one, at most
    /// [`Settings::pass_ttl_max`]) from its slot; `bound`: for one account alone. The same arguments give the same pass, on every instance
    /// that has the same keys.
    ///
    /// # Errors
    /// [`CannotSign`] should the library fail: answer as unavailable.
    pub fn issue_pass(
        &self,
        room: &RoomId,
        lineage: Lineage,
        admission: Admission,
        ttl: Duration,
        bound: Option<Binding>,
    ) -> Result<IssuedPass, CannotSign> {
        let ttl = ttl.min(self.settings.pass_ttl_max);
        claims::issue(&self.keys.load(), room, lineage, admission, ttl, bound)
    }

    /// The pass in a text, if it opens this room at `now`, which should be the store's clock as far as this
    /// instance knows it. Its [`Pass::not_before`] may lie up to 10 s ahead (or `leeway`, if that is more):
    /// hold the request until then. Whether the pass's lineage is the room's and whether the stay was ended
    /// is for the caller to ask.
    ///
    /// # Errors
    /// Why it does not, for counting only: whoever presented it is treated as having none.
    pub fn check_pass(
        &self,
        room: &RoomId,
        token: &str,
        now: Micros,
        leeway: Duration,
    ) -> Result<Arc<Pass>, TokenFault> {
        if token.len() > check::CHARS_MAX {
            return Err(TokenFault::TooLong);
        }
        let keys = self.keys.load();
        let key = sha256(token.as_bytes());
        let ttl_max = self.settings.pass_ttl_max;
        if let Some(pass) = self.memory.get(&key, keys.generation) {
            let judged = check::judge(&pass, room, now, leeway, ttl_max);
            if judged == Err(TokenFault::Expired) {
                self.memory.forget(&key);
            }
            return judged.map(|()| pass);
        }
        let pass = Arc::new(check::verify(&keys, token)?);
        check::judge(&pass, room, now, leeway, ttl_max)?;
        self.memory.put(key, keys.generation, pass.clone());
        Ok(pass)
    }

    /// The visitor id of a place, as its passes carry it.
    #[must_use]
    pub fn visitor_id(&self, room: &RoomId, lineage: Lineage, number: Number) -> String {
        derived_id(&self.keys.load().identity, "visitor", room, lineage, number)
    }

    /// The admission id of a place, as its passes carry it.
    #[must_use]
    pub fn admission_id(&self, room: &RoomId, lineage: Lineage, number: Number) -> String {
        admission::id(&self.keys.load().identity, room, lineage, number).unwrap_or_default()
    }

    /// The place of an admission id of this life of the room.
    #[must_use]
    pub fn admission_number(&self, room: &RoomId, lineage: Lineage, id: &str) -> Option<Number> {
        admission::number(&self.keys.load().identity, room, lineage, id)
    }

    /// The public keys of passes, newest first: the body of `/v1/jwks.json`.
    #[must_use]
    pub fn jwks(&self) -> Bytes {
        self.keys.load().jwks.clone()
    }

    /// What identifies an account (`kind` says how: "cookie", "header", "jwt") as the store may see it.
    #[must_use]
    pub fn identity_hash(&self, kind: &str, value: &[u8]) -> IdentityHash {
        IdentityHash(keyed_hash(&self.keys.load().identity, &[b"identity", kind.as_bytes(), value]))
    }

    /// What ties tickets and passes of a room to an account.
    #[must_use]
    pub fn binding(&self, room: &RoomId, identity: &IdentityHash) -> Binding {
        Binding::of(&self.keys.load().identity, room, identity)
    }

    /// Tells identity keys apart without telling anything of them: 16 hexadecimal digits.
    #[must_use]
    pub fn identity_fingerprint(&self) -> String {
        let [a, b, c, d, e, f, g, h, ..] = fingerprint(&self.keys.load().identity);
        format!("{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }

    /// The keys as they are now, for one check that is not remembered.
    pub(super) fn held(&self) -> Arc<Keys> {
        self.keys.load_full()
    }

    /// See [`Settings::pass_ttl_max`].
    pub(super) fn pass_ttl_max(&self) -> Duration {
        self.settings.pass_ttl_max
    }

    #[cfg(test)]
    pub(super) fn remembered(&self) -> usize {
        self.memory.len()
    }
}
