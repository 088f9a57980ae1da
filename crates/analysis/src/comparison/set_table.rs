//! Numbers of whole sets of answers in tables of systems: each over the cases that the systems share.

use super::MetricId;
use crate::set_number::{SetAnswer, SetNumber};
use crate::summary::Metric;
use scholareval_stats::BootstrapOptions;

/// A number of a system's whole set of answers, such as `citation_f1`, by what each answer gives to it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetTable {
    pub(crate) metric: MetricId,
    pub(super) number: SetNumber,
    /// By system, then by case; `None` without an answer.
    pub(super) answers: Vec<Vec<Option<SetAnswer>>>,
}

impl SetTable {
    /// Whether comparisons test this metric of single answers in place of the number.
    pub(crate) fn is_tested_by(&self, metric: &MetricId) -> bool {
        metric.scorer == self.metric.scorer && metric.name == self.number.of_answers()
    }

    /// Whether a case counts in any part of the number among these systems.
    pub(super) fn has_shared_part(&self, systems: &[usize], case: usize) -> bool {
        self.shared_parts(systems, case).contains(&true)
    }

    /// A value for each of these cases whose mean is the number of the system: the difference of two systems by these values is that
    /// of their numbers, also where a case has some of the parts only.
    pub(super) fn values_over(
        &self,
        system: usize,
        systems: &[usize],
        cases: &[usize],
    ) -> Vec<f64> {
        let answers = self.shared_answers(system, systems, cases);
        let answers: Vec<&SetAnswer> = answers.iter().map(|(_, answer)| answer).collect();
        self.number.values_of(&answers)
    }

    /// Whether a case counts in each part of the number: where all of these systems have what the part needs.
    fn shared_parts(&self, systems: &[usize], case: usize) -> Vec<bool> {
        let parts = 0..self.number.parts();
        let is_shared = |part: usize| {
            let mut systems = systems.iter();
            systems.all(|system| self.has_part(*system, case, part))
        };
        parts.map(is_shared).collect()
    }

    fn has_part(&self, system: usize, case: usize, part: usize) -> bool {
        let Some(answer) = &self.answers[system][case] else {
            return false;
        };
        let values = &answer.parts[part];
        let mut observed = values.iter();
        !self.number.needs_values()
            || !values.is_empty() && observed.all(|observation| observation.value().is_some())
    }

    /// The answers of a system to these cases, each with what counts of it among these systems.
    fn shared_answers(
        &self,
        system: usize,
        systems: &[usize],
        cases: &[usize],
    ) -> Vec<(usize, SetAnswer)> {
        let mut answers = Vec::new();
        for case in cases {
            let Some(mut answer) = self.answers[system][*case].clone() else {
                continue;
            };
            let shared = self.shared_parts(systems, *case);
            for (values, is_shared) in answer.parts.iter_mut().zip(shared) {
                if !is_shared {
                    values.clear();
                }
            }
            answers.push((*case, answer));
        }
        answers
    }

    /// The number of a system over the cases that these systems share, of all these cases.
    pub(crate) fn measure(
        &self,
        system: usize,
        systems: &[usize],
        (cases, question_of): (&[usize], &[usize]),
        options: BootstrapOptions,
    ) -> Metric {
        let answers = self.shared_answers(system, systems, cases);
        let answers = answers.iter();
        let given = answers.map(|(case, answer)| (question_of[*case], answer));
        self.number.measure(&given.collect::<Vec<_>>(), options)
    }

