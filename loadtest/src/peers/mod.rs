//! The processes of a benchmark, one file each: ours, and those of others.

pub(crate) mod nginx;
pub(crate) mod redis;
pub(crate) mod ropeline;
