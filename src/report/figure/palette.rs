//! The colors of a figure.

use std::str::FromStr;

/// The palettes that have a name, with their colors of the first series, the second series and faults.
const NAMED: [(&str, [&str; 3]); 3] = [
    // Of M. Okabe and K. Ito: people with color blindness distinguish them, and in gray they differ, too.
    ("okabe-ito", ["0072B2", "E69F00", "D55E00"]),
    // "Bright" of P. Tol.
    ("tol", ["4477AA", "CCBB44", "EE6677"]),
    ("gray", ["404040", "A0A0A0", "202020"]),
];

/// The colors of a figure: the first series, the second series, faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette([Rgb; 3]);

/// Red, green and blue.
type Rgb = [u8; 3];

/// What a color of data is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hue {
    First,
    Second,
    Fault,
}

/// A color. Tints are mixed with so many percent of white, as `figurefirst!30` of xcolor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Grid,
    Axis,
    Text,
    White,
    Data(Hue),
    /// The share of the color in percent, the rest is white.
    Tint(Hue, u8),
}

impl Ink {
    /// The colors that TikZ defines.
    pub(super) const DEFINED: [Self; 6] = [
        Self::Grid,
        Self::Axis,
        Self::Text,
        Self::Data(Hue::First),
        Self::Data(Hue::Second),
        Self::Data(Hue::Fault),
    ];

    /// Its name in TikZ.
    pub(super) fn name(self) -> String {
        match self {
            Self::Grid => "figuregrid".to_owned(),
            Self::Axis => "figureaxis".to_owned(),
            Self::Text => "figuretext".to_owned(),
            Self::White => "white".to_owned(),
            Self::Data(Hue::First) => "figurefirst".to_owned(),
            Self::Data(Hue::Second) => "figuresecond".to_owned(),
            Self::Data(Hue::Fault) => "figurefault".to_owned(),
            Self::Tint(hue, percent) => format!("{}!{percent}", Self::Data(hue).name()),
        }
    }

    pub(super) fn of_series(series: usize) -> Self {
        Self::Data(match series % 3 {
            0 => Hue::First,
            1 => Hue::Second,
            _ => Hue::Fault,
        })
    }
}

impl Palette {
    /// The palette that is used unless another is chosen; people with color blindness distinguish its colors.
    pub const DEFAULT: &'static str = "okabe-ito";

    /// Six hexadecimal digits.
    pub(super) fn hex(&self, ink: Ink) -> String {
        let [red, green, blue] = self.rgb(ink);
        format!("{red:02X}{green:02X}{blue:02X}")
    }

    /// Black or white, whichever is easier to read on this tint.
    pub(super) fn text_on(&self, hue: Hue, percent: u8) -> Ink {
        let ground = luminance(self.rgb(Ink::Tint(hue, percent)));
        let on_white = 1.05 / (ground + 0.05);
        let on_dark = (ground + 0.05) / (luminance(self.rgb(Ink::Text)) + 0.05);
        if on_white > on_dark {
            Ink::White
        } else {
            Ink::Text
        }
    }

    fn rgb(&self, ink: Ink) -> Rgb {
        match ink {
            Ink::Grid => [0xDD; 3],
            Ink::Axis => [0x55; 3],
            Ink::Text => [0x22; 3],
            Ink::White => [0xFF; 3],
            Ink::Data(hue) => self.0[hue as usize],
            Ink::Tint(hue, percent) => {
                let share = f64::from(percent) / 100.0;
                self.0[hue as usize].map(|channel| {
                    (share * f64::from(channel) + (1.0 - share) * 255.0).round() as u8
                })
            }
        }
    }
}

/// The relative luminance of WCAG 2.
fn luminance(rgb: Rgb) -> f64 {
    let [red, green, blue] = rgb.map(|channel| {
        let channel = f64::from(channel) / 255.0;
        if channel <= 0.04045 {
            channel / 12.92
        } else {
            ((channel + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

impl FromStr for Palette {
    type Err = String;

    /// A name, or one to three colors such as `0072B2,#E69F00`; the others are those of the default.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = NAMED.iter().find(|(name, _)| *name == text.trim());
        let mut colors = named.unwrap_or(&NAMED[0]).1.map(rgb_of);
        if named.is_none() {
            let given: Vec<&str> = text.split(',').collect();
            if given.len() > colors.len() {
                return Err(
                    "write at most three colors: the first series, the second, faults".to_owned(),
                );
            }
            for (place, color) in colors.iter_mut().zip(given) {
                *place = rgb_of(color.trim());
            }
        }
        let names = NAMED.map(|(name, _)| name).join(", ");
        let [Some(first), Some(second), Some(fault)] = colors else {
            return Err(format!("write {names}, or colors such as 0072B2,E69F00"));
        };
        Ok(Self([first, second, fault]))
    }
}

/// The color of six hexadecimal digits, which may have a `#` before them.
fn rgb_of(text: &str) -> Option<Rgb> {
    let digits = text.strip_prefix('#').unwrap_or(text);
    if digits.len() != 6 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let [_, red, green, blue] = u32::from_str_radix(digits, 16).ok()?.to_be_bytes();
    Some([red, green, blue])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colors_are_names_or_hexadecimal_and_those_that_are_not_given_are_the_defaults() {
        let default: Palette = Palette::DEFAULT.parse().unwrap();
        let given: Palette = "#112233, abcdef".parse().unwrap();
        assert_eq!(given.hex(Ink::Data(Hue::First)), "112233");
        assert_eq!(given.hex(Ink::Data(Hue::Second)), "ABCDEF");
        assert_eq!(
            given.hex(Ink::Data(Hue::Fault)),
            default.hex(Ink::Data(Hue::Fault))
        );
        for text in ["", "red", "12345", "+12345", "111111,", "1,2,3,4", "日本語"] {
            assert!(text.parse::<Palette>().is_err(), "{text}");
        }
    }

    #[test]
    fn tints_are_mixed_with_white_and_their_texts_are_readable() {
        for (name, _) in NAMED {
            let palette: Palette = name.parse().unwrap();
            assert_eq!(palette.hex(Ink::Tint(Hue::First, 0)), "FFFFFF");
            assert_eq!(
                palette.hex(Ink::Tint(Hue::First, 100)),
                palette.hex(Ink::Data(Hue::First))
            );
            for (hue, percent) in [Hue::First, Hue::Fault]
                .iter()
                .flat_map(|hue| (0..=100).map(move |percent| (*hue, percent)))
            {
                let ground = luminance(palette.rgb(Ink::Tint(hue, percent))) + 0.05;
                let text = luminance(palette.rgb(palette.text_on(hue, percent))) + 0.05;
                let contrast = (ground / text).max(text / ground);
                // #222222 and white have 15.9, so that one of them has its root, 3.99, on any ground.
                assert!(contrast > 3.9, "{name} {hue:?} {percent}: {contrast}");
            }
        }
    }
}
