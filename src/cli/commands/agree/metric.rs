//! `--metric` of `agree`: a name as people say it to a number of each run.

use std::collections::BTreeSet;

use crate::analysis::rater_agreement::{run_metrics, run_rater};
use crate::cli::suggest::nearest;
use crate::dataset::Labels;
use crate::domain::Rater;
use crate::error::{Error, InputFault, Result};
use crate::evaluation::record::RecordedRun;

/// Names listed in a message.
const LISTED: usize = 12;

/// What each run calls the metric; nothing where none is named.
///
/// # Errors
/// When a run has no number of that name, or several; without runs, when no rater has an item of that name.
pub(super) fn of_runs(runs: &[RecordedRun], labels: &Labels, typed: Option<&str>) -> Result<Vec<Option<String>>> {
    let Some(typed) = typed else { return Ok(vec![None; runs.len()]) };
    let of_run = |run: &RecordedRun| match called(typed, &run_metrics(&run.scored)) {
        Ok(name) => Ok(Some(name)),
        Err((what, hint)) => Err(InputFault::new(&run.path, what).hint(hint).into()),
    };
    let names: Vec<Option<String>> = runs.iter().map(of_run).collect::<Result<_>>()?;
    let items: BTreeSet<&str> =
        labels.raters.iter().flat_map(|rater| &rater.ratings).filter_map(|rating| rating.item.as_deref()).collect();
    if runs.is_empty() && !items.contains(typed) {
        let known: Vec<String> = items.into_iter().map(str::to_owned).collect();
        let hint = suggestion(typed, &known);
        return Err(Error::Settings(format!("--metric {typed}: the labels have no such item; {hint}")));
    }
    Ok(names)
}

/// The run as a rater, the number that the run calls `own` under the name that was typed: labels have it, too.
pub(super) fn rater(name: &str, run: &RecordedRun, own: Option<&str>, typed: Option<&str>) -> Rater {
    let mut rater = run_rater(name, &run.scored, own);
    if let Some(typed) = typed {
        rater.ratings.iter_mut().filter_map(|rating| rating.item.as_mut()).for_each(|item| *item = typed.into());
    }
    rater
}

/// The known name that was meant: the name itself, the rubric's score for `score` (for `lexical_score` the lexical
/// baseline's, which is no score), else the only `SCORER.NAME`; or what is wrong and what to type.
fn called(typed: &str, known: &[String]) -> std::result::Result<String, (String, String)> {
    let has = |name: &str| known.iter().any(|known| known == name);
    let rubric = match typed {
        "score" => Some("rubric.score"),
        "lexical_score" => Some("lexical_rubric.score"),
        _ => None,
    };
    if let Some(name) = [Some(typed), rubric].into_iter().flatten().find(|name| has(name)) {
        return Ok(name.to_owned());
    }
    let is_lexical = |name: &&String| typed == "score" && name.starts_with("lexical_");
    let of_scorers: Vec<&String> = known
        .iter()
        .filter(|name| name.rsplit_once('.').is_some_and(|(_, last)| last == typed) && !is_lexical(name))
        .collect();
    match of_scorers[..] {
        [one] => Ok(one.clone()),
        [] if typed == "score" && has("lexical_rubric.score") => {
            Err((format!("the run has no number called {typed:?}"), "did you mean lexical_score?".to_owned()))
        }
        [] => Err((format!("the run has no number called {typed:?}"), suggestion(typed, known))),
        [..] => {
            let names = of_scorers.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            Err((format!("the run has several numbers called {typed:?}"), format!("write one of: {names}")))
        }
    }
}

/// The nearest known name, by its part after the scorer, too; or what is known.
fn suggestion(typed: &str, known: &[String]) -> String {
    let whole = nearest(typed, known.iter().map(String::as_str));
    let of_scorer = || {
        let last = |name: &'_ String| name.rsplit_once('.').map(|(_, last)| last.to_owned());
        let lasts: Vec<String> = known.iter().filter_map(last).collect();
        let near = nearest(typed, lasts.iter().map(String::as_str))?;
        known.iter().find(|name| name.rsplit_once('.').is_some_and(|(_, last)| last == near)).map(String::as_str)
    };
    if let Some(name) = whole.or_else(of_scorer) {
        return format!("did you mean {name}?");
    }
    let more = known.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("known: {}{more}", known.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_score_is_the_rubrics_or_the_only_one() {
        let both = names(&["rubric.score", "ann_score", "length", "prometheus.score", "coverage", "prometheus.length"]);
        assert_eq!(called("score", &both).as_deref(), Ok("rubric.score"));
        assert_eq!(called("length", &both).as_deref(), Ok("length"));
        assert_eq!(called("prometheus.length", &both).as_deref(), Ok("prometheus.length"));
        assert_eq!(called("score", &names(&["prometheus.score"])).as_deref(), Ok("prometheus.score"));
        let (what, hint) = called("score", &names(&["a.score", "b.score"])).unwrap_err();
        assert_eq!(
            (what.as_str(), hint.as_str()),
            ("the run has several numbers called \"score\"", "write one of: a.score, b.score")
        );
    }

    #[test]
    fn a_lexical_score_is_no_score_but_has_its_name() {
        let lexical = names(&["lexical_rubric.score", "length"]);
        assert_eq!(called("lexical_score", &lexical).as_deref(), Ok("lexical_rubric.score"));
        assert_eq!(called("score", &lexical).unwrap_err().1, "did you mean lexical_score?");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_one_or_a_list() {
        let known = names(&["rubric.score", "ann_score", "length", "coverage"]);
        let hint = |typed: &str| called(typed, &known).unwrap_err().1;
        assert_eq!(hint("lenght"), "did you mean length?");
        assert_eq!(hint("scroe"), "did you mean rubric.score?");
        assert_eq!(hint("readability"), "known: rubric.score, ann_score, length, coverage");
    }
}
