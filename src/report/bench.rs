//! The row of a benchmark: metrics of several scorers under the benchmark's names.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::render_json;
use super::scorecard::{push_metrics, run_notes, scorer_notes, scorer_table};
use super::table::{Cell, Column, Format, Table};
use super::visible;
use super::{CsvText, ReportContext};
use crate::analysis::{Metric, MetricColumn, ScorerSummary, Summary, SystemSummary};
use crate::domain::{Note, SystemName, Unit};
use crate::error::Result;
use crate::evaluation::Coverage;

/// Name of the citation scorer.
const CITATIONS: &str = "entailment";

/// A column of the row: a metric under the benchmark's name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BenchColumn {
    /// The benchmark's name for it.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// The scorer.
    pub scorer: &'static str,
    /// The scorer's metric.
    pub metric: &'static str,
    /// Metrics of the scorer that must exist, else the column is blank.
    pub needs: &'static [&'static str],
}

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
    /// The columns.
    #[serde(skip)]
    pub columns: Vec<BenchColumn>,
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
            self.blank.push(BenchBlank { columns, reason: reason.to_owned() });
        }
    }

    fn columns_of(&self, scorer: &str) -> Vec<&'static str> {
        self.columns.iter().filter(|column| column.scorer == scorer).map(|column| column.name).collect()
    }

    /// The numbers of the row, in the form of a scorer's summary.
    pub fn summary(&self, summary: &Summary) -> ScorerSummary {
        let lexical = |column: &BenchColumn| column.scorer == "rubric" && summary.scorer("lexical_rubric").is_some();
        let name = |column: &BenchColumn| if lexical(column) { "lexical_score" } else { column.name };
        let metric = |column: &BenchColumn, system: &SystemName| -> Option<Metric> {
            let covered = self.coverage.iter().find(|of| of.system == *system);
            if column.scorer == CITATIONS && !covered.is_some_and(|of| of.has_sources) {
                return None;
            }
            let (scorer, metric) =
                if lexical(column) { ("lexical_rubric", "lexical_score") } else { (column.scorer, column.metric) };
            let scorer = summary.scorer(scorer)?;
            let has = |name: &&str| scorer.metric(system, name).is_some_and(|own| own.estimate.is_some());
            column.needs.iter().all(has).then(|| scorer.metric(system, metric).copied()).flatten()
        };
        let row = |system: &SystemName| {
            let rows = || self.scorers(summary).filter_map(|scorer| scorer.row(system));
            let metrics: BTreeMap<String, Metric> = self
                .columns
                .iter()
                .map(|column| (name(column).to_owned(), metric(column, system).unwrap_or_default()))
                .collect();
            let covered = self.coverage.iter().find(|of| of.system == *system);
            let answers = covered.map_or(0, |of| of.answered);
            SystemSummary {
                system: system.clone(),
                rank: None,
                answers,
                missing: self.asked.saturating_sub(answers),
                unscored: rows().map(|row| row.unscored).max().unwrap_or(0),
                without_judge: 0,
                unscored_reasons: rows().flat_map(|row| row.unscored_reasons.clone()).collect(),
                injections: rows().map(|row| row.injections).max().unwrap_or(0),
                metrics,
            }
        };
        let column = |column: &BenchColumn| MetricColumn { name: name(column).to_owned(), unit: column.unit };
        ScorerSummary {
            scorer: self.name,
            columns: self.columns.iter().map(column).collect(),
            rows: summary.systems().into_iter().map(row).collect(),
            notes: Vec::new(),
        }
    }

    /// The scorers of the columns.
    fn scorers<'a>(&'a self, summary: &'a Summary) -> impl Iterator<Item = &'a ScorerSummary> {
        let is_used =
            |scorer: &&ScorerSummary| self.columns.iter().any(|column| scorer.scorer.ends_with(column.scorer));
        summary.scorers.iter().filter(is_used)
    }

    fn notes(&self, summary: &Summary, context: &ReportContext) -> Vec<Note> {
        let mut notes: Vec<Note> = self
            .blank
            .iter()
            .map(|of| format!("Blank: {}: {}.", of.columns.join(", "), of.reason))
            .map(Note::warning)
            .collect();
        let incomplete = self.coverage.iter().filter(|of| of.answered < self.asked);
        notes.extend(incomplete.map(|of| {
            let (system, missing) = (visible(of.system.as_str()), self.asked - of.answered);
            Note::warning(format!("{system}: {missing} of {} questions have no prediction.", self.asked))
        }));
        let unknown = self.coverage.iter().filter(|of| !of.has_sources && summary.scorer(CITATIONS).is_some());
        notes.extend(unknown.map(|of| {
            let columns = self.columns_of(CITATIONS).join(", ");
            Note::warning(format!("Blank: {columns} of {}: its answers have no sources (ctxs or docs).", of.system))
        }));
        notes.extend(self.scorers(summary).flat_map(|scorer| scorer_notes(scorer, summary.on_unscored)));
        notes.extend(run_notes(summary, context));
        notes.extend(self.legend.iter().map(|line| Note::warning(format!("{line}."))));
        notes
    }
}