    /// Whether a part of the number has no value in any answer of a system.
    pub(crate) fn lacks_part(&self, system: usize) -> bool {
        let answers: Vec<&SetAnswer> = self.answers[system].iter().flatten().collect();
        self.number.lacks_part(&answers)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::comparison::compare_tests::quick;
    use crate::comparison::{Observations, RunAnswers, compare, compare_named, observe};
    use crate::summary::AggregateOptions;
    use crate::test_support::{answer, component, summary_of};
    use scholareval_core::domain::{
        CaseGroup, CitedPage, ComponentKind, JudgedStatement, Score, ScoredAnswer, SupportState,
    };

    fn scored(
        scorer: &str,
        [system, case]: [&str; 2],
        kind: ComponentKind,
        parts: &[(&str, Option<f64>)],
    ) -> ScoredAnswer {
        let components = parts
            .iter()
            .map(|(name, value)| component(name, kind, 0.0, *value));
        let score = Score {
            scorer: scorer.into(),
            components: components.collect(),
            ..Score::default()
        };
        answer(system, case, score)
    }

    /// An answer whose pages support so many of its statements, and so many not.
    fn cited(system: &str, case: &str, [supported, unsupported]: [usize; 2]) -> ScoredAnswer {
        let all = supported + unsupported;
        let accuracy = (all > 0).then(|| supported as f64 / all as f64);
        let mut parts = vec![("effective_citations", Some(supported as f64))];
        parts.extend(accuracy.map(|share| ("citation_accuracy", Some(share))));
        let mut answer = scored("pages", [system, case], ComponentKind::Share, &parts);
        let statement = |verdict| JudgedStatement {
            text: "s".to_owned(),
            verdict,
            open: None,
            feedback: None,
            passage: None,
        };
        let mut statements = vec![statement(SupportState::Supported); supported];
        statements.extend(vec![statement(SupportState::Unsupported); unsupported]);
        answer.score.pages = vec![CitedPage {
            url: "https://example.org".to_owned(),
            key: None,
            read: None,
            statements,
        }];
        answer
    }

    fn observed(answers: &[ScoredAnswer]) -> Observations {
        let scored: Vec<Arc<ScoredAnswer>> = answers.iter().cloned().map(Arc::new).collect();
        observe(&[RunAnswers {
            name: "run",
            scored: &scored,
            ..RunAnswers::default()
        }])
    }

    /// Mean and interval of each system by a metric in `table`, which must be those of `score`.
    fn in_table_as_in_score(answers: &[ScoredAnswer], name: &str) -> Vec<(String, f64)> {
        let tables = compare_named(&observed(answers), &[name.to_owned()], &quick()).unwrap();
        let summary = summary_of(answers, &[], AggregateOptions::default());
        let mut means = Vec::new();
        for system in &tables[0].systems {
            let scorer = &summary.scorers[0];
            let metric = scorer.metric(&system.label.as_str().into(), name).unwrap();
            assert_eq!(
                (system.mean, system.interval, system.own_mean, system.bounds),
                (
                    metric.estimate,
                    metric.interval,
                    metric.estimate,
                    metric.bounds
                )
            );
            means.push((system.label.clone(), system.mean.unwrap()));
        }
        assert_eq!(tables[0].metric.name, name);
        means
    }

    #[test]
    fn groups_within_another_count_as_one_in_a_macro_score() {
        let answers = [
            of_group("1", "maths", Some("reasoning"), Some(1.0)),
            of_group("2", "code", Some("reasoning"), Some(0.5)),
            of_group("3", "code", Some("reasoning"), Some(0.0)),
            of_group("4", "writing", None, Some(0.125)),
        ];
        // Reasoning is (1 + .25) / 2.
        let means = in_table_as_in_score(&answers, "macro_score");
        assert_eq!(means, [("x".to_owned(), 0.375)]);
    }

    #[test]
    fn a_micro_score_is_the_share_of_the_criteria_of_all_answers() {
        let pooled = |case: &str, criteria: &[(f64, Option<f64>)]| {
            let mut answer = answer("x", case, Score::default());
            answer.score.scorer = "criteria".into();
            answer.score.is_pooled = true;
            for (at, (weight, value)) in criteria.iter().enumerate() {
                let name = format!("c{at}");
                let mut criterion = component(&name, ComponentKind::Criterion, *weight, *value);
                if at == 0 {
                    criterion.tags = vec!["style".to_owned()];
                }
                answer.score.components.push(criterion);
            }
            answer.score.value = criteria
                .iter()
                .map(|(weight, value)| Some(weight * (*value)?))
                .sum();
            answer
        };
        let answers = [
            pooled("1", &[(0.5, Some(1.0)), (0.5, Some(0.0))]),
            // Of the fault that is met nothing counts.
            pooled("2", &[(1.0, Some(1.0)), (-0.5, Some(1.0))]),
            pooled(
                "3",
                &[
                    (0.25, Some(0.0)),
                    (0.25, Some(0.5)),
                    (0.25, Some(1.0)),
                    (0.25, Some(1.0)),
                ],
            ),
        ];
        let means = in_table_as_in_score(&answers, "micro");
        assert_eq!(means, [("x".to_owned(), 4.5 / 8.0)]);
        let means = in_table_as_in_score(&answers, "micro style");
        assert_eq!(means, [("x".to_owned(), 2.0 / 3.0)]);
    }

    fn of_group(case: &str, group: &str, within: Option<&str>, value: Option<f64>) -> ScoredAnswer {
        let mut answer = answer("x", case, Score::default());
        answer.score.scorer = "criteria".into();
        answer.score.components = vec![component("c1", ComponentKind::Criterion, 1.0, value)];
        answer.score.value = value;
        answer.score.group = Some(CaseGroup {
            name: group.into(),
            within: within.map(Into::into),
        });
        answer
    }

    #[test]
    fn a_macro_score_is_the_mean_of_the_means_of_groups_in_score_table_and_compare() {
        // (1 + .5 + 0) / 3 and .25; the unscored answer is in no mean.
        let answers = [
            of_group("1", "law", None, Some(1.0)),
            of_group("2", "law", None, Some(0.5)),
            of_group("3", "law", None, Some(0.0)),
            of_group("4", "finance", None, Some(0.25)),
            of_group("5", "finance", None, None),
        ];
        let means = in_table_as_in_score(&answers, "macro_score");
        assert_eq!(means, [("x".to_owned(), 0.375)]);
        let summary = summary_of(&answers, &[], AggregateOptions::default());
        let metric = summary.scorers[0]
            .metric(&"x".into(), "macro_score")
            .unwrap();
        assert_eq!((metric.n, metric.unscored), (4, 1));
        // The open answer could be 0 or 1: (.5 + .125) / 2 to (.5 + .625) / 2
        let bounds = metric.bounds.unwrap();
        assert_eq!((bounds.low, bounds.high), (0.3125, 0.5625));
    }

    #[test]
    fn an_aspect_mean_is_the_mean_of_the_aspects_means_in_score_table_and_compare() {
        let grades = |case, coverage, relevance| {
            let parts = [("coverage", coverage), ("relevance", relevance)];
            scored("prometheus", ["x", case], ComponentKind::Aspect, &parts)
        };
        let answers = [
            grades("1", Some(5.0), Some(1.0)),
            grades("2", None, Some(4.0)),
            grades("3", Some(3.0), Some(1.0)),
        ];
        // Coverage (5 + 3) / 2 = 4, relevance (1 + 4 + 1) / 3 = 2: 3, where the complete answers have (3 + 2) / 2.
        assert_eq!(
            in_table_as_in_score(&answers, "aspect_mean"),
            [("x".to_owned(), 3.0)]
        );
        let compared = compare(&observed(&answers), &quick());
        let metric = compared
            .metrics
            .iter()
            .find(|table| table.metric.name == "aspect_mean");
        assert_eq!(metric.unwrap().systems[0].mean, Some(3.0));
    }

    #[test]
    fn the_difference_of_aspect_means_is_that_of_the_numbers_also_where_grades_are_missing() {
        let grades = |system, case, coverage, relevance| {
            let parts = [("coverage", Some(coverage)), ("relevance", relevance)];
            scored("prometheus", [system, case], ComponentKind::Aspect, &parts)
        };
        // By complete answers a has 3 and b 2; over all grades a has (2 + 3) / 2 and b (7/2 + 2) / 2.
        let mut answers = Vec::new();
        for (case, other) in [("1", "3"), ("2", "4")] {
            answers.push(grades("a", case, 3.0, Some(3.0)));
            answers.push(grades("b", case, 2.0, Some(2.0)));
            answers.push(grades("a", other, 1.0, None));
            answers.push(grades("b", other, 5.0, None));
        }
        let all = observed(&answers);
        let compared = compare(&all, &quick());
        let metric = compared
            .metrics
            .iter()
            .find(|table| table.metric.name == "aspect_mean");
        let metric = metric.unwrap();
        let means: Vec<_> = metric
            .systems
            .iter()
            .map(|system| (&*system.label, system.mean))
            .collect();
        assert_eq!(means, [("b", Some(2.75)), ("a", Some(2.5))]);
        assert!((metric.pairs[0].difference - 0.25).abs() < 1e-12);
        assert_eq!((metric.cases.len(), metric.pairs[0].wins), (4, 2));
    }

    #[test]
    fn systems_that_share_no_grade_are_ordered_by_their_own() {
        let grades = |system, case, grade| {
            let parts = [("coverage", Some(grade)), ("relevance", Some(grade))];
            scored("prometheus", [system, case], ComponentKind::Aspect, &parts)
        };
        let answers = [grades("a", "1", 2.0), grades("b", "2", 4.0)];
        let compared = compare(&observed(&answers), &quick());
        let mut metrics = compared.metrics.iter();
        let metric = metrics
            .find(|table| table.metric.name == "aspect_mean")
            .unwrap();
        let systems = metric.systems.iter();
        let shown: Vec<_> = systems
            .map(|system| (&*system.label, system.mean, system.own_mean))
            .collect();
        assert_eq!(shown, [("b", None, Some(4.0)), ("a", None, Some(2.0))]);
    }

    #[test]
    fn citation_f1_is_that_of_the_means_and_has_no_pairs() {
        let citations = |system, case, precision, recall| {
            let f1 = Some(2.0 * precision * recall / (precision + recall));
            let parts = [
                ("citation_precision", Some(precision)),
                ("citation_recall", Some(recall)),
                ("citation_f1", f1),
            ];
            scored("entailment", [system, case], ComponentKind::Share, &parts)
        };
        let answers = [
            citations("a", "1", 1.0, 0.5),
            citations("a", "2", 0.5, 0.5),
            citations("b", "1", 0.5, 1.0),
            citations("b", "2", 0.5, 1.0),
        ];
        // a: P = 0.75, R = 0.5, F1 = 0.75 / 1.25 = 0.6. b: P = 0.5, R = 1, F1 = 1 / 1.5 = 2/3.
        let means = in_table_as_in_score(&answers, "citation_f1");
        assert_eq!((&*means[0].0, &*means[1].0), ("b", "a"));
        assert!((means[0].1 - 2.0 / 3.0).abs() < 1e-12 && (means[1].1 - 0.6).abs() < 1e-12);
        let names = ["entailment.citation_f1", "citation_f1", "citation_recall"].map(str::to_owned);
        let all = observed(&answers);
        let metrics = compare_named(&all, &names, &quick()).unwrap();
        assert_eq!(metrics.len(), 2, "one column has two names");
        assert!(metrics[0].pairs.is_empty() && !metrics[1].pairs.is_empty());
        assert!(
            metrics[0]
                .systems
                .iter()
                .all(|system| system.letters.is_empty() && system.rank.is_some())
        );
        assert!(compare_named(&all, &["citation_f2".to_owned()], &quick()).is_err());
    }

    #[test]
    fn citation_accuracy_is_over_all_pairs_also_where_another_system_cites_nothing() {
        let answers = [
            cited("a", "1", [8, 0]),
            cited("a", "2", [0, 2]),
            cited("b", "1", [3, 1]),
            cited("b", "2", [0, 0]),
        ];
        // a: 8 of 10 pairs; the mean of its answers' shares is (1 + 0) / 2. b: 3 of 4.
        assert_eq!(
            in_table_as_in_score(&answers, "citation_accuracy"),
            [("a".to_owned(), 0.8), ("b".to_owned(), 0.75)]
        );
        let all = observed(&answers);
        let error = all
            .metrics_named("citation_accuracy")
            .unwrap_err()
            .to_string();
        assert!(error.contains("citation_accuracy_macro"), "{error}");
        let tested = all.tested_for("citation_accuracy").unwrap();
        assert_eq!(all.metrics[tested].metric.name, "citation_accuracy_macro");
    }
}
