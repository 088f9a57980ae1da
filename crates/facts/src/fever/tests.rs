use super::*;
use proptest::prelude::*;

fn group(sentences: &[(&str, i64)]) -> Vec<Sentence> {
    sentences
        .iter()
        .map(|(page, line)| Sentence::new(page, *line))
        .collect()
}

#[test]
fn evidence_beyond_the_limit_is_removed_without_penalty() {
    let gold = FeverGold::new("SUPPORTS", vec![group(&[("z", 9)])]);
    let prediction = FeverPrediction::new("supports", &[("a", 0), ("z", 9), ("a", 2)]);
    let score = |max| score_instance(&gold, &prediction, max);
    assert!(!score(Some(1)).strictly_correct);
    assert!(score(Some(2)).strictly_correct);
    assert_eq!(score(Some(2)).precision, Some(1.0 / 2.0));
    assert_eq!(score(None).precision, Some(1.0 / 3.0));
}

#[test]
fn a_wrong_label_keeps_its_evidence_but_is_not_strictly_correct() {
    let gold = FeverGold::new("SUPPORTS", vec![group(&[("z", 9)])]);
    let scored = score_instance(
        &gold,
        &FeverPrediction::new("REFUTES", &[("z", 9)]),
        Some(5),
    );
    assert_eq!(
        (scored.label_correct, scored.strictly_correct),
        (false, false)
    );
    assert_eq!((scored.precision, scored.recalled), (Some(1.0), Some(true)));
}

#[test]
fn gold_without_groups_is_recalled_and_never_strictly_correct_and_an_empty_group_always_is() {
    let prediction = FeverPrediction::new("REFUTES", &[]);
    let without = score_instance(&FeverGold::new("REFUTES", vec![]), &prediction, Some(5));
    assert_eq!(
        (without.strictly_correct, without.recalled),
        (false, Some(true))
    );
    let empty = score_instance(
        &FeverGold::new("REFUTES", vec![vec![]]),
        &prediction,
        Some(5),
    );
    assert_eq!((empty.strictly_correct, empty.recalled), (true, Some(true)));
}

#[test]
fn no_evidence_is_asked_of_an_unverifiable_claim() {
    let gold = FeverGold::new(
        "NOT ENOUGH INFO",
        vec![vec![Sentence {
            page: None,
            line: None,
        }]],
    );
    let scored = score_instance(
        &gold,
        &FeverPrediction::new("not enough info", &[("x", 1)]),
        Some(5),
    );
    assert_eq!(
        (scored.strictly_correct, scored.precision, scored.recalled),
        (true, None, None)
    );
    // With such claims only: precision 1, recall 0, F1 = 2 * 1 * 0 / 1 = 0.
    let scores = FeverScores::of(&[scored], Mode::Compat);
    assert_eq!(
        (scores.precision, scores.recall, scores.f1),
        (1.0, 0.0, 0.0)
    );
}

#[test]
fn an_explanation_names_the_missing_sentence() {
    let gold = FeverGold::new("REFUTES", vec![group(&[("page1", 1), ("page2", 2)])]);
    let findings = explain(
        &gold,
        &FeverPrediction::new("REFUTES", &[("page1", 1), ("page2", 2)]),
        Some(1),
    );
    let expected = [
        ("label", "predicted REFUTES, gold REFUTES: right"),
        ("group 1", "page1:1 (predicted), page2:2 (missing)"),
        ("page1:1", "in a group"),
        ("page2:2", "beyond --max-evidence, not counted"),
        ("score", "strict 0, precision 1.0000, recall 0"),
    ];
    assert_eq!(
        findings,
        expected.map(|(item, finding)| CountedPart::new(item, finding))
    );
}

type Item = (FeverGold, FeverPrediction);

fn any_item() -> impl Strategy<Value = Item> {
    let label = || {
        prop_oneof![
            Just("SUPPORTS"),
            Just("REFUTES"),
            Just("NOT ENOUGH INFO"),
            Just("other")
        ]
    };
    let sentence = || (prop_oneof![Just("a"), Just("b"), Just("文")], 0..3_i64);
    let groups = prop::collection::vec(prop::collection::vec(sentence(), 0..3), 0..3);
    (
        label(),
        groups,
        label(),
        prop::collection::vec(sentence(), 0..6),
    )
        .prop_map(|(gold, groups, label, evidence)| {
            let groups = groups.iter().map(|sentences| group(sentences)).collect();
            (
                FeverGold::new(gold, groups),
                FeverPrediction::new(label, &evidence),
            )
        })
}

fn scores(items: &[Item]) -> FeverScores {
    let claims: Vec<_> = items
        .iter()
        .map(|(gold, prediction)| score_instance(gold, prediction, Some(5)))
        .collect();
    FeverScores::of(&claims, Mode::Default)
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
    fn the_gold_itself_scores_one(item in any_item()) {
        let (gold, _) = item;
        prop_assume!(!gold.groups.is_empty() || !gold.is_verifiable());
        let evidence = gold.groups.iter().flatten().cloned().collect();
        let prediction = FeverPrediction { label: gold.label.clone(), evidence };
        let scored = score_instance(&gold, &prediction, None);
        prop_assert!(scored.strictly_correct);
        prop_assert_eq!(scored.precision, gold.is_verifiable().then_some(1.0));
        prop_assert_eq!(scored.recalled, gold.is_verifiable().then_some(true));
    }
}
