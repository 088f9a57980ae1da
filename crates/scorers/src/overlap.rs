//! Overlap of an output with its gold answers, without a judge: short answers and ROUGE.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use scholareval_core::domain::{Component, ComponentKind, Mode, Prediction, Role, Score, Unit};
use scholareval_core::text::citation_markers::{cut_markers, without_citations};
use scholareval_core::text::stems::Stems;
use scholareval_core::text::words::{word_count, words};

use super::answer_match::{exact_match, matches, str_em, token_f1};
use super::predicted::prediction_of;
use super::rouge::{rouge_best, rouge_tokens};
use super::{InputNeed, Scorer, ScorerInfo, ScorerReference, ScorerRoles, Step, Subject, Verdicts};
use crate::built_in::built_in_scorer;

/// The components, in this order; those without gold are omitted. All shares are 0..=1.
pub const COMPONENTS: [(&str, ComponentKind); 9] = [
    ("words", ComponentKind::Count),
    ("match", ComponentKind::Share),
    ("exact_match", ComponentKind::Share),
    ("token_f1", ComponentKind::Share),
    ("str_em", ComponentKind::Share),
    ("str_hit", ComponentKind::Share),
    ("rouge_1", ComponentKind::Share),
    ("rouge_2", ComponentKind::Share),
    ("rouge_l", ComponentKind::Share),
];

/// References for ROUGE: the long answers, else the gold answer.
pub fn rouge_references(prediction: &Prediction) -> Vec<&str> {
    let gold = &prediction.gold;
    if gold.long_answers.is_empty() {
        return gold.answer.as_deref().into_iter().collect();
    }
    gold.long_answers.iter().map(String::as_str).collect()
}

/// The text up to the end of word number `limit`.
///
/// ```
/// assert_eq!(scholareval_scorers::overlap::first_words("one  two three ", 2), "one  two");
/// ```
pub fn first_words(text: &str, limit: usize) -> &str {
    match words(text).take(limit).last() {
        // Words are slices of the text, so the address of the last one gives its end.
        Some(last) => {
            let end = (last.as_ptr() as usize).saturating_sub(text.as_ptr() as usize) + last.len();
            text.get(..end).unwrap_or(text)
        }
        None => "",
    }
}

/// The measures of an output without citation markers, in the order of [`COMPONENTS`]; `None` without gold.
pub fn overlap(
    prediction: &Prediction,
    output: &str,
    mode: Mode,
    stems: &Stems,
) -> [Option<f64>; 9] {
    let answer = prediction.gold.answer.as_deref();
    // The reference removes markers here once more, and only here from the gold answer.
    let is_match = answer.and_then(|answer| {
        let (answer, output) = (unmarked(answer, mode), unmarked(output, mode));
        matches(&answer, &output, mode)
    });
    let str_em_share = str_em(&prediction.gold.short_answers, output, mode);
    let rouge = rouge_best(&rouge_references(prediction), output, mode, stems);
    let rouge = rouge.map(|(_, scores)| scores);
    [
        Some(word_count(output) as f64),
        is_match.map(as_number),
        answer.map(|answer| as_number(exact_match(answer, output))),
        answer.map(|answer| token_f1(answer, output)),
        str_em_share,
        str_em_share.map(|share| as_number(share >= 1.0)),
        rouge.map(|scores| scores.rouge_1.f1),
        rouge.map(|scores| scores.rouge_2.f1),
        rouge.map(|scores| scores.rouge_l.f1),
    ]
}

/// The text without citation markers.
fn unmarked(text: &str, mode: Mode) -> String {
    match mode {
        Mode::Default => cut_markers(text),
        Mode::Compat => without_citations(text),
    }
}

/// 1 if it holds, else 0.
fn as_number(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// The components that have a value. The others do not apply and are omitted, rather than unscored.
pub(super) fn measured(names: &[(&str, ComponentKind)], values: &[Option<f64>]) -> Vec<Component> {
    let present = names
        .iter()
        .zip(values)
        .filter_map(|((name, kind), value)| Some((name, kind, (*value)?)));
    present
        .map(|(name, kind, value)| Component::new(name, *kind).with(Ok((value, None))))
        .collect()
}

/// A shared cache, since words repeat across answers.
static STEMS: LazyLock<Stems> = LazyLock::new(Stems::default);

/// The scorer by overlap with gold answers.
pub static OVERLAP: ScorerInfo = ScorerInfo {
    name: "overlap",
    help: "Short answers and ROUGE against gold answers",
    roles: ScorerRoles::None,
    needs: InputNeed::GoldAnswers,
    unit: Unit::Share,
    score_name: None,
    headline: &["rouge_l", "str_em", "match"],
    binary: &["match", "exact_match", "str_hit"],
    means_named: &[],
    optional: &[],
    directions: &[],
    reference: ScorerReference::QaBench,
    make: |new| {
        Arc::new(OverlapScorer {
            mode: new.mode,
            max_words: new.options.overlap.max_words.map(NonZeroUsize::get),
        })
    },
    restore: |recorded| {
        Ok(Arc::new(OverlapScorer {
            mode: recorded.mode,
            ..recorded.scorer()?
        }))
    },
};

/// Options of the scorer.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Scorers")]
pub struct OverlapOptions {
    /// Compare only the first N words of an output with its gold answers [default: all]
    #[arg(long, value_name = "N")]
    pub max_words: Option<NonZeroUsize>,
}

/// Compares an answer with its gold answers. Returns components only; the benchmark decides which of them is the score.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverlapScorer {
    /// Scoring rules.
    #[serde(skip)]
    pub mode: Mode,
    /// The output is cut after this many words.
    pub max_words: Option<usize>,
}

