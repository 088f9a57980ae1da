//! The row of a benchmark: metrics of several scorers under the benchmark's names.

use serde::Serialize;

use super::visible;
use crate::analysis::{
    ASPECT_MEAN, Metric, MetricColumn, ScorerSummary, Summary, SystemSummary, row_metrics,
};
use crate::domain::{Note, SystemName, Unit};
use crate::evaluation::Coverage;

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
    pub coverage: Vec<Coverage>,
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
        let own = row_metrics(self.name)
            .iter()
            .filter(|(own, _)| *own == scorer);
        own.flat_map(|(_, names)| names.iter().copied()).collect()
    }

    /// The summary with the row as its only scorer. What nobody judged is blank.
    pub(super) fn row(&self, summary: &Summary) -> Summary {
        let other_rubric = if summary.scorer("lexical_rubric").is_some() {
            "rubric"
        } else {
            "lexical_rubric"
        };
        let scorers = row_metrics(self.name)
            .iter()
            .filter(|(scorer, _)| *scorer != other_rubric);
        let metrics: Vec<(&str, &str)> = scorers
            .clone()
            .flat_map(|(scorer, names)| names.iter().map(|name| (*scorer, *name)))
            .collect();
        let covered = |system: &SystemName| self.coverage.iter().find(|of| of.system == *system);
        let metric = |(scorer, name): &(&str, &str), system: &SystemName| -> Option<Metric> {
            if *scorer == CITATIONS && !covered(system).is_some_and(|of| of.has_sources) {
                return None;
            }
            let own = summary.scorer(scorer)?;
            let is_scored = |name: &&str| {
                own.metric(system, name)
                    .is_some_and(|own| own.estimate.is_some())
            };
            // The mean is that of all aspects.
            let is_whole = *name != ASPECT_MEAN || self.columns_of(scorer).iter().all(is_scored);
            own.metric(system, name).copied().filter(|_| is_whole)
        };
        let row = |system: &SystemName| {
            let rows = || {
                scorers
                    .clone()
                    .filter_map(|(scorer, _)| summary.scorer(scorer)?.row(system))
            };
            let metrics = metrics
                .iter()
                .map(|own| (own.1.to_owned(), metric(own, system).unwrap_or_default()))
                .collect();
            let answers = covered(system).map_or(0, |of| of.answered);
            SystemSummary {
                system: system.clone(),
                rank: None,
                answers,
                missing: self.asked.saturating_sub(answers),
                unscored: rows().map(|row| row.unscored).max().unwrap_or(0),
                unscored_reasons: rows()
                    .flat_map(|row| row.unscored_reasons.clone())
                    .collect(),
                injections: rows().map(|row| row.injections).max().unwrap_or(0),
                metrics,
            }
        };
        let column = |(scorer, name): &(&str, &str)| MetricColumn {
            name: (*name).to_owned(),
            unit: if *scorer == "prometheus" {
                Unit::Grade
            } else {
                Unit::Share
            },
        };
        let row = ScorerSummary {
            scorer: self.name,
            columns: metrics.iter().map(column).collect(),
            rows: summary.systems().into_iter().map(row).collect(),
            notes: scorers
                .filter_map(|(scorer, _)| summary.scorer(scorer))
                .flat_map(|own| own.notes.clone())
                .collect(),
        };
        Summary {
            scorers: vec![row],
            ..summary.clone()
        }
    }

    /// What is blank or was not answered.
    pub(super) fn notes(&self) -> Vec<Note> {
        let blank = self
            .blank
            .iter()
            .map(|of| format!("Blank: {}: {}.", of.columns.join(", "), of.reason));
        let incomplete = self
            .coverage
            .iter()
            .filter(|of| of.answered < self.asked)
            .map(|of| {
                let (system, missing) = (visible(of.system.as_str()), self.asked - of.answered);
                format!(
                    "{system}: {missing} of {} questions have no prediction.",
                    self.asked
                )
            });
        let citations = self.columns_of(CITATIONS);
        let is_judged = !self.blank.iter().any(|of| of.columns == citations);
        let without_sources = self
            .coverage
            .iter()
            .filter(|of| is_judged && !of.has_sources)
            .map(|of| {
                format!(
                    "Blank: {} of {}: its answers have no sources (ctxs or docs).",
                    citations.join(", "),
                    of.system
                )
            });
        blank
            .chain(incomplete)
            .chain(without_sources)
            .map(Note::warning)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::test_support::{answer, component};
    use crate::analysis::{AggregateOptions, summarize};
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
                .map(|(s, answered)| Coverage {
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
        let of =
            |(name, value): &(&str, f64)| component(name, ComponentKind::Aspect, 0.0, Some(*value));
        let components = grades.iter().map(of).collect();
        answer(
            system,
            case,
            Score {
                scorer: "prometheus",
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
        summarize(&scored, &[], AggregateOptions::default())
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
                    scorer: "entailment",
                    components,
                    ..Score::default()
                },
            )
        };
        let run = summarize(&[cited("a"), cited("b")], &[], AggregateOptions::default());
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
