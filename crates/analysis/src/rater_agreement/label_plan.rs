//! How many labels a mean on the human scale needs, from those at hand.

use std::sync::Arc;

use serde::Serialize;

use super::compare::Labeled;
use super::powered::LabeledRun;
use super::result::AgreementOptions;
use scholareval_core::domain::RaterKind;
use scholareval_stats::t_quantile;

/// Fewest labels from which the others are planned.
pub const FEWEST_PILOT_LABELS: usize = 20;
/// The first planned number of labels; each is twice the one before.
const FIRST: usize = 25;

/// The precision of a system's mean on the human scale by the number of its labels, with one judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelPlan {
    /// The judge.
    pub judge: Arc<str>,
    /// The source of the labels at hand.
    pub human: Arc<str>,
    /// The labels at hand, over all systems.
    pub labels: usize,
    /// Judged answers of a system, on average.
    pub answers: usize,
    /// Standard deviation of the labels within systems.
    pub sd: f64,
    /// Their correlation with the judge within systems; 0 if it is negative.
    pub correlation: f64,
    /// How many more labels of each system halve its interval; `None` if labels of all its answers do not.
    pub to_halve: Option<usize>,
    /// By number of labels.
    pub rows: Vec<PlannedLabels>,
}

/// Half of the interval's width with this many labels of a system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PlannedLabels {
    /// Labels of each system.
    pub labels: usize,
    /// By the labels alone.
    pub labels_only: f64,
    /// Prediction-powered.
    pub powered: f64,
}

/// One plan for each judge with at least [`FEWEST_PILOT_LABELS`] labels of its answers.
///
/// With n labels of N answers, the half width is t(n - 1) sd sqrt((1 - r^2 (1 - n / N)) / n) with the lambda that minimizes it, for
/// independent answers.
pub fn label_plans(labeled: &Labeled, options: &AgreementOptions) -> Vec<LabelPlan> {
    let (views, humans) = labeled.views(options);
    let context = labeled.context(&views, options);
    let judges = views
        .iter()
        .filter(|view| view.rater.kind == RaterKind::Judge);
    let person = || {
        views
            .iter()
            .find(|view| view.rater.kind == RaterKind::Human)
    };
    let Some(human) = humans.as_ref().or_else(person) else {
        return Vec::new();
    };
    let runs =
        judges.filter_map(|judge| LabeledRun::new(judge, human, &labeled.probabilities, &context));
    runs.filter_map(|run| label_plan(&run, options.confidence))
        .collect()
}

