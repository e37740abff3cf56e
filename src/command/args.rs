//! Everything that may be typed after `ropeline`, as types; what it means is decided by the commands.
//!
//! Values that overlay the settings file stay text here: `config` reads them together with the file and
//! reports all problems at once.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand, ValueEnum};

use super::ctl::CtlArgs;
use super::exit::{OK, USAGE};

/// A virtual waiting room in front of an existing ticket shop.
#[derive(Debug, Parser)]
#[command(name = "ropeline", version, about, disable_help_subcommand = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 ok, 64 usage or bad configuration, 1 failure while running.")]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve: stand in front of a shop.
    Run(RunArgs),
    /// Check a settings file and report everything that is wrong with it.
    Check(CheckArgs),
    /// Show a sample shop, a room and a simulated crowd on this machine.
    Demo(DemoArgs),
    /// Look at and steer the rooms of a running ropeline.
    Ctl(CtlArgs),
    /// Ask a running ropeline whether it lives; the exit code answers.
    Health(HealthArgs),
    /// Make keys and operator tokens.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Look into passes.
    #[command(subcommand)]
    Pass(PassCommand),
    /// Check a draw that was made.
    #[command(subcommand)]
    Draw(DrawCommand),
}

/// `ropeline run`.
#[derive(Debug, Clone, PartialEq, Eq, ClapArgs)]
#[command(group = ArgGroup::new("shop").args(["config", "origin"]).required(true).multiple(true))]
pub struct RunArgs {
    /// The settings file (TOML). Without one, --origin alone makes the room `site` over the whole site.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The shop to stand in front of; wins over the file.
    #[arg(long, value_name = "URL")]
    pub origin: Option<String>,
    /// Where visitors come in; wins over the file.
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// How many go in, such as 50/s, 10/min or 3600/h; wins over the file, for every room.
    #[arg(long, value_name = "RATE")]
    pub rate: Option<String>,
    /// Where the line lives, such as file:./ropeline-data or redis://127.0.0.1:6379; wins over the file.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

/// `ropeline check`.
#[derive(Debug, Clone, PartialEq, Eq, ClapArgs)]
pub struct CheckArgs {
    /// The settings file (TOML).
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Print the settings in force, defaults included and secrets masked.
    #[arg(long)]
    pub print: bool,
}

/// `ropeline demo`.
#[derive(Debug, Clone, PartialEq, Eq, ClapArgs)]
pub struct DemoArgs {
    /// Where the demo shop can be visited; port 0 takes any free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,
    /// How many go in, such as 10/s.
    #[arg(long, value_name = "RATE", default_value = "10/s")]
    pub rate: crate::room::Rate,
    /// How many simulated visitors come in all; at most 250 are there at once.
    #[arg(long, value_name = "COUNT", default_value_t = 8000, value_parser = clap::value_parser!(u32).range(0..=20_000))]
    pub visitors: u32,
    /// How long the demo runs.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    pub seconds: u32,
}

/// `ropeline health`.
#[derive(Debug, Clone, PartialEq, Eq, ClapArgs)]
pub struct HealthArgs {
    /// What to ask, on the operator's listener.
    #[arg(long, value_name = "URL", default_value = super::HEALTH_URL)]
    pub url: String,
}

/// `ropeline keys`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Make a directory of new keys: tickets, passes, identities.
    New {
        /// The directory. Where it holds keys already, a newer pair is added that takes over from them.
        #[arg(value_name = "DIR")]
        dir: PathBuf,
        /// How long until a newer pair signs: time to copy it to every instance.
        #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u32).range(0..=604_800))]
        signs_in: u32,
    },
    /// Make an operator token, and print it with its TOML entry.
    Token {
        /// Whose token it is; goes to the log with each change.
        #[arg(value_name = "NAME")]
        name: String,
        /// What the token allows.
        #[arg(long, value_enum, default_value_t = RoleArg::Operator)]
        role: RoleArg,
    },
}

/// The roles of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Reads.
    Viewer,
    /// Reads and acts.
    Operator,
}

