//! The `ropeline` binary: arguments to commands. Nothing is decided here.

mod serve;
mod show;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use ropeline::command::args::{Args, CheckArgs, Command, DrawCommand, KeysCommand, PassCommand, RoleArg};
use ropeline::command::{Check, check, ctl, draw, exit, health, keys, pass};
use ropeline::config::Overlay;
use ropeline::server::wall_clock;
use ropeline::token::admin::Role;

fn main() -> ExitCode {
    match Args::read(std::env::args_os()) {
        Ok(args) => ExitCode::from(run(args.command)),
        Err(stop) if stop.code == exit::OK => say(&mut io::stdout(), &stop.text, stop.code),
        Err(stop) => say(&mut io::stderr(), &stop.text, stop.code),
    }
}

fn say(to: &mut dyn Write, text: &str, code: u8) -> ExitCode {
    // Nobody may be reading; the exit code still tells.
    let _closed = to.write_all(text.as_bytes());
    ExitCode::from(code)
}

fn run(command: Command) -> u8 {
    let (out, err) = (&mut io::stdout(), &mut io::stderr());
    match command {
        Command::Run(args) => serve::run(&args, env),
        Command::Demo(args) => show::demo(&args, env),
        Command::Check(args) => check_file(&args, out, err),
        Command::Ctl(args) => match serve::runtime() {
            Ok(runtime) => runtime.block_on(ctl::run(args, out, err, &env)),
            Err(code) => code,
        },
        Command::Health(args) => health(&args.url, err),
        Command::Keys(KeysCommand::New { dir, signs_in }) => {
            keys::new(&dir, Duration::from_secs(signs_in.into()), wall_clock(), out, err)
        }
        Command::Keys(KeysCommand::Token { name, role }) => keys::token(&name, of(role), out, err),
        Command::Pass(PassCommand::Inspect { token, keys }) => {
            let what = pass::Inspect { token: &token, keys: &keys, leeway: Duration::from_secs(5) };
            pass::inspect(what, wall_clock(), &mut io::stdin(), out, err)
        }
        Command::Draw(DrawCommand::Verify { file, commitment, index, all }) => {
            let commitment = commitment.as_deref();
            let what = draw::Verify { file: &file, commitment, indices: &index, all };
            draw::verify(what, &mut io::stdin(), out, err)
        }
    }
}

fn check_file(args: &CheckArgs, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let overlay = Overlay::default();
    check(Check { path: Some(&args.config), overlay: &overlay, print: args.print }, &env, out, err)
}

fn of(role: RoleArg) -> Role {
    match role {
        RoleArg::Viewer => Role::Viewer,
        RoleArg::Operator => Role::Operator,
    }
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
