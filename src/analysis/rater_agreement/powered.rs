//! Means of systems on the human scale, from few labels and many verdicts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::result::{AgreementLevel, Estimate, PoweredMean};
use super::view::{Frame, Unit, View};
use crate::domain::{RaterKind, SystemName};
use crate::stats::{Interval, PredictionPowered, clustered_mean_intervals, mean, sd};

/// One row a judge and system with labels; none at the level of items. `human` are the people's labels (their mean, or
/// the only person's).
pub(super) fn powered(judges: &[&View], human: Option<&View>, frame: &Frame<'_>) -> Vec<PoweredMean> {
    let Some(human) = human.filter(|_| frame.options.level != AgreementLevel::Item) else { return Vec::new() };
    let of_judge = |judge: &&View| {
        let systems: BTreeSet<&SystemName> = human.values.keys().map(|unit| &unit.system).collect();
        let scaled = Scaled { judge, factor: factor(judge, human) };
        systems.into_iter().filter_map(|system| of_system(scaled, human, system, frame)).collect::<Vec<_>>()
    };
    judges.iter().filter(|judge| judge.kind == RaterKind::Judge).flat_map(of_judge).collect()
}

/// A judge whose values are brought to the spread of the human scale. Lambda is kept within 0..=1: for values in
/// 0..=1 beside grades from 1 to 5 that would forbid to trust the judge as far as it deserves.
#[derive(Clone, Copy)]
struct Scaled<'a> {
    judge: &'a View,
    factor: f64,
}

/// The standard deviation of all labels over that of the verdicts on the same answers, of all systems; 1 where one is 0.
fn factor(judge: &View, human: &View) -> f64 {
    let both = human.values.iter().filter_map(|(unit, label)| Some((*label, *judge.values.get(unit)?)));
    let (labels, verdicts): (Vec<f64>, Vec<f64>) = both.unzip();
    let ratio = sd(&labels).zip(sd(&verdicts)).map(|(labels, verdicts)| labels / verdicts);
    ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0).unwrap_or(1.0)
}

fn of_system(scaled: Scaled<'_>, human: &View, system: &SystemName, frame: &Frame<'_>) -> Option<PoweredMean> {
    let Scaled { judge, factor } = scaled;
    let own = |view: &View| -> BTreeMap<Unit, f64> {
        let of = view.values.iter().filter(|(unit, _)| unit.system == *system);
        of.map(|(unit, value)| (unit.clone(), *value)).collect()
    };
    let (labels, verdicts) = (own(human), own(judge));
    let labelled: Vec<(&Unit, f64, f64)> =
        labels.iter().filter_map(|(unit, label)| Some((unit, *label, *verdicts.get(unit)?))).collect();
    if labelled.is_empty() {
        return None;
    }
    let unlabelled: Vec<f64> =
        verdicts.iter().filter(|(unit, _)| !labels.contains_key(unit)).map(|(_, verdict)| factor * verdict).collect();
    let people: Vec<f64> = labelled.iter().map(|(_, label, _)| *label).collect();
    let judged: Vec<f64> = labelled.iter().map(|(.., verdict)| factor * verdict).collect();
    let questions: Vec<usize> = labelled.iter().map(|(unit, ..)| frame.question(&unit.case_id)).collect();
    let interval = || clustered_mean_intervals(&[&people], Some(&questions), frame.bca()).pop().flatten();
    let mean_of = PredictionPowered { human: &people, judge: &judged, unlabelled: &unlabelled };
    let powered = mean_of.mean(frame.options.confidence);
    let why = match (people.len(), unlabelled.len()) {
        (_, 0) => "every answer that was judged has a label",
        (_, 1) => "one answer without a label is too few",
        _ => "fewer than two labels",
    };
    Some(PoweredMean {
        judge: Arc::clone(&judge.name),
        human: Arc::clone(&human.name),
        system: system.clone(),
        labelled: people.len(),
        unlabelled: unlabelled.len(),
        labels_only: Estimate::new(mean(&people), people.len(), interval, "no labels"),
        powered: Estimate::new(
            powered.map(|mean| mean.estimate),
            people.len(),
            || powered.map(|mean| Interval { low: mean.interval.low, high: mean.interval.high }),
            why,
        ),
        lambda: powered.map(|mean| mean.lambda),
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::analysis::rater_agreement::{AgreementOptions, Labelled, rater_agreement};
    use crate::domain::{Rater, Rating};

    /// One system, 25 labels from 1 to 5 among 125 verdicts in 0..=1 that are milder than people and noisy.
    fn drawn(rng: &mut ChaCha8Rng, factor: f64) -> Labelled {
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
        for _ in 0..1000 {
            let labelled = drawn(&mut rng, 1.0);
            let people: Vec<f64> = labelled.raters[1].ratings.iter().map(|rating| rating.value).collect();
            plain += 2.0 * 2.064 * sd(&people).unwrap() / 5.0;
            let frame_options = &options;
            let views: Vec<View> = labelled.raters.iter().map(|rater| View::new(rater, frame_options)).collect();
            let frame = Frame::new(&views, &labelled.questions, frame_options);
            let mean = powered(&[&views[0]], Some(&views[1]), &frame).remove(0).powered;
            let (low, high) = (mean.low.unwrap(), mean.high.unwrap());
            held += u32::from(low <= 3.0 && 3.0 <= high);
            width += high - low;
        }
        assert!((930..=970).contains(&held), "{held} of 1000");
        // 25 labels alone (t with 24 degrees of freedom, 2.064) know much less.
        assert!(width < 0.8 * plain, "{width} {plain}");
    }

    #[test]
    fn the_judges_scale_does_not_matter() {
        let options = AgreementOptions { resamples: 10, ..AgreementOptions::seeded(1) };
        let of = |factor: f64| {
            let labelled = drawn(&mut ChaCha8Rng::seed_from_u64(3), factor);
            rater_agreement(&labelled, &options).powered.remove(0).powered
        };
        let (shares, points) = (of(1.0), of(100.0));
        assert!((shares.estimate.unwrap() - points.estimate.unwrap()).abs() < 1e-9);
        assert!((shares.low.unwrap() - points.low.unwrap()).abs() < 1e-9);
    }
}
