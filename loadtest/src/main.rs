//! `loadtest`: benchmarks of ropeline against its peers, each leaving a result file.
//!
//! ```text
//! cargo build --release -p ropeline -p loadtest
//! target/release/loadtest bench            # all of them, about twenty minutes
//! target/release/loadtest bench polls      # one
//! ```
//!
//! | benchmark | question |
//! | --- | --- |
//! | `polls` | polls answered a second by edge and crowd door, beside nginx `return 200` |
//! | `joins` | joins a second and their batches: embedded with fsync, Redis AOF always and everysec |
//! | `rush` | 350,000 joins within 10 s on one Redis, none lost, none double |
//! | `million` | a million waiting: bytes of Redis, memory of the process, store calls a second |
//! | `shared` | three instances at 1,000 a second while 40 % and 70 % went away: rate, order, use, at the origin |
//! | `wait` | how often the truth lay within `wait_seconds`, and how wide that was, over a pause and a change of rate |
//! | `admitted` | an admitted request through ropeline, beside nginx `proxy_pass` to the same origin |
//!
//! Each writes `loadtest/results/NAME.md`: question, machine, commit, command, how it was done, tables, reading,
//! configuration. Needed on the `PATH`: `nginx`, `redis-server`, `wrk`, `taskset` (Debian: `apt-get install nginx
//! redis-server wrk util-linux`). Everything runs on loopback, on ports that were free, in a directory of its
//! own that is removed at the end, together with every process that was started.
//!
//! How to read the figures: requests a second depend on who shares the machine and on the load generator; the
//! CPU time of the serving process per request hardly does. Rounds of all subjects alternate, so that a
//! disturbance hits all of them. Commit before measuring: the file says whether the tree was clean.

mod benches;
mod fault;
mod load;
mod machine;
mod peers;
mod process;
mod report;
mod scrape;
mod stats;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use benches::Bounds;
use fault::Result;

#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run benchmarks and write their result files
    Bench(BenchArguments),
}

#[derive(Debug, clap::Args)]
struct BenchArguments {
    /// Which; all if none is named
    names: Vec<Name>,
    /// Rounds of each subject
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Seconds of a round
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// Directory of the result files
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/results"), hide_default_value = true)]
    results: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Name {
    Polls,
    Joins,
    Admitted,
    Rush,
    Million,
    Shared,
    Wait,
}

fn main() -> ExitCode {
    let Verb::Bench(arguments) = Arguments::parse().verb;
    let command = std::env::args()
        .skip(1)
        .fold("target/release/loadtest".to_owned(), |all, one| format!("{all} {one}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let done = runtime.map_err(Into::into).and_then(|runtime| runtime.block_on(bench(&arguments, &command)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_reads = writeln!(std::io::stderr(), "loadtest: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn bench(arguments: &BenchArguments, command: &str) -> Result<()> {
    let all = [Name::Polls, Name::Joins, Name::Admitted, Name::Rush, Name::Million, Name::Shared, Name::Wait];
    let names = if arguments.names.is_empty() { &all[..] } else { &arguments.names };
    for name in names {
        let home = tempfile::Builder::new().prefix("ropeline-bench-").tempdir()?;
        let lasts = Duration::from_secs(arguments.seconds.into());
        let bounds = Bounds { rounds: arguments.rounds.into(), lasts, home: home.path().to_owned() };
        let report = match name {
            Name::Polls => benches::polls::run(&bounds).await?,
            Name::Joins => benches::joins::run(&bounds).await?,
            Name::Admitted => benches::admitted::run(&bounds).await?,
            Name::Rush => benches::rush::run(&bounds).await?,
            Name::Million => benches::million::run(&bounds).await?,
            Name::Shared => benches::shared::run(&bounds).await?,
            Name::Wait => benches::wait::run(&bounds).await?,
        };
        report.write(&arguments.results, command)?;
        let _nobody_reads = writeln!(std::io::stdout(), "{}", report.markdown(command));
    }
    Ok(())
}
