//! Systems by metrics, over one or several runs: the table of a paper, the overview of a comparison, the scorecard of the
//! page.
//!
//! The metrics are the columns, in the order in which they are asked for but for those of a group, which stand together. The
//! names in print are the rows: systems of one name in several runs share one.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};

use super::comparison::{check_lines, judge_lines, metric_name, run_warnings, unpublished};
use super::layout::counted;
use super::numbers::{percent, unit_name};
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{
    Comparison, JudgedRole, MetricComparison, ObservedSystem, SystemMean, unknown_name,
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
    #[arg(long, value_enum, default_value_t, hide_possible_values = true)]
    #[arg(value_name = "STYLE")]
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
        let of_groups = self.group.iter().flat_map(|(_, metrics)| metrics);
        self.metrics.iter().chain(of_groups).cloned().collect()
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
    let chosen = ChosenMetrics {
        comparison,
        metrics,
        options,
    };
    chosen.table()
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
    let mut judged: Vec<&JudgedRole> = comparison.judged_by.iter().collect();
    judged.retain(|judged| {
        let mut scorers = metrics.iter().map(|metric| &metric.metric.scorer);
        scorers.any(|scorer| has_role(scorer, &judged.role))
    });
    let mut notes = run_warnings(comparison);
    notes.extend(judge_lines(&judged).into_iter().map(Note::warning));
    notes.extend(check_lines(&judged).into_iter().map(Note::warning));
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

fn has_fewer_cases(metric: &MetricComparison) -> bool {
    metric.cases.len() < metric.cases_in_all
}

/// Metrics of a comparison, and how they are shown.
#[derive(Clone, Copy)]
struct ChosenMetrics<'a> {
    comparison: &'a Comparison,
    metrics: &'a [&'a MetricComparison],
    options: &'a MetricsTableOptions,
}

impl<'a> ChosenMetrics<'a> {
    fn table(self) -> Result<Table> {
        self.check_names()?;
        let names = self.names_in_print()?;
        let rows = self.ordered(&names)?;
        let heading = self.options.renamed(&["system"]).unwrap_or("system");
        let mut table = Table::new(self.title(), Vec::new());
        let column = Column::headed("system", heading, Format::Text);
        table.column(column, &rows, |name| *name);
        for metric in self.by_group() {
            table.column(self.column(metric), &rows, |name| {
                // The only one: `check_rows` refuses a second system with values under this name.
                let system = with_values(metric).find(|system| names[system.system] == *name)?;
                Some(self.mean_cell(system))
            });
        }
        table.notes = self.notes();
        Ok(table)
    }