/// The row for people.
pub fn bench_table(summary: &Summary, bench: &Bench, context: &ReportContext) -> Table {
    let title = format!(
        "{}: {} questions of {}; means per answer, {:.0}% intervals",
        bench.name,
        bench.asked,
        bench.data,
        100.0 * summary.level
    );
    let mut table = scorer_table(&bench.summary(summary), title);
    table.notes = bench.notes(summary, context);
    table
}

/// `bench.json`: [`Bench`] and its numbers in one object, with `schema_version`, `run` and all notes.
///
/// # Errors
/// [`crate::Error::Internal`] if it cannot be serialized.
pub fn bench_json(summary: &Summary, bench: &Bench, context: &ReportContext) -> Result<String> {
    #[derive(Serialize)]
    struct File<'a> {
        schema_version: u32,
        run: &'a str,
        #[serde(flatten)]
        bench: &'a Bench,
        level: f64,
        resamples: u32,
        seed: u64,
        columns: Vec<MetricColumn>,
        rows: Vec<SystemSummary>,
        notes: Vec<Note>,
    }
    let ScorerSummary { columns, rows, .. } = bench.summary(summary);
    render_json(&File {
        schema_version: 1,
        run: &context.run,
        bench,
        level: summary.level,
        resamples: summary.resamples,
        seed: summary.seed,
        columns,
        rows,
        notes: bench.notes(summary, context),
    })
}

