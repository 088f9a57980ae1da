//! Citation audit: counts, coverage and dangling markers of an answer, without a judge.
//!
//! Source of precision, recall and F1: `compute_citation_coverage` of ScholarQABench's `citation_correctness_eval.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use scholareval_core::domain::IndexBase;
use scholareval_core::domain::{
    CitedAddress, CitedName, ComponentKind, Mode, Prediction, Role, Score, Unit, citations,
    cited_claims, without_citations_of,
};
use scholareval_core::text::citation_markers::{
    citation_ids, citation_markers, number_markers, without_citations,
};
use scholareval_core::text::punkt::sentences;
use scholareval_core::text::words::word_count;
use scholareval_stats::Prf;

use super::overlap::measured;
use super::predicted::{prediction_of, question_of};
use super::provenance::{address_values, cited_addresses};
use super::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use crate::built_in::built_in_scorer;

/// Cited against gold sources.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GoldCoverage {
    /// Distinct sources cited.
    pub cited: usize,
    /// Shares of the cited sources that are gold, and of the gold sources that are cited.
    pub scores: Prf,
}

/// Result of the audit of one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct CitationAudit {
    /// Citations.
    pub markers: usize,
    /// What they name, each once, in order.
    pub distinct: BTreeSet<CitedName>,
    /// The names without a source; empty if the prediction has no sources at all.
    pub dangling: BTreeSet<CitedName>,
    /// Numbers of sources that are not cited.
    pub unused: Vec<usize>,
    /// Repeated numbers within one marker (`[1, 1]`).
    pub duplicates: usize,
    /// Claims with at least one marker; in compat mode sentences.
    pub cited_sentences: Vec<Range<usize>>,
    /// Claims without a marker; in compat mode sentences.
    pub uncited_sentences: Vec<Range<usize>>,
    /// Words, markers excluded.
    pub words: usize,
    /// Coverage of the gold sources; `None` without gold sources.
    pub coverage: Option<GoldCoverage>,
}

/// Audits the output of a prediction.
///
/// ```
/// use scholareval_core::domain::{Mode, Prediction, Source};
/// use scholareval_scorers::citation::{IndexBase, audit};
/// let prediction = Prediction {
///     output: Some("Lipids help [0]. Proteins do not [0, 7].".into()),
///     sources: vec![Source::default(), Source::default()],
///     ..Prediction::default()
/// };
/// let found = audit(&prediction, IndexBase::Zero, Mode::Default);
/// assert_eq!((found.markers, found.distinct.len(), found.words), (2, 2, 5));
/// let dangling: Vec<_> = found.dangling.iter().filter_map(|name| name.number()).collect();
/// assert_eq!((dangling, found.unused), (vec![7], vec![1]));
/// ```
pub fn audit(prediction: &Prediction, base: IndexBase, mode: Mode) -> CitationAudit {
    let text = prediction.output();
    let markers = names_by_marker(prediction, base, mode);
    let distinct: BTreeSet<CitedName> = markers.iter().flatten().cloned().collect();
    let cited_places: BTreeSet<usize> = distinct
        .iter()
        .filter_map(|name| base.place_of(name.number()?))
        .collect();
    let mut duplicates = 0;
    for names in &markers {
        let distinct_names: BTreeSet<&CitedName> = names.iter().collect();
        duplicates += names.len() - distinct_names.len();
    }
    let (cited_sentences, uncited_sentences) = sentences_by_citation(prediction, base, mode);
    // Markers are not counted: an answer would be longer for citing more.
    let text_of_words = match mode {
        Mode::Default => {
            without_citations_of(text, &citations(text, Some(prediction), number(base)))
        }
        Mode::Compat => without_citations(text),
    };
    CitationAudit {
        markers: markers.len(),
        dangling: dangling(&distinct, prediction.sources.len(), base),
        unused: (0..prediction.sources.len())
            .filter(|place| !cited_places.contains(place))
            .map(|place| base.number_of(place))
            .collect(),
        duplicates,
        distinct,
        cited_sentences,
        uncited_sentences,
        words: word_count(&text_of_words),
        coverage: coverage(prediction, base, mode),
    }
}

/// The number of the first source.
fn number(base: IndexBase) -> u64 {
    u8::from(base).into()
}

/// What each citation names; in compat mode the numbers of each marker that the reference knows.
fn names_by_marker(prediction: &Prediction, base: IndexBase, mode: Mode) -> Vec<Vec<CitedName>> {
    let text = prediction.output();
    if mode == Mode::Compat {
        let markers = number_markers(text).into_iter();
        return markers
            .map(|marker| marker.numbers.into_iter().map(CitedName::Number).collect())
            .collect();
    }
    let citations = citations(text, Some(prediction), number(base)).into_iter();
    // Author and year that lead to no source are text.
    citations
        .map(|citation| citation.names)
        .filter(|names| !names.is_empty())
        .collect()
}

