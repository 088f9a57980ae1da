//! Prediction-powered means: systems on the human scale, and their differences, from few labels and many judge verdicts.
//!
//! A judge's run and the labels are joined answer by answer (`LabeledRun`); each system's mean, and
//! the difference of each pair of systems, is then estimated by `stats::ppi`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::result::{AgreementLevel, PoweredMean};
use super::scales::{MOST_CATEGORIES, top_of_scale};
use super::units::{Context, RatedByBoth, RatedUnit, RaterView};
use crate::ratings::{Estimate, distinct};
use scholareval_core::domain::{CaseId, DrawProbabilities, SystemName};
use scholareval_stats::{
    Estimand, Interval, JudgedAnswer, PredictionPoweredMean, prediction_powered_mean, sd,
};

/// Fewest labels, and largest share of equal ones, for which the intervals were found to hold.
const FEWEST_LABELS: usize = 50;
const MOST_EQUAL: f64 = 0.8;
/// Fewest questions with labels of both systems for their difference.
const FEWEST_QUESTIONS: usize = 20;

/// The answers that one judge rated, with the labels of people: their mean, or the only person's.
pub(super) struct LabeledRun<'a> {
    pub(super) judge: &'a RaterView,
    pub(super) human: &'a RaterView,
    context: &'a Context<'a>,
    draw: Draw,
    /// What labels can be, where that is known.
    range: Option<Interval>,
    /// The answers of each system with labels.
    pub(super) systems: BTreeMap<&'a SystemName, BTreeMap<&'a CaseId, JudgedAnswer>>,
}

/// How the labeled answers were drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Draw {
    /// With equal probabilities, as far as known.
    Uniform,
    /// With known ones that differ.
    Unequal,
    /// Some probabilities are unknown.
    Unknown,
}

impl<'a> LabeledRun<'a> {
    /// `None` at the level of items.
    pub(super) fn new(
        judge: &'a RaterView,
        human: &'a RaterView,
        probabilities: &DrawProbabilities,
        context: &'a Context<'a>,
    ) -> Option<Self> {
        if context.options.level == AgreementLevel::Item {
            return None;
        }
        let shared = RatedByBoth::new(human, judge, context);
        // Lambda is limited to 0..=1, which would restrict a judge on a smaller scale, so its verdicts are first
        // rescaled to the spread of the labels.
        let ratio = sd(&shared.x).zip(sd(&shared.y));
        let ratio = ratio.map(|(labels, verdicts)| labels / verdicts);
        let factor = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
        let factor = factor.unwrap_or(1.0);
        let draw = Draw::of(&shared.units, probabilities);
        let mut systems: BTreeMap<&SystemName, BTreeMap<&CaseId, JudgedAnswer>> = BTreeMap::new();
        for (unit, verdict) in &judge.values {
            let mut weight = 1.0;
            if draw == Draw::Unequal
                && let Some(probability) = probability_of(unit, probabilities)
            {
                weight = 1.0 / probability;
            }
            let answer = JudgedAnswer {
                judge: factor * verdict,
                human: human.values.get(unit).copied(),
                weight,
                question: context.questions.number(&unit.case_id),
            };
            systems
                .entry(&unit.system)
                .or_default()
                .insert(&unit.case_id, answer);
        }
        systems.retain(|_, answers| answers.values().any(|answer| answer.human.is_some()));
        Some(Self {
            judge,
            human,
            context,
            draw,
            range: range_of_labels(human),
            systems,
        })
    }

    /// Whether the labels were drawn with known, unequal probabilities, which weight them.
    pub(super) fn is_weighted(&self) -> bool {
        self.draw == Draw::Unequal
    }

    /// One mean for each system with labels, then the difference of every two with enough questions of which both answers have
    /// a label. Under unequal probabilities, those of labeling both answers are unknown: no differences.
    pub(super) fn means(&self) -> Vec<PoweredMean> {
        // Labels that stand for several answers each are worth less than their number, which Wilson's interval needs.
        let range = self.range.filter(|_| self.draw == Draw::Uniform);
        let mut means = Vec::new();
        for (system, answers) in &self.systems {
            let answers: Vec<JudgedAnswer> = answers.values().copied().collect();
            means.push(self.powered(system, None, &answers, Estimand::Mean(range)));
        }
        let systems: Vec<_> = self.systems.iter().collect();
        for (at, (first, ours)) in systems.iter().enumerate() {
            for (second, theirs) in &systems[at + 1..] {
                let answers = differences(ours, theirs);
                let labeled = answers.iter().filter(|answer| answer.human.is_some());
                let labeled: Vec<usize> = labeled.map(|answer| answer.question).collect();
                let is_enough = distinct(&labeled) >= FEWEST_QUESTIONS;
                if is_enough && self.draw == Draw::Uniform {
                    let minus = Some(SystemName::clone(second));
                    means.push(self.powered(first, minus, &answers, Estimand::Difference));
                }
            }
        }
        means
    }

