//! One binary in front of a shop, on the embedded store: everybody gets in, in order, at the rate.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::support::eventually::{eventually, within};
use crate::support::home::Home;
use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::origin::journal::Journal;
use crate::support::plan::{Plan, Ports};
use crate::support::process::Process;
use crate::support::rate::{Metronome, assert_kept};
use crate::support::relay::Relay;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::Visitor;
use crate::support::{people, ports};

/// Lets browsers come one after the other and waits until all are in.
async fn all_go_in(at: SocketAddr, room: &str, count: usize, path: &'static str) {
    let mut inside = JoinSet::new();
    for i in 0..count {
        let mut visitor = Visitor::new(at, room);
        let first = visitor.open(path).await.unwrap();
        assert!(first.status == 200, "visitor {i}: {} {}", first.status, first.text());
        if first.is_ours() {
            let patience = Duration::from_secs(60 + count as u64 / 5);
            inside.spawn(async move { visitor.enter(path, patience).await.map(|_| ()) });
        }
    }
    for result in inside.join_all().await {
        result.unwrap();
    }
}

fn assert_fair(journal: &Journal, count: usize, lag: Duration) {
    let arrivals = journal.arrivals();
    assert_eq!(arrivals.len(), count, "everyone goes in, once");
    let mut numbers: Vec<u64> = arrivals.iter().map(|a| a.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), count, "no number is used twice");
    journal.assert_in_order(lag);
    assert_kept(10.0, 1, &journal.arrival_times(), lag);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_instance_lets_300_in_at_10_a_second_in_order() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin), &origin).await;
    let metronome = Metronome::start();
    let count = people(60, 300);

    all_go_in(ropeline.edge(), ropeline.room, count, "/buy").await;

    assert_fair(origin.journal(), count, metronome.lag());
}

/// No file at all: the command of the README in front of a server that nobody here wrote.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_command_in_front_of_a_server_that_nobody_here_wrote() {
    let home = Arc::new(Home::new());
    home.file("index.html", "<!doctype html><title>Theirs</title><h1>Theirs</h1>");
    let python = ports::free();
    let mut command = Command::new("python3");
    command.args(["-m", "http.server", &python.to_string(), "--bind", "127.0.0.1", "--directory"]);
    command.arg(home.path());
    let log = home.path().join("python.log");
    let _server = Process::start("python3 -m http.server", &mut command, &log, "Install python3.");
    eventually("python listens", async || Ask::get("/").send(ports::at(python)).await.ok()).await;
    let relay = Relay::to(ports::at(python)).await;

    let ropeline = plain_run(&home, relay.addr()).await;
    ropeline.watch_paths(&["/**"], &["/.well-known/**", "/robots.txt"], relay.journal()).await;
    let metronome = Metronome::start();
    let count = people(30, 300);
    all_go_in(ropeline.edge(), "site", count, "/index.html").await;

    assert_fair(relay.journal(), count, metronome.lag());
    let open = Ask::get("/robots.txt").send(ropeline.edge()).await.unwrap();
    assert_eq!(open.status, 404, "open without a file: the server's own 404");
    assert_eq!(relay.journal().of("/robots.txt").len(), 1);
    relay.journal().assert_nothing_without_a_pass();
}

/// `ropeline run --origin URL --rate 10/s --listen ADDR`: its admin listener is the default one, so this waits until
/// nobody else on this machine has that.
async fn plain_run(home: &Arc<Home>, origin: SocketAddr) -> Ropeline {
    let ports = Ports { edge: ports::free(), crowd: 0, admin: 9090 };
    within("127.0.0.1:9090 is free", Duration::from_secs(60), async || {
        std::net::TcpListener::bind(ports::at(9090)).map(drop).map_err(|e| e.to_string())
    })
    .await;
    let listen = ports::at(ports.edge).to_string();
    let args = ["run", "--origin", &format!("http://{origin}"), "--rate", "10/s", "--listen", &listen];
    let args = args.iter().map(|a| (*a).to_owned()).collect();
    let mut ropeline = Ropeline::with_command("site", home, ports, args);
    ropeline.up().await;
    ropeline.until_state("open").await;
    ropeline
}