/// The sentences with and without a marker.
fn sentences_by_citation(
    prediction: &Prediction,
    base: IndexBase,
    mode: Mode,
) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let text = prediction.output();
    if mode == Mode::Compat {
        let sentences = sentences(text).into_iter();
        return sentences.partition(|sentence| !number_markers(&text[sentence.clone()]).is_empty());
    }
    let (mut cited, mut uncited) = (Vec::new(), Vec::new());
    for claim in cited_claims(text, Some(prediction), number(base)) {
        let is_cited = claim.names().next().is_some();
        let list = if is_cited { &mut cited } else { &mut uncited };
        list.push(claim.range);
    }
    (cited, uncited)
}

/// What is cited without being a source. An answer without any sources has none: its input does not list them.
fn dangling(
    distinct: &BTreeSet<CitedName>,
    source_count: usize,
    base: IndexBase,
) -> BTreeSet<CitedName> {
    let mut dangling = BTreeSet::new();
    if source_count == 0 {
        return dangling;
    }
    for name in distinct {
        let place = name.number().and_then(|number| base.place_of(number));
        if place.is_none_or(|place| place >= source_count) {
            dangling.insert(name.clone());
        }
    }
    dangling
}

/// Coverage of the gold sources: `gold_ctxs` if given, compared with the cited numbers mapped by `id_mapping` (unmapped
/// numbers do not count), else the markers of the gold answer. `None` without either.
pub fn coverage(prediction: &Prediction, base: IndexBase, mode: Mode) -> Option<GoldCoverage> {
    let cited = cited_ids(prediction, base, mode);
    let (cited, gold): (BTreeSet<String>, BTreeSet<String>) = match &prediction.gold.gold_ctxs {
        Some(ids) => match &prediction.id_mapping {
            Some(mapping) => (
                cited.iter().filter_map(|id| mapped(id, mapping)).collect(),
                ids.iter().cloned().collect(),
            ),
            None => (
                cited.iter().map(|id| bare(id)).collect(),
                ids.iter().map(|id| bare(id)).collect(),
            ),
        },
        None => {
            let gold = Prediction {
                output: Some(prediction.gold.answer.as_deref()?.into()),
                ..Prediction::default()
            };
            (cited, cited_ids(&gold, base, mode))
        }
    };
    let both = cited.intersection(&gold).count() as f64;
    Some(GoldCoverage {
        cited: cited.len(),
        scores: Prf::of(both, cited.len() as f64, gold.len() as f64),
    })
}

/// The distinct sources that an output names, each as a separate marker.
pub(super) fn cited_ids(prediction: &Prediction, base: IndexBase, mode: Mode) -> BTreeSet<String> {
    if mode == Mode::Compat {
        return citation_ids(prediction.output()).into_iter().collect();
    }
    let names = names_by_marker(prediction, base, mode)
        .into_iter()
        .flatten();
    names.map(|name| format!("[{name}]")).collect()
}

/// The number of a marker.
fn bare(id: &str) -> String {
    id.trim_matches(['[', ']']).to_owned()
}

fn mapped(id: &str, mapping: &BTreeMap<String, String>) -> Option<String> {
    mapping
        .get(id.trim_matches(['[', ']']))
        .or_else(|| mapping.get(id))
        .cloned()
}

/// The components, in this order. Components without the sources or gold answers they need are omitted.
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
    ("gold_precision", ComponentKind::Share),
    ("gold_recall", ComponentKind::Share),
    ("gold_f1", ComponentKind::Share),
    ("traced", ComponentKind::Share),
    ("retrieved", ComponentKind::Share),
    ("searched_only", ComponentKind::Share),
    ("not_retrieved", ComponentKind::Share),
    ("origin_unknown", ComponentKind::Share),
    ("fetch_failed", ComponentKind::Share),
];

/// Those about [cited addresses](super::provenance). An answer that cites none has none of them, and one without a trace only the
/// first.
const OF_ADDRESSES: [&str; 6] = [
    "traced",
    "retrieved",
    "searched_only",
    "not_retrieved",
    "origin_unknown",
    "fetch_failed",
];

