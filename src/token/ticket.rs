//! Tickets: 29 bytes and 16 of a keyed hash over them and the room's name, as 60 characters. The number is in
//! the ticket, so a browser's place needs no row anywhere. A ticket that belongs to an account says whose it is
//! in 9 more bytes, and has 72 characters.
//!
//! Both lengths are multiples of 3 bytes, so base64 leaves no spare bits: a ticket has exactly one spelling.

use aws_lc_rs::{constant_time, hmac};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::TokenFault;
use super::bound::{self, Binding};
use super::keys::{Keys, TicketKey};
use crate::room::{Lineage, Micros, Number, RoomId};

/// Of a browser's ticket, and of an account's.
const VERSIONS: [u8; 2] = [1, 2];
/// Version, key tag, lineage, number, issued.
const BODY: usize = 1 + 4 + 8 + 8 + 8;
const MAC: usize = 16;
/// Characters of a browser's ticket, and of an account's.
const CHARS: [usize; 2] = [(BODY + MAC) / 3 * 4, (BODY + bound::BYTES + MAC) / 3 * 4];

/// A visitor's proof of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Whose line it is a place in.
    pub room: RoomId,
    /// The life of the room that the place belongs to.
    pub lineage: Lineage,
    /// The place.
    pub number: Number,
    /// When the ticket was made.
    pub issued: Micros,
    /// Whose it is; `None`: of whoever holds it.
    pub bound: Option<Binding>,
}

/// The ticket as text: 60 or 72 characters of base64url.
pub(super) fn seal(keys: &Keys, ticket: &Ticket) -> String {
    let Some(key) = keys.ticket_signer(ticket.issued.seconds()) else {
        // A reading without a ticket key is refused as a whole.
        return String::new();
    };
    let [browser, account] = VERSIONS;
    let mut bytes = Vec::with_capacity(BODY + bound::BYTES + MAC);
    bytes.push(if ticket.bound.is_some() { account } else { browser });
    bytes.extend(key.kid.tag);
    for field in [ticket.lineage.0, ticket.number.0, ticket.issued.0] {
        bytes.extend(field.to_be_bytes());
    }
    bytes.extend(ticket.bound.iter().flat_map(|bound| bound.0));
    let mac = mac(key, &ticket.room, &bytes);
    bytes.extend(mac);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The ticket in a text, if it is one of this room.
pub(super) fn open(keys: &Keys, room: &RoomId, text: &str) -> Result<Ticket, TokenFault> {
    let [browser, account] = CHARS;
    if text.len() != browser && text.len() != account {
        return Err(if text.len() > browser { TokenFault::TooLong } else { TokenFault::Malformed });
    }
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| TokenFault::Malformed)?;
    let (body, shown) = bytes.split_last_chunk::<MAC>().ok_or(TokenFault::Malformed)?;
    let fields = Fields::of(body).ok_or(TokenFault::Malformed)?;
    let key = keys.ticket_key(fields.tag).ok_or(TokenFault::UnknownKey)?;
    constant_time::verify_slices_are_equal(&mac(key, room, body), shown)
        .map_err(|_| TokenFault::Signature)?;
    Ok(Ticket {
        room: room.clone(),
        lineage: Lineage(fields.lineage),
        number: Number(fields.number),
        issued: Micros(fields.issued),
        bound: fields.bound,
    })
}

struct Fields {
    tag: [u8; 4],
    lineage: u64,
    number: u64,
    issued: u64,
    bound: Option<Binding>,
}

impl Fields {
    fn of(body: &[u8]) -> Option<Self> {
        let (version, rest) = body.split_first()?;
        let (tag, rest) = rest.split_first_chunk::<4>()?;
        let (lineage, rest) = rest.split_first_chunk::<8>()?;
        let (number, rest) = rest.split_first_chunk::<8>()?;
        let (issued, rest) = rest.split_first_chunk::<8>()?;
        let bound = match VERSIONS.iter().position(|known| known == version)? {
            0 => rest.is_empty().then_some(None)?,
            _ => Some(Binding(rest.try_into().ok()?)),
        };
        let [lineage, number, issued] = [lineage, number, issued].map(|field| u64::from_be_bytes(*field));
        Some(Self { tag: *tag, lineage, number, issued, bound })
    }
}

