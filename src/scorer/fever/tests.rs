use super::*;
use crate::domain::fever::Label;
use proptest::prelude::*;

fn group(sentences: &[(&'static str, i64)]) -> Vec<Sentence<'static>> {
    sentences.iter().map(|(page, line)| Sentence::new(*page, *line)).collect()
}

fn score(gold: &Gold<'_>, prediction: &Prediction<'_>, max: usize) -> InstanceScore {
    score_instance(gold, prediction, Some(max)).unwrap()
}

#[test]
fn evidence_beyond_the_limit_is_removed_without_penalty() {
    let gold = Gold::new(Label::Supports, [group(&[("z", 9)])]);
    let prediction = Prediction::new(Label::Supports, [("a", 0), ("z", 9), ("a", 2)]);
    assert!(!score(&gold, &prediction, 1).strictly_correct);
    let two = score(&gold, &prediction, 2);
    assert!(two.strictly_correct);
    assert_eq!(two.precision, Some(Share { hits: 1, predicted: 2 }));
    let all = score_instance(&gold, &prediction, None).unwrap();
    assert_eq!(all.precision, Some(Share { hits: 1, predicted: 3 }));
}

#[test]
fn a_wrong_label_keeps_its_evidence_but_is_not_strictly_correct() {
    let gold = Gold::new(Label::Supports, [group(&[("z", 9)])]);
    let scored = score(&gold, &Prediction::new(Label::Refutes, [("z", 9)]), 5);
    assert!(!scored.label_correct && !scored.strictly_correct);
    assert_eq!((scored.precision.map(Share::value), scored.recalled), (Some(1.0), Some(true)));
}

#[test]
fn gold_without_groups_is_recalled_but_never_strictly_met() {
    let gold = Gold::new(Label::Refutes, []);
    let scored = score(&gold, &Prediction::new(Label::Refutes, [("a", 1)]), 5);
    assert!(scored.label_correct && !scored.strictly_correct);
    assert_eq!(scored.recalled, Some(true));
    let empty_group = Gold::new(Label::Refutes, [vec![]]);
    assert!(score(&empty_group, &Prediction::new(Label::Refutes, []), 5).strictly_correct);
}

#[test]
fn no_evidence_is_asked_of_an_unverifiable_claim() {
    let gold = Gold::new(Label::NotEnoughInfo, [vec![Sentence { page: None, line: None }]]);
    let scored = score(&gold, &Prediction::new(Label::NotEnoughInfo, [("x", 1)]), 5);
    assert!(scored.strictly_correct);
    assert_eq!((scored.precision, scored.recalled), (None, None));
    // With such claims only: precision 1, recall 0, F1 = 2 * 1 * 0 / 1 = 0.
    let scores = fever_score([(&gold, &Prediction::new(Label::NotEnoughInfo, []))], None, Mode::Compat).unwrap();
    assert_eq!((scores.precision, scores.recall, scores.f1), (1.0, 0.0, 0.0));
}

#[test]
fn in_compat_f1_divides_by_zero_and_by_default_it_is_zero() {
    let gold = Gold::new(Label::Refutes, [group(&[("page1", 1)])]);
    let prediction = Prediction::new(Label::Refutes, [("x", 9)]);
    let scores = |mode| fever_score([(&gold, &prediction)], Some(5), mode);
    assert_eq!(scores(Mode::Compat), Err(Raised::ZeroDivision));
    let expected = FeverScores { strict_score: 0.0, label_accuracy: 1.0, precision: 0.0, recall: 0.0, f1: 0.0 };
    assert_eq!(scores(Mode::Default), Ok(expected));
}

#[test]
fn a_malformed_sentence_matters_only_where_the_label_is_right() {
    let gold = Gold::new(Label::Refutes, [group(&[("page1", 1)])]);
    let bad = PredictedSentence { sentence: None, form: Form::Bad };
    let prediction = |label| Prediction { label: Ok(label), evidence: Some(vec![bad.clone()]) };
    assert_eq!(score_instance(&gold, &prediction(Label::Refutes), Some(0)), Err(Raised::Assertion));
    assert!(score_instance(&gold, &prediction(Label::Supports), Some(0)).is_ok());
}

#[test]
fn an_explanation_says_which_sentence_is_missing() {
    let gold = Gold::new(Label::Refutes, [group(&[("page1", 1), ("page2", 2)])]);
    let explained = explain(&gold, &Prediction::new(Label::Refutes, [("page1", 1), ("page2", 2)]), Some(1));
    assert_eq!(explained.groups[0].sentences, [("page1:1".to_owned(), true), ("page2:2".to_owned(), false)]);
    assert!(!explained.groups[0].is_whole());
    let flags: Vec<_> = explained.predicted.iter().map(|sentence| (sentence.is_gold, sentence.counts)).collect();
    assert_eq!(flags, [(true, true), (true, false)]);
}

fn any_label() -> impl Strategy<Value = Label<'static>> {
    prop_oneof![
        Just(Label::Supports),
        Just(Label::Refutes),
        Just(Label::NotEnoughInfo),
        ".{0,8}".prop_map(|text| Label::read(&text)),
    ]
}

fn any_sentence() -> impl Strategy<Value = (&'static str, i64)> {
    (prop_oneof![Just("a"), Just("b"), Just("文")], 0..3_i64)
}

type Item = (Gold<'static>, Prediction<'static>);

fn any_item() -> impl Strategy<Value = Item> {
    let groups = prop::collection::vec(prop::collection::vec(any_sentence(), 0..3), 0..3);
    (any_label(), groups, any_label(), prop::collection::vec(any_sentence(), 0..6)).prop_map(
        |(gold, groups, label, evidence)| {
            let groups = groups.into_iter().map(|sentences| group(&sentences));
            (Gold::new(gold, groups.collect::<Vec<_>>()), Prediction::new(label, evidence))
        },
    )
}

fn scores(items: &[Item]) -> FeverScores {
    fever_score(items.iter().map(|(gold, prediction)| (gold, prediction)), Some(5), Mode::Default).unwrap()
}

proptest! {
    #[test]
    fn scores_are_bounded_and_the_order_of_claims_does_not_matter(
        items in prop::collection::vec(any_item(), 1..20), turn in 0..20_usize,
    ) {
        let all = scores(&items);
        for value in [all.strict_score, all.label_accuracy, all.precision, all.recall, all.f1] {
            prop_assert!((0.0..=1.0).contains(&value));
        }
        prop_assert!(all.strict_score <= all.label_accuracy);
        let mut turned = items.clone();
        turned.rotate_left(turn % items.len());
        prop_assert_eq!(scores(&turned), all);
        turned.reverse();
        prop_assert_eq!(scores(&turned), all);
    }

    #[test]
    fn the_order_of_evidence_does_not_matter_within_the_limit(item in any_item()) {
        let (gold, mut prediction) = item;
        let before = score_instance(&gold, &prediction, None);
        prediction.evidence.as_mut().unwrap().reverse();
        prop_assert_eq!(score_instance(&gold, &prediction, None), before);
    }

    #[test]
    fn the_gold_itself_scores_one(item in any_item()) {
        let (gold, _) = item;
        prop_assume!(gold.groups().len() > 0 || !gold.label.is_verifiable());
        let evidence = gold.sentences().iter().cloned();
        let evidence = evidence.map(|sentence| PredictedSentence { sentence: Some(sentence), form: Form::Good });
        let prediction = Prediction { label: Ok(gold.label.clone()), evidence: Some(evidence.collect()) };
        let scores = fever_score([(&gold, &prediction)], None, Mode::Default).unwrap();
        prop_assert_eq!((scores.strict_score, scores.label_accuracy, scores.precision), (1.0, 1.0, 1.0));
        prop_assert_eq!(scores.recall, if gold.label.is_verifiable() { 1.0 } else { 0.0 });
    }
}
