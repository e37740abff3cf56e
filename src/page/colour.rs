//! The one accent colour, made readable: whatever an operator picks, text in it reaches the contrast of
//! WCAG AA on the page's own backgrounds, light and dark.

use std::fmt;

/// Contrast that small text needs (WCAG 2.2, 1.4.3), with a little room for rounding.
const CONTRAST_MIN: f64 = 4.6;
/// The lightest background of the light page, and the lightest of the dark one (see `page.css`).
const LIGHT: Colour = Colour(0xf5, 0xf4, 0xf0);
const DARK: Colour = Colour(0x1a, 0x1b, 0x1e);
const WHITE: Colour = Colour(0xff, 0xff, 0xff);
const BLACK: Colour = Colour(0x11, 0x11, 0x11);

/// A colour in sRGB: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl Colour {
    /// Reads `#rgb` or `#rrggbb`; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        let nibbles: Vec<u8> = digits
            .chars()
            .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
            .collect::<Option<_>>()?;
        match nibbles[..] {
            [r, g, b] => Some(Self(r * 17, g * 17, b * 17)),
            [r, s, g, h, b, c] => Some(Self(r * 16 + s, g * 16 + h, b * 16 + c)),
            _ => None,
        }
    }

    /// The declarations of `--accent` and `--on` (text upon the accent) for both colour schemes.
    pub(super) fn declarations(self) -> String {
        let [light, dark] = [self.readable_on(LIGHT, BLACK), self.readable_on(DARK, WHITE)];
        format!(
            ":root{{--accent:{light};--on:{}}}\n@media (prefers-color-scheme:dark){{:root{{--accent:{dark};--on:{}}}}}\n",
            light.text_upon(),
            dark.text_upon()
        )
    }

    /// This colour, moved towards `pole` in steps of a twentieth until it can be read on `ground`.
    fn readable_on(self, ground: Self, pole: Self) -> Self {
        (0..=20)
            .map(|step| self.mixed(pole, step))
            .find(|c| c.contrast(ground) >= CONTRAST_MIN)
            .unwrap_or(pole)
    }

    fn text_upon(self) -> Self {
        if self.contrast(WHITE) >= self.contrast(BLACK) { WHITE } else { BLACK }
    }

    fn mixed(self, other: Self, twentieths: u16) -> Self {
        let mix = |a: u8, b: u8| {
            let sum = u16::from(a) * (20 - twentieths) + u16::from(b) * twentieths;
            u8::try_from(sum / 20).unwrap_or(u8::MAX)
        };
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_forms_and_nothing_else() {
        assert_eq!(Colour::parse("#0af"), Some(Colour(0x00, 0xaa, 0xff)));
        assert_eq!(Colour::parse("#0aFf10"), Some(Colour(0x0a, 0xff, 0x10)));
        for bad in ["", "#", "0af", "#0a", "#0aff", "#0aff100", "#ggg", "red", "#0af;x", "#ÄÖÜ", "# 0f"] {
            assert_eq!(Colour::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn any_accent_can_be_read() {
        for text in ["#000", "#fff", "#ff0", "#00f", "#0b6e69", "#777", "#f00", "#0f0"] {
            let accent = Colour::parse(text).unwrap();
            for (ground, pole) in [(LIGHT, BLACK), (DARK, WHITE)] {
                let shown = accent.readable_on(ground, pole);
                assert!(shown.contrast(ground) >= 4.5, "{text} as {shown} on {ground}");
                assert!(shown.contrast(shown.text_upon()) >= 4.5, "text upon {shown}");
            }
        }
    }
}
