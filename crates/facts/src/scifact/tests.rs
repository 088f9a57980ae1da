use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::super::claims::EntryId;
use super::super::scifact_modules::{
    PredictedLabels, Rationales, score_labels, score_rationales, score_retrieval,
};
use super::*;
use crate::claims::{ClaimLine, FromLine};

fn file<T>(lines: Vec<(i64, T)>) -> ClaimFile<T> {
    let line = |(at, (id, value)): (usize, (i64, T))| ClaimLine {
        id: EntryId::Number(id),
        line: at + 1,
        value,
    };
    ClaimFile {
        path: PathBuf::from("f"),
        lines: lines.into_iter().enumerate().map(line).collect(),
    }
}

fn claim(evidence: &[(i64, EvidenceLabel, &[&[u32]])]) -> GoldClaim {
    let gold = |(doc_id, label, rationales): &(i64, EvidenceLabel, &[&[u32]])| {
        let rationales = rationales
            .iter()
            .map(|sentences| sentences.to_vec())
            .collect();
        (
            DocId::Number(*doc_id),
            Evidence {
                label: *label,
                rationales,
            },
        )
    };
    GoldClaim {
        text: String::new(),
        evidence: evidence.iter().map(gold).collect(),
    }
}

fn prediction(evidence: &[(i64, EvidenceLabel, &[u32])]) -> ClaimPrediction {
    let predicted_abstract = |(doc_id, label, sentences): &(i64, EvidenceLabel, &[u32])| {
        (
            DocId::Number(*doc_id),
            PredictedAbstract {
                label: *label,
                sentences: sentences.to_vec(),
            },
        )
    };
    ClaimPrediction {
        evidence: evidence.iter().map(predicted_abstract).collect(),
        undecided: 0,
    }
}

/// The counts by name.
fn counts(counts: &[Counts], names: [&str; 3]) -> [f64; 3] {
    let sums = sums(counts);
    names.map(|name| sums[COUNTS.iter().position(|count| *count == name).unwrap()])
}

fn is_refused(
    claims: &ClaimFile<GoldClaim>,
    predictions: &ClaimFile<ClaimPrediction>,
    cap: SentenceCap,
) -> bool {
    score(claims, predictions, cap, Mode::Compat).is_err()
}

const CAPS: [SentenceCap; 2] = [SentenceCap::Three, SentenceCap::ShortestRationale];

#[test]
fn a_claim_without_a_prediction_counts_in_recall_and_compat_forgets_it() {
    let claim_of = |doc_id| claim(&[(doc_id, EvidenceLabel::Support, &[&[0]])]);
    let claims = file(vec![(1, claim_of(7)), (2, claim_of(8))]);
    let predictions = file(vec![(1, prediction(&[(7, EvidenceLabel::Support, &[0])]))]);
    let recall = |mode| {
        measures(&sums(
            &score(&claims, &predictions, SentenceCap::Three, mode).unwrap(),
        ))[3]
            .recall
    };
    assert_eq!(
        (recall(Mode::Default), recall(Mode::Compat)),
        (1.0 / 2.0, 1.0)
    );
}

#[test]
fn a_prediction_without_a_claim_counts_nowhere() {
    let claims = file(vec![(1, claim(&[(7, EvidenceLabel::Support, &[&[0]])]))]);
    let right = prediction(&[(7, EvidenceLabel::Support, &[0])]);
    let predictions = file(vec![(1, right.clone()), (9, right)]);
    let scored = score(&claims, &predictions, SentenceCap::Three, Mode::Default).unwrap();
    let ones = Prf {
        precision: 1.0,
        recall: 1.0,
        f1: 1.0,
    };
    assert_eq!(
        (measures(&sums(&scored)), predictions.unknown(&claims).len()),
        ([ones; 4], 1)
    );
    assert!(
        CAPS.iter()
            .all(|cap| is_refused(&claims, &predictions, *cap))
    );
}

