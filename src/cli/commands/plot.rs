//! `scholareval plot`: figures of results, for a paper.

use std::path::Path;
use std::sync::Arc;

use super::CommandContext;
use super::compare::check_pairs;
use crate::analysis::comparison::{ComparisonDepth, ComparisonOptions, Observations, SEED};
use crate::analysis::criteria_grid;
use crate::analysis::rater_agreement::AgreementOptions;
use crate::cli::args::{PlotArgs, PlotKind};
use crate::domain::{Note, ScoredAnswer};
use crate::error::{Error, InputFault, Result};
use crate::files::write_bytes;
use crate::report::table::shown_notes;
use crate::report::{
    Figure, plot_of_criteria, plot_of_judges, plot_of_labels, plot_of_means, plot_of_pairs,
    run_warnings,
};
use crate::runs::{RunSet, agree};

/// Rows of a figure of pairs at most: more do not fit a page.
const MOST_PLOTTED_PAIRS: usize = 60;

/// The height of the texts on a page of a paper in points, 9 inches.
const PAGE: f64 = 648.0;

/// A figure, what it shows, and what its reader must know.
struct DrawnFigure {
    figure: Option<Figure>,
    what: String,
    warnings: Vec<Note>,
}

/// Runs the command.
///
/// # Errors
/// For a file of another kind, an option of another figure, when a run cannot be read, runs are not comparable, a name is unknown, or
/// nothing can be drawn.
pub(super) fn run(args: &PlotArgs, context: &CommandContext<'_>) -> Result<()> {
    FigureForm::of(&args.out)?;
    refuse_options_of_others(args)?;
    let drawn = match args.what {
        PlotKind::Means => means(args, context)?,
        PlotKind::Pairs => pairs(args, context)?,
        PlotKind::Criteria => criteria(args, context)?,
        PlotKind::Judges => judges(args, context)?,
        PlotKind::Labels => labels(args, context)?,
    };
    let Some(figure) = drawn.figure else {
        let (what, hint) = missing(args.what);
        return Err(InputFault::new(&args.runs[0], what).hint(hint).into());
    };
    write_figure(&figure, &args.out)?;
    for warning in drawn.warnings {
        context.note(&format!("warning: {}", warning.text));
    }
    let mut line = format!("{}: {}", args.out.display(), drawn.what);
    if figure.height() > PAGE {
        line += &format!(
            ", {:.0} in high; a larger --width or a smaller --font-size makes it lower",
            figure.height() / 72.0
        );
    }
    context.note(&line);
    Ok(())
}

/// How a figure is written.
#[derive(Clone, Copy)]
pub(super) enum FigureForm {
    Svg,
    Tikz,
}

impl FigureForm {
    /// The form that the name of a file asks for.
    ///
    /// # Errors
    /// For another one.
    pub(super) fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("tex") => Ok(Self::Tikz),
            _ => {
                let message =
                    "--out: the file must end in .svg or .tex, which says what is written";
                Err(Error::Usage(message.to_owned()))
            }
        }
    }
}

/// Writes a figure in the form that its file's name asks for.
///
/// # Errors
/// For a file of another kind, and when it cannot be written.
pub(super) fn write_figure(figure: &Figure, path: &Path) -> Result<()> {
    let text = match FigureForm::of(path)? {
        FigureForm::Svg => figure.svg(),
        FigureForm::Tikz => figure.tikz(),
    };
    write_bytes(path, text.as_bytes())
}

/// # Errors
/// For an option that only another figure has: it would be ignored.
fn refuse_options_of_others(args: &PlotArgs) -> Result<()> {
    let kind = args.what;
    let message = if args.baseline.is_some() && kind != PlotKind::Pairs {
        "--baseline is for --what pairs"
    } else if !args.labels.is_empty() && kind != PlotKind::Labels {
        "--labels is for --what labels"
    } else if args.labels.is_empty() && kind == PlotKind::Labels {
        "--what labels draws the judge against people: add --labels FILE"
    } else if args.anyway && kind == PlotKind::Labels {
        "--anyway: --what labels draws one run, and nothing in it can differ"
    } else if args.metric.is_some() && kind == PlotKind::Criteria {
        "--metric: --what criteria draws the criteria, not a metric"
    } else {
        return Ok(());
    };
    Err(Error::Usage(message.to_owned()))
}

/// Why there is no figure, and what to do.
fn missing(kind: PlotKind) -> (&'static str, &'static str) {
    match kind {
        PlotKind::Means | PlotKind::Pairs | PlotKind::Judges => (
            "nothing to draw: no system has a value that all share",
            "compare --notes shows what is missing",
        ),
        PlotKind::Criteria => (
            "no criteria: neither a rubric nor aspects were scored",
            "score with test cases (--tests), or aspects (--scorers prometheus)",
        ),
        PlotKind::Labels => (
            "nothing to draw: people and judge rated answers of fewer than two systems",
            "label answers of more systems; agree --by item compares within one",
        ),
    }
}

