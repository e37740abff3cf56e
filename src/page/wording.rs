//! Numbers and waits as people of a language write them. `waitText` in `assets/page.js` follows the same rule
//! with the browser's own knowledge of the language: change both together.

use super::facts::Wait;
use super::language::{Forms, Language};

/// Waits below this are told in minutes, from here on in hours (seconds).
const HOURS_FROM: u64 = 7200;

/// A whole number with the language's separator between thousands.
pub(super) fn number(language: &Language, n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + 8);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push_str(language.group);
        }
        out.push(digit);
    }
    out
}

/// The form of `forms` for `n`, with `n` in its hole.
pub(super) fn plural(language: &Language, forms: &Forms, n: u64) -> String {
    forms.pick((language.plural)(n)).replace("{n}", &number(language, n))
}

/// A wait in words.
pub(super) fn wait(language: &Language, wait: Option<Wait>) -> String {
    let words = &language.words;
    let Some(Wait { low, high }) = wait else { return words.unknown.to_owned() };
    if high < 60 {
        return words.soon.to_owned();
    }
    let (unit, forms) = if high < HOURS_FROM { (60, &words.minutes) } else { (3600, &words.hours) };
    let (low, high) = ((low / unit).max(1), high.div_ceil(unit));
    if low >= high {
        return plural(language, forms, high);
    }
    let shown =
        words.range.replace("{low}", &number(language, low)).replace("{high}", &number(language, high));
    forms.pick((language.plural)(high)).replace("{n}", &shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(tag: &str) -> &'static Language {
        Language::by_tag(tag).expect("a language of the table")
    }

    #[test]
    fn numbers_are_grouped() {
        let en = language("en");
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_204_567, "1,204,567")] {
            assert_eq!(number(en, n), text);
        }
        assert_eq!(number(en, u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn waits_are_told_as_people_tell_them() {
        let told = |tag, low, high| wait(language(tag), Some(Wait { low, high }));
        let table = [
            (0, 59, "less than a minute", "不到 1 分鐘"),
            (21, 60, "1 minute", "1 分鐘"),
            (60, 120, "1–2 minutes", "1–2 分鐘"),
            (0, 300, "1–5 minutes", "1–5 分鐘"),
            (300, 300, "5 minutes", "5 分鐘"),
            (300, 200, "4 minutes", "4 分鐘"),
            (5400, 7199, "90–120 minutes", "90–120 分鐘"),
            (3600, 7200, "1–2 hours", "1–2 小時"),
            (3600, u64::MAX, "1–5,124,095,576,030,432 hours", "1–5,124,095,576,030,432 小時"),
        ];
        for (low, high, en, zh) in table {
            assert_eq!(told("en", low, high), en);
            assert_eq!(told("zh-Hant", low, high), zh);
        }
        assert_eq!(wait(language("en"), None), "not known yet");
    }

    #[test]
    fn one_is_not_many() {
        let en = language("en");
        assert_eq!(plural(en, &en.words.ahead, 1), "1 person ahead of you");
        assert_eq!(plural(en, &en.words.ahead, 1203), "1,203 people ahead of you");
    }
}
