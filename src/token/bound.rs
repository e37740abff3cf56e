//! Whose a ticket or pass is: a short keyed hash of the account's identity in one room. It says nothing of the
//! account, differs from room to room, and is not what the store keeps.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use aws_lc_rs::hmac;

use super::hash::keyed_hash;
use crate::room::{IdentityHash, RoomId};

/// Bytes of a binding: two accounts share one by chance once in 2^72.
pub(super) const BYTES: usize = 9;

/// What ties a ticket or pass to one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Binding(pub(super) [u8; BYTES]);

impl Binding {
    /// The binding of an identity in a room.
    pub(super) fn of(key: &hmac::Key, room: &RoomId, identity: &IdentityHash) -> Self {
        let hash = keyed_hash(key, &[b"binding", room.as_str().as_bytes(), &identity.0]);
        Self(hash.first_chunk().copied().unwrap_or_default())
    }

    /// Its text in a pass: 12 characters of base64url.
    pub(super) fn text(self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// The binding in a text.
    pub(super) fn parse(text: &str) -> Option<Self> {
        URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::testing::{Bench, room};

    #[test]
    fn it_differs_by_account_and_room_and_is_read_back() {
        let ring = Bench::new().keyring;
        let [anna, bert] = [b"anna", b"bert"].map(|value| ring.identity_hash("cookie", value));
        let spring = ring.binding(&room("spring"), &anna);
        assert_eq!(spring, ring.binding(&room("spring"), &anna));
        assert_ne!(spring, ring.binding(&room("autumn"), &anna));
        assert_ne!(spring, ring.binding(&room("spring"), &bert));
        assert_ne!(spring.0[..], anna.0[..BYTES], "the store's own key is told to nobody");
        assert_eq!(Binding::parse(&spring.text()), Some(spring));
        for bad in ["", "AAAA", "AAAAAAAAAAAAA", "AAAAAAAAAAA!"] {
            assert_eq!(Binding::parse(bad), None, "{bad}");
        }
    }
}
