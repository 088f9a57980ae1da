//! Whether judges err together: the correlation of their errors against people, and how many independent judges they are worth.

use std::collections::BTreeSet;

use super::result::PanelErrors;
use super::scales::{mixed_items, not_one_scale};
use super::units::{Context, RaterView};
use crate::ratings::{Estimate, distinct};
use scholareval_stats::effective_judges;

/// The errors of these judges against the people; `None` for fewer than two judges.
pub(super) fn panel_errors(
    judges: &[&RaterView],
    people: &RaterView,
    context: &Context<'_>,
) -> Option<PanelErrors> {
    if judges.len() < 2 {
        return None;
    }
    let mut errors = vec![Vec::new(); judges.len()];
    let mut questions = Vec::new();
    let mut units = Vec::new();
    let mut values = BTreeSet::new();
    for (unit, label) in &people.values {
        let of_judges = judges.iter().map(|judge| judge.values.get(unit).copied());
        let Some(of_judges) = of_judges.collect::<Option<Vec<f64>>>() else {
            continue;
        };
        for (errors, value) in errors.iter_mut().zip(&of_judges) {
            errors.push(value - label);
        }
        values.extend(of_judges.iter().map(|value| value.to_bits()));
        questions.push(context.questions.number(&unit.case_id));
        units.push(unit);
    }
    // Errors against grades on another scale would be the grades.
    let raters: Vec<&RaterView> = judges.iter().copied().chain([people]).collect();
    let no_errors =
        mixed_items(&raters, &units).or_else(|| not_one_scale(&raters, &units, context));
    let level = context.options.confidence;
    let (panel, reason) = match no_errors {
        Some(reason) => (None, reason),
        None => (
            effective_judges(&errors, &questions, values.len() <= 2, level),
            "a judge errs by the same everywhere, or fewer than two units are rated by all"
                .to_owned(),
        ),
    };
    let effective = Estimate::new(panel.map(|panel| panel.judges), || panel?.interval, reason);
    Some(PanelErrors {
        judges: judges.len(),
        units: questions.len(),
        questions: distinct(&questions),
        correlation: panel.map(|panel| panel.correlation),
        effective: effective.with_units(questions.len()),
    })
}

#[cfg(test)]
mod tests {
    use crate::rater_agreement::{AgreementOptions, Labeled, rater_agreement};
    use crate::test_support::rater;
    use scholareval_core::domain::RaterKind;

    #[test]
    fn errors_are_against_the_labels_and_not_against_the_scale() {
        // Labels 0 0 4 4; errors of the first judge 1 -1 1 -1, of the second the same less 3, of the third 1 1 -1 -1:
        // correlations 1, 0, 0, so r = 1/3 and 3 / (1 + 2/3) = 1.8 judges.
        let labels = [0.0, 0.0, 4.0, 4.0];
        let judge = |name, errors: [f64; 4]| {
            let values: Vec<f64> = labels
                .iter()
                .zip(errors)
                .map(|(label, error)| label + error)
                .collect();
            rater(name, RaterKind::Judge, &values)
        };
        let labeled = Labeled {
            raters: vec![
                judge("a", [1.0, -1.0, 1.0, -1.0]),
                judge("b", [-2.0, -4.0, -2.0, -4.0]),
                judge("c", [1.0, 1.0, -1.0, -1.0]),
                rater("people", RaterKind::Human, &labels),
            ],
            ..Labeled::default()
        };
        let errors = rater_agreement(&labeled, &AgreementOptions::seeded(1))
            .panel_errors
            .unwrap();
        assert_eq!((errors.judges, errors.units), (3, 4));
        assert!((errors.correlation.unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert!((errors.effective.estimate.unwrap() - 1.8).abs() < 1e-12);
        // Fewer than 10 units.
        assert_eq!(errors.effective.interval(), None);
    }
}
