//! A keyed permutation of 1..=M that is computed for one index at a time: a Feistel network over a rectangle of
//! a columns and b rows that is hardly larger than M, and cycle walking for the few fields too many.
//!
//! `docs/draw.md` says the same in words, and `docs/verify_draw.py` in another language.

use aws_lc_rs::hmac;

/// Rounds. Four would do for a large M; a small one needs more to be even.
const ROUNDS: u8 = 16;

/// A permutation of 1..=M.
pub struct Permutation {
    key: hmac::Key,
    size: u64,
    columns: u64,
    rows: u64,
}

impl Permutation {
    /// The permutation of 1..=`size` under a key.
    #[must_use]
    pub fn new(key: &[u8; 32], size: u64) -> Self {
        let columns = (size.isqrt() + u64::from(size.isqrt().pow(2) < size)).max(1);
        let rows = size.div_ceil(columns).max(1);
        Self { key: hmac::Key::new(hmac::HMAC_SHA256, key), size, columns, rows }
    }

    /// M.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The place that an index was drawn to, both from 1; `None` outside 1..=M.
    #[must_use]
    pub fn place(&self, index: u64) -> Option<u64> {
        let mut at = index.checked_sub(1).filter(|at| *at < self.size)?;
        loop {
            at = self.turn(at);
            // A permutation of the rectangle comes back to its start, which lies below `size`.
            if at < self.size {
                return Some(at + 1);
            }
        }
    }

    /// One pass through the network: `at` is `columns * right + left`, and with an even number of rounds again.
    fn turn(&self, at: u64) -> u64 {
        let (mut left, mut right) = (at % self.columns, at / self.columns);
        for round in 1..=ROUNDS {
            let modulus = if round % 2 == 1 { self.columns } else { self.rows };
            let mixed = (left + self.mix(round, right) % modulus) % modulus;
            (left, right) = (right, mixed);
        }
        self.columns * right + left
    }

    /// The first eight bytes of HMAC-SHA256 over the round and the half, as a number.
    fn mix(&self, round: u8, half: u64) -> u64 {
        let mut message = [round; 9];
        message[1..].copy_from_slice(&half.to_be_bytes());
        let mac = hmac::sign(&self.key, &message);
        mac.as_ref().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Seed, key};
    use super::*;

    fn permutation(seed: u8, size: u64) -> Permutation {
        Permutation::new(&key(&Seed([seed; 32]), size, None), size)
    }

    /// `docs/verify_draw.py` says the same, whatever the count and with a public value.
    #[test]
    fn anybody_can_recompute_it_in_another_language() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/verify_draw.py");
        for (byte, size, value) in
            [(1, 1, None), (2, 7, None), (3, 1000, Some("4 8 15")), (4, 1025, Some("\u{96ea}"))]
        {
            let seed = Seed([byte; 32]);
            let drawn = Permutation::new(&key(&seed, size, value), size);
            let mut command = std::process::Command::new("python3");
            command.args([script, &seed.commitment(), &seed.reveal(), &size.to_string(), "101"]);
            command.args(["--value", value.unwrap_or_default()]);
            let said =
                command.output().unwrap_or_else(|error| panic!("cannot run python3 ({error}): install it"));
            let wanted: String =
                (1..=size).map(|i| format!("{i} {}\n", 100 + drawn.place(i).unwrap())).collect();
            assert_eq!(String::from_utf8_lossy(&said.stdout), wanted, "{size}");
        }
    }

    #[test]
    fn every_index_has_a_place_of_its_own_whatever_the_count() {
        for size in (0..=130).chain([999, 1000, 1024, 1025, 4097]) {
            let drawn = permutation(3, size);
            let mut places: Vec<u64> = (1..=size).map(|i| drawn.place(i).unwrap()).collect();
            places.sort_unstable();
            assert_eq!(places, (1..=size).collect::<Vec<_>>());
            assert_eq!((drawn.place(0), drawn.place(size + 1)), (None, None));
        }
    }

    #[test]
    fn another_seed_count_or_value_is_another_draw() {
        let places = |key: [u8; 32]| {
            let drawn = Permutation::new(&key, 500);
            (1..=500).map(|i| drawn.place(i).unwrap()).collect::<Vec<_>>()
        };
        let seed = Seed([1; 32]);
        let all = [
            places(key(&seed, 500, None)),
            places(key(&Seed([2; 32]), 500, None)),
            places(key(&seed, 501, None)),
            places(key(&seed, 500, Some("7"))),
        ];
        for (i, one) in all.iter().enumerate() {
            for other in &all[i + 1..] {
                let same = one.iter().zip(other).filter(|(a, b)| a == b).count();
                assert!(same < 12, "{same} of 500 are at the same place");
            }
        }
    }

    /// Over many seeds each index comes to each place equally often, and the order of two is even: chi-square
    /// with a bound that a fair draw passes in all but one of a million runs; the seeds are fixed.
    #[test]
    fn no_index_is_favoured_even_among_few() {
        const DRAWS: u64 = 4000;
        for size in [2_u64, 3, 5, 8, 13] {
            let cells = usize::try_from(size).unwrap();
            let mut seen = vec![vec![0_u32; cells]; cells];
            let mut first = 0_u32;
            for seed in 0..DRAWS {
                let mut bytes = [0; 32];
                bytes[..8].copy_from_slice(&seed.to_le_bytes());
                let drawn = Permutation::new(&key(&Seed(bytes), size, None), size);
                let places: Vec<u64> = (1..=size).map(|i| drawn.place(i).unwrap()).collect();
                for (i, place) in places.iter().enumerate() {
                    seen[i][usize::try_from(*place).unwrap() - 1] += 1;
                }
                first += u32::from(places[0] < places[1]);
            }
            #[expect(clippy::cast_precision_loss)]
            let expected = DRAWS as f64 / size as f64;
            let chi: f64 = seen.iter().flatten().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
            #[expect(clippy::cast_precision_loss)]
            let free = ((size - 1) * (size - 1)) as f64;
            assert!(chi < free + 5.0 * (2.0 * free).sqrt() + 12.0, "{size}: {chi}");
            assert!((1800..2200).contains(&first), "{size}: the first was before the second {first} times");
        }
    }
}
