//! Admission ids (`jti`): the number of the place under a key of its room and life, as one block of AES. Nobody
//! else can tell or guess the number of one, and every instance can, so that an operator may end a stay by the id
//! that the shop saw, without anything to look it up in.

use aws_lc_rs::cipher::{AES_128, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey};
use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::hash::keyed_hash;
use crate::room::{Lineage, Number, RoomId};

/// The number, then as many zeros: what does not open to zeros was not made here.
const BLOCK: usize = 16;

/// The id of a place's admission: 22 characters. `None` should the library fail.
pub(super) fn id(identity: &hmac::Key, room: &RoomId, lineage: Lineage, number: Number) -> Option<String> {
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(&number.0.to_be_bytes());
    EncryptingKey::ecb(key(identity, room, lineage)?).ok()?.encrypt(&mut block).ok()?;
    Some(URL_SAFE_NO_PAD.encode(block))
}

/// The number in an admission id of this life of the room.
pub(super) fn number(identity: &hmac::Key, room: &RoomId, lineage: Lineage, id: &str) -> Option<Number> {
    let mut block: [u8; BLOCK] = URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()?;
    let opening = DecryptingKey::ecb(key(identity, room, lineage)?).ok()?;
    opening.decrypt(&mut block, DecryptionContext::None).ok()?;
    let (number, zeros) = block.split_first_chunk::<8>()?;
    (zeros == [0; 8]).then(|| Number(u64::from_be_bytes(*number)))
}

fn key(identity: &hmac::Key, room: &RoomId, lineage: Lineage) -> Option<UnboundCipherKey> {
    let lineage = lineage.0.to_be_bytes();
    let bytes = keyed_hash(identity, &[b"admission", room.as_str().as_bytes(), &lineage]);
    UnboundCipherKey::new(&AES_128, &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_in_its_room_and_life_alone() {
        let identity = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
        let room = |name| RoomId::new(name).unwrap();
        for number_ in [1, 2, 48_211, (1 << 53) - 1].map(Number) {
            let id = id(&identity, &room("spring"), Lineage(9), number_).unwrap();
            assert_eq!(id.len(), 22);
            let opened = |name, life, id: &str| number(&identity, &room(name), Lineage(life), id);
            assert_eq!(opened("spring", 9, &id), Some(number_));
            for other in [opened("autumn", 9, &id), opened("spring", 8, &id), opened("spring", 9, &id[..21])]
            {
                assert_eq!(other, None);
            }
            let mut changed = id.clone().into_bytes();
            changed[3] = if changed[3] == b'A' { b'B' } else { b'A' };
            assert_eq!(opened("spring", 9, std::str::from_utf8(&changed).unwrap()), None);
        }
        assert_eq!(number(&identity, &room("spring"), Lineage(9), "no id at all"), None);
    }
}
