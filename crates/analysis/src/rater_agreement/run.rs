//! Converts a run to a rater.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::comparison::metrics_of;
use crate::quantity::{Quantity, distinct, finite};
use scholareval_core::domain::{
    ComparedPair, ComponentKind, Preference, Rater, RaterKind, Rating, Score, ScoredAnswer,
    ScorerId, SubjectKind, Unit,
};
use scholareval_stats::mean;

/// A run's scores as the ratings of one judge.
///
/// Without `metric` the rating of a whole answer is the score of the first scorer with one (the rubric's first), and
/// the items are the judged components: criteria, snippets, citations, excerpts, aspects; one that an earlier scorer has, too,
/// is called `SCORER.NAME`. With a `metric` (`score`, `ann_score`, a component, a tag, any other metric that comparisons have, or
/// one of these as `SCORER.NAME`), both the whole answer and the item of that name have its value. Unscored values are omitted.
///
/// Of a run of pairs they are its preferences, whatever the metric.
///
/// # Errors
/// The names of all numbers if none is called `metric`.
pub fn run_rater(
    name: &str,
    subject: SubjectKind,
    scored: &[Arc<ScoredAnswer>],
    metric: Option<&str>,
) -> Result<Rater, Vec<String>> {
    match subject {
        SubjectKind::Answer => rater_of_answers(name, scored, metric),
        SubjectKind::Pair => Ok(rater_of_pairs(name, scored)),
    }
}

fn rater_of_answers(
    name: &str,
    scored: &[Arc<ScoredAnswer>],
    metric: Option<&str>,
) -> Result<Rater, Vec<String>> {
    let whole = whole_answer(scored);
    let chosen = match metric {
        Some(metric) => match number_called(metric, whole, scored) {
            Ok(number) => Some(number),
            Err(numbers) => return by_compared_metric(name, metric, scored, numbers),
        },
        None => whole,
    };
    let owners = first_scorers(scored);
    let mut rater = Rater::new(name, RaterKind::Judge);
    for answer in scored {
        let scorer = answer.score.scorer.as_str();
        for (name, value, kind) in numbers(&answer.score) {
            let Some(value) = value else { continue };
            let unit = kind.map_or_else(|| answer.score.unit(), ComponentKind::unit);
            let is_chosen = chosen == Some((scorer, name));
            let is_item = kind.is_some_and(is_judged);
            let item: Option<Arc<str>> = match metric {
                Some(metric) if is_chosen => Some(metric.into()),
                Some(_) => None,
                None if !is_item => None,
                None if owners[name] == scorer => Some(name.into()),
                None => Some(format!("{scorer}.{name}").into()),
            };
            let whole = Rating {
                system: answer.system.clone(),
                case_id: answer.case.case_id.clone(),
                item: None,
                value,
            };
            if is_chosen {
                add(&mut rater, whole.clone(), unit);
            }
            if item.is_some() {
                add(&mut rater, Rating { item, ..whole }, unit);
            }
        }
    }
    Ok(rater)
}

fn add(rater: &mut Rater, rating: Rating, unit: Unit) {
    rater.units.insert(rating.item.clone(), unit);
    rater.ratings.push(rating);
}

/// A number of a run: the scorer and its name.
type NumberName<'a> = (&'a str, &'a str);

/// The score of whole answers: the rubric's, else that of the first scorer with one.
fn whole_answer(scored: &[Arc<ScoredAnswer>]) -> Option<NumberName<'_>> {
    let mut with_value = scored.iter().filter(|answer| answer.score.value.is_some());
    let rubric = with_value
        .clone()
        .find(|answer| answer.score.is_weighted_sum());
    let score = &rubric.or_else(|| with_value.next())?.score;
    Some((score.scorer.as_str(), score.sum_names().0))
}

/// The scorer whose number a run's rating of whole answers is, as in [`run_rater`]; `None` if no number is called `metric`.
pub fn rated_scorer<'a>(scored: &'a [Arc<ScoredAnswer>], metric: Option<&str>) -> Option<&'a str> {
    let whole = whole_answer(scored);
    let Some(metric) = metric else {
        return whole.map(|(scorer, _)| scorer);
    };
    if let Ok((scorer, _)) = number_called(metric, whole, scored) {
        return Some(scorer);
    }
    let mut scorers = distinct(scored.iter().map(|answer| &answer.score.scorer)).into_iter();
    let with_metric = scorers.find(|scorer| {
        let all = scored.iter().map(|answer| &**answer);
        let answers: Vec<&ScoredAnswer> = all
            .filter(|answer| answer.score.scorer == **scorer)
            .collect();
        metrics_of(scorer, &answers)
            .iter()
            .any(|(id, _)| id.is_called(metric))
    });
    with_metric.map(ScorerId::name)
}

