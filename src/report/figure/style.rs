//! How a figure is drawn: one struct for the library and for the options of `plot`.

use clap::{ArgAction, Args};

use super::Palette;
use super::words::wrapped;

/// How a figure is drawn.
#[derive(Debug, Clone, PartialEq, Args)]
pub struct FigureStyle {
    /// Width of the figure, in in, cm, mm or pt
    // In points (1/72 inch) here.
    #[arg(long, value_name = "LENGTH", default_value = "3.3in", value_parser = parse_length, help_heading = "Figure")]
    pub width: f64,
    /// Size of its texts, in points
    #[arg(long = "font-size", value_name = "POINTS", default_value_t = 8.0, value_parser = parse_font_size, help_heading = "Figure")]
    pub font: f64,
    /// Its colors: okabe-ito, tol or gray, or up to three of your own (first series, second series, faults) as 0072B2,E69F00,D55E00
    #[arg(long = "colors", value_name = "COLORS", default_value = Palette::DEFAULT, help_heading = "Figure")]
    pub palette: Palette,
    /// A title within the figure [default: none; papers have captions]
    #[arg(long, value_name = "TEXT", help_heading = "Figure")]
    pub title: Option<String>,
    /// Leave out the notes below it, which a caption can have
    #[arg(long = "no-notes", action = ArgAction::SetFalse, help_heading = "Figure")]
    pub has_notes: bool,
}

/// Lines of a note at most.
const NOTE_LINES: usize = 5;

impl FigureStyle {
    /// The lines of a note; none without notes.
    pub(super) fn note_lines(&self, note: &str) -> Vec<String> {
        if self.has_notes {
            wrapped(note, self.width, self.font, NOTE_LINES)
        } else {
            Vec::new()
        }
    }
}

/// A length in points.
fn parse_length(text: &str) -> Result<f64, String> {
    let message = || "write a length from 1in to 20in, such as 3.3in, 84mm or 240pt".to_owned();
    let text = text.trim();
    let units = [
        ("in", 72.0),
        ("cm", 72.0 / 2.54),
        ("mm", 7.2 / 2.54),
        ("pt", 1.0),
    ];
    let mut units = units.iter();
    let number_and_unit = units.find_map(|(unit, points)| Some((text.strip_suffix(unit)?, points)));
    let (number, points) = number_and_unit.ok_or_else(message)?;
    let number: f64 = number.trim().parse().map_err(|_| message())?;
    let length = number * points;
    if (72.0..=1440.0).contains(&length) {
        Ok(length)
    } else {
        Err(message())
    }
}

fn parse_font_size(text: &str) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(size) if (4.0..=20.0).contains(&size) => Ok(size),
        _ => Err("write a size from 4 to 20 points".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_points_whatever_their_unit() {
        assert_eq!(parse_length("3in"), Ok(216.0));
        assert!((parse_length("84 mm").unwrap() - 238.11).abs() < 0.01);
        assert!((parse_length("8.4cm").unwrap() - 238.11).abs() < 0.01);
        for text in ["3", "3em", "0.5in", "30in", "-3in", "NaNin"] {
            assert!(parse_length(text).is_err(), "{text}");
        }
        assert!(parse_font_size("40").is_err());
    }
}