fn label_plan(run: &LabeledRun<'_>, level: f64) -> Option<LabelPlan> {
    let (mut labels, mut systems, mut all) = (0, 0, 0);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for answers in run.systems.values() {
        let pairs: Vec<(f64, f64)> = answers
            .values()
            .filter_map(|answer| Some((answer.judge, answer.human?)))
            .collect();
        // Within systems: their different means would look like agreement, but each system's mean
        // is estimated from the labels of that system.
        let n = pairs.len() as f64;
        let (x, y) = pairs
            .iter()
            .fold((0.0, 0.0), |(x, y), pair| (x + pair.0 / n, y + pair.1 / n));
        for pair in &pairs {
            xx += (pair.0 - x).powi(2);
            xy += (pair.0 - x) * (pair.1 - y);
            yy += (pair.1 - y).powi(2);
        }
        (labels, systems, all) = (labels + pairs.len(), systems + 1, all + answers.len());
    }
    // A correlation of fewer labels is so uncertain that the plan would be a guess.
    if labels < FEWEST_PILOT_LABELS || labels <= systems || yy <= 0.0 {
        return None;
    }
    let sd = (yy / (labels - systems) as f64).sqrt();
    let correlation = if xx > 0.0 && yy > 0.0 {
        // A negative correlation helps no more than none, since the judge's weight is never below
        // 0.
        (xy / (xx * yy).sqrt()).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let answers = (all + systems / 2) / systems;
    let planned = std::iter::successors(Some(FIRST), |labels| Some(2 * labels))
        .take_while(|labels| *labels < answers);
    let mut rows = Vec::new();
    for labels in planned.chain([answers]) {
        rows.push(PlannedLabels {
            labels,
            labels_only: sd * relative_width(labels, answers, 0.0, level)?,
            powered: sd * relative_width(labels, answers, correlation, level)?,
        });
    }
    let (judge, human) = (
        Arc::clone(&run.judge.rater.name),
        Arc::clone(&run.human.rater.name),
    );
    Some(LabelPlan {
        judge,
        human,
        labels,
        answers,
        sd,
        correlation,
        to_halve: to_halve(labels.div_ceil(systems), answers, correlation, level),
        rows,
    })
}

/// The half width with so many labels in standard deviations of a label.
fn relative_width(labels: usize, answers: usize, correlation: f64, level: f64) -> Option<f64> {
    let n = labels as f64;
    let t = t_quantile(f64::midpoint(1.0, level), n - 1.0)?;
    let by_judge = correlation * correlation * (1.0 - n / answers as f64);
    Some(t * ((1.0 - by_judge) / n).sqrt())
}

/// How many more labels than `n` of `answers` halve the interval.
fn to_halve(n: usize, answers: usize, correlation: f64, level: f64) -> Option<usize> {
    let wanted = relative_width(n, answers, correlation, level)? / 2.0;
    let width = |labels: usize| relative_width(labels, answers, correlation, level);
    let needed =
        (n..=answers).find(|labels| width(*labels).is_some_and(|relative| relative <= wanted))?;
    Some(needed - n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::domain::{Rater, Rating};

    #[test]
    fn four_times_the_labels_halve_the_interval_of_a_useless_judge() {
        // The normal quantile says 75; t with 24 degrees of freedom is 2.064, with 94 it is 1.986: 25 * 4 (1.986 / 2.064)^2 = 92.5.
        assert_eq!(to_halve(25, 200, 0.0, 0.95), Some(68));
        assert_eq!(to_halve(25, 90, 0.0, 0.95), None, "there are 90 answers");
        // (1 - 0.64) / n + 0.64 / 1000: 0.01504 at 25, times 2.064^2 / 4 = 0.016017; 105 give 0.004069 * 1.983^2 = 0.016.
        assert_eq!(to_halve(25, 1_000, 0.8, 0.95), Some(80));
        assert_eq!(to_halve(25, 100, 1.0, 0.95), None);
    }

    #[test]
    fn half_widths_by_hand() {
        // 100 answers of one system; 20 labels, 10 of 0 and 10 of 2, which the judge gives 1 and 3: r = 1, sd^2 = 20 / 19.
        let (mut judge, mut person) = (
            Rater::new("j", RaterKind::Judge),
            Rater::new("p", RaterKind::Human),
        );
        for case in 0..100 {
            let value = f64::from(case % 2) * 2.0;
            let rating = |value| Rating {
                system: "s".into(),
                case_id: format!("c{case}").into(),
                item: None,
                value,
            };
            judge.ratings.push(rating(value + 1.0));
            person.ratings.extend((case < 20).then(|| rating(value)));
        }
        let labeled = Labeled {
            raters: vec![judge, person],
            ..Labeled::default()
        };
        let plans = label_plans(&labeled, &AgreementOptions::seeded(1));
        let plan = &plans[0];
        assert_eq!(
            (plan.labels, plan.answers, plan.correlation),
            (20, 100, 1.0)
        );
        let rows: Vec<usize> = plan.rows.iter().map(|row| row.labels).collect();
        assert_eq!(rows, [25, 50, 100]);
        let sd = (20.0_f64 / 19.0).sqrt();
        // With 25 labels of 100 answers and r = 1 only the unlabeled answers' share counts: sqrt((1 - 0.75) / 25) = 0.1; t with 24 degrees of freedom.
        assert!(
            (plan.rows[0].powered - 2.063_899 * sd * 0.1).abs() < 1e-6,
            "{:?}",
            plan.rows
        );
        assert!((plan.rows[0].labels_only - 2.063_899 * sd * 0.2).abs() < 1e-6);
        assert!((plan.rows[2].powered - plan.rows[2].labels_only).abs() < 1e-12);
    }
}
