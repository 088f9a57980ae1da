//! The row of a benchmark: metrics of several scorers under the benchmark's names.
//!
//! A row names scorers and metrics; the numbers are taken from the summary of a run, or of several,
//! and laid out under the names that the benchmark uses.

use std::collections::BTreeMap;

use serde::Serialize;

use super::visible;
use crate::analysis::{
    ASPECT_MEAN, Metric, MetricColumn, ScorerSummary, Summary, SystemSummary, distinct, metric_by,
    row_metrics,
};
use crate::domain::{Note, ScorerId, SystemName, Unit};
use crate::evaluation::QuestionCoverage;
use crate::scorer::scorer_named;

/// Name of the citation scorer.
const CITATIONS: &str = "entailment";

/// Blank columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenchBlank {
    /// Their names.
    pub columns: Vec<&'static str>,
    /// Why they are blank, without a full stop.
    pub reason: String,
}

/// A row of a benchmark, without its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bench {
    /// Its name.
    #[serde(rename = "bench")]
    pub name: &'static str,
    /// The data file, as given.
    pub data: String,
    /// Number of its questions.
    pub asked: usize,
    /// How many questions each system answered.
    #[serde(skip)]
    pub coverage: Vec<QuestionCoverage>,
    /// Columns that are blank for every system.
    pub blank: Vec<BenchBlank>,
    /// Explanations of the columns, one sentence each, without a full stop.
    pub legend: Vec<String>,
}

impl Bench {
    /// Marks the columns of a scorer as blank.
    pub fn leave_out(&mut self, scorer: &str, reason: &str) {
        let columns = self.columns_of(scorer);
        if !columns.is_empty() {
            self.blank.push(BenchBlank {
                columns,
                reason: reason.to_owned(),
            });
        }
    }

    fn columns_of(&self, scorer: &str) -> Vec<&'static str> {
        let mut columns = Vec::new();
        for (row_scorer, names) in row_metrics(self.name) {
            if *row_scorer == scorer {
                columns.extend_from_slice(names);
            }
        }
        columns
    }

    /// The summary with the row as its only scorer. What nobody judged is blank.
    pub(super) fn row(&self, summary: &Summary) -> Summary {
        let columns = self.columns(summary);
        let mut rows = Vec::new();
        for system in summary.systems() {
            rows.push(self.system_row(summary, system, &columns));
        }
        let mut notes = Vec::new();
        for scorer in scorers_of(summary, &columns) {
            notes.extend(scorer.notes.iter().cloned());
        }
        let is_baseline = scorers_of(summary, &columns).any(|scorer| scorer.scorer.is_baseline());
        let row = ScorerSummary {
            scorer: ScorerId::of_row(self.name, is_baseline),
            columns: columns.iter().map(BenchColumn::metric_column).collect(),
            rows,
            notes,
        };
        Summary {
            scorers: vec![row],
            ..summary.clone()
        }
    }

    /// The columns of the row, under the names of the run: the baseline's score is not called `score`.
    fn columns(&self, summary: &Summary) -> Vec<BenchColumn> {
        let mut columns = Vec::new();
        for (scorer, names) in row_metrics(self.name) {
            let of_run = named(summary, scorer);
            for name in *names {
                let name = of_run.map_or(*name, |scorer_summary| {
                    metric_by(&scorer_summary.scorer, name)
                });
                columns.push(BenchColumn { scorer, name });
            }
        }
        columns
    }

    /// One system over the scorers of the columns.
    fn system_row(
        &self,
        summary: &Summary,
        system: &SystemName,
        columns: &[BenchColumn],
    ) -> SystemSummary {
        let answers = self.covered(system).map_or(0, |coverage| coverage.answered);
        let mut row = SystemSummary {
            system: system.clone(),
            rank: None,
            answers,
            // Of the benchmark's questions, not of the run's: a system that skips hard questions
            // must not look complete.
            missing: self.asked.saturating_sub(answers),
            unscored: 0,
            unscored_reasons: Vec::new(),
            injections: 0,
            metrics: BTreeMap::new(),
        };
        for column in columns {
            let metric = self.metric(summary, system, column).unwrap_or_default();
            row.metrics.insert(column.name.to_owned(), metric);
        }
        for scorer in scorers_of(summary, columns) {
            if let Some(scorer_row) = scorer.row(system) {
                // The most of any scorer and not the sum: the scorers score the same answers.
                row.unscored = row.unscored.max(scorer_row.unscored);
                row.injections = row.injections.max(scorer_row.injections);
                row.unscored_reasons
                    .extend(scorer_row.unscored_reasons.iter().cloned());
            }
        }
        row
    }

    /// The number of a system in a column; `None` where it would be wrong: citations of answers without sources, and the mean
    /// of the aspects unless all of them have a mean.
    fn metric(
        &self,
        summary: &Summary,
        system: &SystemName,
        column: &BenchColumn,
    ) -> Option<Metric> {
        if column.scorer == CITATIONS && !self.covered(system)?.has_sources {
            return None;
        }
        let scorer = named(summary, column.scorer)?;
        if column.name == ASPECT_MEAN {
            for aspect in self.columns_of(column.scorer) {
                // A mean of fewer aspects is another number than the published one.
                scorer.metric(system, aspect)?.estimate?;
            }
        }
        scorer.metric(system, column.name).copied()
    }

    fn covered(&self, system: &SystemName) -> Option<&QuestionCoverage> {
        self.coverage
            .iter()
            .find(|coverage| coverage.system == *system)
    }

    /// What is blank or was not answered.
    pub(super) fn notes(&self) -> Vec<Note> {
        let mut notes = Vec::new();
        for blank in &self.blank {
            let columns = blank.columns.join(", ");
            notes.push(format!("Blank: {columns}: {}.", blank.reason));
        }
        for coverage in &self.coverage {
            if coverage.answered < self.asked {
                notes.push(format!(
                    "{}: {} of {} questions have no prediction.",
                    visible(coverage.system.as_str()),
                    self.asked - coverage.answered,
                    self.asked
                ));
            }
        }
        let citations = self.columns_of(CITATIONS);
        let is_judged = !self.blank.iter().any(|blank| blank.columns == citations);
        for coverage in &self.coverage {
            if is_judged && !coverage.has_sources {
                notes.push(format!(
                    "Blank: {} of {}: its answers have no sources (ctxs or docs).",
                    citations.join(", "),
                    coverage.system
                ));
            }
        }
        notes.into_iter().map(Note::warning).collect()
    }
}

