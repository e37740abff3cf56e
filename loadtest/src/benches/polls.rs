//! How many of those who wait far from the front can be answered: at the edge, at the crowd door, and by an
//! nginx that says the same constant text without knowing who asks.

use super::subject::{Seen, Subject, measure};
use super::{Bounds, how, pinning, shown};
use crate::fault::{Result, fault};
use crate::load::client::{Ask, Client, Said};
use crate::load::visitors::{Waiting, join};
use crate::load::wrk::Load;
use crate::peers::nginx::{Log, Nginx};
use crate::peers::ropeline::{Plan, ROOM, Ropeline, room_path};
use crate::process::Core;
use crate::report::{Report, Table, figure};
use crate::stats::ratio;

const NAME: &str = "polls";
const QUESTION: &str = "How many polls of visitors far from the front does one core answer in a second, at the edge (pingora) \
                        and at the crowd door (hyper), and what does one cost beside nginx's `return 200` of the same size?";

/// Slow enough that nobody who polls is called while it is measured.
const RATE: &str = "1/min";
/// So many join; the last of them poll.
const JOINED: usize = 5_000;
const POLLING: usize = 1_000;
const CONNECTIONS: usize = 64;

/// Runs it.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let client = Client::new();
    let mut report = Report::new(NAME, QUESTION);
    let quiet = Ropeline::start(&bounds.home, &Plan::new(RATE), &client).await?;
    let logging = Ropeline::start(&bounds.home, &Plan { log: "info", ..Plan::new(RATE) }, &client).await?;
    let (far, far_logging) = (far(&client, &quiet).await?, self::far(&client, &logging).await?);
    let same = poll(&client, &quiet, far.first()).await?;
    let body = String::from_utf8_lossy(&same.body).into_owned();
    let heads = heads(&same);
    let nginx = Nginx::constant(&bounds.home, Core::Server, Log::Off, &heads, &body)?;
    let nginx_logging = Nginx::constant(&bounds.home, Core::Server, Log::Each, &heads, &body)?;

    let nginx_load = Load { to: nginx.address, ..at_edge(&quiet, &far) };
    let nginx_logging_load = Load { to: nginx_logging.address, ..nginx_load.clone() };
    let room = Load { path: room_path(""), header: "", values: vec![], ..at_edge(&quiet, &far) };
    let mut subjects = [
        Subject::new("nginx `return 200`", nginx_load, &nginx.process),
        Subject::new("poll, edge", at_edge(&quiet, &far), &quiet.process),
        Subject::new("poll, crowd door", at_crowd(&quiet, &far), &quiet.process),
        Subject::new("room state, edge", room.clone(), &quiet.process),
        Subject::new("room state, crowd door", Load { to: quiet.crowd, ..room }, &quiet.process),
        Subject::new("nginx, a log line each", nginx_logging_load, &nginx_logging.process),
        Subject::new("poll, edge, a log line each", at_edge(&logging, &far_logging), &logging.process),
        Subject::new("poll, crowd door, a log line each", at_crowd(&logging, &far_logging), &logging.process),
    ];
    let before = quiet.scrape(&client).await?;
    measure(&mut subjects, bounds).await?;
    let after = quiet.scrape(&client).await?;
    let first = u32::try_from(far.first().map_or(0, |visitor| visitor.number))?;
    if after.sum("ropeline_room_called_number", &[]) >= f64::from(first) {
        return fault("somebody who polled was called meanwhile: the figures would hold store calls");
    }
    let polls = after.sum("ropeline_polls_total", &[]) - before.sum("ropeline_polls_total", &[]);

    setup(&mut report, bounds, &same);
    report.setup(format!(
        "The instance without a log answered {} polls in all rounds, by its own count, and had called nobody who polled by the \
         end: none of the polls asked the store.",
        figure(polls)
    ));
    report.configuration("ropeline.toml", shown(&quiet.configuration, &bounds.home));
    report.configuration("nginx.conf", shown(&nginx.configuration, &bounds.home));
    tables(&mut report, &subjects);
    Ok(report)
}

