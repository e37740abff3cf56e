//! Loopback ports that stay free while a test stops what listens there and starts it again.
//!
//! They lie below the range from which the system takes ports for outgoing connections (32768 and up), so that nobody's
//! connection can sit on one in between; each is handed out once per run.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Mutex;

static NEXT: Mutex<Option<u16>> = Mutex::new(None);
const FIRST: u16 = 11_000;
const LAST: u16 = 31_000;

/// A loopback port that nobody listens on.
pub fn free() -> u16 {
    let mut next = NEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let mut port = next.unwrap_or_else(|| FIRST + (std::process::id() * 97 % u32::from(LAST - FIRST)) as u16);
    for _ in FIRST..LAST {
        port = if port >= LAST { FIRST } else { port + 1 };
        *next = Some(port);
        if TcpListener::bind(at(port)).is_ok() {
            return port;
        }
    }
    panic!("no free loopback port between {FIRST} and {LAST}");
}

/// The loopback address with this port.
pub fn at(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
