//! Tests of `summarize`.

use super::made::{answer, component, score, simple_score};
use super::*;
use crate::domain::{CaseId, ComponentKind, Mode, ScoredAnswer, SystemName};

const EXCLUDE: AggregateOptions =
    AggregateOptions { mode: Mode::Default, on_unscored: OnUnscored::Exclude, seed: 1, lexical: false };
const ZERO: AggregateOptions = AggregateOptions { on_unscored: OnUnscored::Zero, ..EXCLUDE };

/// Answers of one system to cases c0, c1, .. with these values of their one property; the score is
/// 4 * 0.1 * 0.5 + 0.6 * value = 0.2 + 0.6 * value.
fn answers(system: &str, values: &[Option<f64>]) -> Vec<ScoredAnswer> {
    let numbered = values.iter().enumerate();
    numbered.map(|(i, value)| answer(system, &format!("c{i}"), simple_score(*value))).collect()
}

fn close(value: Option<f64>, expected: f64) {
    assert!(value.is_some_and(|value| (value - expected).abs() < 1e-12), "{value:?} is not {expected}");
}

#[test]
fn an_unscored_answer_is_left_out_of_the_score_and_told() {
    let summary = summarize(&answers("a", &[Some(1.0), Some(0.5), None]), &[], EXCLUDE);
    let row = &summary.rows[0];
    // (0.8 + 0.5) / 2
    close(row.metrics.score.estimate, 0.65);
    assert_eq!((row.metrics.score.n, row.metrics.score.unscored), (2, 1));
    // the parts that could be judged still count: 3 values of length
    assert_eq!((row.metrics.length.n, row.metrics.length.unscored), (3, 0));
    assert_eq!((row.cases_scored, row.cases_kept, row.unscored), (2, 3, 1));
    assert_eq!(row.unscored_reasons[0].example, "no JSON object");
    assert!((summary.unscored_share() - 1.0 / 3.0).abs() < 1e-12);
    assert!(summary.exceeds(0.01) && !summary.exceeds(0.34));
}

#[test]
fn a_nan_that_compat_mode_let_pass_is_counted_and_left_out() {
    let summary = summarize(&answers("a", &[Some(1.0), Some(f64::NAN)]), &[], EXCLUDE);
    let row = &summary.rows[0];
    close(row.metrics.score.estimate, 0.8);
    assert_eq!((row.metrics.score.n, row.metrics.score.unscored), (1, 1));
    assert_eq!((row.cases_scored, row.cases_kept, row.unscored), (1, 2, 1));
}

#[test]
fn bounds_put_0_and_1_for_each_missing_value() {
    let row = summarize(&answers("a", &[Some(1.0), None]), &[], EXCLUDE).rows.remove(0);
    let bounds = row.bounds.unwrap();
    // scores 0.8 and 0.2..0.8; ann_score 1 and 0..1
    close(Some(bounds.score_low), 0.5);
    close(Some(bounds.score_high), 0.8);
    close(bounds.ann_score_low, 0.5);
    close(bounds.ann_score_high, 1.0);
    assert_eq!(summarize(&answers("a", &[Some(1.0)]), &[], EXCLUDE).rows[0].bounds, None);
}

#[test]
fn the_zero_policy_fills_the_component_and_counts_the_answer() {
    let row = summarize(&answers("a", &[Some(1.0), None]), &[], ZERO).rows.remove(0);
    // (0.8 + 0.2) / 2; ann_score (1 + 0) / 2
    close(row.metrics.score.estimate, 0.5);
    close(row.metrics.ann_score.estimate, 0.5);
    assert_eq!((row.cases_scored, row.unscored, row.metrics.score.n), (2, 1, 2));
}

#[test]
fn the_zero_policy_fills_a_mean_of_components_too() {
    let one = |value| score(vec![component("expertise", ComponentKind::Expertise, 1.0, value)]);
    let scored = [answer("a", "c0", one(Some(0.8))), answer("a", "c1", one(None))];
    // (0.8 + 0) / 2 against 0.8
    close(summarize(&scored, &[], ZERO).rows[0].metrics.expertise.estimate, 0.4);
    close(summarize(&scored, &[], EXCLUDE).rows[0].metrics.expertise.estimate, 0.8);
    // nothing annotated: nothing to fill
    assert_eq!(summarize(&scored, &[], ZERO).rows[0].metrics.ann_score, Metric::default());
}

