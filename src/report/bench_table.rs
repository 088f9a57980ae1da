//! A row of a benchmark's own table: a few columns out of the scorecard, a line a system.

use serde::Serialize;
use serde_json::{Value, json};

use super::files::{internal, terminal_safe_json};
use super::layout::push_item;
use super::panel_notes::panel_notes;
use super::scorecard::{append, part, quoted, run_notes};
use super::section_table::{fewer, section_notes, section_table};
use super::{ReportContext, TableStyle, visible};
use crate::analysis::{ASPECT_MEAN, Column, Scorecard, Section, SectionMetric, SectionRow, Summary};
use crate::domain::{SystemName, Unit};
use crate::error::{Error, Result};

/// The scorer that looks at sources.
const CITATIONS: &str = "entailment";

/// Where a column's numbers are taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchSource {
    /// The rubric's score; by the built-in baseline the column is called `lexical_score`.
    Rubric,
    /// A column of a scorer's section.
    Scorer {
        /// The scorer.
        scorer: &'static str,
        /// Its column.
        column: &'static str,
    },
    /// The mean over these aspects; blank unless a system has a grade in each.
    AspectMean {
        /// The scorer.
        scorer: &'static str,
        /// The aspects.
        of: &'static [&'static str],
    },
}

impl BenchSource {
    fn scorer(self) -> &'static str {
        match self {
            Self::Rubric => "rubric",
            Self::Scorer { scorer, .. } | Self::AspectMean { scorer, .. } => scorer,
        }
    }
}

/// A column of the benchmark's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BenchColumn {
    /// Its name in the table and in files.
    pub name: &'static str,
    /// What its numbers are.
    pub unit: Unit,
    /// Where they come from.
    pub source: BenchSource,
}

/// How much of the benchmark a system answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchCoverage {
    /// The system.
    pub system: SystemName,
    /// Questions with an answer.
    pub answered: usize,
    /// True if any answer came with sources: without, nobody can say what its citations are worth.
    pub has_sources: bool,
}

/// Columns that have no number, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenchBlank {
    /// Their names.
    pub columns: Vec<&'static str>,
    /// Why, without the full stop.
    pub reason: String,
}

/// A row of the benchmark, before there are numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct BenchTable {
    /// Its name: `scifact`, ..
    pub name: &'static str,
    /// The data file, as the user named it.
    pub data: String,
    /// How many questions it asks.
    pub asked: usize,
    /// The columns, in order.
    pub columns: Vec<BenchColumn>,
    /// What each system answered of it.
    pub coverage: Vec<BenchCoverage>,
    /// Columns that are blank whatever a system wrote.
    pub blank: Vec<BenchBlank>,
    /// What the columns mean, a sentence each, without the full stop.
    pub legend: Vec<String>,
}

impl BenchTable {
    /// Says that the columns of this scorer, if there are any, are blank.
    pub fn leave_out(&mut self, scorer: &str, reason: &str) {
        let columns = self.columns_of(scorer);
        if !columns.is_empty() {
            self.blank.push(BenchBlank { columns, reason: reason.to_owned() });
        }
    }