    /// The metrics with those of a group together, at the place of its first.
    fn by_group(self) -> Vec<&'a MetricComparison> {
        let group_of = |metric: &&MetricComparison| self.options.group_of(metric);
        let groups = distinct(self.metrics.iter().map(group_of));
        let mut shown = self.metrics.to_vec();
        shown.sort_by_key(|metric| groups.iter().position(|group| *group == group_of(metric)));
        shown
    }

    /// The mean with its interval and letters, as the options have them.
    fn mean_cell(self, system: &SystemMean) -> Cell {
        let interval = match self.options.interval {
            IntervalStyle::None => None,
            IntervalStyle::Brackets | IntervalStyle::Pm => system.interval,
        };
        let cell = Cell::estimate(system.mean, interval);
        if self.options.letters {
            cell.flagged(&system.letters)
        } else {
            cell
        }
    }

    /// The name in print of each system. Systems of one name in several runs share a row, unless a metric has values of two
    /// of them.
    fn names_in_print(self) -> Result<Vec<&'a str>> {
        let mut names = Vec::new();
        for system in &self.comparison.systems {
            let plain = self.plain_name(system);
            let renamed = self.options.renamed(&[&system.label, plain]);
            names.push(renamed.unwrap_or(plain));
        }
        self.check_rows(&names)?;
        Ok(names)
    }

    /// The name of the system; with its run where a metric has values of it from another run, too.
    fn plain_name(self, system: &'a ObservedSystem) -> &'a str {
        let systems = &self.comparison.systems;
        for metric in self.metrics {
            let same =
                with_values(metric).filter(|other| systems[other.system].system == system.system);
            if same.count() > 1 {
                return &system.label;
            }
        }
        system.system.as_str()
    }

    fn metric_names(self) -> Vec<String> {
        let metrics = self.metrics.iter();
        metrics
            .map(|metric| metric_name(self.comparison, metric))
            .collect()
    }

    /// Every name that is given another in print is that of a system or a metric.
    fn check_names(self) -> Result<()> {
        let metrics = self.metric_names();
        let mut known = Vec::new();
        for system in &self.comparison.systems {
            known.extend([&*system.label, self.plain_name(system)]);
        }
        known.extend(metrics.iter().map(String::as_str));
        known.push("system");
        let known = distinct(known.into_iter());
        for (name, _) in &self.options.names {
            if !known.contains(&name.as_str()) {
                return Err(unknown_name("system or metric", name, &known, None));
            }
        }
        Ok(())
    }

    /// No metric has values of two systems of one name: only one of them would be shown.
    fn check_rows(self, names: &[&str]) -> Result<()> {
        for metric in self.metrics {
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
    fn ordered(self, names: &[&'a str]) -> Result<Vec<&'a str>> {
        let names_of = |metric: &MetricComparison| -> Vec<&'a str> {
            let systems = with_values(metric);
            systems.map(|system| names[system.system]).collect()
        };
        let metrics = self.metrics.iter();
        let all: Vec<&str> = metrics.flat_map(|metric| names_of(metric)).collect();
        let mut first: Vec<&str> = match self.options.order.as_deref() {
            None => Vec::new(),
            Some("name") => {
                let mut sorted = all.clone();
                sorted.sort_unstable();
                sorted
            }
            Some("given") => {
                let in_print = self.options.names.iter().map(|(_, text)| text.as_str());
                in_print.chain(names.iter().copied()).collect()
            }
            Some(order) => names_of(self.ordering_metric(order)?),
        };
        // `given` names systems without values and metrics, too.
        first.retain(|name| all.contains(name));
        Ok(distinct(first.into_iter().chain(all)))
    }

    fn ordering_metric(self, order: &str) -> Result<&'a MetricComparison> {
        let mut metrics = self.metrics.iter();
        let metric = metrics.find(|metric| metric.metric.is_called(order));
        metric.copied().ok_or_else(|| {
            let names = self.metric_names();
            let mut known: Vec<&str> = names.iter().map(String::as_str).collect();
            known.extend(["name", "given"]);
            unknown_name("column or order", order, &known, None)
        })
    }

    /// The column of a metric; `*` flags that it has fewer cases than the runs.
    fn column(self, metric: &MetricComparison) -> Column {
        let id = &metric.metric;
        let name = metric_name(self.comparison, metric);
        let mut heading = match self.options.renamed(&[&name, &id.name]) {
            Some(renamed) => renamed.to_owned(),
            // An underscore is a command in LaTeX, and hardly a word in print.
            None => name.replace('_', " "),
        };
        if has_fewer_cases(metric) {
            heading.push('*');
        }
        let format = match self.options.decimals {
            Some(decimals) => Format::of_mean_to(id.unit, usize::from(decimals)),
            None => Format::of_mean(id.unit),
        };
        Column {
            heading,
            format,
            highest_is_best: id.higher_is_better && !self.misses_systems(metric),
            half_widths: self.options.interval == IntervalStyle::Pm,
            group: self.options.group_of(metric).to_owned(),
            ..Column::metric(&name, id.unit)
        }
    }

    /// Whether an unfinished run has no value of a system yet: then the best of the others is not the best.
    fn misses_systems(self, metric: &MetricComparison) -> bool {
        let mut runs = self.comparison.runs.iter();
        let is_unfinished = runs.any(|run| run.unfinished.is_some());
        is_unfinished && with_values(metric).count() < metric.systems.len()
    }

    /// Units, number of questions and kind of interval.
    fn title(self) -> String {
        let metrics = self.metrics.iter();
        let units = distinct(metrics.map(|metric| unit_name(metric.metric.unit))).join(", ");
        let questions = self.metrics.iter().map(|metric| metric.questions);
        let least = questions.clone().min().unwrap_or(0);
        let most = questions.max().unwrap_or(0);
        let mut over = counted(most, "question");
        if least < most {
            over = format!("{least} to {over}");
        }
        let level = percent(self.comparison.options.level);
        let interval = match self.options.interval {
            IntervalStyle::Brackets => format!(", with {level} intervals"),
            IntervalStyle::Pm => format!(", with half the width of {level} intervals"),
            IntervalStyle::None => String::new(),
        };
        format!("Means ({units}) over {over}{interval}")
    }

    /// What letters and `*` mean.
    fn notes(self) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut systems = self.metrics.iter().flat_map(|metric| &metric.systems);
        // With a baseline only its pairs are tested, and no system has a letter.
        if self.options.letters && systems.any(|system| !system.letters.is_empty()) {
            notes.push(Note::warning(
                "In a column, systems that share a letter do not differ significantly (adjusted for all pairs); a column \
                 without letters was not tested.",
            ));
        }
        let mut fewer = Vec::new();
        for metric in self.metrics.iter().filter(|metric| has_fewer_cases(metric)) {
            let name = metric_name(self.comparison, metric);
            let cases = metric.cases.len();
            fewer.push(format!("{name} {cases} of {}", metric.cases_in_all));
        }
        if !fewer.is_empty() {
            let cases = fewer.join(", ");
            notes.push(Note::warning(format!(
                "* Over the cases with a value of every system: {cases}."
            )));
        }
        notes
    }
}
