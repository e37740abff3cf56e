//! `ropeline demo`: the demo's shop and crowd, with a real instance in front, on loopback and for a while.

use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use ropeline::command::args::DemoArgs;
use ropeline::command::exit;
use ropeline::config::{self, Overlay};
use ropeline::demo::{self, ROOM, Started, Wanted, crowd};
use ropeline::server::{Server, signals};
use tokio::sync::{Mutex, oneshot};

use crate::serve::{fail, log, runtime};

/// `ropeline demo`.
pub(crate) fn demo(args: &DemoArgs, env: fn(&str) -> Option<String>) -> u8 {
    let _lines = log(env, "warn");
    match runtime() {
        Ok(runtime) => runtime.block_on(play(args)),
        Err(code) => code,
    }
}

async fn play(args: &DemoArgs) -> u8 {
    let people = usize::try_from(args.visitors).unwrap_or(usize::MAX);
    let lasts = Duration::from_secs(u64::from(args.seconds));
    let settings = demo::Settings { lasts, ..demo::Settings::at(args.rate) };
    let crowd = crowd::Settings { first: people.min(250), most: people.max(1), ..settings.crowd };
    let settings = demo::Settings { crowd, ..settings };
    let (started, room) = oneshot::channel();
    let started = Mutex::new(Some(started));
    let start = async |wanted: Wanted| -> Result<Started, String> {
        let server = open(&wanted, args.listen).await?;
        let edge = *server.edge().first().ok_or("no address to listen on")?;
        let token_file = wanted.folder.join("keys/admin.token");
        let addresses = Started { edge, admin: server.admin(), token_file };
        if let Some(started) = started.lock().await.take() {
            let _ended_already = started.send(server);
        }
        Ok(addresses)
    };
    let stop = async {
        let time = tokio::time::sleep(lasts);
        tokio::select! {
            _signal = signals() => {}
            () = time => say("The demo's time is over."),
        }
        if let Ok(server) = room.await {
            server.stop().await;
        }
    };
    match demo::run(settings, start, stop, say).await {
        Ok(report) => {
            say(&format!(
                "{} came, {} went in, {} bought a ticket, {} left without a word, {} gave up.",
                report.came, report.inside, report.bought, report.vanished, report.failed
            ));
            exit::OK
        }
        Err(error) => fail(&format_args!("ropeline demo: {error}"), exit::FAILURE),
    }
}

/// Starts the room that the demo wants, from a settings file as anybody would write one.
async fn open(wanted: &Wanted, listen: SocketAddr) -> Result<Server, String> {
    let file = wanted.folder.join("ropeline.toml");
    fs::write(&file, settings_file(wanted, free(listen))).map_err(|error| error.to_string())?;
    let config = load(&file)?;
    Server::start(&config).await.map_err(|error| error.to_string())
}

fn load(file: &Path) -> Result<config::Config, String> {
    config::load(Some(file), &Overlay::default(), &|_| None).map_err(|problems| problems.to_string())
}

fn settings_file(wanted: &Wanted, listen: SocketAddr) -> String {
    let folder = wanted.folder.display();
    format!(
        r#"[server]
listen = ["{listen}"]
[origin]
url = "{origin}"
[store]
url = "file:{folder}/data"
[keys]
dir = "{folder}/keys"
[admin]
listen = "127.0.0.1:0"
[[room]]
id = "{ROOM}"
paths = {paths:?}
[room.release]
rate = "{rate}"
[[cache]]
paths = ["{cached}"]
ttl = "1s"
"#,
        origin = wanted.origin,
        paths = wanted.paths,
        cached = wanted.cached,
        rate = wanted.rate,
    )
}

/// The wished address, or any free port of the same machine address if that one is taken.
fn free(wished: SocketAddr) -> SocketAddr {
    match TcpListener::bind(wished) {
        Ok(_) => wished,
        Err(_) => SocketAddr::new(wished.ip(), 0),
    }
}

fn say(line: &str) {
    let _nobody_reads = writeln!(io::stdout(), "{line}");
}
