//! What the scores promise on any input.

use proptest::prelude::*;

use super::*;
use crate::domain::Mode;
use crate::domain::scifact::{
    Claim, ClaimId, DocId, EvidenceGroup, Label, LabelPrediction, Oddity, PredictedAbstract, Prediction, Rationale,
    RationaleSelection,
};

fn claim(id: i64, evidence: &[(i64, Label, &[&[u32]])]) -> Claim {
    let group = |(doc, label, rationales): &(i64, Label, &[&[u32]])| EvidenceGroup {
        doc_id: DocId(*doc),
        label: *label,
        rationales: rationales.iter().map(|sentences| Rationale(sentences.to_vec())).collect(),
    };
    let evidence = Some(evidence.iter().map(group).collect());
    Claim { id: ClaimId::Number(id), text: String::new(), evidence, line: 1, oddity: None }
}

fn prediction(id: i64, evidence: &[(i64, Label, &[u32])]) -> Prediction {
    let one = |(doc, label, sentences): &(i64, Label, &[u32])| PredictedAbstract {
        doc_id: DocId(*doc),
        label: *label,
        sentences: sentences.to_vec(),
    };
    let evidence = evidence.iter().map(one).collect();
    Prediction { claim_id: ClaimId::Number(id), evidence, undecided: 0, line: 1, oddity: None }
}

fn exception(claims: &[Claim], predictions: &[Prediction], cap: SentenceCap) -> Option<&'static str> {
    score(claims, predictions, ScoreOptions { cap, mode: Mode::Compat }).err().map(|raised| raised.exception)
}

#[test]
fn a_claim_without_a_prediction_counts_in_recall_and_compat_forgets_it() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0]])]), claim(2, &[(8, Label::Support, &[&[0]])])];
    let predictions = [prediction(1, &[(7, Label::Support, &[0])])];
    let recall = |mode| {
        let scored = score(&claims, &predictions, ScoreOptions { mode, ..ScoreOptions::default() }).unwrap();
        (scored.measures().sentence_label.recall, scored.claims_unpredicted)
    };
    assert_eq!((recall(Mode::Default), recall(Mode::Compat)), ((1.0 / 2.0, 1), (1.0, 1)));
}

#[test]
fn a_prediction_without_a_claim_counts_nowhere() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0]])])];
    let predictions = [prediction(1, &[(7, Label::Support, &[0])]), prediction(9, &[(7, Label::Support, &[0])])];
    let scored = score(&claims, &predictions, ScoreOptions::default()).unwrap();
    assert_eq!((scored.measures().flat(), scored.predictions_unknown), ([1.0; 12], 1));
    assert_eq!(exception(&claims, &predictions, SentenceCap::Three), Some("AssertionError"));
    assert_eq!(exception(&claims, &predictions, SentenceCap::ShortestRationale), Some("ValueError"));
}

#[test]
fn a_claim_predicted_twice_counts_twice_in_compat() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0]])])];
    let predictions = [prediction(1, &[(7, Label::Support, &[0])]), prediction(1, &[])];
    let options = ScoreOptions { mode: Mode::Compat, ..ScoreOptions::default() };
    // The gold counts with each: 1 of 1 sentence predicted, 1 of 2 found.
    let sums = score(&claims, &predictions, options).unwrap().sums();
    assert_eq!((sums.sentences_label, sums.sentences_retrieved, sums.sentences_relevant), (1, 1, 2));
    assert_eq!(exception(&claims, &predictions, SentenceCap::ShortestRationale), Some("ValueError"));
}

