//! Systems by metrics, over one or several runs: the table of a paper, the overview of a comparison, the scorecard of the
//! page.
//!
//! The metrics are the columns, in the order in which they are asked for but for those of a group, which stand together. The
//! names in print are the rows: systems of one name in several runs share one.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use super::comparison::{judge_lines, metric_name, run_warnings, unpublished};
use super::layout::counted;
use super::numbers::{percent, unit_name};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{
    Comparison, MetricComparison, ObservedSystem, SystemMean, unknown_name,
};
use crate::analysis::distinct;
use crate::domain::{Note, Role, ScorerId};
use crate::error::{Error, Result};
use crate::scorer::scorer_named;

/// Columns, rows and numbers of the table.
#[derive(Debug, Clone, Default, PartialEq, Args)]
pub struct MetricsTableOptions {
    /// Metrics: names with commas between [default: the headline metric of each scorer, or the benchmark's columns]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Metrics under a common heading, such as "Rubric=score,ann_score"; can be repeated
    #[arg(long, value_name = "HEADING=METRICS", value_parser = parse_group)]
    pub group: Vec<(String, Vec<String>)>,
    /// A name in print of a system or metric, such as gpt="GPT-4o"; can be repeated. Systems of one name share a row
    #[arg(long, value_name = "NAME=TEXT", value_parser = parse_name)]
    pub names: Vec<(String, String)>,
    /// Order of the systems: by a metric (best first), name, or given (as in --names, then as in the runs) [default: by
    /// the first metric]
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// Decimals of all numbers [default: 1, of grades 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=6))]
    pub decimals: Option<u8>,
    /// Intervals: brackets, pm (± half the width) or none
    #[arg(
        long,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "STYLE"
    )]
    pub interval: IntervalStyle,
    /// Letters: in a column, systems that share one do not differ significantly (as in compare)
    #[arg(long)]
    pub letters: bool,
    /// Show runs whose judge, prompts, tests or settings differ, and flag it
    #[arg(long)]
    pub anyway: bool,
}

/// How people see intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum IntervalStyle {
    /// `51.1 [49.1, 53.2]`.
    #[default]
    Brackets,
    /// `51.1 ± 2.0`, with half the width.
    Pm,
    /// `51.1`.
    None,
}

impl MetricsTableOptions {
    /// The names of the metrics: `metrics`, then those of the groups.
    pub fn metric_names(&self) -> Vec<String> {
        self.metrics
            .iter()
            .chain(self.group.iter().flat_map(|(_, metrics)| metrics))
            .cloned()
            .collect()
    }

    /// The name in print of what has one of these names; the first of them goes before the others.
    fn renamed(&self, names: &[&str]) -> Option<&str> {
        for name in names {
            if let Some((_, text)) = self.names.iter().find(|(original, _)| original == name) {
                return Some(text);
            }
        }
        None
    }

    /// The heading of the group that the metric is in; empty without one.
    fn group_of(&self, metric: &MetricComparison) -> &str {
        for (heading, names) in &self.group {
            if names.iter().any(|name| metric.metric.is_called(name)) {
                return heading;
            }
        }
        ""
    }
}

fn parse_name(text: &str) -> std::result::Result<(String, String), String> {
    let (name, text) = text.split_once('=').unwrap_or_default();
    let name = name.trim();
    let text = text.trim();
    if name.is_empty() || text.is_empty() {
        return Err("write NAME=TEXT, such as gpt=\"GPT-4o\"".to_owned());
    }
    Ok((name.to_owned(), text.to_owned()))
}

fn parse_group(text: &str) -> std::result::Result<(String, Vec<String>), String> {
    let (heading, metrics) =
        parse_name(text).map_err(|_| "write HEADING=METRICS, such as Rubric=score,ann_score")?;
    let metrics = metrics.split(',').map(|name| name.trim().to_owned());
    Ok((heading, metrics.collect()))
}

/// These metrics of the comparison as columns, a row per system: means over the shared cases. Metrics of a group stand
/// together, at the place of the first.
///
/// # Errors
/// [`Error::Settings`] for an unknown name, and for two systems with a value of one metric and the same name.
pub(super) fn metrics_table(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    options: &MetricsTableOptions,
) -> Result<Table> {
    let known = known_names(comparison, metrics);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    check_names(&known, options)?;
    let names = names_in_print(comparison, metrics, options)?;
    let shown = by_group(metrics, options);
    let heading = options.renamed(&["system"]).unwrap_or("system");
    let mut columns = vec![Column::headed("system", heading, Format::Text)];
    for metric in &shown {
        columns.push(column(comparison, metric, options));
    }
    let mut table = Table::new(title(comparison, metrics, options), columns);
    for name in ordered(comparison, metrics, &names, options)? {
        let mut row = vec![Cell::text(name)];
        for metric in &shown {
            // The only one: `check_rows` refuses a second system with values under this name.
            let system = with_values(metric).find(|system| names[system.system] == name);
            row.push(system.map_or(Cell::Missing, |system| mean_cell(system, options)));
        }
        table.rows.push(row);
    }
    table.notes = notes(comparison, metrics, options);
    Ok(table)
}

