//! Arguments of `plot`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::report::{FIGURES, FigureOptions, FigureStyle, RunFigure};

/// What is drawn, and how.
#[derive(Debug, Clone, Args)]
pub struct PlotArgs {
    /// Run directories, or directories that hold several (unfinished ones are skipped)
    #[arg(required = true, value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// The figure
    #[arg(long, value_name = "WHAT", value_parser = figures())]
    pub what: &'static RunFigure,
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
fn figures() -> impl TypedValueParser<Value = &'static RunFigure> {
    let figures = FIGURES.iter();
    let names = figures.map(|figure| PossibleValue::new(figure.name).help(figure.help));
    PossibleValuesParser::new(names).try_map(|name| {
        let named = FIGURES.iter().find(|figure| figure.name == name);
        named.ok_or("a figure has another name")
    })
}
