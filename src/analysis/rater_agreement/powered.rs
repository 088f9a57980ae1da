//! Prediction-powered means: systems on the human scale, from few labels and many judge verdicts.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::result::{AgreementLevel, FEWEST_FOR_INTERVAL, PoweredMean};
use super::units::{Context, RatedByBoth, RaterView};
use crate::analysis::ratings::Estimate;
use crate::domain::SystemName;
use crate::stats::{PredictionPowered, mean, mean_interval, sd};

/// One row per judge and system with labels; none at the level of items. `human` provides the labels: the people's
/// mean, or the only person's.
pub(super) fn powered(judges: &[&RaterView], human: Option<&RaterView>, context: &Context<'_>) -> Vec<PoweredMean> {
    let Some(human) = human.filter(|_| context.options.level != AgreementLevel::Item) else { return Vec::new() };
    let systems: BTreeSet<&SystemName> = human.values.keys().map(|unit| &unit.system).collect();
    let of_judge = |judge: &&RaterView| {
        let labeled = RatedByBoth::new(human, judge, context);
        // Lambda is limited to 0..=1, which would restrict a judge on a smaller scale, so its verdicts are first
        // rescaled to the spread of the labels.
        let ratio = sd(&labeled.x).zip(sd(&labeled.y)).map(|(labels, verdicts)| labels / verdicts);
        let factor = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0).unwrap_or(1.0);
        systems.iter().filter_map(|system| of_system(judge, &labeled, factor, system)).collect::<Vec<_>>()
    };
    judges.iter().flat_map(of_judge).collect()
}

fn of_system(judge: &RaterView, labeled: &RatedByBoth<'_>, factor: f64, system: &SystemName) -> Option<PoweredMean> {
    let (human, context) = (labeled.first, labeled.context);
    let own = labeled.only(|unit| unit.system == *system);
    if own.units.is_empty() {
        return None;
    }
    let judged: Vec<f64> = own.y.iter().map(|verdict| factor * verdict).collect();
    let without_label =
        judge.values.iter().filter(|(unit, _)| unit.system == *system && !human.values.contains_key(unit));
    let unlabeled: Vec<f64> = without_label.map(|(_, verdict)| factor * verdict).collect();
    let n = own.x.len();
    let powered =
        PredictionPowered { human: &own.x, judge: &judged, unlabelled: &unlabeled }.mean(context.options.confidence);
    let reason = match unlabeled.len() {
        0 => "every answer that was judged has a label",
        1 => "one answer without a label is too few",
        _ => "fewer than two labels",
    };
    let interval = || mean_interval(&own.x, Some(&own.questions), None, context.bootstrap());
    let powered_mean = Estimate::new(powered.map(|mean| mean.estimate), || powered.map(|mean| mean.interval), reason);
    Some(PoweredMean {
        judge: Arc::clone(&judge.rater.name),
        human: Arc::clone(&human.rater.name),
        system: system.clone(),
        labelled: n,
        unlabelled: unlabeled.len(),
        labels_only: Estimate::new(mean(&own.x), interval, "no labels").with_units(n, FEWEST_FOR_INTERVAL),
        powered: powered_mean.with_units(n, FEWEST_FOR_INTERVAL),
        lambda: powered.map(|mean| mean.lambda),
    })
}
#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::rater_agreement::{AgreementOptions, Labelled, rater_agreement};
    use crate::domain::{Rater, RaterKind, Rating};

    /// One system, 25 labels from 1 to 5 among 125 verdicts in 0..=1 that are more lenient than people and noisy.
    fn draw_labels(rng: &mut ChaCha8Rng, factor: f64) -> Labelled {
        let (mut person, mut judge) = (Rater::new("p", RaterKind::Human), Rater::new("j", RaterKind::Judge));
        for case in 0..125 {
            let quality: f64 = rng.random();
            let grade = (1.0 + 4.0 * quality + rng.random_range(-1.0..1.0)).clamp(0.0, 6.0);
            let verdict = factor * (0.2 + 0.6 * quality + rng.random_range(-0.1..0.1));
            let rating = |value| Rating { system: "s".into(), case_id: format!("c{case}").into(), item: None, value };
            judge.ratings.push(rating(verdict));
            person.ratings.extend((case < 25).then(|| rating(grade)));
        }
        Labelled { raters: vec![judge, person], ..Labelled::default() }
    }

    #[test]
    fn intervals_of_means_on_another_scale_than_the_judges_hold() {
        // Grades are 1 + 4 * uniform + noise around 0, cut evenly at both ends: their mean is 3.
        let options = AgreementOptions { resamples: 1, ..AgreementOptions::seeded(1) };
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut held, mut width, mut plain) = (0, 0.0, 0.0);
        for _ in 0..300 {
            let labelled = draw_labels(&mut rng, 1.0);
            let people: Vec<f64> = labelled.raters[1].ratings.iter().map(|rating| rating.value).collect();
            plain += 2.0 * 2.064 * sd(&people).unwrap() / 5.0;

            let views: Vec<RaterView> = labelled.raters.iter().map(|rater| RaterView::new(rater, &options)).collect();
            let context = Context::new(&views, &labelled.questions, &options);
            let mean = powered(&[&views[0]], Some(&views[1]), &context).remove(0).powered;
            let (low, high) = (mean.low.unwrap(), mean.high.unwrap());
            held += u32::from(low <= 3.0 && 3.0 <= high);
            width += high - low;
        }
        // 285 expected, with a standard error of 4.
        assert!((272..=296).contains(&held), "{held} of 300");
        // 25 labels alone (t with 24 degrees of freedom, 2.064) give a much wider interval.
        assert!(width < 0.8 * plain, "{width} {plain}");
    }

    #[test]
    fn the_judges_scale_does_not_matter() {
        let options = AgreementOptions { resamples: 10, ..AgreementOptions::seeded(1) };
        let of = |factor: f64| {
            let labelled = draw_labels(&mut ChaCha8Rng::seed_from_u64(3), factor);
            rater_agreement(&labelled, &options).powered.remove(0).powered
        };
        let (shares, points) = (of(1.0), of(100.0));
        assert!((shares.estimate.unwrap() - points.estimate.unwrap()).abs() < 1e-9);
        assert!((shares.low.unwrap() - points.low.unwrap()).abs() < 1e-9);
    }
}