impl OverlapScorer {
    /// The output as it is measured: without markers, so that citing more makes no answer longer, and then cut.
    fn measured_output(&self, prediction: &Prediction) -> String {
        let output = unmarked(prediction.output(), self.mode);
        match self.max_words {
            Some(limit) => first_words(&output, limit).to_owned(),
            None => output,
        }
    }

    /// A note if ROUGE is 0 because a text has no tokens.
    fn tokenless(&self, references: &[&str], output: &str) -> Option<String> {
        let mut texts = references.iter().chain([&output]);
        let has_tokenless = texts.any(|text| {
            !text.trim().is_empty() && rouge_tokens(text, self.mode, &STEMS).is_empty()
        });
        let why = match self.mode {
            Mode::Default => "letter or number",
            Mode::Compat => "word in a-z or 0-9, as the reference wants",
        };
        let has_gold = !references.is_empty();
        (has_gold && has_tokenless).then(|| format!("ROUGE is 0 for texts without a {why}"))
    }
}

impl Scorer for OverlapScorer {
    built_in_scorer!(OVERLAP, []);

    fn step(&self, subject: &Subject<'_>, _verdicts: &Verdicts) -> Step {
        let prediction = prediction_of(subject.answer);
        let output = self.measured_output(&prediction);
        let values = overlap(&prediction, &output, self.mode, &STEMS);
        let note = self.tokenless(&rouge_references(&prediction), &output);
        Step::Done(Score {
            scorer: OVERLAP.name.into(),
            components: measured(&COMPONENTS, &values),
            notes: note.into_iter().collect(),
            ..Score::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use scholareval_core::domain::{Answer, CaseId, Gold, TestCase};

    fn components(scorer: &OverlapScorer, output: &str, gold: Gold) -> Vec<(String, Option<f64>)> {
        let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
        let prediction = Prediction {
            output: Some(output.into()),
            gold,
            ..Prediction::default()
        };
        let mut answer = Answer::new("mine".into(), CaseId::from("1"), output);
        answer.prediction = Some(Arc::new(prediction));
        let Step::Done(score) = scorer.step(&Subject::new(&case, &answer), &Verdicts::new()) else {
            panic!("asked")
        };
        score
            .components
            .into_iter()
            .map(|c| (c.name.to_string(), c.value))
            .collect()
    }

    /// The value of one component.
    fn value(name: &str, output: &str, gold: Gold, mode: Mode) -> Option<f64> {
        let scorer = OverlapScorer {
            mode,
            ..OverlapScorer::default()
        };
        components(&scorer, output, gold)
            .into_iter()
            .find(|(other, _)| other == name)?
            .1
    }

    fn answer(text: &str) -> Gold {
        Gold {
            answer: Some(text.to_owned()),
            ..Gold::default()
        }
    }

    #[test]
    fn gold_is_matched_as_whole_words_and_in_compat_anywhere() {
        assert_eq!(
            value("match", "It is known [1].", answer("no"), Mode::Default),
            Some(0.0)
        );
        assert_eq!(
            value("match", "It is known [1].", answer("no"), Mode::Compat),
            Some(1.0)
        );
        assert_eq!(
            value(
                "match",
                "Yes [1], it is.",
                answer("yes, IT [3]"),
                Mode::Default
            ),
            Some(1.0)
        );
    }

    #[test]
    fn only_what_has_gold_is_a_component() {
        let all = OverlapScorer::default();
        let names: Vec<String> = components(&all, "a", answer("b"))
            .into_iter()
            .map(|c| c.0)
            .collect();
        assert_eq!(
            names,
            [
                "words",
                "match",
                "exact_match",
                "token_f1",
                "rouge_1",
                "rouge_2",
                "rouge_l"
            ]
        );
        assert_eq!(
            components(&all, "a b [1] .", Gold::default()),
            [("words".to_owned(), Some(2.0))]
        );
    }

    #[test]
    fn markers_of_outputs_do_not_count_and_those_of_gold_answers_do() {
        // The reference removes `[0]` and `[1, 2]` only. Tokens "true 01" against "true": p 1/2, r 1, F1 2/3.
        for (output, default, compat) in [
            ("true [0]", [1.0, 1.0], [1.0, 1.0]),
            ("True [0, 2] .", [1.0, 1.0], [1.0, 1.0]),
            ("true [0-1].", [1.0, 1.0], [0.0, 2.0 / 3.0]),
            ("true【0】", [1.0, 1.0], [0.0, 0.0]),
        ] {
            for (mode, expected) in [(Mode::Default, default), (Mode::Compat, compat)] {
                let of = |name| value(name, output, answer("true"), mode).unwrap();
                let values = [of("exact_match"), of("token_f1")];
                assert_eq!(values, expected, "{output} {mode:?}");
            }
        }
        for mode in [Mode::Default, Mode::Compat] {
            assert_eq!(
                value("exact_match", "a [0]", answer("a [0]"), mode),
                Some(0.0)
            );
            // "red fish" and "red fish 1": 2 shared, p 2/2, r 2/3, F1 0.8.
            let gold = || answer("red fish 1");
            assert_eq!(value("rouge_1", "Red fish [1].", gold(), mode), Some(0.8));
            assert_eq!(value("words", "Red fish [1] .", gold(), mode), Some(2.0));
        }
        // Spaces that no marker stands before are kept by default: "level 05" is not "level05".
        let equal = |mode| value("exact_match", "level .05 [1]", answer("level .05"), mode);
        assert_eq!(
            (equal(Mode::Default), equal(Mode::Compat)),
            (Some(1.0), Some(0.0))
        );
    }

    #[test]
    fn rouge_of_a_text_without_tokens_has_a_note() {
        let notes = |output: &str, gold: Gold, mode| {
            let case = TestCase::without_rubric(CaseId::from("1"), "Why?");
            let prediction = Prediction {
                output: Some(output.into()),
                gold,
                ..Prediction::default()
            };
            let mut answer = Answer::new("mine".into(), CaseId::from("1"), output);
            answer.prediction = Some(Arc::new(prediction));
            let scorer = OverlapScorer {
                mode,
                ..OverlapScorer::default()
            };
            match scorer.step(&Subject::new(&case, &answer), &Verdicts::new()) {
                Step::Done(score) => score.notes.len(),
                Step::Ask(calls) => panic!("{calls:?}"),
            }
        };
        for (output, gold, expected) in [
            ("北京", "北京", [0, 1]),
            ("Beijing [1]", "北京", [0, 1]),
            ("in 北京", "in 北京", [0, 0]),
            ("…", "…", [1, 1]),
            ("", "yes", [0, 0]),
        ] {
            let counts =
                [Mode::Default, Mode::Compat].map(|mode| notes(output, answer(gold), mode));
            assert_eq!(counts, expected, "{output}");
        }
        assert_eq!(notes("北京", Gold::default(), Mode::Compat), 0, "no gold");
    }

    #[test]
    fn long_answers_are_references_before_the_gold_answer() {
        let gold = Gold {
            long_answers: vec!["red fish".into(), "blue fish".into()],
            ..answer("zzz")
        };
        // blue fish is the output: F 1
        assert_eq!(
            value("rouge_2", "Blue fish.", gold, Mode::Default),
            Some(1.0)
        );
        assert_eq!(
            value("rouge_1", "zzz", answer("zzz"), Mode::Default),
            Some(1.0)
        );
        assert_eq!(
            value("rouge_2", "zzz", answer("zzz"), Mode::Default),
            Some(0.0)
        );
    }

    #[test]
    fn short_answers_count_by_set() {
        let gold = || Gold {
            short_answers: vec![vec!["cat".into()], vec!["dog".into()]],
            ..Gold::default()
        };
        assert_eq!(
            value("str_em", "The cat.", gold(), Mode::Default),
            Some(0.5)
        );
        assert_eq!(
            value("str_hit", "The cat.", gold(), Mode::Default),
            Some(0.0)
        );
    }

    #[test]
    fn the_output_is_cut_after_its_first_words() {
        let cut = OverlapScorer {
            max_words: Some(2),
            ..Default::default()
        };
        let expected = [
            ("words".to_owned(), Some(2.0)),
            ("match".to_owned(), Some(0.0)),
        ];
        assert_eq!(
            components(&cut, "one [1] two [2] yes", answer("yes"))[..2],
            expected
        );
    }

    proptest! {
        #[test]
        fn every_share_is_a_share_and_a_text_equals_itself(output in "\\PC{0,40}", gold in "\\PC{0,40}") {
            for (name, value) in components(&OverlapScorer::default(), &output, answer(&gold)) {
                prop_assert!(name == "words" || value.is_some_and(|value| (0.0..=1.0).contains(&value)));
            }
            let value_of_equal = |name| value(name, &output, answer(&cut_markers(&output)), Mode::Default);
            prop_assert_eq!((value_of_equal("exact_match"), value_of_equal("token_f1")), (Some(1.0), Some(1.0)));
        }

        #[test]
        fn first_words_are_a_prefix_of_so_many_words(text in "([a-z \\n]|\\PC){0,30}", limit in 0..6_usize) {
            let cut = first_words(&text, limit);
            prop_assert!(text.starts_with(cut) && word_count(cut) == limit.min(word_count(&text)));
        }
    }
}
