//! The stories, one file per theme, from the plain to the broken.

mod accounts;
mod actors;
mod admin;
mod browser;
mod bypass;
mod cache;
mod counted;
mod crowd;
mod demo;
mod durable;
mod events;
mod forged;
mod forwarding;
mod instances;
mod leaks;
mod one_instance;
mod passed_on;
mod pause;
mod places;
mod poll;
mod refused;
mod rooms;
mod shared_rate;
mod signed_in;
mod store_away;
mod unsafe_store;
