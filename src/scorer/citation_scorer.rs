//! The citation audit as a scorer: no judge, done at once.

use crate::domain::{Answer, ComponentKind, Prediction, Score, TestCase};
use crate::text::citation_markers::citation_ids;

use super::citation::{IndexBase, audit};
use super::measured::measured;
use super::predicted::prediction_of;
use super::{Scorer, Step, Verdicts};

/// The components, in this order; one that the answer's sources or golds do not support is left out.
pub const COMPONENTS: &[(&str, ComponentKind)] = &[
    ("words", ComponentKind::Count),
    ("markers", ComponentKind::Count),
    ("sources", ComponentKind::Count),
    ("dangling", ComponentKind::Count),
    ("unused", ComponentKind::Count),
    ("duplicates", ComponentKind::Count),
    ("cited_sentences", ComponentKind::Share),
    ("valid", ComponentKind::Share),
    ("gold_cited", ComponentKind::Count),
    ("precision", ComponentKind::Share),
    ("recall", ComponentKind::Share),
    ("f1", ComponentKind::Share),
];

/// Audits the citations of an answer; the score is the F1 against gold sources, where there are some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CitationAuditScorer {
    /// Which number means the first source.
    pub index_base: IndexBase,
    /// Whether the input names gold sources at all (see [`names_gold_sources`]). Where it does not, precision, recall and
    /// F1 do not apply: gold answers such as `yes` cite nothing, which is no reason for a 0.
    pub with_gold: bool,
}

impl Default for CitationAuditScorer {
    fn default() -> Self {
        Self { index_base: IndexBase::Zero, with_gold: true }
    }
}

/// True if the prediction's gold names sources: by `gold_ctxs`, or by a marker in the gold answer.
pub fn names_gold_sources(prediction: &Prediction) -> bool {
    let gold = &prediction.gold;
    gold.gold_ctxs.is_some() || gold.answer.as_deref().is_some_and(|answer| !citation_ids(answer).is_empty())
}

impl Scorer for CitationAuditScorer {
    fn name(&self) -> &'static str {
        "citation_audit"
    }

    fn step(&self, _case: &TestCase, answer: &Answer, _verdicts: &Verdicts) -> Step {
        let prediction = prediction_of(answer);
        let found = audit(&prediction, self.index_base);
        let coverage = found.coverage.filter(|_| self.with_gold);
        let count = |count: usize| Some(count as f64);
        let has_sources = !prediction.sources.is_empty();
        let of_sources = |number: usize| count(number).filter(|_| has_sources);
        let values = [
            count(found.words),
            count(found.markers),
            count(found.distinct.len()),
            of_sources(found.dangling.len()),
            of_sources(found.unused.len()),
            count(found.duplicates),
            found.cited_share(),
            found.valid_share().filter(|_| has_sources),
            coverage.map(|coverage| coverage.cited as f64),
            coverage.map(|coverage| coverage.precision),
            coverage.map(|coverage| coverage.recall),
            coverage.map(|coverage| coverage.f1),
        ];
        let value = coverage.map(|coverage| coverage.f1);
        Step::Done(Score { scorer: self.name(), value, components: measured(COMPONENTS, &values), ..Score::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{CaseId, Gold, Source};

    fn components(answer: &Answer) -> Vec<(String, f64)> {
        let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
        let Step::Done(score) = CitationAuditScorer::default().step(&case, answer, &Verdicts::new()) else {
            panic!("asked")
        };
        score.components.into_iter().filter_map(|c| Some((c.name, c.value?))).collect()
    }

    fn names(found: &[(String, f64)]) -> Vec<&str> {
        found.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn without_sources_and_gold_only_what_the_text_tells_is_a_component() {
        let mut answer = Answer::new("mine".into(), CaseId::from("1"), "One [0]. Two.\nReferences:\n[5] x");
        answer.own_bytes = Some("One [0]. Two.".len());
        let found = components(&answer);
        assert_eq!(names(&found), ["words", "markers", "sources", "duplicates", "cited_sentences"]);
        // 2 words, 1 marker, 1 source, 0 duplicates, 1 of 2 sentences: the appended references do not count
        assert_eq!(found.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [2.0, 1.0, 1.0, 0.0, 0.5]);
    }

    #[test]
    fn sources_of_the_prediction_tell_what_dangles() {
        let prediction = Prediction {
            output: Some("One [0, 3].".into()),
            sources: vec![Source::default(); 2],
            ..Prediction::default()
        };
        let mut answer = Answer::new("mine".into(), CaseId::from("1"), "ignored");
        answer.prediction = Some(Arc::new(prediction));
        let found = components(&answer);
        assert_eq!(found.iter().find(|(name, _)| name == "dangling").map(|(_, value)| *value), Some(1.0));
        assert_eq!(found.iter().find(|(name, _)| name == "valid").map(|(_, value)| *value), Some(0.5));
    }

    #[test]
    fn gold_answers_that_cite_nothing_name_no_sources() {
        let of = |answer: &str, gold_ctxs: Option<Vec<String>>| {
            let gold = Gold { answer: Some(answer.to_owned()), gold_ctxs, ..Gold::default() };
            Prediction { output: Some("Yes [0].".into()), gold, ..Prediction::default() }
        };
        assert!(!names_gold_sources(&of("yes", None)) && names_gold_sources(&of("yes [1]", None)));
        assert!(names_gold_sources(&of("yes", Some(vec![]))));
        let id = CaseId::from("1");
        let answer = Answer { prediction: Some(Arc::new(of("yes", None))), ..Answer::new("s".into(), id, "Yes [0].") };
        let scorer = CitationAuditScorer { with_gold: false, ..CitationAuditScorer::default() };
        let step = scorer.step(&TestCase::without_rubric(CaseId::from("1"), "Why?"), &answer, &Verdicts::new());
        let Step::Done(score) = step else { panic!("asked") };
        assert!(score.component("precision").is_none() && score.component("markers").is_some());
    }
}