#[test]
fn a_claim_predicted_twice_counts_twice_in_compat() {
    let claims = file(vec![(1, claim(&[(7, EvidenceLabel::Support, &[&[0]])]))]);
    let predictions = file(vec![
        (1, prediction(&[(7, EvidenceLabel::Support, &[0])])),
        (1, prediction(&[])),
    ]);
    // The gold counts with each: 1 of 1 sentence predicted, 1 of 2 found.
    let scored = score(&claims, &predictions, SentenceCap::Three, Mode::Compat).unwrap();
    assert_eq!(
        counts(
            &scored,
            [
                "sentences_label",
                "sentences_retrieved",
                "sentences_relevant"
            ]
        ),
        [1.0, 1.0, 2.0]
    );
    assert!(is_refused(
        &claims,
        &predictions,
        SentenceCap::ShortestRationale
    ));
}

#[test]
fn a_sentence_in_two_rationales_counts_if_one_is_whole_and_compat_refuses_it() {
    let claims = file(vec![(
        1,
        claim(&[(7, EvidenceLabel::Support, &[&[0, 1], &[1, 2]])]),
    )]);
    let predictions = file(vec![(
        1,
        prediction(&[(7, EvidenceLabel::Support, &[1, 2])]),
    )]);
    let scored = score(&claims, &predictions, SentenceCap::Three, Mode::Default).unwrap();
    assert_eq!(
        counts(
            &scored,
            [
                "sentences_selection",
                "sentences_retrieved",
                "sentences_relevant"
            ]
        ),
        [2.0, 2.0, 4.0]
    );
    assert!(
        CAPS.iter()
            .all(|cap| is_refused(&claims, &predictions, *cap))
    );
    let other = file(vec![(1, prediction(&[(7, EvidenceLabel::Support, &[0])]))]);
    assert!(!is_refused(&claims, &other, SentenceCap::Three));
    // The rationale script takes the first rationale with the sentence: [0, 1] is not whole, so only 2 counts.
    let lines = file(vec![(
        1,
        Rationales([(DocId::Number(7), vec![1, 2])].into()),
    )]);
    assert_eq!(
        score_rationales(&claims, &lines, Mode::Default).unwrap(),
        [[2.0, 2.0, 4.0]]
    );
    assert_eq!(
        score_rationales(&claims, &lines, Mode::Compat).unwrap(),
        [[1.0, 2.0, 4.0]]
    );
}

#[test]
fn the_leaderboard_counts_as_many_sentences_as_the_shortest_rationale_has() {
    let claims = file(vec![(
        1,
        claim(&[(7, EvidenceLabel::Support, &[&[0, 1, 2, 3]])]),
    )]);
    let predictions = file(vec![(
        1,
        prediction(&[(7, EvidenceLabel::Support, &[0, 1, 2, 3, 9])]),
    )]);
    let f1 = |cap| {
        measures(&sums(
            &score(&claims, &predictions, cap, Mode::Default).unwrap(),
        ))[1]
            .f1
    };
    assert_eq!(CAPS.map(f1), [0.0, 1.0]);
}

#[test]
fn an_explanation_names_the_matched_rationale_and_the_missing_partner() {
    let gold = claim(&[
        (11, EvidenceLabel::Support, &[&[0, 1], &[11]]),
        (15, EvidenceLabel::Support, &[&[4]]),
    ]);
    let predicted = prediction(&[
        (11, EvidenceLabel::Support, &[1, 11, 13, 11]),
        (16, EvidenceLabel::Contradict, &[18]),
    ]);
    let findings = explain(&gold, Some(&predicted), SentenceCap::Three, Mode::Default);
    let expected = [
        (
            "abstract 11",
            "SUPPORT is right; rationalized: rationale [11] is within its first 3",
        ),
        ("sentence 1", "missing from its rationale: 0"),
        ("sentence 11", "counts"),
        ("sentence 13", "in no rationale"),
        ("sentence 11", "listed before; counts in precision only"),
        (
            "abstract 16",
            "CONTRADICT predicted, but it is not evidence for this claim",
        ),
        ("sentence 18", "the abstract is not relevant"),
        ("abstract 15", "missed; gold SUPPORT, rationales [4]"),
        (
            "abstracts",
            "2 relevant, 2 predicted, 1 label-only, 1 rationalized",
        ),
        ("sentences", "4 relevant, 5 predicted, 1 selection, 1 label"),
    ];
    assert_eq!(
        findings,
        expected.map(|(item, finding)| CountedPart::new(item, finding))
    );
}

