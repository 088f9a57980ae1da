//! Whether a judge is moved by changes of form: every answer compared with its perturbations.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::comparison::{MetricId, Observation, POWER, RunAnswers, observe};
use super::quantity::ASPECT_MEAN;
use super::questions::Questions;
use crate::dataset::perturbed_system;
use crate::domain::{CaseId, ComponentKind, ScoredAnswer, SystemName, Unit};
use crate::stats::{BootstrapOptions, Interval, PairedMethod, mean, paired_family};
use crate::text::perturbation::Perturbation;

/// Version of the JSON form of a probe.
const SCHEMA_VERSION: u32 = 1;

/// Values that differ by less are equal: scores are sums of products.
const SAME: f64 = 1e-9;

/// A judge's scores of answers before and after perturbations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probe {
    /// Version of this format.
    pub schema_version: u32,
    /// Confidence level of the intervals, which are simultaneous over the perturbations of a metric.
    pub level: f64,
    /// Resamples behind intervals and p values.
    pub resamples: u32,
    /// Their seed.
    pub seed: u64,
    /// The metrics that a judge decides, the headline metrics first.
    pub metrics: Vec<ProbedMetric>,
}

/// The perturbations by one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbedMetric {
    /// The metric.
    pub metric: MetricId,
    /// Whether it is a headline metric, which the verdict is about.
    pub is_headline: bool,
    /// The perturbations, in the order of the run.
    pub perturbations: Vec<Movement>,
}

/// What a perturbation does to a metric, over all systems; answers of one question are resampled together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Movement {
    /// The perturbation.
    pub perturbation: Perturbation,
    /// Whether a faithful judge may move: it adds, removes or reorders what the metric measures.
    pub may_move: bool,
    /// Answers with a value before and after.
    pub answers: usize,
    /// Their questions.
    pub questions: usize,
    /// Answers that it does not change.
    pub unchanged: usize,
    /// Answers without a value before or after.
    pub unscored: usize,
    /// Mean before.
    pub before: Option<f64>,
    /// Mean after.
    pub after: Option<f64>,
    /// Mean of after minus before.
    pub difference: Option<f64>,
    /// Its interval, simultaneous over the perturbations of the metric; `None` if it is unbounded, all differences are equal or
    /// there is one question.
    pub interval: Option<Interval>,
    /// Two-sided p, times the number of perturbations (Bonferroni); `None` for a single question.
    pub p: Option<f64>,
    /// How interval and p were made.
    pub method: Option<PairedMethod>,
    /// The smallest p that these differences can give.
    pub smallest_p: Option<f64>,
    /// Whether the judge moves by more than chance: `p` below 1 - level.
    pub moves: bool,
    /// Whether every answer has the same value before and after.
    pub is_same: bool,
    /// The smallest movement that is found with 80% power; `None` if none can be.
    pub detectable: Option<f64>,
}

/// Compares the answers of a run with their perturbations by every metric that a judge decides. The length component of the
/// rubric, which is counted, is that of the unchanged answer.
///
/// ```
/// use scholareval::analysis::probe;
/// use scholareval::text::perturbation::Perturbation;
///
/// assert!(probe(&[], &[Perturbation::Padded], 42).metrics.is_empty());
/// ```
pub fn probe(scored: &[Arc<ScoredAnswer>], perturbations: &[Perturbation], seed: u64) -> Probe {
    let mut systems: Vec<&SystemName> = scored.iter().map(|answer| &answer.system).collect();
    systems.sort_unstable();
    systems.dedup();
    let changed = |perturbation: &Perturbation| {
        let pairs = systems.iter().map(|system| ((*system).clone(), perturbed_system(system, *perturbation)));
        pairs.filter(|(_, changed)| systems.contains(&changed)).collect::<Vec<_>>()
    };
    let pairs: Vec<Vec<(SystemName, SystemName)>> = perturbations.iter().map(changed).collect();
    let unchanged: HashMap<&SystemName, &SystemName> =
        pairs.iter().flatten().map(|(own, other)| (other, own)).collect();
    let judged = with_length_of(scored, &unchanged);
    let observed = observe(&[RunAnswers { name: "", scored: &judged, words: HashMap::new(), unanswered: None }]);
    let numbers = Questions::of(judged.iter().map(AsRef::as_ref));
    let mut cases: Vec<(usize, &CaseId)> = observed.cases.iter().map(|case| &case.case_id).enumerate().collect();
    cases.sort_by_key(|(_, case_id)| *case_id);
    let answered: HashSet<(&SystemName, &CaseId)> =
        judged.iter().map(|answer| (&answer.system, &answer.case.case_id)).collect();
    let place: HashMap<&SystemName, usize> =
        observed.systems.iter().enumerate().map(|(at, system)| (&system.system, at)).collect();
    let options = BootstrapOptions::seeded(seed);
    let level = 1.0 - options.alpha() / perturbations.len().max(1) as f64;
    let headline = observed.headline();
    // Counts are of the text, not of a judge.
    let is_judged = |at: &usize| observed.metrics[*at].metric.unit != Unit::Count;
    let others = (0..observed.metrics.len()).filter(|at| !headline.contains(at) && is_judged(at));
    let metric = |at: usize| {
        let table = &observed.metrics[at];
        let movement = |(perturbation, pairs): (&Perturbation, &Vec<(SystemName, SystemName)>)| {
            let mut values = Paired::default();
            for (case, case_id) in &cases {
                for (own, other) in pairs.iter().filter(|(own, _)| answered.contains(&(own, *case_id))) {
                    let [before, after] = [own, other].map(|system| table.values[place[system]][*case]);
                    match answered.contains(&(other, *case_id)) {
                        true => values.add(before, after, numbers.number(case_id)),
                        false => values.unchanged += 1,
                    }
                }
            }
            let may_move = may_move(*perturbation, &table.metric);
            values.movement(*perturbation, may_move, perturbations.len(), BootstrapOptions { level, ..options })
        };
        ProbedMetric {
            metric: table.metric.clone(),
            is_headline: headline.contains(&at),
            perturbations: perturbations.iter().zip(&pairs).map(movement).collect(),
        }
    };
    let metrics = headline.iter().copied().chain(others).map(metric).collect();
    Probe { schema_version: SCHEMA_VERSION, level: options.level, resamples: options.resamples, seed, metrics }
}