#[test]
fn systems_are_ranked_over_the_cases_scored_for_all() {
    // a: own mean of values (1 + 0 + 0) / 3, over c0 alone 1; b: only c0, 0.9
    let mut scored = answers("a", &[Some(1.0), Some(0.0), Some(0.0)]);
    scored.extend(answers("b", &[Some(0.9), None, None]));
    let summary = summarize(&scored, &[], EXCLUDE);
    assert_eq!(summary.shared_cases, 1);
    let order: Vec<(&str, Option<usize>)> = summary.rows.iter().map(|r| (r.system.as_str(), r.rank)).collect();
    assert_eq!(order, [("a", Some(1)), ("b", Some(2))]);
    assert!(summary.rank_differs_from_means, "b's own mean is the higher one");
}

#[test]
fn equal_means_share_a_rank() {
    let mut scored = answers("b", &[Some(0.5)]);
    scored.extend(answers("a", &[Some(0.5)]));
    scored.extend(answers("c", &[Some(0.4)]));
    let ranks: Vec<_> = summarize(&scored, &[], EXCLUDE).rows.iter().map(|r| r.rank).collect();
    assert_eq!(ranks, [Some(1), Some(1), Some(3)]);
}

#[test]
fn a_system_without_any_score_comes_last_and_does_not_empty_the_comparison() {
    let mut scored = answers("a", &[None, None]);
    scored.extend(answers("b", &[Some(0.1), Some(0.2)]));
    let missing = [(SystemName::from("zz"), CaseId::from("c0"))];
    let summary = summarize(&scored, &missing, EXCLUDE);
    assert_eq!(summary.shared_cases, 2);
    assert_eq!(summary.rows[0].system.as_str(), "b");
    assert_eq!((summary.rows[1].rank, summary.rows[2].rank), (None, None));
    assert_eq!((summary.rows[2].cases_kept, summary.rows[2].missing), (1, 1));
    assert_eq!(summary.missing[0].case_id.as_str(), "c0");
}

#[test]
fn the_order_of_the_answers_does_not_change_the_summary() {
    let mut scored = answers("a", &[Some(0.1), Some(0.9), Some(0.4), None]);
    scored.extend(answers("b", &[Some(0.3), Some(0.2), Some(0.8), Some(0.7)]));
    let forward = summarize(&scored, &[], EXCLUDE);
    scored.reverse();
    assert_eq!(forward, summarize(&scored, &[], EXCLUDE));
}

#[test]
fn steering_and_notes_are_counted_and_listed() {
    let mut scored = answers("a", &[Some(1.0), Some(0.0)]);
    scored[1].steering = vec!["a forged tag".to_owned()];
    scored[0].score.notes = vec!["weights scaled".to_owned()];
    let summary = summarize(&scored, &[], EXCLUDE);
    assert_eq!(summary.rows[0].steering, 1);
    assert_eq!((summary.steering.len(), summary.steering[0].case_id.as_str()), (1, "c1"));
    assert_eq!(summary.notes, [NoteCount { note: "weights scaled".to_owned(), answers: 1 }]);
}

#[test]
fn a_lexical_score_is_never_called_score() {
    let options = AggregateOptions { lexical: true, ..EXCLUDE };
    let summary = summarize(&answers("a", &[Some(1.0)]), &[], options);
    let row = serde_json::to_value(&summary.rows[0]).unwrap();
    assert!(row["lexical_score"]["estimate"].is_number());
    assert!(row.get("score").is_none() && row.get("ann_score").is_none());
    assert_eq!(summary.score_name(), "lexical_score");
}

#[test]
fn nothing_scored_gives_no_rows_and_no_share() {
    let summary = summarize::<ScoredAnswer>(&[], &[], EXCLUDE);
    assert!(summary.rows.is_empty() && summary.unscored_share() == 0.0);
}
