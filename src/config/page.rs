//! One `[room.page]`.

use std::path::{Path, PathBuf};

use super::files;
use super::table::Table;
use super::types::{LogoConfig, PageConfig};
use super::value::{Parsed, from_text, quoted, text, whole};

/// The languages that the page speaks.
const LANGUAGES: [&str; 2] = ["en", "zh-Hant"];

/// Longest title, in characters.
const TITLE_MAX: usize = 200;

/// Reads `[room.page]`.
pub(super) fn read(mut table: Table<'_>) -> PageConfig {
    let status = table.read("status", status());
    let title = table.read("title", |value| title(text(value)?));
    let logo = table.read("logo", from_text("a file name", logo));
    let mut colours = table.table("colours");
    let accent = colours.read("accent", from_text("a colour", colour));
    let languages = table.some_list("languages", from_text("a language tag", language));
    table.not_yet(&["template_file"]);
    PageConfig {
        status: status.unwrap_or(200),
        title,
        logo,
        accent,
        languages: languages.unwrap_or_else(|| LANGUAGES.map(str::to_owned).to_vec()),
    }
}

/// A status that carries a page: no redirect, no empty answer.
fn status() -> impl Fn(&toml::de::DeValue<'_>) -> Parsed<u16> {
    |value| {
        let number = u16::try_from(whole(200, 599)(value)?).unwrap_or(200);
        match number {
            204 | 205 | 206 | 300..=399 => Err(format!("{number} carries no page; 200, 429 and 503 do")),
            _ => Ok(number),
        }
    }
}

fn title(text: String) -> Parsed<String> {
    match text.chars().count() {
        count if count > TITLE_MAX => Err(format!("must be at most {TITLE_MAX} characters long, is {count}")),
        _ if text.contains(char::is_control) => Err("must not hold control characters".to_owned()),
        _ => Ok(text),
    }
}

fn colour(text: &str) -> Parsed<String> {
    let good =
        text.strip_prefix('#').is_some_and(|d| d.len() == 6 && d.bytes().all(|b| b.is_ascii_hexdigit()));
    good.then(|| text.to_ascii_lowercase())
        .ok_or_else(|| format!("expected a colour such as \"#b3261e\", found {}", quoted(text)))
}

fn language(text: &str) -> Parsed<String> {
    let found = LANGUAGES.iter().find(|tag| tag.eq_ignore_ascii_case(text));
    found.map(|tag| (*tag).to_owned()).ok_or_else(|| {
        format!("expected {}, found {}", LANGUAGES.map(|tag| format!("{tag:?}")).join(" or "), quoted(text))
    })
}

fn logo(name: &str) -> Parsed<LogoConfig> {
    let path = Path::new(name);
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let media_type = match extension.as_str() {
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "webp" => "image/webp",
        _ => return Err(format!("expected an .svg, .png or .webp file, found {}", quoted(name))),
    };
    let bytes = files::read(path, files::LOGO_MAX).map_err(|why| format!("{} {why}", path.display()))?;
    Ok(LogoConfig { file: PathBuf::from(path), media_type, bytes })
}
