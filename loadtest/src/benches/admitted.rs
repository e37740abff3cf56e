//! What a visitor who is inside pays for ropeline being there: a request with a valid pass through the edge,
//! against nginx as a plain reverse proxy before the same origin.

use super::subject::{Seen, Subject, measure};
use super::{Bounds, how, pinning, shown};
use crate::fault::Result;
use crate::load::client::Client;
use crate::load::visitors::admitted;
use crate::load::wrk::Load;
use crate::peers::nginx::{Log, Nginx};
use crate::peers::ropeline::{Plan, ROOM, Ropeline};
use crate::process::Core;
use crate::report::{Report, Table, figure};
use crate::stats::{median, ratio};

const NAME: &str = "admitted";
const QUESTION: &str = "What does an admitted request (valid pass cookie) cost through ropeline, beside nginx `proxy_pass` to the \
                        same origin?";

/// Different passes in use.
const PASSES: usize = 200;
/// What the origin answers.
const BODY: usize = 1024;
/// Connections of the two loads: one that fills the core, one that shows what a request takes by itself.
const FULL: usize = 64;
const LIGHT: usize = 4;

/// Runs it.
pub(crate) async fn run(bounds: &Bounds) -> Result<Report> {
    let client = Client::new();
    let mut report = Report::new(NAME, QUESTION);
    let origin = Nginx::constant(&bounds.home, Core::Load, Log::Off, &[], &"x".repeat(BODY))?;
    let plan = Plan { origin: origin.address, ..Plan::new("1000/s") };
    let ropeline = Ropeline::start(&bounds.home, &plan, &client).await?;
    let nginx = Nginx::forwarding(&bounds.home, origin.address)?;
    let passes = admitted(&client, ropeline.edge, PASSES).await?;

    let load = |connections| Load {
        to: ropeline.edge,
        method: "GET",
        path: "/buy/seats".to_owned(),
        header: "Cookie",
        values: passes.iter().map(|pass| format!("rl_p_{ROOM}={pass}")).collect(),
        connections,
    };
    let mut tables = Vec::new();
    for connections in [FULL, LIGHT] {
        let load = load(connections);
        let open = Load { path: "/buy/open/seats".to_owned(), ..load.clone() };
        let mut subjects = [
            Subject::new("nginx `proxy_pass`", Load { to: nginx.address, ..load.clone() }, &nginx.process),
            Subject::new("ropeline, with a pass", load.clone(), &ropeline.process),
            Subject::new("ropeline, open path (no pass asked for)", open, &ropeline.process),
            Subject::new("the origin by itself", Load { to: origin.address, ..load }, &origin.process),
        ];
        measure(&mut subjects, bounds).await?;
        tables.push((connections, subjects.map(|subject| (subject.name, subject.seen))));
    }

    report.setup(how(bounds));
    report.setup(pinning());
    report.setup(format!(
        "`wrk`, {FULL} and {LIGHT} connections, closed loop, GET with one of {PASSES} pass cookies. The origin is an nginx that \
         returns {BODY} bytes, on the core of the load. Both proxies keep their connections to it, replace the forwarding headers, \
         take the pass out of `Cookie` and send it as `x-ropeline-pass` beside two headers more; nginx checks nothing. No logs."
    ));
    report.configuration("ropeline.toml", shown(&ropeline.configuration, &bounds.home));
    report.configuration("nginx.conf (proxy)", shown(&nginx.configuration, &bounds.home));
    report.configuration(
        "nginx.conf (origin)",
        shown(&origin.configuration, &bounds.home).replace(&"x".repeat(BODY), "x..."),
    );
    for (connections, rows) in &tables {
        fill(&mut report, *connections, rows);
    }
    report.reading(
        "Where the core of the proxy was not nearly 100 % busy, load generator and origin, which share the other core, or others on \
         this machine were the limit: there the CPU ratio is the one to go by. Latencies are of a closed loop.",
    );
    Ok(report)
}

fn fill(report: &mut Report, connections: usize, rows: &[(&'static str, Seen)]) {
    let Some([nginx, ropeline, open]) =
        rows.first_chunk().map(|first: &[_; 3]| first.each_ref().map(|(_, seen)| seen))
    else {
        return;
    };
    let mut table = Table::new(format!("{connections} connections:"), &Seen::COLUMNS);
    rows.iter().for_each(|(name, seen)| table.row(seen.cells(name, nginx.cpu_median())));
    report.table(table);
    let of = |values: fn(&Seen) -> &Vec<f64>| ratio(median(values(ropeline)), median(values(nginx)));
    report.reading(format!(
        "{connections} connections, ropeline : nginx: requests a second {:.2}, p50 {:.2}, p99 {:.2}, CPU a request {:.2} ({} us and \
         {} us). Checking the pass and handing it on costs {} us of it (with a pass, less an open path).",
        of(|seen| &seen.a_second),
        of(|seen| &seen.p50),
        of(|seen| &seen.p99),
        of(|seen| &seen.cpu),
        figure(ropeline.cpu_median()),
        figure(nginx.cpu_median()),
        figure(ropeline.cpu_median() - open.cpu_median())
    ));
}