fn means(args: &PlotArgs, context: &CommandContext<'_>) -> Result<DrawnFigure> {
    let runs = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let observations = chosen(runs.observe()?, args)?;
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Means;
    let comparison = runs.compare(&observations, &options);
    let plot = plot_of_means(&comparison.metrics[0]);
    Ok(DrawnFigure {
        figure: plot.figure(&args.look.style()),
        what: plot.axis,
        warnings: run_warnings(&comparison),
    })
}

fn pairs(args: &PlotArgs, context: &CommandContext<'_>) -> Result<DrawnFigure> {
    let runs = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let observations = chosen(runs.observe()?, args)?;
    let baseline = match &args.baseline {
        Some(name) => Some(observations.system_named(name)?.to_owned()),
        None => None,
    };
    check_pairs(observations.systems.len(), baseline.is_some())?;
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Verdicts;
    options.baseline.clone_from(&baseline);
    let comparison = runs.compare(&observations, &options);
    let metric = &comparison.metrics[0];
    if metric.pairs.len() > MOST_PLOTTED_PAIRS {
        let message = format!(
            "{} pairs have no room in a figure; --baseline SYSTEM draws those of one system",
            metric.pairs.len()
        );
        return Err(Error::Settings(message));
    }
    let plot = plot_of_pairs(metric, baseline.as_deref());
    Ok(DrawnFigure {
        figure: plot.figure(&args.look.style()),
        what: plot.axis,
        warnings: run_warnings(&comparison),
    })
}

fn criteria(args: &PlotArgs, context: &CommandContext<'_>) -> Result<DrawnFigure> {
    let runs = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let observations = chosen(runs.observe()?, args)?;
    let scored: Vec<&[Arc<ScoredAnswer>]> =
        runs.runs.iter().map(|run| run.scored.as_slice()).collect();
    let grid = criteria_grid(&scored, &observations.systems);
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Means;
    let comparison = runs.compare(&observations, &options);
    let plot = plot_of_criteria(&grid, &observations.systems, &comparison.metrics[0]);
    Ok(DrawnFigure {
        figure: plot.figure(&args.look.style()),
        what: "criteria by system".to_owned(),
        warnings: run_warnings(&comparison),
    })
}

fn judges(args: &PlotArgs, context: &CommandContext<'_>) -> Result<DrawnFigure> {
    let runs = RunSet::open_across_judges(&context.runs(&args.runs)?.0, args.anyway)?;
    if runs.runs.len() != 2 {
        let message =
            "--what judges draws two runs of the same answers: by the old judge and by the new one";
        return Err(Error::Usage(message.to_owned()));
    }
    let observations = chosen(runs.observe()?, args)?;
    let comparison = runs.compare_judges(observations, &ComparisonOptions::seeded(SEED))?;
    let plot = plot_of_judges(&comparison.judge_changes[0]);
    Ok(DrawnFigure {
        figure: plot.figure(&args.look.style()),
        what: plot.axis,
        warnings: run_warnings(&comparison),
    })
}

fn labels(args: &PlotArgs, context: &CommandContext<'_>) -> Result<DrawnFigure> {
    let runs = context.runs(&args.runs)?.0;
    if runs.len() != 1 {
        let message = "--what labels draws one run: its judge against people";
        return Err(Error::Usage(message.to_owned()));
    }
    let mut options = AgreementOptions::seeded(SEED);
    options.metric.clone_from(&args.metric);
    let agreement = agree(&runs, &args.labels, &options)?;
    let plot = plot_of_labels(&agreement);
    let warnings = shown_notes(&agreement.notes, false);
    Ok(DrawnFigure {
        figure: plot.and_then(|plot| plot.figure(&args.look.style())),
        what: "systems by people and by the judge".to_owned(),
        warnings: warnings.into_iter().cloned().collect(),
    })
}

/// The observations of the metric to draw.
fn chosen(mut observations: Observations, args: &PlotArgs) -> Result<Observations> {
    let places = match &args.metric {
        Some(name) => observations.metrics_named(name)?,
        None => observations.headline(),
    };
    let Some(at) = places.first() else {
        let fault = InputFault::new(&args.runs[0], "no scores to draw");
        return Err(fault.hint("score some answers first").into());
    };
    observations.metrics = vec![observations.metrics[*at].clone()];
    Ok(observations)
}