#[test]
fn a_sentence_in_two_rationales_counts_if_one_is_whole_and_compat_raises() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0, 1], &[1, 2]])])];
    let predictions = [prediction(1, &[(7, Label::Support, &[1, 2])])];
    let sums = score(&claims, &predictions, ScoreOptions::default()).unwrap().sums();
    assert_eq!((sums.sentences_selection, sums.sentences_retrieved, sums.sentences_relevant), (2, 2, 4));
    assert_eq!(exception(&claims, &predictions, SentenceCap::Three), Some("AssertionError"));
    assert_eq!(exception(&claims, &predictions, SentenceCap::ShortestRationale), Some("AssertionError"));
    let other = [prediction(1, &[(7, Label::Support, &[0])])];
    assert_eq!(exception(&claims, &other, SentenceCap::Three), None);
    // The rationale script takes the first rationale with the sentence: [0, 1] lacks 0, so only 2 counts.
    let evidence = vec![(DocId(7), vec![1, 2])];
    let lines = [RationaleSelection { claim_id: ClaimId::Number(1), evidence, line: 1 }];
    assert_eq!(score_rationales(&claims, &lines, Mode::Default).unwrap().claims, [[2.0, 2.0, 4.0]]);
    assert_eq!(score_rationales(&claims, &lines, Mode::Compat).unwrap().claims, [[1.0, 2.0, 4.0]]);
}

#[test]
fn what_default_refuses_or_skips_is_an_exception_in_compat() {
    let good = [claim(1, &[(7, Label::Support, &[&[0]])])];
    let predictions = [prediction(1, &[])];
    let (three, shortest) = (SentenceCap::Three, SentenceCap::ShortestRationale);
    for (oddity, verisci, leaderboard) in [
        (Oddity::TwoLabels, "Exception", Some("ValueError")),
        (Oddity::NoRationale, "IndexError", Some("IndexError")),
        (Oddity::UnknownLabel, "KeyError", None),
    ] {
        let odd = [Claim { oddity: Some(oddity), ..good[0].clone() }];
        assert_eq!(exception(&odd, &predictions, three), Some(verisci), "{oddity:?}");
        assert_eq!(exception(&odd, &predictions, shortest), leaderboard, "{oddity:?}");
    }
    for (oddity, verisci) in [(Oddity::Undecided, "ValueError"), (Oddity::UnknownLabel, "KeyError")] {
        let odd = [Prediction { oddity: Some(oddity), ..predictions[0].clone() }];
        assert_eq!(exception(&good, &odd, three), Some(verisci), "{oddity:?}");
        assert_eq!(exception(&good, &odd, shortest), Some("ValueError"), "{oddity:?}");
    }
    for (oddity, verisci, leaderboard) in [
        (Oddity::MissingKey, "KeyError", Some("KeyError")),
        (Oddity::NoList, "TypeError", Some("TypeError")),
        (Oddity::TextDocId, "ValueError", None),
    ] {
        let odd = [Prediction { oddity: Some(oddity), ..predictions[0].clone() }];
        assert_eq!(exception(&good, &odd, three), Some(verisci), "{oddity:?}");
        assert_eq!(exception(&good, &odd, shortest), leaderboard, "{oddity:?}");
    }
}

#[test]
fn the_leaderboard_counts_as_many_sentences_as_the_shortest_rationale_has() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0, 1, 2, 3]])])];
    let predictions = [prediction(1, &[(7, Label::Support, &[0, 1, 2, 3, 9])])];
    let f1 = |cap| {
        let options = ScoreOptions { cap, ..ScoreOptions::default() };
        score(&claims, &predictions, options).unwrap().measures().abstract_rationalized.f1
    };
    assert_eq!((f1(SentenceCap::Three), f1(SentenceCap::ShortestRationale)), (0.0, 1.0));
    assert_eq!(never_rationalized(&claims, SentenceCap::Three), [(ClaimId::Number(1), DocId(7))]);
    assert!(never_rationalized(&claims, SentenceCap::ShortestRationale).is_empty());
}

