//! (see the table in lib.rs)
