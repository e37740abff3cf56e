//! A bitmap by number from some byte on. The bit of a number is where Redis has it: the most significant bit of a
//! byte comes first.

use crate::room::Number;

/// The bits of the numbers from `8 * base` on; whatever lies outside is 0.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bits {
    /// The byte that the bytes begin with.
    pub base: u64,
    /// Eight numbers each.
    pub bytes: Vec<u8>,
}

impl Bits {
    /// None set.
    #[must_use]
    pub fn at(base: u64) -> Self {
        Self { base, bytes: Vec::new() }
    }

    /// Whether nothing is there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a number's bit is set.
    #[must_use]
    pub fn get(&self, number: Number) -> bool {
        let byte = self.place(number).and_then(|at| self.bytes.get(at));
        byte.is_some_and(|byte| byte & mask(number) != 0)
    }

    /// Sets a bit; grows as needed. What lies before the base is not kept.
    pub fn set(&mut self, number: Number) {
        let Some(at) = self.place(number) else { return };
        if at >= self.bytes.len() {
            self.bytes.resize(at + 1, 0);
        }
        if let Some(byte) = self.bytes.get_mut(at) {
            *byte |= mask(number);
        }
    }

    /// Clears a bit.
    pub fn clear(&mut self, number: Number) {
        let at = self.place(number);
        if let Some(byte) = at.and_then(|at| self.bytes.get_mut(at)) {
            *byte &= !mask(number);
        }
    }

    /// Sets the bits of the numbers after `from` up to `to`.
    pub fn fill(&mut self, from: Number, to: Number) {
        let mut number = from.0 + 1;
        while number <= to.0 {
            if number.is_multiple_of(8) && number + 7 <= to.0 {
                if let Some(at) = self.place(Number(number)) {
                    if at >= self.bytes.len() {
                        self.bytes.resize(at + 1, 0);
                    }
                    if let Some(byte) = self.bytes.get_mut(at) {
                        *byte = 0xff;
                    }
                }
                number += 8;
            } else {
                self.set(Number(number));
                number += 1;
            }
        }
    }

    /// Adds the bits of another.
    pub fn or(&mut self, other: &Self) {
        for (i, byte) in other.bytes.iter().enumerate() {
            let place = other.base + i as u64;
            let Some(at) = place.checked_sub(self.base).and_then(|at| usize::try_from(at).ok()) else {
                continue;
            };
            if at >= self.bytes.len() {
                self.bytes.resize(at + 1, 0);
            }
            if let Some(mine) = self.bytes.get_mut(at) {
                *mine |= byte;
            }
        }
    }

    /// Keeps the bits that another has too.
    pub fn and(&mut self, other: &Self) {
        for (i, byte) in self.bytes.iter_mut().enumerate() {
            let place =
                (self.base + i as u64).checked_sub(other.base).and_then(|at| usize::try_from(at).ok());
            *byte &= place.and_then(|at| other.bytes.get(at)).copied().unwrap_or_default();
        }
    }

    /// The bytes from another base on, up to the byte of `last`.
    #[must_use]
    pub fn window(&self, base: u64, last: Number) -> Self {
        let from = usize::try_from(base.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let count = usize::try_from((last.0 / 8 + 1).saturating_sub(base)).unwrap_or_default();
        let bytes = self.bytes.iter().skip(from).take(count).copied().collect();
        Self { base: base.max(self.base), bytes }
    }

    fn place(&self, number: Number) -> Option<usize> {
        (number.0 / 8).checked_sub(self.base).and_then(|at| usize::try_from(at).ok())
    }
}

fn mask(number: Number) -> u8 {
    0x80 >> (number.0 % 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(bits: &Bits, to: u64) -> Vec<u64> {
        (0..=to).filter(|n| bits.get(Number(*n))).collect()
    }

    #[test]
    fn bits_are_set_cleared_and_filled() {
        let mut bits = Bits::at(1);
        for n in [3, 8, 17, 30] {
            bits.set(Number(n));
        }
        assert_eq!(set(&bits, 40), [8, 17, 30], "3 lies before the base");
        bits.clear(Number(17));
        bits.fill(Number(20), Number(26));
        assert_eq!(set(&bits, 40), [8, 21, 22, 23, 24, 25, 26, 30]);
        let mut many = Bits::at(0);
        many.fill(Number(5), Number(1000));
        assert_eq!(set(&many, 2000), (6..=1000).collect::<Vec<_>>());
    }

    #[test]
    fn maps_with_different_bases_are_joined_and_cut() {
        let of = |base, numbers: &[u64]| {
            let mut bits = Bits::at(base);
            numbers.iter().for_each(|n| bits.set(Number(*n)));
            bits
        };
        let mut all = of(1, &[9, 20]);
        all.or(&of(2, &[17, 21, 90]));
        assert_eq!(set(&all, 100), [9, 17, 20, 21, 90]);
        all.and(&of(0, &[9, 21, 22]));
        assert_eq!(set(&all, 100), [9, 21]);
        assert_eq!(set(&of(0, &[1, 9, 17, 25]).window(1, Number(20)), 100), [9, 17]);
    }
}