/// Half of an HMAC-SHA256 (RFC 2104 allows no less): 128 bits, which nobody can guess online.
fn mac(key: &TicketKey, room: &RoomId, body: &[u8]) -> [u8; MAC] {
    let mut mac = hmac::Context::with_key(&key.mac);
    mac.update(b"ropeline ticket\0");
    // A room's name holds no zero byte, so where it ends is never in doubt.
    mac.update(room.as_str().as_bytes());
    mac.update(&[0]);
    mac.update(body);
    mac.sign().as_ref().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use rand::Rng;

    use super::*;
    use crate::token::testing::{Bench, LINEAGE, NOW, chance, room};

    fn ticket(number: u64) -> Ticket {
        Ticket { room: room("spring"), lineage: LINEAGE, number: Number(number), issued: NOW, bound: None }
    }

    /// The same of an account.
    fn account(number: u64) -> Ticket {
        Ticket { bound: Some(Binding([7; bound::BYTES])), ..ticket(number) }
    }

    #[test]
    fn any_ticket_opens_in_its_room_and_in_no_other() {
        let bench = Bench::new();
        let mut chance = chance();
        for _ in 0..2_000 {
            let mut ticket = ticket(chance.random());
            ticket.lineage = Lineage(chance.random());
            ticket.issued = Micros(chance.random());
            ticket.bound = chance.random::<bool>().then(|| Binding(chance.random()));
            let text = bench.keyring.seal_ticket(&ticket);
            assert_eq!(text.len(), if ticket.bound.is_some() { 72 } else { 60 });
            assert_eq!(bench.keyring.open_ticket(&ticket.room, &text), Ok(ticket));
            for other in ["autumn", "sprin", "springs"] {
                assert_eq!(bench.keyring.open_ticket(&room(other), &text), Err(TokenFault::Signature));
            }
        }
    }

    #[test]
    fn no_bit_of_a_ticket_can_be_changed() {
        let bench = Bench::new();
        let mut chance = chance();
        for made in [ticket, account].repeat(10) {
            let text = bench.keyring.seal_ticket(&made(chance.random_range(1..1 << 40)));
            let bytes = URL_SAFE_NO_PAD.decode(&text).unwrap();
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let text = URL_SAFE_NO_PAD.encode(bytes);
                assert!(bench.keyring.open_ticket(&room("spring"), &text).is_err(), "bit {bit} of the bytes");
            }
            for bit in 0..text.len() * 8 {
                let mut text = text.clone().into_bytes();
                text[bit / 8] ^= 1 << (bit % 8);
                let text = String::from_utf8_lossy(&text);
                assert!(bench.keyring.open_ticket(&room("spring"), &text).is_err(), "bit {bit} of the text");
            }
        }
    }

    #[test]
    fn a_ticket_has_one_spelling() {
        let bench = Bench::new();
        let text = bench.keyring.seal_ticket(&ticket(1));
        let open = |text: &str| bench.keyring.open_ticket(&room("spring"), text);
        assert_eq!(open(&format!("{text}=")), Err(TokenFault::TooLong));
        assert_eq!(open(&format!(" {text}")), Err(TokenFault::TooLong));
        assert_eq!(open(&format!("{}=", &text[..59])), Err(TokenFault::Malformed));
        assert_eq!(open(&text[..56]), Err(TokenFault::Malformed));
        assert_eq!(open(""), Err(TokenFault::Malformed));
        assert_eq!(open(&"A".repeat(65_536)), Err(TokenFault::TooLong));
        assert_eq!(open(&"é".repeat(30)), Err(TokenFault::Malformed));
        assert_eq!(open(&"A".repeat(60)), Err(TokenFault::Malformed), "version 0");
        assert_eq!(open(&"A".repeat(72)), Err(TokenFault::Malformed), "version 0");
    }

    #[test]
    fn whose_a_ticket_is_can_neither_be_taken_away_nor_added() {
        let bench = Bench::new();
        let (mine, anyones) = (bench.keyring.seal_ticket(&account(1)), bench.keyring.seal_ticket(&ticket(1)));
        let decode = |text: &str| URL_SAFE_NO_PAD.decode(text).unwrap();
        let (mine, anyones) = (decode(&mine), decode(&anyones));
        let mut without = mine.clone();
        without.drain(BODY..BODY + bound::BYTES);
        without[0] = VERSIONS[0];
        let mut with = anyones.clone();
        with.splice(BODY..BODY, [7; bound::BYTES]);
        with[0] = VERSIONS[1];
        let mut half = mine.clone();
        half[0] = VERSIONS[0];
        for bytes in [without, with] {
            let opened = bench.keyring.open_ticket(&room("spring"), &URL_SAFE_NO_PAD.encode(bytes));
            assert_eq!(opened, Err(TokenFault::Signature));
        }
        let opened = bench.keyring.open_ticket(&room("spring"), &URL_SAFE_NO_PAD.encode(half));
        assert_eq!(opened, Err(TokenFault::Malformed));
    }

    #[test]
    fn noise_is_never_a_ticket() {
        let bench = Bench::new();
        let mut chance = chance();
        for _ in 0..5_000 {
            let mut bytes: Vec<u8> = (0..45).map(|_| chance.random()).collect();
            bytes[0] = VERSIONS[0];
            let text = URL_SAFE_NO_PAD.encode(&bytes);
            assert_eq!(bench.keyring.open_ticket(&room("spring"), &text), Err(TokenFault::UnknownKey));
        }
    }
}
