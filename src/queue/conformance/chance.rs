//! A small generator of our own (splitmix64), so that a seed replays the same history for ever.

/// Chance from a seed.
pub(in crate::queue) struct Chance(u64);

impl Chance {
    pub(in crate::queue) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(in crate::queue) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(in crate::queue) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True in `percent` of all cases.
    pub(in crate::queue) fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
