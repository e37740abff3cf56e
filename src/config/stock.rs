//! `[room.stock]`: where the shop says what remains, and what follows from it.

use std::time::Duration;

use toml::de::DeValue;

use super::table::Table;
use super::types::StockConfig;
use super::value::{Parsed, duration, expected, from_text, one_of, quoted, whole};
use crate::room::{StockRules, WhenShort};

/// Reads the table; nothing where there is none, or where what it needs is missing.
pub(super) fn read(room: &mut Table<'_>) -> Option<(StockConfig, StockRules)> {
    if !room.has("stock") {
        return None;
    }
    let mut table = room.table("stock");
    let path = table.need("path", "\"/api/remaining\"", from_text("a path", path));
    let field = table.need("field", "\"/remaining\"", from_text("a JSON pointer", pointer));
    let refresh = table.read("refresh", duration("100ms", "10m")).unwrap_or(Duration::from_secs(1));
    let per_visitor_milli = table.read("per_visitor", thousandths).unwrap_or(1000);
    let reserve = table.read("reserve", whole(0, StockRules::RESERVE_MAX)).unwrap_or(100);
    let words = &[("warn", WhenShort::Warn), ("waitlist", WhenShort::Waitlist), ("close", WhenShort::Close)];
    let when_short = table.read("when_short", one_of(words)).unwrap_or_default();
    let stale_after = (refresh * 10).max(Duration::from_secs(30));
    let rules = StockRules { per_visitor_milli, reserve, when_short, stale_after };
    Some((StockConfig { path: path?, field: field?, refresh }, rules))
}

fn path(text: &str) -> Parsed<String> {
    let plain = text.len() <= 2048 && text.bytes().all(|b| b.is_ascii_graphic() && b != b'#' && b != b'\\');
    let good = plain && text.starts_with('/') && !text.starts_with("//");
    good.then(|| text.to_owned()).ok_or_else(|| {
        format!("expected a path such as \"/api/events/42/remaining\", found {}", quoted(text))
    })
}

fn pointer(text: &str) -> Parsed<String> {
    let good = text.len() <= 1024 && (text.is_empty() || text.starts_with('/'));
    good.then(|| text.to_owned()).ok_or_else(|| {
        format!("expected a JSON pointer such as \"/remaining\" (\"\" is the whole), found {}", quoted(text))
    })
}

/// Tickets in thousandths, from a number with at most three places.
fn thousandths(value: &DeValue<'_>) -> Parsed<u64> {
    let text = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => "",
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let read = (part.len() <= 3).then(|| format!("{whole}{part:0<3}").parse::<u64>().ok()).flatten();
    read.filter(|milli| (1..=StockRules::PER_VISITOR_MAX).contains(milli))
        .ok_or_else(|| expected("a number from 0.001 to 1000 with at most three places", value))
}

/// Thousandths as they are written in the settings.
pub(super) fn written(milli: u64) -> String {
    let part = format!("{:03}", milli % 1000);
    let part = part.trim_end_matches('0');
    format!("{}.{}", milli / 1000, if part.is_empty() { "0" } else { part })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{BASE, good, load};
    use super::*;

    const NEEDED: &str = "stock.path = \"/api/remaining\"\nstock.field = \"/remaining\"\n";

    #[test]
    fn a_stock_is_read_with_its_defaults() {
        let config = good(&format!("{BASE}{NEEDED}"));
        let room = config.rooms.first().unwrap();
        let stock = room.stock.as_ref().unwrap();
        assert_eq!((stock.path.as_str(), stock.field.as_str()), ("/api/remaining", "/remaining"));
        assert_eq!(stock.refresh, Duration::from_secs(1));
        let rules = room.rules.stock.unwrap();
        assert_eq!((rules.per_visitor_milli, rules.reserve), (1000, 100));
        assert_eq!((rules.when_short, rules.stale_after), (WhenShort::Warn, Duration::from_secs(30)));
    }

    #[test]
    fn tickets_a_visitor_are_exact_to_the_thousandth() {
        for (text, milli, again) in
            [("1.0", 1000, "1.0"), ("2.5", 2500, "2.5"), ("0.001", 1, "0.001"), ("4", 4000, "4.0")]
        {
            let config = good(&format!("{BASE}{NEEDED}stock.per_visitor = {text}\n"));
            let rules = config.rooms.first().unwrap().rules.stock.unwrap();
            assert_eq!((rules.per_visitor_milli, written(milli).as_str()), (milli, again));
        }
    }

    #[test]
    fn what_is_wrong_is_said_all_at_once() {
        let text = "stock.path = \"remaining\"\nstock.field = \"remaining\"\nstock.per_visitor = 0\n\
                    stock.refresh = \"1ms\"\nstock.reserve = -1\nstock.when_short = \"panic\"\n";
        let problems = load(&format!("{BASE}{text}")).unwrap_err();
        let keys: Vec<&str> = problems.list().iter().map(|problem| problem.key.as_str()).collect();
        for key in ["path", "field", "per_visitor", "refresh", "reserve", "when_short"] {
            assert!(keys.iter().any(|found| found.ends_with(&format!("stock.{key}"))), "{key}: {problems}");
        }
        assert_eq!(keys.len(), 6, "{problems}");
    }
}
