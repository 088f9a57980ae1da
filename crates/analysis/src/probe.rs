//! Whether a judge is moved by changes of form: every answer compared with its perturbations.
//!
//! Each pair of an answer and its perturbation becomes a case of two systems, `unchanged` and the
//! perturbation, and is compared like any two systems. What the form itself changes (length,
//! counts) is taken out before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;

use super::comparison::{
    Comparison, ComparisonOptions, MetricId, Observations, RunAnswers, compare, observe,
};
use super::quantity::{ASPECT_MEAN, EXPECTED, OnUnscored};
use scholareval_core::domain::{
    CaseId, ComponentKind, Score, ScoredAnswer, ScorerId, SystemName, TestCase,
};
use scholareval_core::text::perturbation::Perturbation;
use scholareval_scorers::entailment::ENTAILMENT;
use scholareval_scorers::{ScorerInfo, scorer_named};

/// The system of the answers as they are, in the comparisons of a probe.
pub const UNCHANGED: &str = "unchanged";

/// Version of the JSON form of a probe.
const SCHEMA_VERSION: u32 = 1;

/// A judge's scores of answers and of their perturbations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probe {
    /// Version of this format.
    pub schema_version: u32,
    /// The headline metrics.
    pub headline: Vec<MetricId>,
    /// The perturbations.
    pub perturbations: Vec<Probed>,
}

/// The answers that a perturbation changes, before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Probed {
    /// The perturbation.
    pub perturbation: Perturbation,
    /// Number of answers that it does not change.
    pub unchanged: usize,
    /// How many verdicts of each scorer change.
    pub verdicts: Vec<ChangedVerdicts>,
    /// [`UNCHANGED`] against the perturbed answers of all systems, by every metric that a judge decides. A case is the case of one
    /// system. The level is 1 - 0.05 / m for m perturbations, and p is multiplied by m (Bonferroni).
    pub comparison: Comparison,
}

/// How many verdicts of a judge a perturbation changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangedVerdicts {
    /// The scorer that asks for them.
    pub scorer: ScorerId,
    /// Those that were not the same the second time.
    pub changed: usize,
    /// Those that were given before and after.
    pub total: usize,
}

/// Compares the answers of a run with their perturbations. The length component of the rubric, which is counted, is that of the
/// unchanged answer. Unscored answers count as the policy of the run says.
///
/// ```
/// use scholareval_analysis::{OnUnscored, probe};
/// use scholareval_core::text::perturbation::Perturbation;
///
/// let found = probe(&[], &[Perturbation::Padded], 42, OnUnscored::Exclude);
/// assert!(found.headline.is_empty());
/// ```
pub fn probe(
    scored: &[Arc<ScoredAnswer>],
    perturbations: &[Perturbation],
    seed: u64,
    on_unscored: OnUnscored,
) -> Probe {
    let times = perturbations.len() as f64;
    let options = ComparisonOptions {
        // Bonferroni over the perturbations: each is a test whether the judge can be moved, and six
        // of them would find something by chance.
        level: 1.0 - 0.05 / times,
        ..ComparisonOptions::seeded(seed)
    };
    let answers = ProbedAnswers::of(scored, perturbations);
    let mut headline = Vec::new();
    let mut probed = Vec::new();
    for perturbation in perturbations {
        let (pairs, unchanged) = answers.pairs(*perturbation);
        let all = observed(&pairs, on_unscored);
        for at in all.headline() {
            headline.push(all.metrics[at].metric.clone());
        }
        let mut comparison = compare(&all, &options);
        adjust(&mut comparison, times);
        probed.push(Probed {
            perturbation: *perturbation,
            unchanged,
            verdicts: changed_verdicts(&pairs),
            comparison,
        });
    }
    Probe {
        schema_version: SCHEMA_VERSION,
        headline: super::distinct(headline.into_iter()),
        perturbations: probed,
    }
}

/// The answers of a run that a judge scored.
struct ProbedAnswers<'a> {
    judged: Vec<&'a ScoredAnswer>,
    by_key: HashMap<ProbeKey<'a>, &'a ScoredAnswer>,
    /// The systems of perturbed answers.
    perturbed: HashSet<SystemName>,
}

