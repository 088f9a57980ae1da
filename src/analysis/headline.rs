//! Headline metrics: the numbers of a run that a reader wants first. Scorecards, comparisons, tables and the page show
//! these unless others are named.

use super::quantity::{
    ASPECT_MEAN, CITATION_F1, CITATION_F1_MACRO, CITATION_PRECISION, CITATION_RECALL, MetricColumn,
};
use super::summary::{ScorerSummary, Summary};
use crate::domain::Unit;

/// A scorer with the names of some metrics.
type Metrics = (&'static str, &'static [&'static str]);

/// Metrics of each scorer; the first one that a run has is the scorer's headline.
const SCORERS: [Metrics; 6] = [
    ("rubric", &["score"]),
    ("lexical_rubric", &["lexical_score"]),
    ("prometheus", &[ASPECT_MEAN]),
    ("entailment", &[CITATION_F1]),
    ("citation_audit", &["gold_f1", "valid"]),
    ("overlap", &["rouge_l", "str_em", "match"]),
];

const CITATIONS: Metrics = (
    "entailment",
    &[CITATION_PRECISION, CITATION_RECALL, CITATION_F1],
);

/// The columns of a row of ScholarQABench's table, in their order; empty for an unknown row.
pub fn row_metrics(row: &str) -> &'static [Metrics] {
    match row {
        "scifact" | "pubmedqa" => &[("overlap", &["match"]), CITATIONS],
        "qasa" => &[("overlap", &["rouge_l"]), CITATIONS],
        "cs" => &[
            ("rubric", &["score"]),
            ("lexical_rubric", &["lexical_score"]),
            CITATIONS,
        ],
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

/// Indices of the headline metrics among these, most important first: the columns of the benchmark's row if the run is
/// one, else one metric of each scorer. Of a scorer without any of these, every share and grade.
pub fn headline(row: Option<&str>, metrics: &[(&str, &str, Unit)]) -> Vec<usize> {
    let find = |scorer: &str, name: &str| {
        let place = |name: &str| {
            metrics
                .iter()
                .position(|own| (own.0, own.1) == (scorer, name))
        };
        // Comparisons have a mean over answers in place of the F1 of a system's means.
        place(name).or_else(|| place(CITATION_F1_MACRO).filter(|_| name == CITATION_F1))
    };
    let found = |(scorer, names): &Metrics| {
        names
            .iter()
            .filter_map(|name| find(scorer, name))
            .collect::<Vec<_>>()
    };
    let of_row: Vec<usize> = row
        .map(row_metrics)
        .unwrap_or_default()
        .iter()
        .flat_map(found)
        .collect();
    if !of_row.is_empty() {
        return of_row;
    }
    let mut chosen: Vec<usize> = SCORERS
        .iter()
        .filter_map(|scorer| found(scorer).first().copied())
        .collect();
    let has_headline: Vec<&str> = chosen.iter().map(|at| metrics[*at].0).collect();
    let is_other = |(_, own): &(usize, &(&str, &str, Unit))| {
        own.2 != Unit::Count && !has_headline.contains(&own.0)
    };
    chosen.extend(
        metrics
            .iter()
            .enumerate()
            .filter(is_other)
            .map(|(at, _)| at),
    );
    chosen
}

impl Summary {
    /// The headline metrics, most important first.
    pub fn headline(&self, row: Option<&str>) -> Vec<(&ScorerSummary, &MetricColumn)> {
        let columns = self
            .scorers
            .iter()
            .flat_map(|scorer| scorer.columns.iter().map(move |column| (scorer, column)));
        let columns: Vec<_> = columns.collect();
        let metrics: Vec<_> = columns
            .iter()
            .map(|(scorer, column)| (scorer.scorer, column.name.as_str(), column.unit))
            .collect();
        headline(row, &metrics)
            .into_iter()
            .map(|at| columns[at])
            .collect()
    }

    /// The name of a scorer's metric, with the scorer's if several scorers have a metric of that name.
    pub fn metric_name(&self, scorer: &str, name: &str) -> String {
        let has_name = |own: &&ScorerSummary| own.columns.iter().any(|column| column.name == name);
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
}