/// The first number that is called `metric`, with or without its scorer.
///
/// # Errors
/// The names of all numbers if there is none.
fn number_called<'a>(
    metric: &str,
    whole: Option<NumberName<'a>>,
    scored: &'a [Arc<ScoredAnswer>],
) -> Result<NumberName<'a>, Vec<String>> {
    let mut known = Vec::from_iter(whole);
    for answer in scored {
        let scorer = answer.score.scorer.as_str();
        for (name, value, _) in numbers(&answer.score) {
            if value.is_some() {
                known.push((scorer, name));
            }
        }
    }
    for (scorer, name) in &known {
        let rest = metric.strip_prefix(scorer);
        let qualified = rest.and_then(|rest| rest.strip_prefix('.'));
        if metric == *name || qualified == Some(name) {
            return Ok((scorer, name));
        }
    }
    Err(distinct(known.iter().map(|(_, name)| (*name).to_owned())))
}

/// The run as a rater by a metric that comparisons compute from several numbers of a score, such as that of a tag.
///
/// # Errors
/// The names of all numbers, the given ones first, if there is no metric of this name.
fn by_compared_metric(
    name: &str,
    metric: &str,
    scored: &[Arc<ScoredAnswer>],
    mut known: Vec<String>,
) -> Result<Rater, Vec<String>> {
    for scorer in distinct(scored.iter().map(|answer| &answer.score.scorer)) {
        let all = scored.iter().map(|answer| &**answer);
        let answers = all.filter(|answer| answer.score.scorer == *scorer);
        let answers: Vec<&ScoredAnswer> = answers.collect();
        for (id, quantity) in metrics_of(scorer, &answers) {
            if id.is_called(metric) {
                return Ok(by_quantity(name, metric, id.unit, &answers, &quantity));
            }
            if !known.contains(&id.name) {
                known.push(id.name);
            }
        }
    }
    Err(known)
}

/// A rater whose ratings of whole answers, and of the item `metric`, are the values of a quantity.
fn by_quantity(
    name: &str,
    metric: &str,
    unit: Unit,
    answers: &[&ScoredAnswer],
    of: &Quantity,
) -> Rater {
    let mut rater = Rater::new(name, RaterKind::Judge);
    for answer in answers {
        let Some(value) = of.observe(answer).value() else {
            continue;
        };
        for item in [None, Some(Arc::from(metric))] {
            let rating = Rating {
                system: answer.system.clone(),
                case_id: answer.case.case_id.clone(),
                item,
                value,
            };
            add(&mut rater, rating, unit);
        }
    }
    rater
}

/// The first scorer with a number of each name.
fn first_scorers(scored: &[Arc<ScoredAnswer>]) -> BTreeMap<&str, &str> {
    let mut owners = BTreeMap::new();
    for answer in scored {
        for (name, ..) in numbers(&answer.score) {
            owners.entry(name).or_insert(answer.score.scorer.as_str());
        }
    }
    owners
}

/// The sums and the components of a score: name, finite value, kind of component.
fn numbers(score: &Score) -> impl Iterator<Item = (&str, Option<f64>, Option<ComponentKind>)> {
    let (sum, ann_sum) = score.sum_names();
    let sums = [
        (sum, finite(score.value), None),
        (ann_sum, finite(score.ann_score), None),
    ];
    let components = score.components.iter();
    sums.into_iter().chain(components.map(|component| {
        (
            &*component.name,
            finite(component.value),
            Some(component.kind),
        )
    }))
}

fn is_judged(kind: ComponentKind) -> bool {
    !matches!(
        kind,
        ComponentKind::Length | ComponentKind::Share | ComponentKind::Net | ComponentKind::Count
    )
}

/// The preferences of a judge that compared answers in pairs: the mean of its verdicts on a pair, in whatever order it saw them.
fn rater_of_pairs(name: &str, scored: &[Arc<ScoredAnswer>]) -> Rater {
    let mut values: BTreeMap<ComparedPair, Vec<f64>> = BTreeMap::new();
    for answer in scored {
        let (Some([first, second]), Some(value)) = (&answer.systems, answer.score.value) else {
            continue;
        };
        let case_id = answer.case.case_id.clone();
        let (pair, is_exchanged) = ComparedPair::of(case_id, first.clone(), second.clone());
        let value = if is_exchanged { 1.0 - value } else { value };
        values.entry(pair).or_default().push(value);
    }
    let mut rater = Rater::new(name, RaterKind::Judge);
    for (pair, values) in values {
        let lead = mean(&values).unwrap_or(0.5) - 0.5;
        let preference = Preference::of_difference(lead, EQUAL);
        rater.preferences.insert(pair, preference);
    }
    rater
}

