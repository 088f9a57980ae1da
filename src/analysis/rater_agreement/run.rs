//! A run as a rater.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::domain::{Component, ComponentKind, Rater, RaterKind, Rating, ScoredAnswer};

/// A run's scores as what one judge said.
///
/// With no `metric` the rating of a whole answer is the score of the first scorer that has one (the rubric's before
/// others'), and the items are what was judged: criteria, snippets, citations, excerpts, aspects. With a `metric`, one of
/// [`run_metrics`], it is that number, as the whole answer and as the item of that name. What is unscored is not there.
pub fn run_rater(name: &str, scored: &[Arc<ScoredAnswer>], metric: Option<&str>) -> Rater {
    let mut rater = Rater::new(name, RaterKind::Judge);
    let whole = default_scorer(scored);
    let rating = |answer: &ScoredAnswer, item: Option<&str>, value: f64| Rating {
        system: answer.system.clone(),
        case_id: answer.case.case_id.clone(),
        item: item.map(Arc::from),
        value,
    };
    for (answer, names) in named(scored) {
        for (item, value, is_judged) in names {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            match metric {
                Some(metric) if metric == item => {
                    rater.ratings.push(rating(answer, None, value));
                    rater.ratings.push(rating(answer, Some(metric), value));
                }
                None if is_judged => rater.ratings.push(rating(answer, Some(&item), value)),
                _ => {}
            }
        }
        let is_whole = metric.is_none() && whole == Some(answer.score.scorer);
        if let Some(value) = answer.score.value.filter(|value| is_whole && value.is_finite()) {
            rater.ratings.push(rating(answer, None, value));
        }
    }
    rater
}

/// What `metric` of [`run_rater`] may be: `SCORER.score`, `ann_score`, and every component, in the order of the run. A
/// component that an earlier scorer has too is called `SCORER.NAME`.
pub fn run_metrics(scored: &[Arc<ScoredAnswer>]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for (_, names) in named(scored) {
        for (name, ..) in names {
            if !known.contains(&name) {
                known.push(name);
            }
        }
    }
    known
}

/// The scorer whose score is the rating of a whole answer.
fn default_scorer(scored: &[Arc<ScoredAnswer>]) -> Option<&'static str> {
    let with_value = || scored.iter().filter(|answer| answer.score.value.is_some());
    let rubric = with_value().find(|answer| answer.score.is_weighted_sum());
    rubric.or_else(|| with_value().next()).map(|answer| answer.score.scorer)
}

/// A number of an answer: its name, the number, and whether somebody judged it.
type Named = (String, Option<f64>, bool);

/// Each answer with everything it was given, names unique over the scorers.
fn named(scored: &[Arc<ScoredAnswer>]) -> impl Iterator<Item = (&ScoredAnswer, Vec<Named>)> {
    let mut owners: BTreeMap<&str, &'static str> = BTreeMap::new();
    for answer in scored {
        for component in &answer.score.components {
            owners.entry(&component.name).or_insert(answer.score.scorer);
        }
    }
    let has_ann: Option<&'static str> =
        scored.iter().find(|answer| answer.score.ann_score.is_some()).map(|answer| answer.score.scorer);
    scored.iter().map(move |answer| {
        let score = &answer.score;
        let name = |component: &Component| match owners.get(&*component.name) {
            Some(owner) if *owner == score.scorer => component.name.clone(),
            _ => format!("{}.{}", score.scorer, component.name),
        };
        let mut all = vec![(format!("{}.score", score.scorer), score.value, false)];
        if has_ann == Some(score.scorer) {
            all.push(("ann_score".to_owned(), score.ann_score, false));
        }
        all.extend(score.components.iter().map(|part| (name(part), part.value, is_judged(part.kind))));
        (&**answer, all)
    })
}

fn is_judged(kind: ComponentKind) -> bool {
    match kind {
        ComponentKind::Expertise
        | ComponentKind::Citations
        | ComponentKind::Excerpts
        | ComponentKind::Property
        | ComponentKind::Evidence
        | ComponentKind::Aspect => true,
        ComponentKind::Length | ComponentKind::Share | ComponentKind::Count => false,
    }
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
        let said = of(&rater);
        // 0.4 of the weight at 0.5 and 0.6 at 1: 0.8
        assert!(said.iter().any(|(item, value)| item.is_none() && (value - 0.8).abs() < 1e-12), "{said:?}");
        assert_eq!(said.iter().filter(|(item, _)| item.is_none()).count(), 1);
        assert!(said.contains(&(Some("coverage"), 4.0)));
        assert!(!said.iter().any(|(item, _)| item.is_some_and(|item| item.contains("length"))), "{said:?}");
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
