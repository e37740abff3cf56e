//! Something to look at: a small ticket shop, a room in front of it, and a crowd, all in one process on loopback.
//!
//! The shop and the crowd know ropeline only by its contract, as anybody's would: the crowd keeps cookies and asks
//! again when it is told to. The room itself is started by a closure of the caller, since only `server` may wire one.
//! Everything is bounded: people, time, tickets; and nothing is left behind.

pub mod crowd;
pub mod folder;
mod form;
mod pages;
mod person;
pub mod shop;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::{Instant, sleep_until};

use crate::room::Rate;

/// The room's id in the demo.
pub const ROOM: &str = "demo";
/// The caller has so long to close the room after the demo's time, before the folder goes.
const CLOSING: Duration = Duration::from_secs(5);

/// How much of a demo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How long it goes on before it ends by itself.
    pub lasts: Duration,
    /// The crowd.
    pub crowd: crowd::Settings,
    /// Tickets that the shop sells.
    pub tickets: u32,
    /// How many go in.
    pub rate: Rate,
}

impl Settings {
    /// Ten minutes, 10,000 tickets, and a few hundred people in line at any time although `rate` go in.
    #[must_use]
    pub fn at(rate: Rate) -> Self {
        let crowd = crowd::Settings::default().for_rate(rate);
        Self { lasts: Duration::from_secs(600), crowd, tickets: 10_000, rate }
    }
}

/// What the room must be started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// `origin.url`: the shop.
    pub origin: String,
    /// The room's paths, in the grammar of the configuration.
    pub paths: Vec<String>,
    /// A path whose answers may be kept for a second, in the same grammar.
    pub cached: String,
    /// An empty directory for data and keys, mode 0700, that is gone after the demo.
    pub folder: PathBuf,
    /// `release.rate`.
    pub rate: Rate,
}

/// A room that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Where the edge listens.
    pub edge: SocketAddr,
    /// Where the admin listener listens.
    pub admin: SocketAddr,
    /// The file with the operator's token.
    pub token_file: PathBuf,
}

/// Why there was no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No loopback port or no temporary directory.
    #[error("the demo cannot start: {0}")]
    Machine(#[from] std::io::Error),
    /// The caller's closure failed.
    #[error("the room of the demo did not start: {0}")]
    Room(String),
}

/// Plays the demo until `stop` resolves, its time is over, or the last of the crowd is done (by default more would come
/// than the time allows): opens the shop, has the room started by `start`, tells the
/// addresses through `say` (one line a call), and sends the crowd. What the crowd met is the result.
///
/// The room is the caller's to stop; the folder is removed when this returns.
///
/// # Errors
/// When the machine has no port or directory to give, or when `start` fails.
pub async fn run<S, F, E>(
    settings: Settings,
    start: S,
    stop: impl Future<Output = ()>,
    say: impl Fn(&str),
) -> Result<crowd::Report, DemoError>
where
    S: FnOnce(Wanted) -> F,
    F: Future<Output = Result<Started, E>>,
    E: std::fmt::Display,
{
    let folder = folder::Folder::new()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let shop = shop::start(listener, settings.tickets)?;
    let wanted = Wanted {
        origin: format!("http://{}", shop.addr()),
        paths: vec!["/buy/**".to_owned()],
        cached: "/api/remaining".to_owned(),
        folder: folder.path().to_owned(),
        rate: settings.rate,
    };
    let room = start(wanted).await.map_err(|e| DemoError::Room(e.to_string()))?;
    let edge = room.edge;
    tell(&say, &room, &shop, &settings);
    let end = Instant::now() + settings.lasts + CLOSING;
    let over = async {
        tokio::select! {
            () = stop => {}
            () = sleep_until(end) => say("The demo's time is over."),
        }
    };
    Ok(crowd::run(edge, settings.crowd, over).await)
}

fn tell(say: &impl Fn(&str), room: &Started, shop: &shop::Shop, settings: &Settings) {
    let Started { edge, admin, token_file } = room;
    let crowd = &settings.crowd;
    let wait = settings.rate.spacing_ns().saturating_mul(u64::try_from(crowd.first).unwrap_or(u64::MAX));
    say(&format!("The shop behind its waiting room:  http://{edge}/"));
    say(&format!("The shop itself, without a room:   http://{}/", shop.addr()));
    say(&format!("Its numbers:                       http://{admin}/metrics"));
    say(&format!(
        "To steer it:                       ropeline ctl --url http://{admin} --token-file {} status",
        token_file.display()
    ));
    say(&format!(
        "{} people are there at once, {} in all; {} go in. Open the first address and buy a ticket: you will be in within \
         {}. This ends by itself after {}, or with Ctrl-C.",
        crowd.first,
        crowd.most,
        settings.rate,
        about(Duration::from_nanos(wait)),
        about(settings.lasts)
    ));
}

/// A time for people, rounded up.
fn about(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        0 | 1 => "a minute".to_owned(),
        minutes => format!("{minutes} minutes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a room in between, the crowd walks straight into the shop and buys.
    #[tokio::test]
    async fn a_demo_opens_a_shop_and_sends_a_crowd_until_it_is_stopped() {
        let crowd = crowd::Settings {
            first: 20,
            within: Duration::from_millis(100),
            per_second: 0,
            most: 20,
            vanish: 0.0,
        };
        let rate = Rate::per_second(10).unwrap();
        let settings = Settings { lasts: Duration::from_secs(60), crowd, tickets: 15, ..Settings::at(rate) };
        let folder = std::sync::Mutex::new(PathBuf::new());
        let said = std::sync::Mutex::new(Vec::new());
        let start = async |wanted: Wanted| {
            folder.lock().unwrap().clone_from(&wanted.folder);
            let shop: SocketAddr = wanted.origin.trim_start_matches("http://").parse().unwrap();
            Ok::<_, String>(Started { edge: shop, admin: shop, token_file: PathBuf::from("admin.token") })
        };
        let report =
            run(settings, start, std::future::pending(), |line| said.lock().unwrap().push(line.to_owned()));
        let report = report.await.unwrap();
        assert_eq!((report.came, report.inside, report.bought, report.failed), (20, 20, 15, 0), "{report:?}");
        assert!(!folder.lock().unwrap().exists(), "nothing is left behind");
        let said = said.lock().unwrap().join("\n");
        assert!(said.starts_with("The shop behind its waiting room:  http://127.0.0.1:"), "{said}");
        assert!(
            said.contains("--token-file admin.token") && said.contains("20 in all; 10/s go in"),
            "{said}"
        );
    }

    #[test]
    fn times_are_told_in_minutes_rounded_up() {
        let told = |seconds| about(Duration::from_secs(seconds));
        assert_eq!(
            (told(0).as_str(), told(60).as_str(), told(61).as_str()),
            ("a minute", "a minute", "2 minutes")
        );
    }

    #[tokio::test]
    async fn a_room_that_does_not_start_is_told() {
        let start = async |_: Wanted| Err::<Started, _>("no room");
        let error = run(Settings::at(Rate::per_second(10).unwrap()), start, std::future::pending(), |_| {})
            .await
            .unwrap_err();
        assert!(error.to_string().contains("no room"));
    }
}