/// Verdicts of both orders that cancel each other are a tie, whatever their last digits.
const EQUAL: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{answer_to, case, component, simple_score};

    fn answer(score: Score) -> Arc<ScoredAnswer> {
        Arc::new(answer_to(
            "s",
            case("c", "why?", "Annotator 1", false),
            score,
        ))
    }

    fn run() -> Vec<Arc<ScoredAnswer>> {
        let aspects = vec![
            component("coverage", ComponentKind::Aspect, 0.0, Some(4.0)),
            component("length", ComponentKind::Count, 0.0, Some(120.0)),
        ];
        let aspects = Score {
            scorer: "prometheus".into(),
            value: Some(4.0),
            components: aspects,
            ..Score::default()
        };
        vec![answer(aspects), answer(simple_score(Some(1.0)))]
    }

    fn of(rater: &Rater) -> Vec<(Option<&str>, f64)> {
        rater
            .ratings
            .iter()
            .map(|rating| (rating.item.as_deref(), rating.value))
            .collect()
    }

    #[test]
    fn the_rubrics_score_is_the_answers_and_what_was_only_counted_is_no_item() {
        let rater = rater_of_answers("r", &run(), None).unwrap();
        let ratings = of(&rater);
        // 0.4 of the weight at 0.5 and 0.6 at 1: 0.8
        assert!(
            ratings
                .iter()
                .any(|(item, value)| item.is_none() && (value - 0.8).abs() < 1e-12),
            "{ratings:?}"
        );
        assert_eq!(ratings.iter().filter(|(item, _)| item.is_none()).count(), 1);
        assert!(ratings.contains(&(Some("coverage"), 4.0)));
        assert!(
            !ratings
                .iter()
                .any(|(item, _)| item.is_some_and(|item| item.contains("length"))),
            "{ratings:?}"
        );
    }

    #[test]
    fn a_metric_is_any_number_of_the_run_by_a_name_of_its_own() {
        // Both scores have a length: without a scorer it is the first one's.
        for (metric, expected) in [
            ("prometheus.score", 4.0),
            ("score", 0.8),
            ("coverage", 4.0),
            ("length", 120.0),
            ("rubric.length", 0.5),
        ] {
            let rater = rater_of_answers("r", &run(), Some(metric)).unwrap();
            assert!(
                (rater.ratings[0].value - expected).abs() < 1e-12,
                "{metric}: {:?}",
                rater.ratings
            );
        }
        let rater = rater_of_answers("r", &run(), Some("rubric.length")).unwrap();
        assert_eq!(of(&rater), [(None, 0.5), (Some("rubric.length"), 0.5)]);
        let known = rater_of_answers("r", &run(), Some("lenght")).unwrap_err();
        assert_eq!(known[..4], ["score", "coverage", "length", "ann_score"]);
    }

    #[test]
    fn a_metric_may_be_a_tag_as_in_comparisons() {
        let mut run = run();
        let mut tagged = simple_score(Some(1.0));
        tagged.components[4].tags = vec!["depth".into()];
        tagged.components[0].tags = vec!["depth".into()];
        run[1] = answer(tagged);
        for metric in ["depth", "rubric.depth"] {
            let rater = rater_of_answers("r", &run, Some(metric)).unwrap();
            // Length 0.5 with the weight 0.1, the property 1 with 0.6: 0.65 / 0.7.
            let expected = 0.65 / 0.7;
            assert!(
                (rater.ratings[0].value - expected).abs() < 1e-12,
                "{rater:?}"
            );
            let items: Vec<Option<&str>> = of(&rater).iter().map(|(item, _)| *item).collect();
            assert_eq!(items, [None, Some(metric)]);
        }
        let known = rater_of_answers("r", &run, Some("dept")).unwrap_err();
        assert!(known.iter().any(|name| name == "depth"), "{known:?}");
    }

    #[test]
    fn an_unscored_answer_was_not_rated() {
        let rater = rater_of_answers("r", &[answer(simple_score(None))], None).unwrap();
        assert!(
            of(&rater)
                .iter()
                .all(|(item, _)| item.is_some_and(|item| item != "most_important_item_0"))
        );
    }
}