    /// The mean of these answers; `None` where it is unknown how labels were drawn.
    fn mean(
        &self,
        answers: &[JudgedAnswer],
        lambda: Option<f64>,
        estimand: Estimand,
    ) -> Option<PredictionPoweredMean> {
        if self.draw == Draw::Unknown {
            return None;
        }
        prediction_powered_mean(answers, lambda, estimand, self.context.bootstrap())
    }

    /// The mean of these answers from the labels alone and the prediction-powered one.
    fn powered(
        &self,
        system: &SystemName,
        minus: Option<SystemName>,
        answers: &[JudgedAnswer],
        estimand: Estimand,
    ) -> PoweredMean {
        let labeled = answers.iter().filter(|answer| answer.human.is_some());
        let labeled: Vec<JudgedAnswer> = labeled.copied().collect();
        let is_usable = self.draw != Draw::Unknown;
        let few = if is_usable {
            "labels of fewer than two questions"
        } else {
            "some labels have no probability"
        };
        let reason = match answers.len() - labeled.len() {
            0 => "every answer that was judged has a label",
            1 => "one answer without a label is too few",
            _ => few,
        };
        let powered_mean = self.mean(answers, None, estimand);
        let only = self.mean(&labeled, Some(0.0), estimand);
        let powered = estimate(powered_mean, reason).with_units(labeled.len());
        PoweredMean {
            judge: Arc::clone(&self.judge.rater.name),
            human: Arc::clone(&self.human.rater.name),
            system: system.clone(),
            labeled: labeled.len(),
            unlabeled: answers.len() - labeled.len(),
            labels_only: estimate(only, few).with_units(labeled.len()),
            lambda: powered_mean.map(|mean| mean.lambda),
            p: minus
                .as_ref()
                .and(powered.low)
                .and(powered_mean)
                .map(|mean| mean.p),
            minus,
            powered,
            reliable: is_reliable(&labeled),
        }
    }
}

/// From 0 to the top of the scale of the labels, if they are shares or categories.
fn range_of_labels(human: &RaterView) -> Option<Interval> {
    let ends: Vec<&Interval> = human.ends.values().collect();
    let top = top_of_scale(&ends)?;
    // Numbers with many values above 1, such as counts, have no top: the largest that was seen would pull the interval to it.
    let is_scale = top <= 1.0 || distinct_values(human) <= MOST_CATEGORIES;
    is_scale.then_some(Interval::new(0.0, top))
}

fn distinct_values(human: &RaterView) -> usize {
    let values = human.values.values().map(|value| value.to_bits());
    values.collect::<HashSet<u64>>().len()
}

fn is_reliable(labeled: &[JudgedAnswer]) -> bool {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    labeled
        .iter()
        .filter_map(|answer| answer.human)
        .for_each(|label| *counts.entry(label.to_bits()).or_default() += 1);
    let most = counts.into_values().max().unwrap_or(0);
    labeled.len() >= FEWEST_LABELS && most as f64 <= MOST_EQUAL * labeled.len() as f64
}

impl Draw {
    /// How the labels of these units were drawn.
    fn of(units: &[&RatedUnit], probabilities: &DrawProbabilities) -> Self {
        let drawn = units.iter().map(|unit| probability_of(unit, probabilities));
        let drawn: Vec<Option<f64>> = drawn.collect();
        if drawn.windows(2).all(|two| two[0] == two[1]) {
            Self::Uniform
        } else if drawn.contains(&None) {
            Self::Unknown
        } else {
            Self::Unequal
        }
    }
}

/// The probability with which the unit's label was drawn, where it is known.
fn probability_of(unit: &RatedUnit, probabilities: &DrawProbabilities) -> Option<f64> {
    probabilities.of(&unit.system, &unit.case_id, unit.item.as_ref())
}