    fn columns_of(&self, scorer: &str) -> Vec<&'static str> {
        self.columns.iter().filter(|column| column.source.scorer() == scorer).map(|column| column.name).collect()
    }

    fn covered(&self, system: &SystemName) -> Option<&BenchCoverage> {
        self.coverage.iter().find(|of| of.system == *system)
    }

    /// The columns with their numbers, as a section of a scorecard.
    fn section(&self, card: &Scorecard) -> Section {
        let mut systems: Vec<&SystemName> =
            card.rubric.iter().flat_map(|rubric| &rubric.rows).map(|row| &row.system).collect();
        for row in card.sections.iter().flat_map(|section| &section.rows) {
            if !systems.contains(&&row.system) {
                systems.push(&row.system);
            }
        }
        let lexical = card.rubric.as_ref().is_some_and(|rubric| rubric.lexical);
        let name = |column: &BenchColumn| match column.source {
            BenchSource::Rubric if lexical => "lexical_score",
            _ => column.name,
        };
        let columns = self.columns.iter().map(|column| Column { name: name(column).to_owned(), unit: column.unit });
        let rows = systems.into_iter().map(|system| self.row(card, system));
        Section { scorer: self.name, columns: columns.collect(), rows: rows.collect(), notes: Vec::new() }
    }

    fn row(&self, card: &Scorecard, system: &SystemName) -> SectionRow {
        let covered = self.covered(system);
        let mut used: Vec<&str> = Vec::new();
        let mut metrics = Vec::new();
        for column in &self.columns {
            let is_known = column.source.scorer() != CITATIONS || covered.is_some_and(|of| of.has_sources);
            let found = if is_known { metric(card, system, column.source) } else { None };
            metrics.push(found.unwrap_or_default());
            if !used.contains(&column.source.scorer()) {
                used.push(column.source.scorer());
            }
        }
        let sections = card.sections.iter().filter(|section| used.contains(&section.scorer));
        let mut unscored: Vec<(usize, _)> = sections
            .flat_map(|section| &section.rows)
            .filter(|row| row.system == *system)
            .map(|row| (row.unscored, &row.unscored_reasons))
            .collect();
        let of_rubric = card.rubric.iter().flat_map(|rubric| &rubric.rows).filter(|row| row.system == *system);
        unscored.extend(of_rubric.map(|row| (row.unscored, &row.unscored_reasons)));
        SectionRow {
            system: system.clone(),
            items: covered.map_or(0, |of| of.answered),
            unscored: unscored.iter().map(|(count, _)| *count).max().unwrap_or(0),
            unjudged: 0,
            unscored_reasons: unscored.into_iter().flat_map(|(_, reasons)| reasons.clone()).collect(),
            metrics,
        }
    }

    /// What has to be said of the row itself.
    fn notes(&self, card: &Scorecard) -> Vec<String> {
        let mut notes = vec![format!("{}: {} questions of {}.", self.name, self.asked, visible(&self.data))];
        notes.extend(self.legend.iter().map(|line| format!("{line}.")));
        let incomplete = self.coverage.iter().filter(|of| of.answered < self.asked);
        notes.extend(incomplete.map(|of| {
            format!(
                "{} *: {} of {} questions have no prediction (--allow-missing); its means are over the {} that have one.",
                visible(of.system.as_str()),
                self.asked - of.answered,
                self.asked,
                of.answered
            )
        }));
        let cited: Vec<&str> = self.columns_of(CITATIONS);
        let unknown = self.coverage.iter().filter(|of| !of.has_sources && card.section(CITATIONS).is_some());
        notes.extend(unknown.map(|of| {
            let system = visible(of.system.as_str());
            format!("blank: {} of {system}: its answers come without sources (ctxs or docs).", cited.join(", "))
        }));
        let blank = self.blank.iter();
        notes.extend(blank.map(|of| format!("blank: {}: {}.", of.columns.join(", "), visible(&of.reason))));
        let used = |section: &&Section| self.columns.iter().any(|column| column.source.scorer() == section.scorer);
        notes.extend(card.sections.iter().filter(used).flat_map(|section| section_notes(section, card.on_unscored)));
        notes
    }
}

/// A system's number; `None` where the run has none.
fn metric(card: &Scorecard, system: &SystemName, source: BenchSource) -> Option<SectionMetric> {
    let of_section = |scorer: &str, column: &str| {
        let section = card.section(scorer)?;
        let row = section.rows.iter().find(|row| row.system == *system)?;
        row.metrics.get(section.place(column)?).copied()
    };
    match source {
        BenchSource::Rubric => of_rubric(card.rubric.as_ref()?, system),
        BenchSource::Scorer { scorer, column } => of_section(scorer, column),
        BenchSource::AspectMean { scorer, of } => {
            let graded = |aspect: &str| of_section(scorer, aspect).is_some_and(|own| own.metric.estimate.is_some());
            if of.iter().all(|aspect| graded(aspect)) { of_section(scorer, ASPECT_MEAN) } else { None }
        }
    }
}

