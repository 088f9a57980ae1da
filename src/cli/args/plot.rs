//! Arguments of `plot`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::report::{FigureStyle, Palette};

/// Examples below the long help.
pub(super) const EXAMPLES: &str = "\
Examples:
  The systems of a run by their means, for a column of a paper:
    scholareval plot runs/1 --what means --out means.tex
  Their differences from one of them:
    scholareval plot runs/1 --what pairs --baseline gpt --out pairs.svg
  What each of them earns for each criterion, across a page:
    scholareval plot runs/1 --what criteria --width 7in --out criteria.tex
  The same answers by two judges, the old one first:
    scholareval plot runs/old runs/new --what judges --out judges.svg
  People and the judge, in two colors of your own:
    scholareval plot runs/1 --what labels --labels labels.csv --colors 0072B2,D55E00 --out labels.tex

How many questions find a difference is drawn by plan --power RUN --out FILE.

A .tex file is a tikzpicture for \\input, with \\usepackage{tikz}; its texts have the font of the
paper. For a PDF of an SVG: rsvg-convert -f pdf -o means.pdf means.svg";

/// What is drawn, and how.
#[derive(Debug, Clone, Args)]
pub struct PlotArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// means: systems with intervals; pairs: differences with intervals; criteria: systems by criteria; judges: means by the judges
    /// of two runs; labels: means by people and by the judge
    #[arg(long, value_name = "WHAT", value_enum, hide_possible_values = true)]
    pub what: PlotKind,
    /// The file to write, .svg or .tex
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// Metric to draw; of labels as in agree [default: the headline metric]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Draw only the differences from this system
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// Files of people's labels, or the directory of a sheet of label, as in agree
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub labels: Vec<PathBuf>,
    /// Draw runs whose judge, prompts, tests or settings differ
    #[arg(long)]
    pub anyway: bool,
    /// How it is drawn.
    #[command(flatten)]
    pub look: FigureArgs,
}

/// How a figure is drawn.
#[derive(Debug, Clone, Args)]
pub struct FigureArgs {
    /// Width of the figure, in in, cm, mm or pt
    #[arg(long, value_name = "LENGTH", default_value = "3.3in", value_parser = parse_length, help_heading = "Figure")]
    pub width: f64,
    /// Size of its texts, in points
    #[arg(long, value_name = "POINTS", default_value_t = 8.0, value_parser = parse_font_size, help_heading = "Figure")]
    pub font_size: f64,
    /// Its colors: okabe-ito, tol or gray, or up to three of your own (first series, second series, faults) as 0072B2,E69F00,D55E00
    #[arg(long, value_name = "COLORS", default_value = Palette::DEFAULT, help_heading = "Figure")]
    pub colors: Palette,
    /// A title within the figure [default: none; papers have captions]
    #[arg(long, value_name = "TEXT", help_heading = "Figure")]
    pub title: Option<String>,
    /// Leave out the notes below it, which a caption can have
    #[arg(long, help_heading = "Figure")]
    pub no_notes: bool,
}

impl FigureArgs {
    /// The ids of these arguments.
    pub const IDS: [&'static str; 5] = ["width", "font_size", "colors", "title", "no_notes"];

    /// The style that they ask for.
    pub fn style(&self) -> FigureStyle {
        FigureStyle {
            width: self.width,
            font: self.font_size,
            palette: self.colors,
            title: self.title.clone(),
            has_notes: !self.no_notes,
        }
    }
}

/// What a figure shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlotKind {
    /// Systems by their means.
    Means,
    /// Pairs by their differences.
    Pairs,
    /// Systems by criteria.
    Criteria,
    /// Systems by two judges.
    Judges,
    /// Systems by people and by the judge.
    Labels,
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
    let number_and_unit = units
        .iter()
        .find_map(|(unit, points)| Some((text.strip_suffix(unit)?, points)));
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
