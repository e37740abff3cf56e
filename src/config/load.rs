//! From a file, arguments and variables to the settings, or to everything that is wrong with them.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::overlay::{Env, Outside, Overlay};
use super::problem::Problems;
use super::report::Report;
use super::table::Table;
use super::types::Config;
use super::{admin, cache, clash, files, origin, room, server, store, syntax, value};
use crate::room::Rate;

/// The settings of `ropeline run --origin URL` without a file.
const SITE: &str = include_str!("site.toml");

/// Reads the settings. Arguments stand over variables, and those over the file. Without a file there must be
/// an origin among the arguments; then the settings are one room `site` over the whole site.
///
/// Files that the settings point to (secrets, a logo) are read too.
///
/// # Errors
/// Everything that is wrong, each in one line.
pub fn load(path: Option<&Path>, overlay: &Overlay, env: Env<'_>) -> Result<Config, Problems> {
    let Some(path) = path else {
        if overlay.origin.is_none() {
            let message =
                "nothing to serve: give --config FILE, or --origin URL alone for a room over a whole site";
            return Err(Problems::of_file("ropeline", message.to_owned()));
        }
        return of_text("built-in settings", SITE, overlay, env);
    };
    let source = path.display().to_string();
    let bytes = files::read(path, files::DOCUMENT_MAX).map_err(|why| Problems::of_file(&source, why))?;
    let text = String::from_utf8(bytes).map_err(|bad| {
        let good = bad.as_bytes().get(..bad.utf8_error().valid_up_to()).unwrap_or_default();
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        Problems::of_file(&source, format!("line {line} is not UTF-8; save the file as UTF-8"))
    })?;
    of_text(&source, &text, overlay, env)
}

/// The same for a document that was read already.
pub(super) fn of_text(source: &str, text: &str, overlay: &Overlay, env: Env<'_>) -> Result<Config, Problems> {
    let report = Report::new(text);
    let config = syntax::parse(text, &report)
        .and_then(|tree| read(tree.get_ref(), &Outside { overlay, env, report: &report }));
    let problems = report.finish();
    match config {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(Problems::new(source, problems)),
    }
}

/// Reads every table; `None` only if a problem was reported.
fn read(tree: &DeTable<'_>, outside: &Outside<'_>) -> Option<Config> {
    let report = outside.report;
    let mut root = Table::root(tree, report);
    let server = server::read(&mut root, outside);
    let origin = origin::read(&mut root, outside);
    let store = store::read(&mut root, outside);
    let keys_dir = root.table("keys").read("dir", value::text);
    let admin = admin::read(&mut root);
    let ignore_case = origin.as_ref().is_some_and(|origin| origin.paths_ignore_case);
    let rooms = rooms(&mut root, outside);
    clash::rooms(&rooms, ignore_case, report);
    clash::identities(&rooms, &server, ignore_case, report);
    let caches = cache::read(&mut root, ignore_case, report);
    let places = clash::Places::of(&root);
    clash::listeners(&server, &admin, report, &places);
    if let Some(origin) = &origin {
        clash::origin(origin, &server, &admin, report, &places);
    }
    root.not_yet(&["limit", "pool"]);
    Some(Config {
        server,
        origin: origin?,
        store,
        keys_dir: PathBuf::from(keys_dir.unwrap_or_else(|| "./ropeline-keys".to_owned())),
        admin,
        rooms: rooms.into_iter().map(|room| room.config).collect::<Option<_>>()?,
        caches,
    })
}

fn rooms(root: &mut Table<'_>, outside: &Outside<'_>) -> Vec<room::Read> {
    let tables = root.tables("room", room::ROOMS_MAX);
    if tables.is_empty() && root.is_empty("room") {
        root.problem("room", "missing: without a [[room]] nothing is protected");
    }
    let over = outside.argument("--rate", outside.overlay.rate.as_ref(), value::rate);
    let over: Option<Rate> = over.filter(|_| match tables.len() {
        0 | 1 => true,
        count => {
            let message = format!("the file has {count} rooms; set release.rate in each of them");
            outside.report.outside("--rate", message);
            false
        }
    });
    tables.into_iter().map(|table| room::read(table, over)).collect()
}