/// `bench.csv`: `system`, `asked`, `answered`, then for each column `<bench>.<column>`, `_low`, `_high`, `_n`,
/// `_unscored`.
///
/// # Errors
/// [`crate::Error::Internal`] if it cannot be written.
pub fn bench_csv(summary: &Summary, bench: &Bench, texts: CsvText) -> Result<String> {
    let own = bench.summary(summary);
    let columns = vec![
        Column::new("system", Format::Text),
        Column::new("asked", Format::Count),
        Column::new("answered", Format::Count),
    ];
    let mut table = Table::new("", columns);
    table.rows = own
        .rows
        .iter()
        .map(|row| vec![Cell::text(row.system.as_str()), Cell::count(bench.asked), Cell::count(row.answers)])
        .collect();
    let systems: Vec<&SystemName> = own.rows.iter().map(|row| &row.system).collect();
    push_metrics(&mut table, &own, &format!("{}.", bench.name), &systems);
    table.csv(texts)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::analysis::test_support::{answer, component, simple_score};
    use crate::analysis::{AggregateOptions, summarize};
    use crate::domain::{ComponentKind, Score, ScoredAnswer};
    use crate::report::TableStyle;

    fn bench() -> Bench {
        let column = |name, unit, scorer, metric| BenchColumn { name, unit, scorer, metric, needs: &[] };
        let mean = column("llm", Unit::Grade, "prometheus", "aspect_mean");
        Bench {
            name: "made",
            data: "d\u{1b}.jsonl".to_owned(),
            asked: 2,
            columns: vec![
                column("rubric", Unit::Share, "rubric", "score"),
                column("coverage", Unit::Grade, "prometheus", "coverage"),
                BenchColumn { needs: &["coverage", "relevance"], ..mean },
                column("cite_f1", Unit::Share, "entailment", "citation_f1"),
            ],
            coverage: [("a", 2), ("b", 1)]
                .map(|(s, answered)| Coverage { system: s.into(), answered, has_sources: true })
                .into(),
            blank: vec![BenchBlank { columns: vec!["cite_f1"], reason: "no judge has the role citation".to_owned() }],
            legend: vec!["llm: mean of the aspects".to_owned()],
        }
    }

    fn graded(system: &str, case: &str, grades: &[(&str, f64)]) -> ScoredAnswer {
        let of = |(name, value): &(&str, f64)| component(name, ComponentKind::Aspect, 0.0, Some(*value));
        let components = grades.iter().map(of).collect();
        answer(system, case, Score { scorer: "prometheus", components, ..Score::default() })
    }

    fn graded_run() -> Summary {
        let scored = [
            graded("a", "1", &[("coverage", 4.0), ("relevance", 2.0)]),
            graded("a", "2", &[("coverage", 2.0), ("relevance", 2.0)]),
            graded("b", "1", &[("coverage", 5.0)]),
            answer("a", "1", simple_score(Some(0.5))),
        ];
        summarize(&scored, &[], AggregateOptions::default())
    }

    fn json_of(summary: &Summary, bench: &Bench) -> Value {
        serde_json::from_str(&bench_json(summary, bench, &ReportContext::default()).unwrap()).unwrap()
    }

    #[test]
    fn columns_come_from_every_scorer_and_unjudged_ones_are_blank_and_never_zero() {
        let json = json_of(&graded_run(), &bench());
        assert_eq!(json["asked"], 2);
        let a = &json["rows"][0];
        assert_eq!((&a["system"], &a["answers"]), (&json!("a"), &json!(2)));
        let estimate = |row: usize, name: &str| json["rows"][row]["metrics"][name]["estimate"].clone();
        assert_eq!(estimate(0, "rubric"), 0.5);
        assert_eq!(estimate(0, "coverage"), 3.0);
        // ((4 + 2) / 2 + (2 + 2) / 2) / 2
        assert_eq!(estimate(0, "llm"), 2.5);
        // b has no grade in relevance: no mean of all aspects.
        assert_eq!((estimate(1, "coverage"), estimate(1, "llm")), (json!(5.0), Value::Null));
        assert!(estimate(0, "cite_f1").is_null() && estimate(1, "rubric").is_null());
        assert_eq!(json["blank"][0], json!({"columns": ["cite_f1"], "reason": "no judge has the role citation"}));
    }

    #[test]
    fn an_incomplete_system_and_blank_columns_have_a_note() {
        let table = bench_table(&graded_run(), &bench(), &ReportContext::default());
        let shown = table.terminal(&TableStyle { width: 120, ..TableStyle::default() });
        assert!(shown.starts_with("made: 2 questions of d\\u{1b}.jsonl; means"), "{shown}");
        let row = shown.lines().find(|line| line.starts_with("b ")).unwrap();
        assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["b", "1", "1", "-", "5.00*", "-", "-"]);
        assert!(shown.contains("- b: 1 of 2 questions have no prediction.\n"), "{shown}");
        assert!(shown.contains("- Blank: cite_f1: no judge has the role citation.\n"), "{shown}");
        assert!(shown.contains("- llm: mean of the aspects.\n"), "{shown}");
    }

    #[test]
    fn citations_of_a_system_without_sources_are_blank_and_those_of_others_stand() {
        let share = |name| component(name, ComponentKind::Share, 0.0, Some(0.0));
        let cited = |system: &str| {
            let components = vec![share("citation_precision"), share("citation_recall"), share("citation_f1")];
            answer(system, "1", Score { scorer: "entailment", components, ..Score::default() })
        };
        let run = summarize(&[cited("a"), cited("b")], &[], AggregateOptions::default());
        let mut bench = bench();
        bench.coverage[1].has_sources = false;
        let json = json_of(&run, &bench);
        assert_eq!(json["rows"][0]["metrics"]["cite_f1"]["estimate"], 0.0);
        assert!(json["rows"][1]["metrics"]["cite_f1"]["estimate"].is_null());
        let table = bench_table(&run, &bench, &ReportContext::default()).terminal(&TableStyle::default());
        assert!(table.contains("- Blank: cite_f1 of b: its answers have no sources (ctxs or docs)."), "{table}");
    }

    #[test]
    fn csv_has_empty_cells_for_blank_columns() {
        let csv = bench_csv(&graded_run(), &bench(), CsvText::Guarded).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with("system,asked,answered,made.rubric,made.rubric_low,"), "{csv}");
        assert!(lines[1].starts_with("a,2,2,0.5,"), "{csv}");
        assert!(lines[2].starts_with("b,2,1,,,,0,0,5,"), "{csv}");
    }
}
