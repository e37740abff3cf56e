//! `ropeline run`, and what every command that starts an instance shares.

use std::io::{self, Write};

use ropeline::command::args::RunArgs;
use ropeline::command::exit;
use ropeline::config::{self, Config, Overlay};
use ropeline::server::{Server, StartError, signals};
use tokio::runtime::Runtime;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

/// `ropeline run`.
pub(crate) fn run(args: &RunArgs, env: fn(&str) -> Option<String>) -> u8 {
    let overlay = Overlay {
        origin: args.origin.clone(),
        listen: args.listen.clone(),
        rate: args.rate.clone(),
        store: args.store.clone(),
    };
    let config = match config::load(args.config.as_deref(), &overlay, &env) {
        Ok(config) => config,
        Err(problems) => return fail(&problems, exit::USAGE),
    };
    let _lines = log(env, "info");
    for warning in config::warnings(&config) {
        tracing::warn!("{warning}");
    }
    match runtime() {
        Ok(runtime) => runtime.block_on(serve(&config)),
        Err(code) => code,
    }
}

/// The runtime that everything of an instance runs on.
pub(crate) fn runtime() -> Result<Runtime, u8> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| fail(&format_args!("ropeline: cannot start a runtime: {error}"), exit::FAILURE))
}

async fn serve(config: &Config) -> u8 {
    let server = match Server::start(config).await {
        Ok(server) => server,
        Err(error) => return refused(&error),
    };
    for address in server.edge() {
        tracing::info!(%address, "listening for visitors");
    }
    for address in server.crowd() {
        tracing::info!(%address, "listening for those who wait");
    }
    tracing::info!(address = %server.admin(), "listening for operators");
    match signals().await {
        Ok(signal) => tracing::info!(signal, "stopping"),
        Err(error) => tracing::error!(%error, "cannot wait for signals"),
    }
    server.stop().await;
    exit::OK
}

fn refused(error: &StartError) -> u8 {
    fail(&format_args!("ropeline: {error}"), exit::FAILURE)
}

/// Says why on standard error, in the words of the error and nothing else.
pub(crate) fn fail(why: &dyn std::fmt::Display, code: u8) -> u8 {
    let _nobody_reads = writeln!(io::stderr(), "{why}");
    code
}

/// Below these levels the proxy library prints heads whole: passes, tickets and the secret of the origin. Above
/// them it has two lines of its own for each failed request; the access line says the same.
const QUIET: [&str; 2] = ["pingora_proxy=off", "pingora_core=error"];

/// Lines that may wait for whoever reads the log. Beyond it lines are dropped: a log that nobody reads must not
/// stop the sale.
const LINES_MAX: usize = 65_536;

/// Log lines on standard error, written by a thread of their own until the guard is dropped: text, or JSON with `ROPELINE_LOG_FORMAT=json`; what is logged is said by
/// `ROPELINE_LOG`, or else by `usual`.
pub(crate) fn log(env: fn(&str) -> Option<String>, usual: &str) -> WorkerGuard {
    let filter = EnvFilter::try_new(env("ROPELINE_LOG").as_deref().unwrap_or(usual));
    let filter = filter.unwrap_or_else(|_| EnvFilter::new(usual));
    let filter = QUIET.iter().filter_map(|text| text.parse().ok()).fold(filter, EnvFilter::add_directive);
    let (writer, guard) = NonBlockingBuilder::default().buffered_lines_limit(LINES_MAX).finish(io::stderr());
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_ansi(false);
    if env("ROPELINE_LOG_FORMAT").as_deref() == Some("json") {
        lines.json().init();
    } else {
        lines.init();
    }
    guard
}