/// Whether the perturbation adds, removes or reorders what the metric measures. For entailment added sentences are claims
/// without support, and a sentence without a citation has those of the one before it.
fn may_move(perturbation: Perturbation, metric: &MetricId) -> bool {
    if metric.scorer == "entailment" {
        return !matches!(perturbation, Perturbation::Reformatted | Perturbation::Bullets);
    }
    let names: &[&str] = match perturbation {
        Perturbation::Uncited => &["score", "lexical_score", "citations", "excerpts"],
        Perturbation::Shuffled => &["organization", ASPECT_MEAN],
        _ => &[],
    };
    names.contains(&metric.name.as_str())
}

/// The scores without their length component, of which perturbed ones have that of the unchanged answer in their sum.
fn with_length_of(
    scored: &[Arc<ScoredAnswer>],
    unchanged: &HashMap<&SystemName, &SystemName>,
) -> Vec<Arc<ScoredAnswer>> {
    let key =
        |answer: &ScoredAnswer, system: &SystemName| (answer.score.scorer, system.clone(), answer.case.case_id.clone());
    let by_key: HashMap<_, _> = scored.iter().map(|answer| (key(answer, &answer.system), answer)).collect();
    let judged = |answer: &Arc<ScoredAnswer>| {
        let mut own = ScoredAnswer::clone(answer);
        let before = unchanged.get(&answer.system).and_then(|system| by_key.get(&key(answer, system)));
        for component in own.score.components.iter_mut().filter(|own| own.kind == ComponentKind::Length) {
            let before = before.and_then(|before| before.score.component(&component.name));
            component.value = before.map_or(component.value, |before| before.value);
        }
        if before.is_some() && own.score.is_weighted_sum() {
            own.score.value = own.score.value.map(|_| own.score.filled(0.0).0);
        }
        own.score.components.retain(|component| component.kind != ComponentKind::Length);
        Arc::new(own)
    };
    scored.iter().map(judged).collect()
}

/// Values before and after.
#[derive(Default)]
struct Paired {
    before: Vec<f64>,
    after: Vec<f64>,
    questions: Vec<usize>,
    unchanged: usize,
    unscored: usize,
}

impl Paired {
    fn add(&mut self, before: Observation, after: Observation, question: usize) {
        match (before.value(), after.value()) {
            (Some(before), Some(after)) => {
                self.before.push(before);
                self.after.push(if (after - before).abs() < SAME { before } else { after });
                self.questions.push(question);
            }
            _ if before.range().or(after.range()).is_some() => self.unscored += 1,
            // The metric does not apply.
            _ => {}
        }
    }

