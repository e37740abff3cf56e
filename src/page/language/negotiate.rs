//! Which language to answer in: `Accept-Language` (RFC 9110, 12.5.4) against those that are offered.

use super::Language;

/// Most ranges of a header that are read; browsers send a handful.
const RANGES_MAX: usize = 32;

/// The language of `offered` that the header prefers; the first one if it names none of them. `offered` holds
/// at least one, else this is English.
pub(in crate::page) fn negotiate(offered: &[&'static Language], header: Option<&str>) -> &'static Language {
    let default = offered.first().copied().unwrap_or(&super::en::LANGUAGE);
    let mut ranges: Vec<(&str, u16)> =
        header.unwrap_or_default().split(',').take(RANGES_MAX).filter_map(range).collect();
    // Stable: of equal weights the earlier one wins.
    ranges.sort_by_key(|(_, weight)| std::cmp::Reverse(*weight));
    let wanted = |tag: &str| {
        if tag == "*" { Some(default) } else { offered.iter().copied().find(|language| language.meets(tag)) }
    };
    ranges.iter().filter(|(_, weight)| *weight > 0).find_map(|(tag, _)| wanted(tag)).unwrap_or(default)
}

/// One range with its weight in thousandths; `None` where it is not of the form.
fn range(item: &str) -> Option<(&str, u16)> {
    let mut parts = item.split(';').map(str::trim);
    let tag = parts.next().filter(|tag| !tag.is_empty())?;
    let weight = match parts.next() {
        None => 1000,
        Some(parameter) => weight(parameter)?,
    };
    Some((tag, weight))
}

fn weight(parameter: &str) -> Option<u16> {
    let value: f32 =
        parameter.strip_prefix(['q', 'Q'])?.trim_start().strip_prefix('=')?.trim().parse().ok()?;
    // Within 0..=1000 after the check, so the cast loses only what is below a thousandth.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..=1.0).contains(&value).then(|| (value * 1000.0).round() as u16)
}

impl Language {
    /// Whether somebody who asks for `tag` is served by this language.
    fn meets(&self, tag: &str) -> bool {
        let tag = tag.to_ascii_lowercase();
        let within = |cover: &&str| {
            tag.strip_prefix(*cover).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.covers.iter().any(within) || self.answers.contains(&tag.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_among_what_is_offered() {
        let en = Language::by_tag("en").unwrap();
        let zh = Language::by_tag("zh-Hant").unwrap();
        let table = [
            (None, "en"),
            (Some(""), "en"),
            (Some("zh-TW"), "zh-Hant"),
            (Some("zh-HK,en;q=0.8"), "zh-Hant"),
            (Some("zh-Hant-MO"), "zh-Hant"),
            (Some("ZH-hANT"), "zh-Hant"),
            (Some("zh-TW,zh;q=0.9,en-US;q=0.8,en;q=0.7"), "zh-Hant"),
            (Some("en-GB,en;q=0.9,zh-TW;q=0.8"), "en"),
            (Some("en;q=0.5, zh-TW;q=0.9"), "zh-Hant"),
            (Some("de-DE,de;q=0.9,zh-TW;q=0.5,en;q=0.3"), "zh-Hant"),
            (Some("de, fr"), "en"),
            (Some("zh-TW;q=0"), "en"),
            (Some("zh-TW;q=0, *"), "en"),
            (Some("zh-TW ; q = 0.9 , en;q=0.1"), "zh-Hant"),
            (Some("zh-CN"), "en"),
            (Some("zh-CN,zh;q=0.9,en;q=0.8"), "zh-Hant"),
            (Some("zh-TWX"), "en"),
            (Some("english"), "en"),
            (Some("zh-TW;q=2,en;q=0.1"), "en"),
            (Some("zh-TW;q=NaN"), "en"),
            (Some("zh-TW;q=inf"), "en"),
            (Some(";;;,,,q=1,=,*;q"), "en"),
            (Some("界,zh-TW"), "zh-Hant"),
        ];
        for (header, tag) in table {
            assert_eq!(negotiate(&[en, zh], header).tag(), tag, "{header:?}");
        }
        assert_eq!(negotiate(&[zh, en], None).tag(), "zh-Hant");
        assert_eq!(negotiate(&[zh, en], Some("*")).tag(), "zh-Hant");
        assert_eq!(negotiate(&[zh], Some("en")).tag(), "zh-Hant");
        assert_eq!(negotiate(&[], Some("zh-TW")).tag(), "en");
    }

    #[test]
    fn only_so_many_ranges_are_read() {
        let long = format!("{}zh-TW", "xx,".repeat(RANGES_MAX));
        assert_eq!(negotiate(super::super::LANGUAGES, Some(&long)).tag(), "en");
    }
}