/// A column of a row: a metric of a scorer.
struct BenchColumn {
    scorer: &'static str,
    name: &'static str,
}

impl BenchColumn {
    fn metric_column(&self) -> MetricColumn {
        let info = scorer_named(self.scorer);
        MetricColumn {
            name: self.name.to_owned(),
            unit: info.map_or(Unit::Share, |info| info.unit),
        }
    }
}

/// The scorers of the columns that the run has, each once.
fn scorers_of<'a>(
    summary: &'a Summary,
    columns: &'a [BenchColumn],
) -> impl Iterator<Item = &'a ScorerSummary> {
    let names = distinct(columns.iter().map(|column| column.scorer));
    names.into_iter().filter_map(|name| named(summary, name))
}

/// The summary of the scorer of this name, by an LLM or by the baseline: a run has one of the two.
fn named<'a>(summary: &'a Summary, scorer: &str) -> Option<&'a ScorerSummary> {
    let mut scorers = summary.scorers.iter();
    scorers.find(|candidate| candidate.scorer.name() == scorer)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::AggregateOptions;
    use crate::analysis::test_support::{answer, component, summary_of};
    use crate::domain::{ComponentKind, Score, ScoredAnswer};
    use crate::report::{
        CsvText, ReportContext, TableStyle, scorecard, scorecard_csv, scorecard_json,
    };

    fn bench() -> Bench {
        Bench {
            name: "multi",
            data: "d\u{1b}.jsonl".to_owned(),
            asked: 2,
            coverage: [("a", 2), ("b", 1)]
                .map(|(s, answered)| QuestionCoverage {
                    system: s.into(),
                    answered,
                    has_sources: true,
                })
                .into(),
            blank: vec![BenchBlank {
                columns: vec!["citation_f1"],
                reason: "no judge has the role citation".to_owned(),
            }],
            legend: vec!["aspect_mean: mean of the aspects".to_owned()],
        }
    }

    fn graded(system: &str, case: &str, grades: &[(&str, f64)]) -> ScoredAnswer {
        let aspect =
            |(name, value): &(&str, f64)| component(name, ComponentKind::Aspect, 0.0, Some(*value));
        let components = grades.iter().map(aspect).collect();
        answer(
            system,
            case,
            Score {
                scorer: "prometheus".into(),
                components,
                ..Score::default()
            },
        )
    }

    fn graded_run() -> Summary {
        let scored = [
            graded(
                "a",
                "1",
                &[("organization", 3.0), ("coverage", 4.0), ("relevance", 2.0)],
            ),
            graded(
                "a",
                "2",
                &[("organization", 2.0), ("coverage", 2.0), ("relevance", 2.0)],
            ),
            graded("b", "1", &[("coverage", 5.0)]),
        ];
        summary_of(&scored, &[], AggregateOptions::default())
    }

    /// What is written of the row, as text for people, JSON and CSV.
    fn written(summary: &Summary, bench: &Bench) -> (String, Value, String) {
        let (row, context) = (
            bench.row(summary),
            ReportContext {
                bench: Some(bench.clone()),
                ..ReportContext::default()
            },
        );
        let table = scorecard(&row, &context)[0].terminal(&TableStyle {
            width: 120,
            ..TableStyle::default()
        });
        let json = serde_json::from_str(&scorecard_json(&row, &context).unwrap()).unwrap();
        (table, json, scorecard_csv(&row, CsvText::Guarded).unwrap())
    }

    #[test]
    fn columns_come_from_every_scorer_and_unjudged_ones_are_blank_and_never_zero() {
        let (_, json, _) = written(&graded_run(), &bench());
        assert_eq!(json["asked"], 2);
        let a = &json["scorers"][0]["rows"][0];
        assert_eq!((&a["system"], &a["answers"]), (&json!("a"), &json!(2)));
        let estimate = |row: usize, name: &str| {
            json["scorers"][0]["rows"][row]["metrics"][name]["estimate"].clone()
        };
        assert_eq!(estimate(0, "coverage"), 3.0);
        // (5 / 2 + 6 / 2 + 4 / 2) / 3
        assert_eq!(estimate(0, "aspect_mean"), 2.5);
        // b has no grade in relevance: no mean of all aspects.
        assert_eq!(
            (estimate(1, "coverage"), estimate(1, "aspect_mean")),
            (json!(5.0), Value::Null)
        );
        assert!(estimate(0, "citation_f1").is_null() && estimate(1, "relevance").is_null());
        assert_eq!(
            json["blank"][0],
            json!({"columns": ["citation_f1"], "reason": "no judge has the role citation"})
        );
    }

    #[test]
    fn an_incomplete_system_and_blank_columns_have_a_note() {
        let (shown, json, _) = written(&graded_run(), &bench());
        assert!(
            shown.starts_with("multi: 2 questions of d\\u{1b}.jsonl; means"),
            "{shown}"
        );
        let row = shown.lines().find(|line| line.starts_with("b ")).unwrap();
        assert_eq!(
            row.split_whitespace().collect::<Vec<_>>()[..5],
            ["b", "-", "5.00*", "-", "-"],
            "{shown}"
        );
        let notes: Vec<&Value> = json["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| &note["text"])
            .collect();
        assert_eq!(
            notes[0],
            "Blank: citation_f1: no judge has the role citation."
        );
        assert_eq!(notes[1], "b: 1 of 2 questions have no prediction.");
        assert_eq!(*notes.last().unwrap(), "aspect_mean: mean of the aspects.");
    }

    #[test]
    fn citations_of_a_system_without_sources_are_blank_and_those_of_others_stand() {
        let share = |name| component(name, ComponentKind::Share, 0.0, Some(0.0));
        let cited = |system: &str| {
            let components = vec![
                share("citation_precision"),
                share("citation_recall"),
                share("citation_f1"),
            ];
            answer(
                system,
                "1",
                Score {
                    scorer: "entailment".into(),
                    components,
                    ..Score::default()
                },
            )
        };
        let run = summary_of(&[cited("a"), cited("b")], &[], AggregateOptions::default());
        let mut bench = bench();
        bench.coverage[1].has_sources = false;
        let (_, json, _) = written(&run, &bench);
        assert_eq!(
            json["scorers"][0]["rows"][0]["metrics"]["citation_f1"]["estimate"],
            0.0
        );
        assert!(json["scorers"][0]["rows"][1]["metrics"]["citation_f1"]["estimate"].is_null());
        let notes = bench.notes();
        let blank = "Blank: citation_precision, citation_recall, citation_f1 of b: its answers have no sources (ctxs or docs).";
        assert!(notes.iter().any(|note| note.text == blank), "{notes:?}");
    }

    #[test]
    fn csv_has_empty_cells_for_blank_columns() {
        let (_, _, csv) = written(&graded_run(), &bench());
        let lines: Vec<&str> = csv.lines().collect();
        assert!(
            lines[0].starts_with("system,organization,organization_low,"),
            "{csv}"
        );
        assert!(lines[1].starts_with("a,2.5,"), "{csv}");
        assert!(lines[2].starts_with("b,,,,0,0,5,"), "{csv}");
    }
}