fn of_rubric(rubric: &Summary, system: &SystemName) -> Option<SectionMetric> {
    let row = rubric.rows.iter().find(|row| row.system == *system)?;
    let bounds = row.bounds.map(|bounds| (bounds.score_low, bounds.score_high));
    Some(SectionMetric { metric: row.metrics.score, bounds, shared: None })
}

/// The row for people: a table of its columns, then what has to be said beside them. A system that did not answer every
/// question is marked with a star.
pub fn render_bench_table(card: &Scorecard, bench: &BenchTable, context: &ReportContext, style: &TableStyle) -> String {
    let mut section = bench.section(card);
    for row in &mut section.rows {
        if row.items < bench.asked {
            row.system = format!("{} *", row.system).into();
        }
    }
    let mut out = part(context) + &section_table(&section, style);
    out.push('\n');
    let own = bench.notes(card).into_iter().chain(fewer(&section, true)).chain(run_notes(card, context));
    for note in own.chain(panel_notes(&card.panels, &card.noise)) {
        push_item(&mut out, &note, usize::from(style.width.max(80)));
    }
    out
}

/// `bench.json`: `{schema_version, run, bench, data, asked, mode, on_unscored, level, resamples, seed, columns, rows,
/// blank, legend, remarks}`; a row is `{system, asked, items, unscored, unscored_reasons, metrics}`. Shares are 0..=1,
/// grades 1..=5, null where there is none.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_bench_json(card: &Scorecard, bench: &BenchTable, context: &ReportContext) -> Result<String> {
    let Value::Object(mut section) = serde_json::to_value(bench.section(card)).map_err(internal)? else {
        return Err(Error::Internal("the table of a benchmark is no JSON object".into()));
    };
    let mut rows = section.remove("rows").unwrap_or_default();
    for row in rows.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
        row.insert("asked".to_owned(), bench.asked.into());
    }
    let file = json!({
        "schema_version": 1, "run": context.run, "bench": bench.name, "data": bench.data, "asked": bench.asked,
        "mode": card.mode, "on_unscored": card.on_unscored, "level": card.level, "resamples": card.resamples,
        "seed": card.seed, "cases": card.cases, "questions": card.questions, "columns": section.remove("columns"), "rows": rows, "blank": bench.blank,
        "legend": bench.legend, "remarks": context.remarks,
    });
    let json = serde_json::to_string_pretty(&file).map_err(internal)?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// `bench.csv`: `system`, `asked`, `answered`, then of each column `<bench>.<column>` itself, `_low`, `_high`, `_n`,