/// The differences of two systems in the cases that both answered; labels only where both have one.
fn differences(
    ours: &BTreeMap<&CaseId, JudgedAnswer>,
    theirs: &BTreeMap<&CaseId, JudgedAnswer>,
) -> Vec<JudgedAnswer> {
    let mut differences = Vec::new();
    for (case, our_answer) in ours {
        let Some(their_answer) = theirs.get(case) else {
            continue;
        };
        let labels = our_answer.human.zip(their_answer.human);
        differences.push(JudgedAnswer {
            judge: our_answer.judge - their_answer.judge,
            human: labels.map(|(ours, theirs)| ours - theirs),
            ..*our_answer
        });
    }
    differences
}

fn estimate(mean: Option<PredictionPoweredMean>, reason: &str) -> Estimate {
    Estimate::new(mean.map(|mean| mean.estimate), || mean?.interval, reason)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::rater_agreement::{AgreementOptions, Labeled, rater_agreement};
    use scholareval_core::domain::{Note, Rater, RaterKind, Rating};

    /// One system, 25 labels from 1 to 5 among 125 verdicts in 0..=1 that are more lenient than people and noisy.
    fn draw_labels(rng: &mut ChaCha8Rng, factor: f64) -> Labeled {
        let (mut person, mut judge) = (
            Rater::new("p", RaterKind::Human),
            Rater::new("j", RaterKind::Judge),
        );
        for case in 0..125 {
            let quality: f64 = rng.random();
            let grade = (1.0 + 4.0 * quality + rng.random_range(-1.0..1.0)).clamp(0.0, 6.0);
            let verdict = factor * (0.2 + 0.6 * quality + rng.random_range(-0.1..0.1));
            let rating = |value| Rating {
                system: "s".into(),
                case_id: format!("c{case}").into(),
                item: None,
                value,
            };
            judge.ratings.push(rating(verdict));
            person.ratings.extend((case < 25).then(|| rating(grade)));
        }
        Labeled {
            raters: vec![judge, person],
            ..Labeled::default()
        }
    }

    #[test]
    fn intervals_of_means_on_another_scale_than_the_judges_hold() {
        // Grades are 1 + 4 * uniform + noise around 0, cut evenly at both ends: their mean is 3.
        let options = AgreementOptions {
            resamples: 199,
            ..AgreementOptions::seeded(1)
        };
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (mut held, mut width, mut plain) = (0, 0.0, 0.0);
        for _ in 0..300 {
            let labeled = draw_labels(&mut rng, 1.0);
            let people: Vec<f64> = labeled.raters[1]
                .ratings
                .iter()
                .map(|rating| rating.value)
                .collect();
            plain += 2.0 * 2.064 * sd(&people).unwrap() / 5.0;

            let views: Vec<RaterView> = labeled
                .raters
                .iter()
                .map(|rater| RaterView::new(rater, &options))
                .collect();
            let context = Context::new(&views, &labeled.questions, &options);
            let labeled =
                LabeledRun::new(&views[0], &views[1], &labeled.probabilities, &context).unwrap();
            let mean = labeled.means().remove(0).powered;
            let (low, high) = (mean.low.unwrap(), mean.high.unwrap());
            held += u32::from(low <= 3.0 && 3.0 <= high);
            width += high - low;
        }
        // 285 expected, with a standard error of 4; with 25 labels bootstrap-t holds somewhat more often.
        assert!((272..=299).contains(&held), "{held} of 300");
        // 25 labels alone (t with 24 degrees of freedom, 2.064) give a much wider interval.
        assert!(width < 0.8 * plain, "{width} {plain}");
    }

    #[test]
    fn the_judges_scale_does_not_matter() {
        let options = AgreementOptions {
            resamples: 99,
            ..AgreementOptions::seeded(1)
        };
        let of = |factor: f64| {
            let labeled = draw_labels(&mut ChaCha8Rng::seed_from_u64(3), factor);
            rater_agreement(&labeled, &options)
                .powered
                .remove(0)
                .powered
        };
        let (shares, points) = (of(1.0), of(100.0));
        assert!((shares.estimate.unwrap() - points.estimate.unwrap()).abs() < 1e-9);
        assert!((shares.low.unwrap() - points.low.unwrap()).abs() < 1e-9);
    }

    /// Two systems of 120 cases: `b` has 0.5 more than `a` by people; the judge gives it 1 more. Cases up to `labels` have both
    /// labels, and case k the probability `probability(k)`.
    fn two_systems(labels: usize, probability: impl Fn(usize) -> Option<f64>) -> Labeled {
        let (mut person, mut judge) = (
            Rater::new("p", RaterKind::Human),
            Rater::new("j", RaterKind::Judge),
        );
        let mut probabilities = DrawProbabilities::default();
        for case in 0..120 {
            for (system, more) in [("a", 0.0), ("b", 1.0)] {
                let noise = ((case * 37 + if more > 0.0 { 11 } else { 0 }) % 50) as f64 / 50.0;
                let of = |value| Rating {
                    system: system.into(),
                    case_id: format!("{case:03}").into(),
                    item: None,
                    value,
                };
                judge.ratings.push(of(noise + more));
                person
                    .ratings
                    .extend((case < labels).then(|| of(2.0 * noise + 0.5 * more)));
                let known = probability(case).filter(|_| case < labels);
                probabilities.answers.extend(
                    known.map(|known| ((system.into(), format!("{case:03}").into()), known)),
                );
            }
        }
        Labeled {
            raters: vec![judge, person],
            probabilities,
            ..Labeled::default()
        }
    }

    fn powered_of(
        labels: usize,
        probability: impl Fn(usize) -> Option<f64>,
    ) -> crate::rater_agreement::RaterAgreement {
        let options = AgreementOptions {
            resamples: 399,
            ..AgreementOptions::seeded(1)
        };
        rater_agreement(&two_systems(labels, probability), &options)
    }

    fn mentions(notes: &[Note], text: &str) -> bool {
        notes.iter().any(|note| note.text.contains(text))
    }

    #[test]
    fn a_difference_has_an_interval_and_p_that_agree_and_needs_20_questions() {
        let all = powered_of(60, |_| None);
        // Two means, then their difference.
        let pair = &all.powered[2];
        assert_eq!(
            (pair.system.as_str(), pair.labeled, pair.unlabeled),
            ("a", 60, 60)
        );
        assert_eq!(pair.minus.as_ref().map(SystemName::as_str), Some("b"));
        let interval = pair.powered.interval().unwrap();
        assert!(
            interval.low < pair.powered.estimate.unwrap()
                && pair.powered.estimate.unwrap() < interval.high
        );
        assert_eq!(
            pair.p.unwrap() < 0.05,
            interval.high < 0.0 || interval.low > 0.0
        );
        assert!(
            interval.half_width() < pair.labels_only.interval().unwrap().half_width(),
            "{pair:?}"
        );
        assert!(pair.reliable && !mentions(&all.powered_notes, "fewer than 50 labels"));
        let few = powered_of(20, |_| None);
        assert!(!few.powered[2].reliable && mentions(&few.powered_notes, "fewer than 50 labels"));
        assert_eq!(powered_of(19, |_| None).powered.len(), 2);
    }

    #[test]
    fn unequal_probabilities_weight_the_means_and_equal_ones_change_nothing() {
        let (plain, equal) = (powered_of(60, |_| None), powered_of(60, |_| Some(0.5)));
        assert_eq!(plain.powered, equal.powered);
        let weighted = powered_of(60, |case| Some(if case % 2 == 0 { 0.25 } else { 0.75 }));
        assert!(
            mentions(&weighted.powered_notes, "unequal probabilities")
                && weighted.powered.len() == 2
        );
        // Labels of `a`: 2 noise; those of even cases count three times as much as the others.
        let label = |case: usize| 2.0 * ((case * 37) % 50) as f64 / 50.0;
        let weight = |case: usize| {
            if case.is_multiple_of(2) {
                4.0
            } else {
                4.0 / 3.0
            }
        };
        let sum: f64 = (0..60).map(|case| weight(case) * label(case)).sum();
        let mean = sum / (0..60).map(weight).sum::<f64>();
        assert!((weighted.powered[0].labels_only.estimate.unwrap() - mean).abs() < 1e-12);
        // The judge's values give the labels of `a` exactly, so the weights do not matter with it.
        assert!(
            (weighted.powered[0].powered.estimate.unwrap()
                - plain.powered[0].powered.estimate.unwrap())
            .abs()
                < 0.2
        );
        let unknown = powered_of(60, |case| (case % 2 == 0).then_some(0.5));
        assert_eq!(
            unknown.powered[0].powered.undefined.as_deref(),
            Some("some labels have no probability")
        );
    }
}