/// The metrics with those of a group together, at the place of its first.
fn by_group<'a>(
    metrics: &[&'a MetricComparison],
    options: &MetricsTableOptions,
) -> Vec<&'a MetricComparison> {
    let groups = distinct(metrics.iter().map(|metric| options.group_of(metric)));
    let mut shown = metrics.to_vec();
    shown.sort_by_key(|metric| {
        let group = options.group_of(metric);
        groups.iter().position(|other| *other == group)
    });
    shown
}

/// The mean with its interval and letters, as the options have them.
fn mean_cell(system: &SystemMean, options: &MetricsTableOptions) -> Cell {
    let interval = match options.interval {
        IntervalStyle::None => None,
        IntervalStyle::Brackets | IntervalStyle::Pm => system.interval,
    };
    let letters = if options.letters {
        system.letters.as_str()
    } else {
        ""
    };
    Cell::estimate(system.mean, interval).flagged(letters)
}

/// The table of these metrics for a paper: its notes also have what differs between the runs, and the judges.
///
/// # Errors
/// [`Error::Settings`] for an unknown name, and for two systems with a value of one metric and the same name.
pub fn paper_table(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    options: &MetricsTableOptions,
) -> Result<Table> {
    let mut table = metrics_table(comparison, metrics, options)?;
    let mut judged = Vec::new();
    for role in &comparison.judged_by {
        let has_values = metrics
            .iter()
            .any(|metric| has_role(&metric.metric.scorer, &role.role));
        if has_values {
            judged.push(role);
        }
    }
    let mut notes = run_warnings(comparison);
    notes.extend(judge_lines(&judged).into_iter().map(Note::warning));
    notes.extend(unpublished(&judged).map(Note::warning));
    notes.append(&mut table.notes);
    table.notes = notes;
    Ok(table)
}

/// Whether judges of this role give the scorer's values.
fn has_role(scorer: &ScorerId, role: &str) -> bool {
    let info = scorer_named(scorer.name());
    let role = Role::from_name(role);
    info.zip(role)
        .is_some_and(|(info, role)| info.has_role(&role))
}

/// The systems that the metric has values of, best first.
fn with_values(metric: &MetricComparison) -> impl Iterator<Item = &SystemMean> {
    metric.systems.iter().filter(|system| system.own_cases > 0)
}

/// The name in print of each system. Systems of one name in several runs share a row, unless a metric has values of two
/// of them.
fn names_in_print<'a>(
    comparison: &'a Comparison,
    metrics: &[&MetricComparison],
    options: &'a MetricsTableOptions,
) -> Result<Vec<&'a str>> {
    let mut names = Vec::new();
    for system in &comparison.systems {
        let plain = plain_name(comparison, metrics, system);
        let renamed = options.renamed(&[&system.label, plain]);
        names.push(renamed.unwrap_or(plain));
    }
    check_rows(metrics, &names)?;
    Ok(names)
}

/// The names that can have another one in print, each once.
fn known_names(comparison: &Comparison, metrics: &[&MetricComparison]) -> Vec<String> {
    let mut known = Vec::new();
    for system in &comparison.systems {
        let plain = plain_name(comparison, metrics, system);
        known.extend([system.label.clone(), plain.to_owned()]);
    }
    known.extend(metric_names(comparison, metrics));
    known.push("system".to_owned());
    distinct(known.into_iter())
}

/// The name of the system; with its run where a metric has values of it from another run, too.
fn plain_name<'a>(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    system: &'a ObservedSystem,
) -> &'a str {
    for metric in metrics {
        let same = with_values(metric)
            .filter(|other| comparison.systems[other.system].system == system.system);
        if same.count() > 1 {
            return &system.label;
        }
    }
    system.system.as_str()
}

fn metric_names(comparison: &Comparison, metrics: &[&MetricComparison]) -> Vec<String> {
    metrics
        .iter()
        .map(|metric| metric_name(comparison, metric))
        .collect()
}

/// Every name that is given another in print is one of these.
fn check_names(known: &[&str], options: &MetricsTableOptions) -> Result<()> {
    for (name, _) in &options.names {
        if !known.contains(&name.as_str()) {
            return Err(unknown_name("system or metric", name, known, None));
        }
    }
    Ok(())
}

