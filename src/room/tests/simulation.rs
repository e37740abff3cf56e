//! Whole sales from a seed: visitors who stay, vanish, stall and return.
