//! Single values: what each kind looks like, and what is said when it does not.

use std::time::Duration;

use toml::de::DeValue;

use crate::room::{BadRate, Rate};

/// A value, or what is wrong with it and what is expected.
pub(super) type Parsed<T> = Result<T, String>;

/// `expected WHAT, found THIS`.
pub(super) fn expected(what: &str, value: &DeValue<'_>) -> String {
    let found = match value {
        DeValue::String(text) => quoted(text),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(time) => time.to_string(),
    };
    format!("expected {what}, found {found}")
}

/// A text as shown in a message: in quotes, cut when it is long.
pub(super) fn quoted(text: &str) -> String {
    let shown: String = text.chars().take(60).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{:?}", format!("{shown}{more}"))
}

/// A string read further by `parse`, whose error is the whole message.
pub(super) fn from_text<T>(
    what: &'static str,
    parse: impl Fn(&str) -> Parsed<T>,
) -> impl Fn(&DeValue<'_>) -> Parsed<T> {
    move |value| parse(value.as_str().ok_or_else(|| expected(what, value))?)
}

/// A string that is not empty.
pub(super) fn text(value: &DeValue<'_>) -> Parsed<String> {
    match value.as_str() {
        Some(text) if !text.trim().is_empty() => Ok(text.to_owned()),
        Some(_) => Err("must not be empty".to_owned()),
        None => Err(expected("a string", value)),
    }
}

/// `true` or `false`.
pub(super) fn flag(value: &DeValue<'_>) -> Parsed<bool> {
    value.as_bool().ok_or_else(|| expected("true or false", value))
}

/// A whole number within bounds, both included.
pub(super) fn whole(least: u64, most: u64) -> impl Fn(&DeValue<'_>) -> Parsed<u64> {
    move |value| {
        let number = value.as_integer().and_then(|n| u64::from_str_radix(n.as_str(), n.radix()).ok());
        number
            .filter(|n| (least..=most).contains(n))
            .ok_or_else(|| expected(&format!("a whole number from {least} to {most}"), value))
    }
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&DeValue<'_>) -> Parsed<T> {
    move |value| {
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let all: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
            expected(&all.join(" or "), value)
        })
    }
}

/// A duration within bounds, both included.
pub(super) fn duration(least: &'static str, most: &'static str) -> impl Fn(&DeValue<'_>) -> Parsed<Duration> {
    move |value| {
        let within = |time: &Duration| {
            duration_of(least).is_some_and(|least| least <= *time)
                && duration_of(most).is_some_and(|most| *time <= most)
        };
        let time = value
            .as_str()
            .and_then(duration_of)
            .ok_or_else(|| expected("a duration such as \"500ms\", \"2s\", \"10m\" or \"1h\"", value))?;
        Some(time)
            .filter(within)
            .ok_or_else(|| expected(&format!("a duration from {least} to {most}"), value))
    }
}

fn duration_of(text: &str) -> Option<Duration> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at_checked(digits)?;
    let count: u64 = count.parse().ok()?;
    match unit {
        "ms" => Some(Duration::from_millis(count)),
        "s" => Some(Duration::from_secs(count)),
        "m" => count.checked_mul(60).map(Duration::from_secs),
        "h" => count.checked_mul(3600).map(Duration::from_secs),
        _ => None,
    }
}

/// A duration as it is written in the settings.
pub(super) fn written(time: Duration) -> String {
    let (ms, s) = (time.as_millis(), time.as_secs());
    match () {
        () if ms % 1000 != 0 => format!("{ms}ms"),
        () if s > 0 && s.is_multiple_of(3600) => format!("{}h", s / 3600),
        () if s > 0 && s.is_multiple_of(60) => format!("{}m", s / 60),
        () => format!("{s}s"),
    }
}

/// Admissions per time.
pub(super) fn rate(text: &str) -> Parsed<Rate> {
    text.parse().map_err(|bad: BadRate| format!("{bad}, found {}", quoted(text)))
}

/// The same as a value of the document.
pub(super) fn rate_value(value: &DeValue<'_>) -> Parsed<Rate> {
    match value.as_str() {
        Some(text) => rate(text),
        None => Err(expected(BadRate.to_string().trim_start_matches("expected "), value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_alike() {
        for text in ["0s", "500ms", "2s", "90s", "10m", "1h", "36h"] {
            assert_eq!(written(duration_of(text).unwrap()), text);
        }
        for bad in ["", "5", "s", "-1s", "1.5s", "5 s", "5d", "99999999999999999999s", "9999999999999999999h"]
        {
            assert_eq!(duration_of(bad), None, "{bad}");
        }
    }

    #[test]
    fn long_values_are_cut() {
        assert!(quoted(&"x".repeat(1000)).len() < 70);
        assert_eq!(quoted("a\nb"), "\"a\\nb\"");
    }
}