/// Those who will poll.
async fn far(client: &Client, instance: &Ropeline) -> Result<Vec<Waiting>> {
    let all = join(client, instance.edge, JOINED).await?;
    Ok(all.into_iter().skip(JOINED - POLLING).collect())
}

async fn poll(client: &Client, instance: &Ropeline, who: Option<&Waiting>) -> Result<Said> {
    let cookie = who.map(cookie).unwrap_or_default();
    let said = client.send(Ask::get(instance.edge, &room_path("/position")).header("cookie", cookie)).await?;
    if said.json()["visitor"]["state"] == "waiting" {
        Ok(said)
    } else {
        fault(format!("a poll says {}", said.json()))
    }
}

fn cookie(who: &Waiting) -> String {
    format!("rl_t_{ROOM}={}", who.ticket)
}

fn at_edge(instance: &Ropeline, far: &[Waiting]) -> Load {
    let values = far.iter().map(cookie).collect();
    let (to, path) = (instance.edge, room_path("/position"));
    Load { to, method: "GET", path, header: "Cookie", values, connections: CONNECTIONS }
}

fn at_crowd(instance: &Ropeline, far: &[Waiting]) -> Load {
    let values = far.iter().map(|who| format!("Bearer {}", who.ticket)).collect();
    Load { to: instance.crowd, header: "Authorization", values, ..at_edge(instance, far) }
}

/// The header lines that nginx must be told to send, so that both send as much.
fn heads(said: &Said) -> Vec<(String, String)> {
    let own = ["content-length", "date", "connection", "server"];
    let lines = said.headers.iter().filter(|(name, _)| !own.contains(&name.as_str()));
    lines.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned()))).collect()
}

fn setup(report: &mut Report, bounds: &Bounds, same: &Said) {
    report.setup(how(bounds));
    report.setup(pinning());
    report.setup(format!(
        "`wrk`, {CONNECTIONS} connections, closed loop, each request with one of {POLLING} different tickets, the last of \
         {JOINED} who joined at a rate of {RATE}. nginx gets the same requests and gives one of these answers back, head and \
         {} bytes of body.",
        same.body.len()
    ));
    report.setup("A log line each: ropeline as shipped (`ROPELINE_LOG=info`) and nginx's `access_log`, both to a file.");
}

fn tables(report: &mut Report, subjects: &[Subject<'_>]) {
    let (quiet, logging) = subjects.split_at(5);
    for (caption, subjects) in [("Without a log of requests:", quiet), ("With one:", logging)] {
        let base = subjects.first().map_or(0.0, |nginx| nginx.seen.cpu_median());
        let mut table = Table::new(caption, &Seen::COLUMNS);
        subjects.iter().for_each(|subject| table.row(subject.seen.cells(subject.name, base)));
        report.table(table);
    }
    let cpu = |index: usize| subjects.get(index).map_or(0.0, |subject| subject.seen.cpu_median());
    report.reading(format!(
        "A poll costs {} us of CPU at the edge and {} us at the crowd door: {:.2} and {:.2} times nginx's constant answer. A core \
         with nothing else to do would answer about {} and {} a second.",
        figure(cpu(1)),
        figure(cpu(2)),
        ratio(cpu(1), cpu(0)),
        ratio(cpu(2), cpu(0)),
        figure(ratio(1e6, cpu(1))),
        figure(ratio(1e6, cpu(2)))
    ));
    report.reading(format!(
        "A log line for each request adds {} us at the edge and {} us at the crowd door; nginx's adds {} us.",
        figure(cpu(6) - cpu(1)),
        figure(cpu(7) - cpu(2)),
        figure(cpu(5) - cpu(0))
    ));
    report.reading(
        "Requests a second are what came through: where the core of the server was not nearly 100 % busy, the load generator or \
         others on this machine were the limit, and the CPU time is the figure to compare.",
    );
}
