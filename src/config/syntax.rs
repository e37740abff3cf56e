//! What is said when a document is not TOML, or names a key twice.

use toml::Spanned;
use toml::de::{DeTable, Error};

use super::report::{Report, join};

/// The tree of a document. `None` when it is too broken to judge its keys; then only that is reported. A key
/// that stands twice does not keep the rest from being read.
pub(super) fn parse<'t>(text: &'t str, report: &Report) -> Option<Spanned<DeTable<'t>>> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let mut whole = true;
    let mut doubled = Vec::new();
    for error in &errors {
        let at = error.span().map_or(0, |span| span.start);
        if error.message() == "duplicate key" {
            let (heading, key) = key_at(text, error, at);
            if doubled.contains(&heading) {
                continue;
            }
            report.at(at, join(&heading, &key), "stands twice; keep one of them");
            if key.is_empty() {
                doubled.push(heading);
            }
        } else {
            whole = false;
            report.at(at, "", format!("not TOML: {}", in_one_line(error.message())));
        }
    }
    whole.then_some(tree)
}

fn in_one_line(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join(", ")
}

/// The heading above an offset and the key there, which is empty when it is the heading itself.
fn key_at(text: &str, error: &Error, at: usize) -> (String, String) {
    let mut rooms: usize = 0;
    let mut heading = String::new();
    let mut on_heading = false;
    for (start, line) in lines(text).take_while(|(start, _)| *start <= at) {
        let line = line.trim();
        on_heading = line.starts_with('[') && start + line.len() >= at;
        if line == "[[room]]" {
            rooms += 1;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            heading = name.trim_start_matches('[').trim().to_owned();
        }
    }
    if rooms > 0 && (heading == "room" || heading.starts_with("room.")) {
        heading = heading.replacen("room", &format!("room[{}]", rooms - 1), 1);
    }
    let key = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    (heading, if on_heading { String::new() } else { key.to_owned() })
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let at = start;
        start += line.len();
        (at, line)
    })
}
