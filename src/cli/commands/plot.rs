//! `scholareval plot`: figures of results, for a paper.

use super::CommandContext;
use super::compare::check_pairs;
use crate::analysis::comparison::{
    Comparison, ComparisonDepth, ComparisonOptions, Observations, SEED,
};
use crate::cli::args::{PlotArgs, PlotKind};
use crate::error::{Error, InputFault, Result};
use crate::files::write_bytes;
use crate::report::{
    DotPlot, FigureSize, plot_of_judges, plot_of_means, plot_of_pairs, run_warnings,
};
use crate::runs::RunSet;

/// Rows of a figure of pairs at most: more do not fit a page.
const MOST_PLOTTED_PAIRS: usize = 60;

/// Runs the command.
///
/// # Errors
/// For a file of another kind, when a run cannot be read, runs are not comparable, a name is unknown, or nothing can be drawn.
pub(super) fn run(args: &PlotArgs, context: &CommandContext<'_>) -> Result<()> {
    let extension = args.out.extension().and_then(|own| own.to_str());
    let is_tikz = match extension {
        Some("svg") => false,
        Some("tex") => true,
        _ => {
            let what = "--out: the file must end in .svg or .tex, which says what is written";
            return Err(Error::Usage(what.to_owned()));
        }
    };
    if args.baseline.is_some() && args.what != PlotKind::Pairs {
        return Err(Error::Usage("--baseline is for --what pairs".to_owned()));
    }
    let (plot, comparison) = match args.what {
        PlotKind::Means => means(args, context)?,
        PlotKind::Pairs => pairs(args, context)?,
        PlotKind::Judges => judges(args, context)?,
    };
    let size = FigureSize {
        width: args.width,
        font: args.font_size,
    };
    let Some(figure) = plot.figure(size) else {
        let fault = InputFault::new(
            &args.runs[0],
            "nothing to draw: no system has a value that all share",
        );
        return Err(fault.hint("compare --notes shows what is missing").into());
    };
    let text = if is_tikz { figure.tikz() } else { figure.svg() };
    write_bytes(&args.out, text.as_bytes())?;
    for warning in run_warnings(&comparison) {
        context.note(&format!("warning: {}", warning.text));
    }
    context.note(&format!("{}: {}", args.out.display(), plot.axis));
    Ok(())
}

fn means(args: &PlotArgs, context: &CommandContext<'_>) -> Result<(DotPlot, Comparison)> {
    let runs = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    let observations = chosen(runs.observe()?, args)?;
    let mut options = ComparisonOptions::seeded(SEED);
    options.depth = ComparisonDepth::Means;
    let comparison = runs.compare(&observations, &options);
    Ok((plot_of_means(&comparison.metrics[0]), comparison))
}

fn pairs(args: &PlotArgs, context: &CommandContext<'_>) -> Result<(DotPlot, Comparison)> {
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
        let what = format!(
            "{} pairs have no room in a figure; --baseline SYSTEM draws those of one system",
            metric.pairs.len()
        );
        return Err(Error::Settings(what));
    }
    Ok((plot_of_pairs(metric, baseline.as_deref()), comparison))
}

fn judges(args: &PlotArgs, context: &CommandContext<'_>) -> Result<(DotPlot, Comparison)> {
    let runs = RunSet::open_across_judges(&context.runs(&args.runs)?.0, args.anyway)?;
    if runs.runs.len() != 2 {
        let what =
            "--what judges draws two runs of the same answers: by the old judge and by the new one";
        return Err(Error::Usage(what.to_owned()));
    }
    let observations = chosen(runs.observe()?, args)?;
    let comparison = runs.compare_judges(observations, &ComparisonOptions::seeded(SEED))?;
    Ok((plot_of_judges(&comparison.judge_changes[0]), comparison))
}

/// The observations of the metric to draw.
fn chosen(mut observations: Observations, args: &PlotArgs) -> Result<Observations> {
    let found = match &args.metric {
        Some(name) => observations.metrics_named(name)?,
        None => observations.headline(),
    };
    let Some(at) = found.first() else {
        let fault = InputFault::new(&args.runs[0], "no scores to draw");
        return Err(fault.hint("score some answers first").into());
    };
    observations.metrics = vec![observations.metrics[*at].clone()];
    Ok(observations)
}
