//! Numbers of whole sets of answers in tables of systems: each over the cases that the systems share.

use super::shared::{SAME, SharedCases};
use super::{MetricComparison, MetricId, SystemMean};
use crate::analysis::set_number::{SetAnswer, SetNumber};
use crate::analysis::summary::Metric;

/// A number of a system's whole set of answers, such as `citation_f1`, by what each answer gives to it.
#[derive(Debug, Clone, PartialEq)]
pub struct SetTable {
    pub(super) metric: MetricId,
    pub(super) number: SetNumber,
    /// By system, then by case; `None` without an answer.
    pub(super) answers: Vec<Vec<Option<SetAnswer>>>,
}

impl SetTable {
    /// Whether the metric that it stands by has its name, so that both are one column.
    fn is_column_of(&self, metric: &MetricId) -> bool {
        self.metric.name == metric.name
    }

    /// The number of a system, over the cases that these systems share.
    fn over_shared(&self, system: usize, shared: &SharedCases<'_>) -> Metric {
        let systems = &shared.order[..shared.participants];
        let mut answers = Vec::new();
        for case in &shared.by_id {
            let Some(mut answer) = self.answers[system][*case].clone() else {
                continue;
            };
            for (part, values) in answer.parts.iter_mut().enumerate() {
                if !systems
                    .iter()
                    .all(|other| self.is_shared(*other, *case, part))
                {
                    values.clear();
                }
            }
            answers.push((shared.question_of[*case], answer));
        }
        self.measure(
            &answers
                .iter()
                .map(|(at, own)| (*at, own))
                .collect::<Vec<_>>(),
            shared,
        )
    }

    /// Whether a system has what makes a case count in a part of the number.
    fn is_shared(&self, system: usize, case: usize, part: usize) -> bool {
        let Some(answer) = &self.answers[system][case] else {
            return false;
        };
        let mut values = answer.parts[part].iter();
        !self.number.needs_values() || values.all(|own| own.value().is_some())
    }

    /// The number of a system over all its answers.
    fn over_all(&self, system: usize, shared: &SharedCases<'_>) -> Metric {
        let mut answers = Vec::new();
        for case in &shared.by_id {
            let answer = self.answers[system][*case].as_ref();
            answers.extend(answer.map(|answer| (shared.question_of[*case], answer)));
        }
        self.measure(&answers, shared)
    }

    fn measure(&self, answers: &[(usize, &SetAnswer)], shared: &SharedCases<'_>) -> Metric {
        self.number.measure(answers, shared.bootstrap())
    }
}

impl SharedCases<'_> {
    /// Gives systems the number of their sets in place of the mean over answers, where both are one column.
    pub(super) fn set_means(&self, systems: &mut [SystemMean]) {
        let mut sets = self.table.sets.iter();
        if let Some(set) = sets.find(|set| set.is_column_of(&self.table.metric)) {
            self.measure_set(set, systems);
        }
    }

    /// Replaces means, intervals and ranks by those of a number.
    fn measure_set(&self, set: &SetTable, systems: &mut [SystemMean]) {
        for system in systems.iter_mut().filter(|system| system.mean.is_some()) {
            let over_shared = set.over_shared(system.system, self);
            let over_all = set.over_all(system.system, self);
            (system.mean, system.interval) = (over_shared.estimate, over_shared.interval);
            (system.own_mean, system.own_cases) = (over_all.estimate, over_all.n);
            system.bounds = over_all.bounds;
        }
        let means: Vec<f64> = systems.iter().filter_map(|system| system.mean).collect();
        for system in systems {
            let own = system.mean;
            let higher = own.map(|own| means.iter().filter(|other| **other > own + SAME).count());
            system.rank = higher.map(|higher| 1 + higher);
        }
    }

    /// The comparison by a number that no test is about: means alone, best first.
    pub(super) fn of_set(&self, set: &SetTable, compared: MetricComparison) -> MetricComparison {
        let mut compared = MetricComparison {
            metric: set.metric.clone(),
            ..compared
        };
        (compared.pairs, compared.groups, compared.ranks) = Default::default();
        self.measure_set(set, &mut compared.systems);
        for system in &mut compared.systems {
            system.letters.clear();
        }
        // Systems without a value come last.
        compared.systems.sort_by(|a, b| {
            let mean = |system: &SystemMean| system.mean.unwrap_or(f64::NEG_INFINITY);
            mean(b).total_cmp(&mean(a))
        });
        compared
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::analysis::comparison::compare_tests::quick;
    use crate::analysis::comparison::{Observations, RunAnswers, compare, compare_named, observe};
    use crate::analysis::summarize;
    use crate::analysis::summary::AggregateOptions;
    use crate::analysis::test_support::{answer, component};
    use crate::domain::{
        CitedPage, ComponentKind, JudgedStatement, Score, ScoredAnswer, SupportState,
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
        let summary = summarize(answers, &[], AggregateOptions::default());
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
            .find(|own| own.metric.name == "aspect_mean");
        assert_eq!(metric.unwrap().systems[0].mean, Some(3.0));
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
        let found = compare_named(&all, &names, &quick()).unwrap();
        assert_eq!(found.len(), 2, "one column has two names");
        assert!(found[0].pairs.is_empty() && !found[1].pairs.is_empty());
        assert!(
            found[0]
                .systems
                .iter()
                .all(|own| own.letters.is_empty() && own.rank.is_some())
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