#[test]
fn an_explanation_names_the_matched_rationale_and_the_missing_partner() {
    let claims = [claim(52, &[(11, Label::Support, &[&[0, 1], &[11]]), (15, Label::Support, &[&[4]])])];
    let predictions = [prediction(52, &[(11, Label::Support, &[1, 11, 13, 11]), (16, Label::Contradict, &[18])])];
    let told = explain(&claims[0], Some(&predictions[0]), SentenceCap::Three);
    let [eleven, sixteen, fifteen] = &told.abstracts[..] else { panic!("{told:?}") };
    assert_eq!((eleven.matched, eleven.rationalized, eleven.sentences_counted), (Some(1), true, 3));
    let credits: Vec<_> = eleven.sentences.iter().map(|s| (s.sentence, s.label, &s.lacks[..], s.repeated)).collect();
    let expected =
        [(1, false, &[0][..], false), (11, true, &[], false), (13, false, &[], false), (11, false, &[], true)];
    assert_eq!(credits, expected);
    assert_eq!((sixteen.gold, sixteen.label_only), (None, false));
    assert_eq!((fifteen.predicted, fifteen.gold), (None, Some(Label::Support)));
    assert_eq!(told.counts, count_claim(&claims[0], Some(&predictions[0]), SentenceCap::Three));
}

#[test]
fn module_files_are_merged_and_what_is_in_one_only_is_told() {
    let id = ClaimId::Number;
    let evidence = vec![(DocId(7), vec![3, 1]), (DocId(8), vec![]), (DocId(9), vec![0])];
    let mut rationales = vec![RationaleSelection { claim_id: id(1), evidence, line: 1 }];
    let of = [(DocId(9), Label::Contradict), (DocId(8), Label::NotEnoughInfo), (DocId(7), Label::Support)];
    let mut labels = vec![LabelPrediction { claim_id: id(1), labels: of.to_vec(), line: 1, oddity: None }];
    let merged = merge(&rationales, &labels).unwrap();
    let mut expected = prediction(1, &[(7, Label::Support, &[3, 1]), (9, Label::Contradict, &[0])]);
    expected.undecided = 1;
    assert_eq!(merged, [expected]);

    rationales[0].evidence.remove(0);
    labels[0].labels.remove(0);
    rationales.push(RationaleSelection { claim_id: id(2), evidence: vec![], line: 2 });
    labels.push(LabelPrediction { claim_id: id(3), labels: vec![], line: 2, oddity: None });
    let expected = [
        Unmerged::NoLabel(id(1), DocId(9), 1),
        Unmerged::NoSentences(id(1), DocId(7), 1),
        Unmerged::NoLabels(id(2), 2),
        Unmerged::NoRationales(id(3), 2),
    ];
    assert_eq!(merge(&rationales, &labels).unwrap_err(), expected);
}

#[test]
fn a_claim_whose_abstracts_differ_has_no_gold_input_accuracy_in_compat() {
    let claims = [claim(1, &[(7, Label::Support, &[&[0]]), (8, Label::Contradict, &[&[0]])])];
    let labels = vec![(DocId(7), Label::Support), (DocId(8), Label::Support), (DocId(9), Label::Support)];
    let lines = [LabelPrediction { claim_id: ClaimId::Number(1), labels, line: 1, oddity: None }];
    // Abstract 7 right, 8 wrong, 9 is in neither and asked for no label.
    let scored = |mode| score_labels(&claims, &lines, |_| true, mode).unwrap();
    assert_eq!(scored(Mode::Default).gold_input_accuracy(), Some(1.0 / 2.0));
    assert_eq!(scored(Mode::Compat).gold_input_accuracy(), None);
    assert_eq!(scored(Mode::Default).confusion(), [[0, 0, 1], [0, 0, 1], [0, 0, 1]]);
}

fn labels() -> impl Strategy<Value = Label> {
    prop_oneof![Just(Label::Support), Just(Label::Contradict)]
}