impl<'a> ProbedAnswers<'a> {
    fn of(scored: &'a [Arc<ScoredAnswer>], perturbations: &[Perturbation]) -> Self {
        let mut judged: Vec<&ScoredAnswer> = Vec::new();
        let mut by_key = HashMap::new();
        let mut perturbed = HashSet::new();
        for answer in scored {
            if !is_judged(answer) {
                continue;
            }
            judged.push(answer);
            by_key.insert(key(answer, answer.system.clone()), &**answer);
            for perturbation in perturbations {
                perturbed.insert(answer.system.perturbed(*perturbation));
            }
        }
        Self {
            judged,
            by_key,
            perturbed,
        }
    }

    /// The answers before and after the perturbation, and the number of those that it does not change.
    fn pairs(&self, perturbation: Perturbation) -> (Vec<Arc<ScoredAnswer>>, usize) {
        let mut pairs = Vec::new();
        let mut unchanged = HashSet::new();
        for before in &self.judged {
            if self.perturbed.contains(&before.system) {
                continue;
            }
            let system = before.system.perturbed(perturbation);
            match self.by_key.get(&key(before, system)) {
                Some(after) => pairs.extend(pair(before, after, &perturbation.name())),
                None => {
                    // Of several scorers' answers once.
                    unchanged.insert((&before.system, &before.case.case_id));
                }
            }
        }
        (pairs, unchanged.len())
    }
}

/// The metrics of the pairs that a judge decides.
fn observed(pairs: &[Arc<ScoredAnswer>], on_unscored: OnUnscored) -> Observations {
    let mut all = observe(&[RunAnswers {
        name: "",
        scored: pairs,
        on_unscored,
        ..RunAnswers::default()
    }]);
    // Counts and the length are of the text, not of a judge.
    let lengths = length_components(pairs);
    all.metrics.retain(|table| {
        let metric = &table.metric;
        metric.higher_is_better && !lengths.contains(&(&metric.scorer, metric.name.as_str()))
    });
    all
}

/// The verdicts before and after in these pairs, by scorer.
fn changed_verdicts(pairs: &[Arc<ScoredAnswer>]) -> Vec<ChangedVerdicts> {
    let mut all: Vec<ChangedVerdicts> = Vec::new();
    for [before, after] in pairs.as_chunks::<2>().0 {
        let after: HashMap<&str, Option<f64>> = values_of_verdicts(&after.score).collect();
        let scorer = &before.score.scorer;
        let place = all.iter().position(|of_scorer| of_scorer.scorer == *scorer);
        let place = place.unwrap_or_else(|| {
            all.push(ChangedVerdicts {
                scorer: scorer.clone(),
                changed: 0,
                total: 0,
            });
            all.len() - 1
        });
        for (name, value) in values_of_verdicts(&before.score) {
            if let Some(again) = after.get(name) {
                all[place].total += 1;
                all[place].changed += usize::from(*again != value);
            }
        }
    }
    all
}

/// Name and value of each component on which a judge gave a verdict; an abstention has no value.
fn values_of_verdicts(score: &Score) -> impl Iterator<Item = (&str, Option<f64>)> {
    let verdicts = score.components.iter().filter(|component| {
        let kind = component.kind;
        let is_judged = kind == ComponentKind::Aspect || kind.is_weighted();
        let is_given = component.value.is_some() || component.is_abstained();
        is_judged && is_given && kind != ComponentKind::Length
    });
    verdicts.map(|component| (component.name.as_str(), component.value))
}

/// Multiplies every p by the number of perturbations (Bonferroni).
fn adjust(comparison: &mut Comparison, times: f64) {
    for metric in &mut comparison.metrics {
        for pair in &mut metric.pairs {
            pair.p = pair.p.map(|p| (p * times).min(1.0));
        }
        metric.smallest_p = metric.smallest_p.map(|p| (p * times).min(1.0));
    }
}

/// Scorer, system and case.
type ProbeKey<'a> = (&'a ScorerId, SystemName, &'a CaseId);

fn key(answer: &ScoredAnswer, system: SystemName) -> ProbeKey<'_> {
    (&answer.score.scorer, system, &answer.case.case_id)
}

/// Whether a judge decides the answer's score: for a user-defined scorer, one may.
fn is_judged(answer: &ScoredAnswer) -> bool {
    scorer_named(answer.score.scorer.name()).is_none_or(ScorerInfo::asks_judge)
}