    /// `options` have the level of one of `family` perturbations.
    fn movement(
        &self,
        perturbation: Perturbation,
        may_move: bool,
        family: usize,
        options: BootstrapOptions,
    ) -> Movement {
        let differences: Vec<f64> = self.after.iter().zip(&self.before).map(|(after, before)| after - before).collect();
        let tested = paired_family(&[&differences], Some(&self.questions), options);
        let test = tested.as_ref().map(|tested| tested.pairs[0]);
        let adjusted = |p: f64| (p * family as f64).min(1.0);
        let error = test.map(|test| test.standard_error).filter(|error| *error > 0.0);
        let critical = tested.as_ref().and_then(|tested| tested.critical);
        Movement {
            perturbation,
            may_move,
            answers: differences.len(),
            questions: self.questions.iter().collect::<BTreeSet<_>>().len(),
            unchanged: self.unchanged,
            unscored: self.unscored,
            before: mean(&self.before),
            after: mean(&self.after),
            difference: mean(&differences),
            interval: test.and_then(|test| test.interval),
            p: test.map(|test| adjusted(test.p)),
            method: tested.as_ref().map(|tested| tested.method),
            smallest_p: tested.as_ref().map(|tested| adjusted(tested.smallest_p)),
            moves: test.is_some_and(|test| test.p < options.alpha()),
            is_same: !differences.is_empty() && differences.iter().all(|difference| *difference == 0.0),
            detectable: critical.zip(error).map(|(critical, error)| (critical + POWER) * error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_support::{answer, component, score};

    /// A score with the length component first: 0.2 length + 0.8 property.
    fn scored(system: &str, case: usize, length: f64, property: Option<f64>) -> Arc<ScoredAnswer> {
        let components = vec![
            component("length", ComponentKind::Length, 0.2, Some(length)),
            component("p0", ComponentKind::Property, 0.8, property),
        ];
        Arc::new(answer(system, &format!("c{case}"), score(components)))
    }

    fn movement(found: &Probe, metric: &str, at: usize) -> Movement {
        found.metrics.iter().find(|own| own.metric.name == metric).unwrap().perturbations[at].clone()
    }

    #[test]
    fn only_what_the_judge_decides_moves_and_unchanged_answers_are_left_out() {
        let perturbations = [Perturbation::Padded, Perturbation::Bullets, Perturbation::Uncited];
        let mut all = Vec::new();
        for case in 0..10 {
            let gain = 0.01 * case as f64;
            for system in ["a", "b"] {
                all.push(scored(system, case, 1.0, Some(0.5)));
                // The judge gives more; the answer is also longer, which costs 0.2 * 0.5.
                all.push(scored(&format!("{system} + padded"), case, 0.5, Some(0.6 + gain)));
                if case != 3 {
                    all.push(scored(&format!("{system} + bullets"), case, 0.9, Some(0.5)));
                }
            }
        }
        all[0] = scored("a", 0, 1.0, None);
        let found = probe(&all, &perturbations, 7);
        assert_eq!(
            found.metrics.iter().map(|own| own.metric.name.as_str()).collect::<Vec<_>>(),
            ["score", "ann_score"]
        );
        let padded = movement(&found, "score", 0);
        assert_eq!((padded.answers, padded.questions, padded.unchanged, padded.unscored), (19, 10, 0, 1));
        // before: 0.2 * 1 + 0.8 * 0.5; gains of 0.8 * (0.1 + 0.01 case) in 20 answers, less that of case 0
        let expected = (2.0 * (0..10).map(|case| 0.8 * (0.1 + 0.01 * f64::from(case))).sum::<f64>() - 0.08) / 19.0;
        assert!((padded.before.unwrap() - 0.6).abs() < 1e-12 && (padded.difference.unwrap() - expected).abs() < 1e-12);
        // all 10 questions gain: 2 of 1,024 sign assignments, times three perturbations
        assert_eq!((padded.moves, padded.p), (true, Some(6.0 / 1024.0)));
        assert!(padded.interval.is_some_and(|own| own.low > 0.0) && padded.detectable.is_some());
        let bullets = movement(&found, "score", 1);
        assert_eq!((bullets.answers, bullets.unchanged, bullets.unscored), (17, 2, 1));
        assert_eq!(
            (bullets.difference, bullets.moves, bullets.is_same, bullets.p),
            (Some(0.0), false, true, Some(1.0))
        );
        let uncited = movement(&found, "score", 2);
        assert_eq!((uncited.answers, uncited.difference, uncited.p, uncited.may_move), (0, None, None, true));
    }

    #[test]
    fn some_metrics_may_move() {
        let may = |perturbation, scorer: &str, name: &str| {
            let id = MetricId { scorer: scorer.into(), name: name.into(), unit: Unit::Share, higher_is_better: true };
            may_move(perturbation, &id)
        };
        assert!(may(Perturbation::Shuffled, "prometheus", "organization"));
        assert!(!may(Perturbation::Shuffled, "rubric", "score") && !may(Perturbation::Uncited, "rubric", "expertise"));
        assert!(may(Perturbation::Padded, "entailment", "citation_recall"));
        assert!(!may(Perturbation::Bullets, "entailment", "citation_recall"));
    }
}