/// `ropeline pass`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum PassCommand {
    /// Decode a pass and say whether its signature and times hold.
    Inspect {
        /// The pass; `-` reads it from standard input, which keeps it out of the shell's history.
        #[arg(value_name = "TOKEN")]
        token: String,
        /// The directory of the keys.
        #[arg(long, value_name = "DIR", default_value = "./ropeline-keys")]
        keys: PathBuf,
    },
}

/// `ropeline draw`.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum DrawCommand {
    /// Recompute a draw from what the room shows after it, and say whether its commitment was kept to.
    Verify {
        /// A file with `room.draw`, or the whole room document that holds it; `-` reads standard input.
        #[arg(value_name = "FILE")]
        file: String,
        /// The commitment that was written down before the opening.
        #[arg(long, value_name = "HEX")]
        commitment: Option<String>,
        /// Print the number of this lobby index; may be repeated.
        #[arg(long, value_name = "N")]
        index: Vec<u64>,
        /// Print the numbers of all indices.
        #[arg(long, conflicts_with = "index")]
        all: bool,
    },
}

/// Why there is nothing to do: a question for help, or a wrong use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The exit code.
    pub code: u8,
    /// What to print: on standard output for code 0, else on standard error.
    pub text: String,
}

impl Args {
    /// Reads a command line, the program's name first.
    pub fn read<T: Into<OsString> + Clone>(line: impl IntoIterator<Item = T>) -> Result<Self, Stop> {
        Self::try_parse_from(line).map_err(|error| Stop {
            code: if error.use_stderr() { USAGE } else { OK },
            text: error.render().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn read(line: &str) -> Result<Args, Stop> {
        Args::read(std::iter::once("ropeline").chain(line.split_whitespace()))
    }

    #[test]
    fn the_definition_holds_together() {
        Args::command().debug_assert();
    }

    #[test]
    fn run_needs_a_file_or_an_origin() {
        let stop = read("run").unwrap_err();
        assert_eq!(stop.code, USAGE);
        assert!(stop.text.contains("--config") && stop.text.contains("--origin"), "{}", stop.text);
        for good in [
            "run --config a.toml",
            "run --origin http://127.0.0.1:3000",
            "run --config a --origin b --rate 5/s",
        ] {
            assert!(matches!(read(good).unwrap().command, Command::Run(_)), "{good}");
        }
    }

    #[test]
    fn wrong_use_exits_64_and_help_0() {
        for bad in [
            "",
            "fly",
            "check",
            "run --origin",
            "keys",
            "ctl",
            "ctl rate spring-tour",
            "ctl pause",
            "demo --visitors 9999999",
            "demo --rate 0/s",
            "pass inspect",
            "draw",
            "draw verify",
            "draw verify a.json --index x",
            "draw verify a.json --all --index 1",
            "health --url",
            "keys new ./k --signs-in soon",
        ] {
            let stop = read(bad).unwrap_err();
            assert_eq!(stop.code, USAGE, "{bad}");
            assert!(!stop.text.is_empty());
        }
        for good in ["--help", "--version", "ctl --help", "ctl rate --help"] {
            assert_eq!(read(good).unwrap_err().code, OK, "{good}");
        }
    }

    #[test]
    fn every_command_can_be_typed() {
        for good in [
            "check --config a.toml --print",
            "demo",
            "demo --rate 5/s --visitors 50 --seconds 60 --listen 127.0.0.1:0",
            "keys new ./k",
            "keys new ./k --signs-in 600",
            "health",
            "health --url http://127.0.0.1:9191/readyz",
            "keys token box-office --role viewer",
            "pass inspect a.b.c --keys ./k",
            "draw verify a.json --commitment 00ff --index 1 --index 2",
            "draw verify - --all",
            "ctl status",
            "ctl status spring-tour --json",
            "ctl --json status",
            "ctl pause spring-tour --reason down",
            "ctl resume spring-tour",
            "ctl rate spring-tour 50/s",
            "ctl rate spring-tour --unset",
            "ctl create spring-tour",
            "ctl message spring-tour Soon.",
            "ctl message spring-tour --unset",
            "ctl set spring-tour rate=50/s burst=5 max_total=",
            "ctl flush spring-tour --yes",
        ] {
            if let Err(stop) = read(good) {
                panic!("{good}: {}", stop.text);
            }
        }
    }
}