/// An answer before and after, as answers of two systems.
fn pair(before: &ScoredAnswer, after: &ScoredAnswer, name: &str) -> [Arc<ScoredAnswer>; 2] {
    let case = &before.case;
    let question = if case.initial_prompt.trim().is_empty() {
        case.case_id.as_str()
    } else {
        &case.initial_prompt
    };
    let case = Arc::new(TestCase::without_rubric(
        // Each answer is a separate case, as systems are not compared here; the question stays,
        // so that they form clusters.
        format!("{}/{}", before.system, case.case_id).into(),
        question,
    ));
    let [unchanged, mut other] = [before, after].map(|answer| answer.score.clone());
    let mut components = unchanged.components.iter();
    let length = components.find(|component| component.kind == ComponentKind::Length);
    for component in &mut other.components {
        // The length is that of the text before; a padded answer would otherwise lose points without the
        // judge.
        if component.kind == ComponentKind::Length {
            component.value = length.and_then(|length| length.value);
        }
    }
    if other.is_weighted_sum() {
        other.value = other.value.map(|_| other.filled(0.0).0);
    }
    [(UNCHANGED, unchanged), (name, other)]
        .map(|(name, score)| Arc::new(ScoredAnswer::new(name.into(), Arc::clone(&case), score)))
}

/// Scorer and name of the components that count words. They stay in the scores, since the lowest value of an unscored answer has
/// its length, too.
fn length_components(scored: &[Arc<ScoredAnswer>]) -> HashSet<(&ScorerId, &str)> {
    let mut lengths = HashSet::new();
    for answer in scored {
        for component in &answer.score.components {
            if component.kind == ComponentKind::Length {
                lengths.insert((&answer.score.scorer, component.name.as_str()));
            }
        }
    }
    lengths
}