#[test]
fn a_claim_whose_abstracts_differ_has_no_gold_input_accuracy_in_compat() {
    let claims = file(vec![(
        1,
        claim(&[
            (7, EvidenceLabel::Support, &[&[0]]),
            (8, EvidenceLabel::Contradict, &[&[0]]),
        ]),
    )]);
    let lines = file(vec![(
        1,
        PredictedLabels(
            [7, 8, 9]
                .map(|doc_id| (DocId::Number(doc_id), EvidenceLabel::Support))
                .into(),
        ),
    )]);
    // Abstract 7 right, 8 wrong, 9 is in neither and is not compared. Confusion: one truly of each label, all SUPPORT.
    let counts = |mode| score_labels(&claims, &lines, |_| true, mode).unwrap()[0];
    assert_eq!(
        counts(Mode::Default),
        [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 2.0]
    );
    assert_eq!(counts(Mode::Compat)[9..], [0.0, 0.0]);
}

fn faults<T: super::super::claims::FromLine>(text: &str) -> String {
    match ClaimFile::<T>::parse(text.as_bytes(), "f".as_ref(), Mode::Default) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_fault_of_the_gold_is_reported_with_line_claim_and_remedy() {
    let text = r#"{"id": 1, "evidence": {"7": [{"sentences": [0], "label": "SUPPORT"}, {"sentences": [1], "label": "REFUTES"}]}}
{"id": 2, "evidence": {"7": []}}
{"id": 5, "evidence": {"7": [{"sentences": [1], "label": "SUPORT"}]}}
{"id": 6}
{"id": 7, "evidence": {"7": [{"sentences": [-1], "label": "SUPPORT"}]}}
{"evidence": {}}"#;
    let faults = faults::<GoldClaim>(text);
    let faults: Vec<&str> = faults.lines().collect();
    let expected = [
        "f:1 (case 1): abstract 7 has two labels, SUPPORT and CONTRADICT; give all its rationales the same label",
        "f:2 (case 2): abstract 7 has no rationale, so it has no label; delete the abstract, or list a rationale",
        "f:3 (case 5): abstract 7: unknown label \"SUPORT\"; did you mean SUPPORT?",
        "f:4 (case 6): evidence is missing; this seems to be a blind file: give the one with the evidence",
    ];
    assert_eq!(faults[..4], expected);
    assert!(
        faults[4].starts_with(
            "f:5 (case 7): evidence.7[0].sentences[0]: invalid value: integer `-1`, expected u32"
        ),
        "{faults:?}"
    );
    assert!(
        faults[5].starts_with("f:6: id is missing; found evidence; write one"),
        "{faults:?}"
    );
}

#[test]
fn an_abstract_with_leading_zeros_is_another_one_but_for_the_scripts_of_the_paper() {
    fn read<T: FromLine>(text: &str, mode: Mode) -> ClaimFile<T> {
        ClaimFile::parse(text.as_bytes(), Path::new("f"), mode).unwrap()
    }
    let gold = r#"{"id": 1, "evidence": {"3": [{"label": "SUPPORT", "sentences": [0]}]}}"#;
    let predicted = r#"{"id": 1, "evidence": {"03": {"label": "SUPPORT", "sentences": [0]}}}"#;
    let label_only = |cap, mode| {
        let counts = score(&read(gold, mode), &read(predicted, mode), cap, mode).unwrap();
        counts[0][2]
    };
    let [paper, leaderboard] = CAPS;
    assert_eq!(CAPS.map(|cap| label_only(cap, Mode::Default)), [0.0, 0.0]);
    assert_eq!(label_only(leaderboard, Mode::Compat), 0.0);
    assert_eq!(label_only(paper, Mode::Compat), 1.0);
    // The modules' scripts are the paper's.
    let rationales = r#"{"claim_id": 1, "evidence": {"03": [0]}}"#;
    let correct =
        |mode| score_rationales(&read(gold, mode), &read(rationales, mode), mode).unwrap()[0];
    assert_eq!(correct(Mode::Default), [0.0, 1.0, 1.0]);
    assert_eq!(correct(Mode::Compat), [1.0, 1.0, 1.0]);
    let twice = read(
        r#"{"id": 1, "evidence": {"3": {"label": "SUPPORT", "sentences": []}, "03": {"label": "SUPPORT", "sentences": []}}}"#,
        Mode::Compat,
    );
    assert!(is_refused(&read(gold, Mode::Compat), &twice, paper));
    assert!(!is_refused(&read(gold, Mode::Compat), &twice, leaderboard));
}

#[test]
fn ids_beyond_64_bits_are_their_digits() {
    let line = |id: &str, abstract_id: &str| {
        format!(
            r#"{{"id": {id}, "evidence": {{"{abstract_id}": [{{"label": "SUPPORT", "sentences": [0]}}]}}}}"#
        )
    };
    let [first, second] = ["12345678901234567890123", "12345678901234567890124"];
    let text = format!("{}\n{}", line(first, first), line(second, second));
    let gold = ClaimFile::<GoldClaim>::parse(text.as_bytes(), "f".as_ref(), Mode::Default).unwrap();
    assert_eq!(gold.lines[1].id.to_string(), second);
    let documents = gold.lines[0].value.evidence.keys();
    assert_eq!(
        documents.map(ToString::to_string).collect::<Vec<_>>(),
        [first]
    );
    let retrieved = format!(r#"{{"claim_id": {first}, "doc_ids": [{first}, 7]}}"#);
    let retrieved = ClaimFile::parse(retrieved.as_bytes(), "r".as_ref(), Mode::Default).unwrap();
    let measures = score_retrieval(&gold, &retrieved, Mode::Default).unwrap();
    assert_eq!(measures, [[1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn keys_of_abstracts_are_numbers() {
    let word = r#"{"id": 1, "evidence": {"x": {"label": "SUPPORT", "sentences": []}}}"#;
    let fault = faults::<ClaimPrediction>(word);
    assert!(
        fault.contains("expected the number of an abstract, found \"x\""),
        "{fault}"
    );
}

#[test]
fn undecided_abstracts_are_left_out_and_a_claim_that_stands_twice_is_refused() {
    let text = r#"{"id": 1, "evidence": {"7": {"label": "NOT_ENOUGH_INFO", "sentences": []}}}"#;
    let read =
        ClaimFile::<ClaimPrediction>::parse(text.as_bytes(), "f".as_ref(), Mode::Default).unwrap();
    assert_eq!(
        read.lines[0].value,
        ClaimPrediction {
            undecided: 1,
            ..ClaimPrediction::default()
        }
    );
    let twice = faults::<ClaimPrediction>(&format!("{text}\n{text}"));
    assert_eq!(
        twice,
        "f:2 (case 1): claim 1 occurs twice, first in line 1; keep one of the two lines"
    );
}

prop_compose! {
    fn any_claim()(evidence in prop::collection::btree_map(0..4_i64, (any_label(), prop::collection::vec(
        prop::collection::btree_set(0..8_u32, 1..4), 1..3)), 0..3)) -> GoldClaim {
        let gold = |(doc_id, (label, sets)): (i64, (EvidenceLabel, Vec<std::collections::BTreeSet<u32>>))| {
            (DocId::Number(doc_id), Evidence { label, rationales: sets.into_iter().map(|set| set.into_iter().collect()).collect() })
        };
        GoldClaim { text: String::new(), evidence: evidence.into_iter().map(gold).collect() }
    }
}

prop_compose! {
    fn any_prediction()(of in prop::collection::btree_map(
        0..4_i64, (any_label(), prop::collection::vec(0..8_u32, 0..6)), 0..3)) -> ClaimPrediction {
        let predicted_abstract = |(doc_id, (label, sentences)): (i64, _)| (DocId::Number(doc_id), PredictedAbstract { label, sentences });
        ClaimPrediction { evidence: of.into_iter().map(predicted_abstract).collect(), undecided: 0 }
    }
}

fn any_label() -> impl Strategy<Value = EvidenceLabel> {
    prop_oneof![
        Just(EvidenceLabel::Support),
        Just(EvidenceLabel::Contradict)
    ]
}

fn files() -> impl Strategy<Value = (ClaimFile<GoldClaim>, ClaimFile<ClaimPrediction>)> {
    let claims = prop::collection::vec(any_claim(), 6);
    (claims, prop::collection::vec(any_prediction(), 4)).prop_map(|(claims, predictions)| {
        (
            file((0..).zip(claims).collect()),
            file([0, 2, 3, 5].into_iter().zip(predictions).collect()),
        )
    })
}

proptest! {
    #[test]
    fn measures_are_within_0_and_1_and_stricter_ones_are_not_higher((claims, predictions) in files()) {
        let scored = score(&claims, &predictions, SentenceCap::Three, Mode::Default).unwrap();
        let measures = measures(&sums(&scored));
        let [label_only, rationalized, selection, label] = measures;
        prop_assert!(rationalized.f1 <= label_only.f1 && label.f1 <= selection.f1);
        let [correct, predicted, relevant] =
            counts(&scored, ["sentences_selection", "sentences_retrieved", "sentences_relevant"]);
        prop_assert!(correct <= predicted.min(relevant));
        let values = measures.map(Prf::values).concat();
        prop_assert!(values.iter().all(|value| (0.0..=1.0).contains(value)), "{values:?}");
    }

    #[test]
    fn the_order_of_claims_and_predictions_does_not_matter((claims, predictions) in files()) {
        let all = |claims: &ClaimFile<GoldClaim>, predictions: &ClaimFile<ClaimPrediction>| {
            sums(&score(claims, predictions, SentenceCap::Three, Mode::Default).unwrap())
        };
        let before = all(&claims, &predictions);
        let (mut claims, mut predictions) = (claims, predictions);
        claims.lines.reverse();
        predictions.lines.reverse();
        prop_assert_eq!(before, all(&claims, &predictions));
    }

    #[test]
    fn an_explanation_agrees_with_the_counts((claims, predictions) in files()) {
        let by_claim = claims.by_claim();
        for line in &predictions.lines {
            let claim = &by_claim[&line.id].value;
            let findings = explain(claim, Some(&line.value), SentenceCap::Three, Mode::Default);
            let count = |item: &str, words: &[&str]| {
                let of_item = findings.iter().filter(|part| part.item.starts_with(item));
                of_item.filter(|part| words.iter().any(|word| part.finding.contains(word))).count() as f64
            };
            let scored = count_claim(claim, Some(&line.value), SentenceCap::Three, Mode::Default);
            prop_assert_eq!(count("abstract ", &[" is right"]), scored[2]);
            prop_assert_eq!(count("abstract ", &["; rationalized"]), scored[3]);
            prop_assert_eq!(count("sentence ", &["counts for selection"]) + scored[7], scored[6]);
        }
    }

    #[test]
    fn no_text_makes_a_reader_panic(text in "\\PC*", json in r#"\{"(id|claim_id)":[0-9]{1,3},"(evidence|labels)":[\[\]{}":0-9a-z,]{0,30}\}"#) {
        for text in [&text, &json] {
            let _ = (faults::<GoldClaim>(text), faults::<ClaimPrediction>(text), faults::<PredictedLabels>(text));
        }
    }
}
