//! `ropeline check`: loads the settings as `run` would, and tells everything that is wrong or unwise.

use std::io::{self, Write};
use std::path::Path;

use super::exit;
use crate::config::{self, Env, Overlay, Problems};

/// What to check.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// The file; `None` checks the arguments alone, as `run --origin` would.
    pub path: Option<&'a Path>,
    /// The arguments over it.
    pub overlay: &'a Overlay,
    /// Whether to print the effective settings.
    pub print: bool,
}

/// Checks settings. To `out` goes what was asked for: one line, or the effective settings; to `err` the
/// problems and warnings, one a line. The exit code of the process comes back.
pub fn check(what: Check<'_>, env: Env<'_>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let told = match config::load(what.path, what.overlay, env) {
        Ok(config) => tell(what, &config, out, err).map(|()| exit::OK),
        Err(problems) => refuse(&problems, err).map(|()| exit::USAGE),
    };
    told.unwrap_or(exit::FAILURE)
}

fn tell(
    what: Check<'_>,
    config: &config::Config,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<()> {
    for warning in config::warnings(config) {
        writeln!(err, "warning: {warning}")?;
    }
    if what.print {
        return out.write_all(config::print(config).as_bytes());
    }
    match what.path {
        Some(path) => writeln!(out, "{}: ok", path.display()),
        None => writeln!(out, "ok"),
    }
}

fn refuse(problems: &Problems, err: &mut dyn Write) -> io::Result<()> {
    let count = problems.list().len();
    writeln!(err, "{problems}\n{count} problem{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str, print: bool) -> (u8, String, String) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let overlay = Overlay::default();
        let what = Check { path: Some(file.path()), overlay: &overlay, print };
        let code = check(what, &|_| None, &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    const GOOD: &str = "[origin]\nurl = \"http://127.0.0.1:3000\"\n[[room]]\nid = \"a\"\npaths = [\"/buy/**\"]\nrelease.rate = \"5/s\"\n";

    #[test]
    fn good_settings_are_said_to_be_good() {
        let (code, out, err) = run(GOOD, false);
        assert_eq!((code, err.as_str()), (exit::OK, ""));
        assert!(out.ends_with(": ok\n"), "{out}");
        let (code, out, _) = run(GOOD, true);
        assert_eq!(code, exit::OK);
        assert!(out.contains("rate = \"5/s\"\nburst = 1\n"), "{out}");
    }

    #[test]
    fn warnings_do_not_refuse() {
        let (code, _, err) = run(&format!("{GOOD}pass.ttl = \"1m\"\n"), false);
        assert_eq!(code, exit::OK);
        assert!(err.starts_with("warning: room[0].pass.ttl: "), "{err}");
    }

    #[test]
    fn bad_settings_exit_64_with_a_line_a_problem() {
        let (code, out, err) = run(&format!("{GOOD}ratee = 1\npage.status = 304\n"), true);
        assert_eq!((code, out.as_str()), (exit::USAGE, ""));
        assert!(err.contains(":7: room[0].ratee: unknown key"), "{err}");
        assert!(err.contains(":8: room[0].page.status: "), "{err}");
        assert!(err.ends_with("\n2 problems\n"), "{err}");
    }

    #[test]
    fn a_broken_pipe_is_a_failure() {
        struct Broken;
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let overlay = Overlay { origin: Some("http://127.0.0.1:3000".to_owned()), ..Overlay::default() };
        let what = Check { path: None, overlay: &overlay, print: false };
        assert_eq!(check(what, &|_| None, &mut Broken, &mut Broken), exit::FAILURE);
    }
}