/// The scorer that audits citations.
pub static CITATION_AUDIT: ScorerInfo = ScorerInfo {
    name: "citation_audit",
    help: "Citations as far as they can be checked without a judge",
    roles: ScorerRoles::None,
    needs: InputNeed::SourcesOrGold,
    unit: Unit::Share,
    score_name: None,
    headline: &["gold_f1", "valid", "retrieved"],
    binary: &["traced"],
    means_named: &[],
    optional: &OF_ADDRESSES,
    directions: &[
        ("searched_only", false),
        ("not_retrieved", false),
        ("origin_unknown", false),
        ("fetch_failed", false),
    ],
    reference: ScorerReference::QaBench,
    make: |new| {
        let mut predictions = new
            .items
            .iter()
            .filter_map(|item| item.answer.prediction.as_deref());
        let with_gold = new.mode == Mode::Compat || predictions.any(names_gold_sources);
        Arc::new(CitationAuditScorer {
            index_base: new.options.markers.index_base,
            with_gold,
            mode: new.mode,
        })
    },
    restore: |recorded| {
        Ok(Arc::new(CitationAuditScorer {
            mode: recorded.mode,
            ..recorded.scorer()?
        }))
    },
};

/// How markers in answers are read, by every scorer that reads them.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct MarkerOptions {
    /// Number of the first source
    #[arg(
        long,
        value_name = "0|1",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub index_base: IndexBase,
}

/// Audits the citations of an answer; the score is the F1 against the gold sources, if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitationAuditScorer {
    /// Which number means the first source.
    pub index_base: IndexBase,
    /// Whether any input names gold sources (see [`names_gold_sources`]). If none does, precision, recall and F1 do not
    /// apply: a gold answer such as `yes` cites nothing, which must not count as 0.
    pub with_gold: bool,
    /// Scoring rules.
    #[serde(skip)]
    pub mode: Mode,
}

impl Default for CitationAuditScorer {
    fn default() -> Self {
        Self {
            index_base: IndexBase::Zero,
            with_gold: true,
            mode: Mode::Default,
        }
    }
}

/// Whether the prediction names gold sources, in `gold_ctxs` or by a marker in the gold answer.
pub fn names_gold_sources(prediction: &Prediction) -> bool {
    let gold = &prediction.gold;
    gold.gold_ctxs.is_some()
        || gold
            .answer
            .as_deref()
            .is_some_and(|answer| !citation_markers(answer).is_empty())
}

impl Scorer for CitationAuditScorer {
    built_in_scorer!(CITATION_AUDIT, []);

    fn step(&self, subject: &Subject<'_>, _verdicts: &Verdicts) -> Step {
        let prediction = prediction_of(subject.answer);
        let citations = audit(&prediction, self.index_base, self.mode);
        let coverage = citations.coverage.filter(|_| self.with_gold);
        let has_sources = !prediction.sources.is_empty();
        let cited = citations.cited_sentences.len();
        let distinct = citations.distinct.len();
        let valid = distinct - citations.dangling.len();
        let addresses = self.addresses(subject, &prediction);
        let has_trace = subject.answer.trace.is_some();
        let mut values = vec![
            Some(citations.words as f64),
            Some(citations.markers as f64),
            Some(distinct as f64),
            has_sources.then_some(citations.dangling.len() as f64),
            has_sources.then_some(citations.unused.len() as f64),
            Some(citations.duplicates as f64),
            share(cited, cited + citations.uncited_sentences.len()),
            share(valid, distinct).filter(|_| has_sources),
            coverage.map(|coverage| coverage.cited as f64),
            coverage.map(|coverage| coverage.scores.precision),
            coverage.map(|coverage| coverage.scores.recall),
            coverage.map(|coverage| coverage.scores.f1),
        ];
        values.extend(address_values(&addresses, has_trace));
        let value = coverage.map(|coverage| coverage.scores.f1);
        Step::Done(Score {
            scorer: CITATION_AUDIT.name.into(),
            value,
            components: measured(COMPONENTS, &values),
            addresses,
            ..Score::default()
        })
    }
}

impl CitationAuditScorer {
    /// The addresses that the answer cites; the reference looks at none.
    fn addresses(&self, subject: &Subject<'_>, prediction: &Prediction) -> Vec<CitedAddress> {
        if self.mode == Mode::Compat {
            return Vec::new();
        }
        let question = question_of(subject.case, prediction);
        let trace = subject.answer.trace.as_deref();
        cited_addresses(prediction, question, trace, self.index_base)
    }
}

