//! Arguments of `plot`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::report::{FIGURES, FigureOptions, FigureStyle, RunFigure};

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
  How many questions find a difference, from a pilot run:
    scholareval plot runs/pilot --what power --out power.svg
  People and the judge, in two colors of your own:
    scholareval plot runs/1 --what labels --labels labels.csv --colors 0072B2,D55E00 --out labels.tex

A .tex file is a tikzpicture for \\input, with \\usepackage{tikz}; its texts have the font of the
paper. For a PDF of an SVG: rsvg-convert -f pdf -o means.pdf means.svg";

/// What is drawn, and how.
#[derive(Debug, Clone, Args)]
pub struct PlotArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The figure
    #[arg(long, value_name = "WHAT", value_parser = figures())]
    pub what: &'static dyn RunFigure,
    /// The file to write, .svg or .tex
    #[arg(long, short, value_name = "FILE")]
    pub out: PathBuf,
    /// What of the runs is drawn.
    #[command(flatten)]
    pub options: FigureOptions,
    /// How it is drawn.
    #[command(flatten)]
    pub style: FigureStyle,
}

/// The figures by their names.
fn figures() -> impl TypedValueParser<Value = &'static dyn RunFigure> {
    let figures = FIGURES.iter();
    let names = figures.map(|figure| PossibleValue::new(figure.name()).help(figure.help()));
    PossibleValuesParser::new(names).try_map(|name| {
        let mut figures = FIGURES.iter().copied();
        let named = figures.find(|figure| figure.name() == name);
        named.ok_or("a figure has another name")
    })
}
