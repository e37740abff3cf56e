//! The seed of a draw: 32 random bytes, secret until the draw is made, bound beforehand by their hash.

use std::fmt;

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// A seed. Never printed; see [`Seed::commitment`] and [`Seed::reveal`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Seed(pub [u8; 32]);

/// Text that is no seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 hexadecimal digits")]
pub struct BadSeed;

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

impl Seed {
    /// SHA-256 of the seed, in hex: what is shown before the draw.
    #[must_use]
    pub fn commitment(&self) -> String {
        hex(digest::digest(&digest::SHA256, &self.0).as_ref())
    }

    /// The seed itself, in hex: for the store, and for everybody once the draw is made.
    #[must_use]
    pub fn reveal(&self) -> String {
        hex(&self.0)
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(text: &str) -> Result<Self, BadSeed> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadSeed);
        }
        for (i, byte) in bytes.iter_mut().enumerate() {
            let digits = text.get(2 * i..2 * i + 2).ok_or(BadSeed)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| BadSeed)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Seed {
    type Error = BadSeed;

    fn try_from(text: String) -> Result<Self, BadSeed> {
        Self::parse(&text)
    }
}

impl From<Seed> for String {
    fn from(seed: Seed) -> Self {
        seed.reveal()
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_as_it_is_revealed_and_not_shown_by_debug() {
        let seed = Seed([0xa7; 32]);
        assert_eq!(Seed::parse(&seed.reveal()), Ok(seed.clone()));
        assert_eq!(format!("{seed:?}"), "Seed(..)");
        for bad in ["", "a7", &"g".repeat(64), &"+1".repeat(32), &"é".repeat(32)] {
            assert_eq!(Seed::parse(bad), Err(BadSeed), "{bad}");
        }
    }

    #[test]
    fn the_commitment_is_the_plain_hash_of_the_bytes() {
        let expected = "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925";
        assert_eq!(Seed([0; 32]).commitment(), expected);
    }
}