/// part / all; `None` if there is nothing to take a share of.
fn share(part: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use scholareval_core::domain::{Answer, CaseId, Gold, Source, TestCase};

    fn prediction(output: &str, sources: usize) -> Prediction {
        Prediction {
            output: Some(output.into()),
            sources: vec![Source::default(); sources],
            ..Default::default()
        }
    }

    fn numbers(of: &[u64]) -> BTreeSet<CitedName> {
        of.iter().copied().map(CitedName::Number).collect()
    }

    fn against(output: &str, gold: Gold, mapping: &[(&str, &str)]) -> GoldCoverage {
        let id_mapping = mapping
            .iter()
            .map(|(number, id)| ((*number).to_owned(), (*id).to_owned()))
            .collect();
        let id_mapping = (!mapping.is_empty()).then_some(id_mapping);
        coverage(
            &Prediction {
                gold,
                id_mapping,
                ..prediction(output, 0)
            },
            IndexBase::Zero,
            Mode::Default,
        )
        .unwrap()
    }

    #[test]
    fn the_index_base_decides_what_dangles_and_what_is_unused() {
        let answer = prediction("One [1]. Two [2, 2] [0].", 2);
        let zero = audit(&answer, IndexBase::Zero, Mode::Default);
        assert_eq!(
            (zero.dangling.clone(), zero.unused.clone()),
            (numbers(&[2]), vec![])
        );
        let from_one = audit(&answer, IndexBase::One, Mode::Default);
        assert_eq!(
            (from_one.dangling.clone(), from_one.unused.clone()),
            (numbers(&[0]), vec![])
        );
        assert_eq!(
            (zero.markers, zero.distinct.len(), zero.duplicates),
            (3, 3, 1)
        );
        assert_eq!(
            audit(&prediction("Two [2].", 2), IndexBase::One, Mode::Default).unused,
            [1]
        );
    }

    #[test]
    fn without_sources_nothing_dangles() {
        assert!(
            audit(&prediction("One [1].", 0), IndexBase::Zero, Mode::Default)
                .dangling
                .is_empty()
        );
    }

    #[test]
    fn sentences_with_and_without_markers_are_separated() {
        let citations = audit(
            &prediction("It works [0]. It scales. Done [1].", 2),
            IndexBase::Zero,
            Mode::Default,
        );
        assert_eq!(
            (
                citations.cited_sentences.len(),
                citations.uncited_sentences.len(),
                citations.words
            ),
            (2, 1, 5)
        );
    }

    #[test]
    fn every_form_of_markers_counts_and_items_are_sentences_by_default() {
        let text = "It works.[0-1] It scales.\n- Fast [1; 4]\n- Small【1，1】";
        let audit_in = |mode| audit(&prediction(text, 3), IndexBase::Zero, mode);
        let ours = audit_in(Mode::Default);
        // It works, Fast and Small cite, It scales does not; 0, 1 and 4, which is dangling; 1 twice in one marker.
        let sentences = (ours.cited_sentences.len(), ours.uncited_sentences.len());
        assert_eq!((ours.markers, sentences, ours.duplicates), (3, (3, 1), 1));
        assert_eq!(
            (ours.distinct, ours.dangling),
            (numbers(&[0, 1, 4]), numbers(&[4]))
        );
        // It works. It scales. - Fast - Small
        assert_eq!((ours.words, ours.unused), (8, vec![2]));
        let theirs = audit_in(Mode::Compat);
        assert_eq!(
            (theirs.markers, theirs.cited_sentences.len(), theirs.words),
            (0, 0, 10)
        );
    }

    #[test]
    fn cited_sources_are_compared_with_mapped_gold_ids() {
        // cited 0, 1, 9; 9 maps to nothing: {a, b}; gold {b, c}: P 1/2, R 1/2, F1 1/2
        let gold = Gold {
            gold_ctxs: Some(vec!["b".into(), "c".into()]),
            ..Gold::default()
        };
        let gold_coverage = against("x [0, 1] [9]", gold, &[("0", "a"), ("1", "b")]);
        assert_eq!(
            (
                gold_coverage.cited,
                gold_coverage.scores.precision,
                gold_coverage.scores.recall,
                gold_coverage.scores.f1
            ),
            (2, 0.5, 0.5, 0.5)
        );
    }

    #[test]
    fn without_gold_ids_the_markers_of_the_answer_are_gold() {
        // cited {2, 5}, gold {6, 2, 5}: P 1, R 2/3, F1 2 * 2/3 / (5/3) = 0.8
        let gold = Gold {
            answer: Some("gold [6, 2] gold [5, 5]".into()),
            ..Gold::default()
        };
        let gold_coverage = against("text [2] text [5]", gold, &[]);
        assert_eq!(
            (gold_coverage.scores.precision, gold_coverage.scores.recall),
            (1.0, 2.0 / 3.0)
        );
        assert!((gold_coverage.scores.f1 - 0.8).abs() < 1e-12);
        assert_eq!(
            coverage(&prediction("x [1]", 0), IndexBase::Zero, Mode::Default),
            None
        );
    }

    proptest! {
        #[test]
        fn shares_are_shares_order_does_not_matter_and_a_text_covers_itself(
            cited in prop::collection::vec(0..9_u8, 0..9), gold in prop::collection::vec(0..9_u8, 0..9)
        ) {
            let text = |numbers: &[u8]| numbers.iter().map(|n| format!("t [{n}]. ")).collect::<String>();
            let of = |output: String, answer: String| against(&output, Gold { answer: Some(answer), ..Gold::default() }, &[]);
            let gold_coverage = of(text(&cited), text(&gold));
            for share in [gold_coverage.scores.precision, gold_coverage.scores.recall, gold_coverage.scores.f1] {
                prop_assert!((0.0..=1.0).contains(&share));
            }
            let turned: Vec<u8> = cited.iter().rev().copied().collect();
            prop_assert_eq!(of(text(&turned), text(&gold)), gold_coverage);
            let f1_of_equal = of(text(&cited), text(&cited)).scores.f1;
            prop_assert_eq!(f1_of_equal, if cited.is_empty() { 0.0 } else { 1.0 });
        }

        #[test]
        fn no_text_makes_the_audit_panic(output in "([\\[\\],. 0-9]|\\PC){0,60}", sources in 0..4_usize) {
            let citations = audit(&prediction(&output, sources), IndexBase::One, Mode::Default);
            prop_assert!(citations.dangling.len() <= citations.distinct.len());
        }
    }

    fn components(answer: &Answer) -> Vec<(String, f64)> {
        let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
        let Step::Done(score) =
            CitationAuditScorer::default().step(&Subject::new(&case, answer), &Verdicts::new())
        else {
            panic!("asked")
        };
        score
            .components
            .into_iter()
            .filter_map(|c| Some((c.name.to_string(), c.value?)))
            .collect()
    }

    fn names(components: &[(String, f64)]) -> Vec<&str> {
        components.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn without_sources_and_gold_only_the_text_gives_components() {
        let mut answer = Answer::new(
            "mine".into(),
            CaseId::from("1"),
            "One [0]. Two.\nReferences:\n[5] x",
        );
        answer.own_bytes = Some("One [0]. Two.".len());
        let components = components(&answer);
        assert_eq!(
            names(&components),
            [
                "words",
                "markers",
                "sources",
                "duplicates",
                "cited_sentences"
            ]
        );
        // 2 words, 1 marker, 1 source, 0 duplicates, 1 of 2 sentences: the appended references do not count
        assert_eq!(
            components
                .iter()
                .map(|(_, value)| *value)
                .collect::<Vec<_>>(),
            [2.0, 1.0, 1.0, 0.0, 0.5]
        );
    }

    #[test]
    fn sources_of_the_prediction_decide_what_dangles() {
        let prediction = Prediction {
            output: Some("One [0, 3].".into()),
            sources: vec![Source::default(); 2],
            ..Prediction::default()
        };
        let mut answer = Answer::new("mine".into(), CaseId::from("1"), "ignored");
        answer.prediction = Some(Arc::new(prediction));
        let components = components(&answer);
        assert_eq!(
            components
                .iter()
                .find(|(name, _)| name == "dangling")
                .map(|(_, value)| *value),
            Some(1.0)
        );
        assert_eq!(
            components
                .iter()
                .find(|(name, _)| name == "valid")
                .map(|(_, value)| *value),
            Some(0.5)
        );
    }

    #[test]
    fn gold_answers_that_cite_nothing_name_no_sources() {
        let of = |answer: &str, gold_ctxs: Option<Vec<String>>| {
            let gold = Gold {
                answer: Some(answer.to_owned()),
                gold_ctxs,
                ..Gold::default()
            };
            Prediction {
                output: Some("Yes [0].".into()),
                gold,
                ..Prediction::default()
            }
        };
        assert!(!names_gold_sources(&of("yes", None)) && names_gold_sources(&of("yes [1]", None)));
        assert!(names_gold_sources(&of("yes", Some(vec![]))));
        let id = CaseId::from("1");
        let answer = Answer {
            prediction: Some(Arc::new(of("yes", None))),
            ..Answer::new("s".into(), id, "Yes [0].")
        };
        let scorer = CitationAuditScorer {
            with_gold: false,
            ..CitationAuditScorer::default()
        };
        let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
        let step = scorer.step(&Subject::new(&case, &answer), &Verdicts::new());
        let Step::Done(score) = step else {
            panic!("asked")
        };
        assert!(score.component("precision").is_none() && score.component("markers").is_some());
    }
}
