//! Headline metrics: the numbers of a run that a reader wants first. Scorecards, comparisons, tables and the page show
//! these unless others are named.

use super::quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_PRECISION, CITATION_RECALL, MetricColumn,
};
use super::summary::{ScorerSummary, Summary};
use scholareval_core::domain::{ScorerId, Unit};
use scholareval_scorers::SCORERS;

/// The name of a scorer with the names of some metrics.
type Metrics = (&'static str, &'static [&'static str]);

const CITATIONS: Metrics = (
    "entailment",
    &[CITATION_PRECISION, CITATION_RECALL, CITATION_F1],
);

/// The columns of a row of ScholarQABench's table, in their order; empty for an unknown row.
pub fn row_metrics(row: &str) -> &'static [Metrics] {
    match row {
        "scifact" | "pubmedqa" => &[("overlap", &["match"]), CITATIONS],
        "qasa" => &[("overlap", &["rouge_l"]), CITATIONS],
        "cs" => &[("rubric", &["score"]), CITATIONS],
        "multi" | "bio" | "neuro" => &[
            (
                "prometheus",
                &["organization", "coverage", "relevance", ASPECT_MEAN],
            ),
            CITATIONS,
        ],
        _ => &[],
    }
}

/// A scorer's metric as a run calls it: the baseline's score is never called `score`.
pub fn metric_by<'a>(scorer: &ScorerId, name: &'a str) -> &'a str {
    if name == "score" {
        scorer.sum_names().0
    } else {
        name
    }
}

/// A metric of a run: its scorer, its name and its unit.
type RunMetric<'a> = (&'a ScorerId, &'a str, Unit);

/// Indices of the headline metrics among these, most important first: the columns of the benchmark's row if the run is
/// one, else one metric of each scorer. Of a scorer without any of these, every share and grade.
pub fn headline(row: Option<&str>, metrics: &[RunMetric<'_>]) -> Vec<usize> {
    let mut chosen = Vec::new();
    for (scorer, names) in row.map(row_metrics).unwrap_or_default() {
        // A judge's numbers before those of the lexical baseline, which nobody should take for
        // them.
        for is_baseline in [false, true] {
            chosen.extend(places(scorer, is_baseline, names, metrics));
        }
    }
    if !chosen.is_empty() {
        return chosen;
    }
    for scorer in SCORERS {
        for is_baseline in [false, true] {
            let chosen_here = places(scorer.name, is_baseline, scorer.headline, metrics);
            chosen.extend(chosen_here.first());
        }
    }
    let with_headline: Vec<&ScorerId> = chosen.iter().map(|at| metrics[*at].0).collect();
    for (at, (scorer, _, unit)) in metrics.iter().enumerate() {
        if *unit != Unit::Count && !with_headline.contains(scorer) {
            chosen.push(at);
        }
    }
    chosen
}

/// Indices of those of the named metrics of a scorer, by the baseline or not, that are among these.
fn places(
    scorer: &str,
    is_baseline: bool,
    names: &[&str],
    metrics: &[RunMetric<'_>],
) -> Vec<usize> {
    let place = |name: &str| {
        metrics.iter().position(|(metric_scorer, metric, _)| {
            metric_scorer.name() == scorer
                && metric_scorer.is_baseline() == is_baseline
                && *metric == metric_by(metric_scorer, name)
        })
    };
    let mut places = Vec::new();
    for name in names {
        let mut at = place(name);
        // Comparisons have a mean over answers in place of a number of a system's whole set.
        let info = SCORERS.iter().find(|info| info.name == scorer);
        at = at.or_else(|| place(info?.name_of_mean(name)));
        places.extend(at);
    }
    places
}

impl Summary {
    /// The headline metrics, most important first.
    pub fn headline(&self, row: Option<&str>) -> Vec<(&ScorerSummary, &MetricColumn)> {
        let mut columns = Vec::new();
        let mut metrics = Vec::new();
        for scorer in &self.scorers {
            for column in &scorer.columns {
                columns.push((scorer, column));
                metrics.push((&scorer.scorer, column.name.as_str(), column.unit));
            }
        }
        let places = headline(row, &metrics).into_iter();
        places.map(|at| columns[at]).collect()
    }

    /// The name of a scorer's metric, with the scorer's if several scorers have a metric of that name.
    pub fn metric_name(&self, scorer: &ScorerId, name: &str) -> String {
        let has_name =
            |scorer: &&ScorerSummary| scorer.columns.iter().any(|column| column.name == name);
        let is_unique = self.scorers.iter().filter(has_name).count() < 2;
        if is_unique {
            name.to_owned()
        } else {
            format!("{scorer}.{name}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scorer_has_one_headline_and_a_row_has_its_columns() {
        let metrics = [
            ("mine", "depth", Unit::Share),
            ("mine", "words", Unit::Count),
            ("overlap", "match", Unit::Share),
            ("overlap", "rouge_l", Unit::Share),
            ("entailment", "citation_recall", Unit::Share),
            ("entailment", "citation_f1_macro", Unit::Share),
        ];
        let ids: Vec<ScorerId> = metrics.iter().map(|metric| metric.0.into()).collect();
        let metrics: Vec<_> = ids
            .iter()
            .zip(metrics)
            .map(|(id, (_, name, unit))| (id, name, unit))
            .collect();
        let names = |row| {
            headline(row, &metrics)
                .into_iter()
                .map(|at| metrics[at].1)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(None), ["citation_f1_macro", "rouge_l", "depth"]);
        assert_eq!(
            names(Some("scifact")),
            ["match", "citation_recall", "citation_f1_macro"]
        );
        assert_eq!(names(Some("cs")), ["citation_recall", "citation_f1_macro"]);
    }

    #[test]
    fn the_baseline_has_a_headline_of_its_own() {
        let judged = ScorerId::new("rubric");
        let baseline = ScorerId::baseline("rubric");
        let metrics = [
            (&baseline, "lexical_score", Unit::Share),
            (&judged, "score", Unit::Share),
            (&judged, "length", Unit::Share),
        ];
        assert_eq!(headline(None, &metrics), [1, 0]);
        assert_eq!(headline(Some("cs"), &metrics), [1, 0]);
        assert_eq!(headline(None, &metrics[..1]), [0]);
    }
}
