//! Hashes, keyed and not, that other files here share.

use aws_lc_rs::{constant_time, digest, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::room::{Lineage, Number, RoomId};

/// Sixteen bytes of a keyed hash as 22 characters: nobody can guess one from a number, which is public.
pub(super) fn derived_id(
    key: &hmac::Key,
    kind: &str,
    room: &RoomId,
    lineage: Lineage,
    number: Number,
) -> String {
    let (lineage, number) = (lineage.0.to_be_bytes(), number.0.to_be_bytes());
    URL_SAFE_NO_PAD.encode(keyed_hash(key, &[kind.as_bytes(), room.as_str().as_bytes(), &lineage, &number]))
}

/// A keyed hash over parts, each with its length before it, so that no two lists of parts look alike.
pub(super) fn keyed_hash(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 16] {
    let mut hash = hmac::Context::with_key(key);
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.sign().as_ref().first_chunk().copied().unwrap_or_default()
}

/// What tells identity keys apart without telling anything of them.
pub(super) fn fingerprint(identity: &hmac::Key) -> [u8; 16] {
    keyed_hash(identity, &[b"fingerprint"])
}

/// SHA-256.
pub(super) fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest::digest(&digest::SHA256, bytes).as_ref().first_chunk().copied().unwrap_or_default()
}

/// Whether two secrets' digests are the same, in a time that tells nothing.
pub(super) fn same(a: &[u8], b: &[u8]) -> bool {
    constant_time::verify_slices_are_equal(a, b).is_ok()
}