/// No metric has values of two systems of one name: only one of them would be shown.
fn check_rows(metrics: &[&MetricComparison], names: &[&str]) -> Result<()> {
    for metric in metrics {
        let mut seen = BTreeMap::new();
        for system in with_values(metric) {
            let name = names[system.system];
            if let Some(other) = seen.insert(name, &system.label) {
                return Err(Error::Settings(format!(
                    "--names: {name} is the name of {other} and {}",
                    system.label
                )));
            }
        }
    }
    Ok(())
}

/// The names of the rows, in order.
fn ordered<'a>(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    names: &[&'a str],
    options: &'a MetricsTableOptions,
) -> Result<Vec<&'a str>> {
    let mut all: Vec<&str> = Vec::new();
    for metric in metrics {
        all.extend(with_values(metric).map(|system| names[system.system]));
    }
    let mut first: Vec<&str> = match options.order.as_deref() {
        None => Vec::new(),
        Some("name") => {
            let mut sorted = all.clone();
            sorted.sort_unstable();
            sorted
        }
        Some("given") => {
            let in_print = options.names.iter().map(|(_, text)| text.as_str());
            in_print.chain(names.iter().copied()).collect()
        }
        Some(order) => {
            let Some(metric) = metrics.iter().find(|metric| metric.metric.is_called(order)) else {
                let known = metric_names(comparison, metrics);
                let mut known: Vec<&str> = known.iter().map(String::as_str).collect();
                known.extend(["name", "given"]);
                return Err(unknown_name("column or order", order, &known, None));
            };
            with_values(metric)
                .map(|system| names[system.system])
                .collect()
        }
    };
    // `given` names systems without values and metrics, too.
    first.retain(|name| all.contains(name));
    Ok(distinct(first.into_iter().chain(all)))
}

/// The column of a metric; `*` flags that it has fewer cases than the runs.
fn column(
    comparison: &Comparison,
    metric: &MetricComparison,
    options: &MetricsTableOptions,
) -> Column {
    let id = &metric.metric;
    let name = metric_name(comparison, metric);
    let mut heading = match options.renamed(&[&name, &id.name]) {
        Some(renamed) => renamed.to_owned(),
        // An underscore is a command in LaTeX, and hardly a word in print.
        None => name.replace('_', " "),
    };
    if has_fewer_cases(metric) {
        heading.push('*');
    }
    let format = match options.decimals {
        Some(decimals) => Format::of_mean_to(id.unit, usize::from(decimals)),
        None => Format::of_mean(id.unit),
    };
    let mut column = Column {
        heading,
        format,
        half_widths: options.interval == IntervalStyle::Pm,
        group: options.group_of(metric).to_owned(),
        ..Column::metric(&name, id.unit)
    };
    column.highest_is_best = id.higher_is_better && !misses_systems(comparison, metric);
    column
}

/// Whether an unfinished run has no value of a system yet: then the best of the others is not the best.
fn misses_systems(comparison: &Comparison, metric: &MetricComparison) -> bool {
    let is_unfinished = comparison.runs.iter().any(|run| run.unfinished.is_some());
    is_unfinished && with_values(metric).count() < metric.systems.len()
}

fn has_fewer_cases(metric: &MetricComparison) -> bool {
    metric.cases.len() < metric.cases_in_all
}

/// Units, number of questions and kind of interval.
fn title(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    options: &MetricsTableOptions,
) -> String {
    let units = distinct(metrics.iter().map(|metric| unit_name(metric.metric.unit))).join(", ");
    let questions = metrics.iter().map(|metric| metric.questions);
    let least = questions.clone().min().unwrap_or(0);
    let most = questions.max().unwrap_or(0);
    let mut over = counted(most, "question");
    if least < most {
        over = format!("{least} to {over}");
    }
    let level = percent(comparison.options.level);
    let interval = match options.interval {
        IntervalStyle::Brackets => format!(", with {level} intervals"),
        IntervalStyle::Pm => format!(", with half the width of {level} intervals"),
        IntervalStyle::None => String::new(),
    };
    format!("Means ({units}) over {over}{interval}")
}

/// What letters and `*` mean.
fn notes(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    options: &MetricsTableOptions,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut systems = metrics.iter().flat_map(|metric| &metric.systems);
    // With a baseline only its pairs are tested, and no system has a letter.
    if options.letters && systems.any(|system| !system.letters.is_empty()) {
        notes.push(Note::warning(
            "In a column, systems that share a letter do not differ significantly (adjusted for all pairs); a column without \
             letters was not tested.",
        ));
    }
    let mut fewer = Vec::new();
    for metric in metrics {
        if has_fewer_cases(metric) {
            fewer.push(format!(
                "{} {} of {}",
                metric_name(comparison, metric),
                metric.cases.len(),
                metric.cases_in_all
            ));
        }
    }
    if !fewer.is_empty() {
        let cases = fewer.join(", ");
        notes.push(Note::warning(format!(
            "* Over the cases with a value of every system: {cases}."
        )));
    }
    notes
}