/// `_unscored`; empty where there is none.
pub fn render_bench_csv(card: &Scorecard, bench: &BenchTable) -> String {
    let section = bench.section(card);
    let mut lines = vec!["system,asked,answered".to_owned()];
    let line = |row: &SectionRow| format!("{},{},{}", quoted(row.system.as_str()), bench.asked, row.items);
    lines.extend(section.rows.iter().map(line));
    append(&section, &mut lines, &[]);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{answer, component, simple_score};
    use crate::analysis::{AggregateOptions, scorecard};
    use crate::domain::{ComponentKind, Score, ScoredAnswer};

    const ASPECTS: &[&str] = &["coverage", "relevance"];

    fn bench() -> BenchTable {
        let column = |name, unit, source| BenchColumn { name, unit, source };
        let of = |scorer, column| BenchSource::Scorer { scorer, column };
        BenchTable {
            name: "made",
            data: "d\u{1b}.jsonl".to_owned(),
            asked: 2,
            columns: vec![
                column("rubric", Unit::Share, BenchSource::Rubric),
                column("coverage", Unit::Grade, of("prometheus", "coverage")),
                column("llm", Unit::Grade, BenchSource::AspectMean { scorer: "prometheus", of: ASPECTS }),
                column("cite_f1", Unit::Share, of("entailment", "citation_f1")),
            ],
            coverage: [("a", 2), ("b", 1)]
                .map(|(s, answered)| BenchCoverage { system: s.into(), answered, has_sources: true })
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

    fn card() -> Scorecard {
        let scored = [
            graded("a", "1", &[("coverage", 4.0), ("relevance", 2.0)]),
            graded("a", "2", &[("coverage", 2.0), ("relevance", 2.0)]),
            graded("b", "1", &[("coverage", 5.0)]),
            answer("a", "1", simple_score(Some(0.5))),
        ];
        scorecard(&scored, &[], AggregateOptions::default())
    }

    #[test]
    fn columns_come_from_every_scorer_and_what_nobody_judged_is_blank_and_never_zero() {
        let json: Value =
            serde_json::from_str(&render_bench_json(&card(), &bench(), &ReportContext::default()).unwrap()).unwrap();
        let a = &json["rows"][0];
        assert_eq!((&a["system"], &a["asked"], &a["items"]), (&json!("a"), &json!(2), &json!(2)));
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
    fn an_incomplete_system_is_marked_and_blank_columns_have_their_reason() {
        let table = render_bench_table(&card(), &bench(), &ReportContext::default(), &TableStyle::default());
        let words = |name: &str| -> Vec<String> {
            let line = table.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words("b *"), ["b", "*", "1", "-", "5.00*", "-", "-"]);
        let told = table.replace("\n  ", " ");
        assert!(told.contains("- b *: 1 of 2 questions have no prediction (--allow-missing); its means"), "{table}");
        assert!(told.contains("- blank: cite_f1: no judge has the role citation.\n"), "{table}");
        assert!(told.contains("- made: 2 questions of d\\u{1b}.jsonl.\n- llm: mean of the aspects.\n"), "{table}");
    }

    #[test]
    fn citations_of_a_system_without_sources_are_blank_and_those_of_others_stand() {
        let share = |name| component(name, ComponentKind::Share, 0.0, Some(0.0));
        let cited = |system: &str| {
            let components = vec![share("citation_precision"), share("citation_recall"), share("citation_f1")];
            answer(system, "1", Score { scorer: "entailment", components, ..Score::default() })
        };
        let card = scorecard(&[cited("a"), cited("b")], &[], AggregateOptions::default());
        let mut bench = bench();
        bench.coverage[1].has_sources = false;
        let json: Value =
            serde_json::from_str(&render_bench_json(&card, &bench, &ReportContext::default()).unwrap()).unwrap();
        assert_eq!(json["rows"][0]["metrics"]["cite_f1"]["estimate"], 0.0);
        assert!(json["rows"][1]["metrics"]["cite_f1"]["estimate"].is_null());
        let table = render_bench_table(&card, &bench, &ReportContext::default(), &TableStyle::default());
        assert!(table.contains("- blank: cite_f1 of b: its answers come without sources (ctxs or docs)."), "{table}");
    }

    #[test]
    fn csv_has_empty_cells_for_blank_columns() {
        let csv = render_bench_csv(&card(), &bench());
        let lines: Vec<&str> = csv.lines().collect();
        assert!(lines[0].starts_with("system,asked,answered,made.rubric,made.rubric_low,"), "{csv}");
        assert!(lines[1].starts_with("a,2,2,0.5,"), "{csv}");
        assert!(lines[2].starts_with("b,2,1,,,,0,0,5,"), "{csv}");
        assert!(lines.iter().all(|line| line.matches(',').count() == lines[0].matches(',').count()), "{csv}");
    }
}