prop_compose! {
    fn gold(id: i64)(groups in prop::collection::btree_map(0..4_i64, (labels(), prop::collection::vec(
        prop::collection::btree_set(0..8_u32, 1..4), 1..3)), 0..3)) -> Claim {
        let group = |(doc, (label, sets)): (i64, (Label, Vec<std::collections::BTreeSet<u32>>))| EvidenceGroup {
            doc_id: DocId(doc), label, rationales: sets.into_iter().map(|s| Rationale(s.into_iter().collect())).collect() };
        let evidence = Some(groups.into_iter().map(group).collect());
        Claim { id: ClaimId::Number(id), text: String::new(), evidence, line: 1, oddity: None }
    }
}

prop_compose! {
    fn predicted(id: i64)(of in prop::collection::btree_map(0..4_i64, (labels(), prop::collection::vec(0..8_u32, 0..6)), 0..3))
        -> Prediction {
        let one = |(doc, (label, sentences))| PredictedAbstract { doc_id: DocId(doc), label, sentences };
        let evidence = of.into_iter().map(one).collect();
        Prediction { claim_id: ClaimId::Number(id), evidence, undecided: 0, line: 1, oddity: None }
    }
}

fn files() -> impl Strategy<Value = (Vec<Claim>, Vec<Prediction>)> {
    let ids = || 0..6_i64;
    (ids().map(gold).collect::<Vec<_>>(), ids().filter(|id| id % 3 != 1).map(predicted).collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn measures_are_within_0_and_1_and_stricter_ones_are_not_higher((claims, predictions) in files()) {
        let scored = score(&claims, &predictions, ScoreOptions::default()).unwrap();
        let measures = scored.measures();
        let sums = scored.sums();
        prop_assert!(measures.abstract_rationalized.f1 <= measures.abstract_label_only.f1);
        prop_assert!(measures.sentence_label.f1 <= measures.sentence_selection.f1);
        prop_assert!(sums.sentences_selection <= sums.sentences_retrieved.min(sums.sentences_relevant));
        prop_assert!(measures.flat().iter().all(|value| (0.0..=1.0).contains(value)), "{measures:?}");
    }

    #[test]
    fn the_order_of_claims_predictions_and_evidence_does_not_matter((claims, predictions) in files()) {
        let (mut claims_back, mut predictions_back) = (claims.clone(), predictions.clone());
        claims_back.reverse();
        predictions_back.reverse();
        predictions_back.iter_mut().for_each(|prediction| prediction.evidence.reverse());
        let options = ScoreOptions::default();
        let sums = |claims: &[Claim], predictions: &[Prediction]| score(claims, predictions, options).unwrap().sums();
        prop_assert_eq!(sums(&claims, &predictions), sums(&claims_back, &predictions_back));
    }

    #[test]
    fn the_oracle_has_no_fault(claims in (0..6_i64).map(gold).collect::<Vec<_>>()) {
        let measures = score(&claims, &oracle(&claims), ScoreOptions::default()).unwrap().measures();
        let any = claims.iter().any(|claim| !claim.groups().is_empty());
        let full = f64::from(u8::from(any));
        // Rationales of at most 3 sentences; recall of sentences falls short only where one is in two rationales.
        prop_assert_eq!(measures.abstract_rationalized.f1, full);
        prop_assert_eq!(measures.sentence_label.precision, full);
    }

    #[test]
    fn an_explanation_agrees_with_the_counts((claims, predictions) in files()) {
        for prediction in &predictions {
            let claim = claims.iter().find(|claim| claim.id == prediction.claim_id).unwrap();
            let told = explain(claim, Some(prediction), SentenceCap::Three);
            let count = |what: fn(&AbstractExplanation) -> usize| told.abstracts.iter().map(what).sum::<usize>() as u64;
            prop_assert_eq!(count(|a| usize::from(a.label_only)), told.counts.abstracts_label_only);
            prop_assert_eq!(count(|a| usize::from(a.rationalized)), told.counts.abstracts_rationalized);
            prop_assert_eq!(count(|a| a.sentences.iter().filter(|s| s.selection).count()), told.counts.sentences_selection);
            prop_assert_eq!(count(|a| a.sentences.iter().filter(|s| s.label).count()), told.counts.sentences_label);
        }
    }
}