/// Whether a faithful judge may move: the perturbation adds, removes, reorders or replaces what the metric measures. For entailment added
/// sentences are claims without support, and a sentence without a citation has those of the one before it.
pub fn may_move(perturbation: Perturbation, metric: &MetricId) -> bool {
    let names: &[&str] = match perturbation {
        Perturbation::Reformatted
        | Perturbation::Bullets
        | Perturbation::Reversed
        | Perturbation::Reordered
        | Perturbation::Alone => return false,
        // It should: nothing of the answer is left.
        Perturbation::Bluffing => return true,
        Perturbation::Uncited => &["score", "lexical_score", "citations", "excerpts"],
        Perturbation::Shuffled => &["organization", ASPECT_MEAN],
        Perturbation::Padded | Perturbation::Injected => &[],
    };
    // The expected value of a metric moves with it.
    let name = match metric.name.as_str() {
        EXPECTED => "score",
        name => {
            let of_component = name
                .strip_suffix(EXPECTED)
                .and_then(|name| name.strip_suffix("_"));
            of_component.unwrap_or(name)
        }
    };
    metric.scorer.name() == ENTAILMENT.name || names.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{answer, component, score};
    use scholareval_core::domain::Unit;

    /// A score: 0.2 length + 0.8 property.
    fn scored(system: &str, case: usize, length: f64, property: Option<f64>) -> Arc<ScoredAnswer> {
        let components = vec![
            component("length", ComponentKind::Length, 0.2, Some(length)),
            component("p0", ComponentKind::Property, 0.8, property),
        ];
        Arc::new(answer(system, &format!("c{case}"), score(components)))
    }

    #[test]
    fn only_what_the_judge_decides_moves_and_unchanged_answers_are_left_out() {
        let perturbations = [
            Perturbation::Padded,
            Perturbation::Bullets,
            Perturbation::Uncited,
        ];
        let mut all = Vec::new();
        for case in 0..10 {
            let gain = 0.01 * case as f64;
            for system in ["a", "b"] {
                all.push(scored(system, case, 1.0, Some(0.5)));
                // The judge gives more; the answer is also longer, which costs 0.2 * 0.5.
                all.push(scored(
                    &format!("{system} + padded"),
                    case,
                    0.5,
                    Some(0.6 + gain),
                ));
                if case != 3 {
                    all.push(scored(&format!("{system} + bullets"), case, 0.9, Some(0.5)));
                }
            }
        }
        all[0] = scored("a", 0, 1.0, None);
        let result = probe(&all, &perturbations, 7, OnUnscored::Exclude);
        assert_eq!(
            result
                .headline
                .iter()
                .map(|metric| metric.name.as_str())
                .collect::<Vec<_>>(),
            ["score"]
        );
        let names = result.perturbations[0]
            .comparison
            .metrics
            .iter()
            .map(|metric| metric.metric.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["score", "ann_score"]);
        let [padded, bullets, uncited] = [0, 1, 2].map(|at| &result.perturbations[at]);
        let metric = &padded.comparison.metrics[0];
        assert_eq!(
            (
                padded.unchanged,
                metric.cases.len(),
                metric.cases_in_all,
                metric.questions
            ),
            (0, 19, 20, 10)
        );
        // before: 0.2 * 1 + 0.8 * 0.5; gains of 0.8 * (0.1 + 0.01 case) in 20 answers, less that of case 0
        let expected = (2.0
            * (0..10)
                .map(|case| 0.8 * (0.1 + 0.01 * f64::from(case)))
                .sum::<f64>()
            - 0.08)
            / 19.0;
        let pair = &metric.pairs[0];
        assert_eq!(
            [pair.first, pair.second].map(|at| metric.systems[at].label.as_str()),
            ["padded", UNCHANGED]
        );
        assert!(
            (metric.systems[1].mean.unwrap() - 0.6).abs() < 1e-12
                && (pair.difference - expected).abs() < 1e-12
        );
        // all 10 questions gain: 2 of 1,024 sign assignments, times three perturbations
        assert_eq!((pair.differs, pair.p), (true, Some(6.0 / 1024.0)));
        assert!(
            pair.interval.is_some_and(|interval| interval.low > 0.0) && pair.detectable.is_some()
        );
        let metric = &bullets.comparison.metrics[0];
        assert_eq!(
            (bullets.unchanged, metric.cases.len(), metric.cases_in_all),
            (2, 17, 18)
        );
        let pair = &metric.pairs[0];
        assert_eq!(
            (pair.difference, pair.differs, pair.ties, pair.p),
            (0.0, false, 17, Some(1.0))
        );
        assert_eq!(
            (uncited.unchanged, uncited.comparison.metrics.len()),
            (20, 0)
        );
    }

    #[test]
    fn unscored_answers_count_as_the_run_says() {
        let mut all = Vec::new();
        for case in 0..4 {
            all.push(scored("a", case, 1.0, Some(0.5)));
            let after = (case > 0).then_some(0.5);
            all.push(scored("a + padded", case, 0.0, after));
        }
        let difference = |on_unscored| {
            let result = probe(&all, &[Perturbation::Padded], 7, on_unscored);
            let metric = result.perturbations[0].comparison.metrics[0].clone();
            let pair = &metric.pairs[0];
            let is_padded_first = metric.systems[pair.first].label == "padded";
            let sign = if is_padded_first { 1.0 } else { -1.0 };
            (metric.cases.len(), sign * pair.difference)
        };
        assert_eq!(difference(OnUnscored::Exclude), (3, 0.0));
        // 0.2 * 1 in place of 0.2 * 1 + 0.8 * 0.5 in one of four cases
        let (cases, change) = difference(OnUnscored::Zero);
        assert_eq!(cases, 4);
        assert!((change + 0.1).abs() < 1e-12, "{change}");
    }

    #[test]
    fn some_metrics_may_move() {
        let may = |perturbation, scorer: &str, name: &str| {
            let id = MetricId {
                scorer: scorer.into(),
                name: name.into(),
                unit: Unit::Share,
                higher_is_better: true,
            };
            may_move(perturbation, &id)
        };
        assert!(may(Perturbation::Shuffled, "prometheus", "organization"));
        assert!(
            !may(Perturbation::Shuffled, "rubric", "score")
                && !may(Perturbation::Uncited, "rubric", "expertise")
        );
        assert!(may(Perturbation::Padded, "entailment", "citation_recall"));
        assert!(may(Perturbation::Uncited, "criteria", "expected"));
        assert!(may(
            Perturbation::Shuffled,
            "prometheus",
            "organization_expected"
        ));
        assert!(!may(Perturbation::Padded, "criteria", "expected"));
        assert!(!may(Perturbation::Bullets, "entailment", "citation_recall"));
        assert!(may(Perturbation::Bluffing, "criteria", "score"));
    }
}
