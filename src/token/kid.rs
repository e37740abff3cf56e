//! Names of keys: the moment from which a key signs, and four random bytes, as in
//! `20261224T110000Z-3fa9c1d2`.
//!
//! The moment is in the name, so that every instance that has a copy of the files changes over to a new key
//! at the same time, whenever each of them read it. File times would not survive the copying.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

const MOMENT: &[BorrowedFormatItem<'_>] = format_description!("[year][month][day]T[hour][minute][second]Z");

/// A key's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kid {
    /// From when it signs, in seconds since 1970. It verifies from when it is read.
    pub(super) signs_from: u64,
    /// What tells it from others in a ticket.
    pub(super) tag: [u8; 4],
    text: String,
}

impl Kid {
    /// The name of a new key. `None` past the year 9999.
    pub(super) fn new(signs_from: u64, tag: [u8; 4]) -> Option<Self> {
        let moment = OffsetDateTime::from_unix_timestamp(i64::try_from(signs_from).ok()?).ok()?;
        let moment = moment.format(MOMENT).ok()?;
        let text = format!("{moment}-{:08x}", u32::from_be_bytes(tag));
        (text.len() == 25).then_some(Self { signs_from, tag, text })
    }

    /// Reads a name in its only spelling.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (moment, tag) = text.split_once('-')?;
        let moment = PrimitiveDateTime::parse(moment, MOMENT).ok()?.assume_utc();
        let signs_from = u64::try_from(moment.unix_timestamp()).ok()?;
        let tag = u32::from_str_radix(tag, 16).ok()?.to_be_bytes();
        Self::new(signs_from, tag).filter(|kid| kid.text == text)
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_and_sorts_by_its_moment() {
        let kid = Kid::new(1_798_110_000, [0x3f, 0xa9, 0xc1, 0xd2]).unwrap();
        assert_eq!(kid.as_str(), "20261224T110000Z-3fa9c1d2");
        assert_eq!(Kid::parse(kid.as_str()).unwrap(), kid);
        assert!(Kid::new(1_798_110_001, [0; 4]).unwrap() > kid);
    }

    #[test]
    fn other_spellings_are_no_names() {
        for bad in [
            "",
            "-",
            "20261224T110000Z",
            "20261224T110000Z-3FA9C1D2",
            "20261224T110000Z-+fa9c1d2",
            "20261224T110000Z-3fa9c1d",
            "20261324T110000Z-3fa9c1d2",
            "20261224T110000Z-3fa9c1d2-",
            "../../etc/passwd",
            "19691231T235959Z-00000000",
        ] {
            assert_eq!(Kid::parse(bad), None, "{bad}");
        }
        assert_eq!(Kid::new(u64::MAX, [0; 4]), None);
    }
}
