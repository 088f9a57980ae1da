//! Converts a run to a rater.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::quantity::{distinct, finite};
use crate::domain::{ComponentKind, Rater, RaterKind, Rating, ScoredAnswer};

/// A run's scores as the ratings of one judge.
///
/// Without `metric` the rating of a whole answer is the score of the first scorer with one (the rubric's first), and
/// the items are the judged components: criteria, snippets, citations, excerpts, aspects. With a `metric`, one of
/// [`run_metrics`], both the whole answer and the item with its name have that value. Unscored values are omitted.
pub fn run_rater(name: &str, scored: &[Arc<ScoredAnswer>], metric: Option<&str>) -> Rater {
    let mut rater = Rater::new(name, RaterKind::Judge);
    let with_value = || scored.iter().filter(|answer| answer.score.value.is_some());
    let rubric = with_value().find(|answer| answer.score.is_weighted_sum());
    let whole = rubric.or_else(|| with_value().next()).map(|answer| answer.score.scorer);
    for (answer, number) in numbers(scored) {
        let is_whole = match metric {
            Some(metric) => metric == number.name,
            None => whole == Some(answer.score.scorer) && number.name == sum_name(answer),
        };
        let is_item = metric.map_or(number.kind.is_some_and(is_judged), |_| is_whole);
        let rating = |item: Option<&str>| {
            let (system, case_id) = (answer.system.clone(), answer.case.case_id.clone());
            Some(Rating { system, case_id, item: item.map(Arc::from), value: finite(number.value)? })
        };
        rater.ratings.extend(rating(None).filter(|_| is_whole));
        rater.ratings.extend(rating(Some(&number.name)).filter(|_| is_item));
    }
    rater
}

/// Valid `metric`s of [`run_rater`]: `SCORER.score`, `ann_score`, and every component, in the order of the run. A
/// component that an earlier scorer has too is called `SCORER.NAME`.
pub fn run_metrics(scored: &[Arc<ScoredAnswer>]) -> Vec<String> {
    distinct(numbers(scored).map(|(_, number)| number.name))
}

/// A value of an answer.
struct Number {
    /// Unique over the scorers of a run.
    name: String,
    value: Option<f64>,
    /// For components only.
    kind: Option<ComponentKind>,
}

fn numbers(scored: &[Arc<ScoredAnswer>]) -> impl Iterator<Item = (&ScoredAnswer, Number)> {
    let mut owners: BTreeMap<&str, &'static str> = BTreeMap::new();
    for answer in scored {
        for component in &answer.score.components {
            owners.entry(&component.name).or_insert(answer.score.scorer);
        }
    }
    let annotated = scored.iter().find(|answer| answer.score.ann_score.is_some()).map(|answer| answer.score.scorer);
    scored.iter().flat_map(move |answer| {
        let score = &answer.score;
        let sum = |name: String, value| Number { name, value, kind: None };
        let mut all = vec![sum(sum_name(answer), score.value)];
        if annotated == Some(score.scorer) {
            all.push(sum("ann_score".to_owned(), score.ann_score));
        }
        all.extend(score.components.iter().map(|component| {
            let is_own = owners.get(&*component.name) == Some(&score.scorer);
            let name = if is_own { component.name.to_string() } else { format!("{}.{}", score.scorer, component.name) };
            Number { name, value: component.value, kind: Some(component.kind) }
        }));
        all.into_iter().map(move |number| (&**answer, number))
    })
}

fn sum_name(answer: &ScoredAnswer) -> String {
    format!("{}.score", answer.score.scorer)
}

fn is_judged(kind: ComponentKind) -> bool {
    !matches!(kind, ComponentKind::Length | ComponentKind::Share | ComponentKind::Count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::test_support::{answer_to, case, component, simple_score};
    use crate::domain::Score;

    fn answer(score: Score) -> Arc<ScoredAnswer> {
        Arc::new(answer_to("s", case("c", "why?", "Annotator 1", false), score))
    }

    fn run() -> Vec<Arc<ScoredAnswer>> {
        let aspects = vec![
            component("coverage", ComponentKind::Aspect, 0.0, Some(4.0)),
            component("length", ComponentKind::Count, 0.0, Some(120.0)),
        ];
        let aspects = Score { scorer: "prometheus", value: Some(4.0), components: aspects, ..Score::default() };
        vec![answer(aspects), answer(simple_score(Some(1.0)))]
    }

    fn of(rater: &Rater) -> Vec<(Option<&str>, f64)> {
        rater.ratings.iter().map(|rating| (rating.item.as_deref(), rating.value)).collect()
    }

    #[test]
    fn the_rubrics_score_is_the_answers_and_what_was_only_counted_is_no_item() {
        let rater = run_rater("r", &run(), None);
        let ratings = of(&rater);
        // 0.4 of the weight at 0.5 and 0.6 at 1: 0.8
        assert!(ratings.iter().any(|(item, value)| item.is_none() && (value - 0.8).abs() < 1e-12), "{ratings:?}");
        assert_eq!(ratings.iter().filter(|(item, _)| item.is_none()).count(), 1);
        assert!(ratings.contains(&(Some("coverage"), 4.0)));
        assert!(!ratings.iter().any(|(item, _)| item.is_some_and(|item| item.contains("length"))), "{ratings:?}");
    }

    #[test]
    fn a_metric_is_any_number_of_the_run_by_a_name_of_its_own() {
        let names = run_metrics(&run());
        // `length` is prometheus's here, since it came first
        for name in ["prometheus.score", "coverage", "length", "rubric.score", "ann_score", "rubric.length"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        let rater = run_rater("r", &run(), Some("rubric.length"));
        assert_eq!(of(&rater), [(None, 0.5), (Some("rubric.length"), 0.5)]);
    }

    #[test]
    fn an_unscored_answer_was_not_rated() {
        let rater = run_rater("r", &[answer(simple_score(None))], None);
        assert!(of(&rater).iter().all(|(item, _)| item.is_some_and(|item| item != "most_important_item_0")));
    }
}
