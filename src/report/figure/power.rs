//! `plot --what power`: the differences that planned studies find, with the fewest samples and the most.

use super::curves::{Curve, CurvePlot};
use super::run_figure::{DrawnFigure, FigureOption, FigureRequest, RunFigure};
use crate::analysis::comparison::{ComparisonOptions, PlannedStudy, PowerPlan, SEED, plan_power};
use crate::domain::Unit;
use crate::error::Result;
use crate::report::layout::counted;
use crate::report::numbers::percent;
use crate::report::power::{no_pilot, power_table};

pub(super) const FIGURE: RunFigure = RunFigure {
    name: "power",
    help: "the difference that a study of so many questions finds, from a pilot run",
    options: &[FigureOption::Metric, FigureOption::Anyway],
    draw,
};

fn draw(request: &FigureRequest<'_>) -> Result<DrawnFigure> {
    let observations = request.observe(&request.open()?)?;
    let plan = plan_power(&observations, 0, None, &ComparisonOptions::seeded(SEED));
    let plan = plan.ok_or_else(|| no_pilot(request.first_run()))?;
    let figure = plot_of(&plan).figure(request.style);
    Ok(DrawnFigure {
        figure: figure.ok_or_else(|| no_pilot(request.first_run()))?,
        contents: "detectable difference by number of questions".to_owned(),
        warnings: power_table(&plan).warnings().cloned().collect(),
    })
}

/// The differences that planned studies find, with the fewest samples and the most.
fn plot_of(plan: &PowerPlan) -> CurvePlot {
    let mut samples: Vec<Option<usize>> = plan.studies.iter().map(|study| study.samples).collect();
    samples.sort_unstable();
    samples.dedup();
    let questions_of = |study: &PlannedStudy| study.questions as f64;
    let mut curves = Vec::new();
    let fewest_and_most = samples
        .first()
        .into_iter()
        .chain(samples.iter().skip(1).last());
    for count in fewest_and_most {
        let has_count = |study: &&PlannedStudy| study.samples == *count;
        curves.push(Curve {
            name: counted(count.unwrap_or(1), "sample"),
            points: points_of(plan.curve.iter().filter(has_count), questions_of),
            dots: points_of(plan.studies.iter().filter(has_count), questions_of),
        });
    }
    let first = || {
        let studies = plan.curve.iter();
        studies.filter(|study| samples.first() == Some(&study.samples))
    };
    let limits = vec![
        points_of(first(), |study| study.interval.low),
        points_of(first(), |study| study.interval.high),
    ];
    let unit = match plan.metric.unit {
        Unit::Share | Unit::Net => "points",
        Unit::Grade => "grades",
        Unit::Count => "count per answer",
    };
    CurvePlot {
        axis: format!("difference in {} ({unit})", plan.metric.name),
        unit: plan.metric.unit,
        curves,
        limits,
        note: format!(
            "The difference between two of {} that is found with 80% power at level {}. Thin lines: what the pilot of {} leaves open.",
            counted(plan.systems, "system"),
            percent(plan.level),
            counted(plan.questions, "question"),
        ),
    }
}

/// Numbers of questions with differences. Where the fewest questions that are planned are enough, only the smallest difference counts.
fn points_of<'a>(
    studies: impl Iterator<Item = &'a PlannedStudy>,
    questions: impl Fn(&PlannedStudy) -> f64,
) -> Vec<[f64; 2]> {
    let points = studies.map(|study| [questions(study), study.difference]);
    let mut points: Vec<[f64; 2]> = points.collect();
    points.dedup_by_key(|point| point[0]);
    points
}
