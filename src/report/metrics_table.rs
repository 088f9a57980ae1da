//! Systems by metrics, over one or several runs: the table of a paper, the overview of a comparison, the scorecard of the
//! page.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, ValueEnum};

use super::comparison::{judge_lines, metric_name, percent, run_warnings, unit_name, unpublished};
use super::layout::counted;
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{
    Comparison, JudgedRole, MetricComparison, ObservedSystem, SystemMean, unknown_name,
};
use crate::analysis::distinct;
use crate::domain::Note;
use crate::error::{Error, Result};

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

    /// The name in print of what has one of these names.
    fn renamed(&self, names: &[&str]) -> Option<&str> {
        let text = |name: &&str| {
            self.names
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, text)| text.as_str())
        };
        names.iter().find_map(text)
    }

    /// The heading of the group that the metric is in; empty without one.
    fn group_of(&self, metric: &MetricComparison) -> &str {
        let is_in = |names: &[String]| names.iter().any(|name| metric.metric.is_called(name));
        self.group
            .iter()
            .find(|(_, names)| is_in(names))
            .map_or("", |(heading, _)| heading)
    }
}

fn parse_name(text: &str) -> std::result::Result<(String, String), String> {
    let pair = text
        .split_once('=')
        .filter(|(name, text)| !name.trim().is_empty() && !text.trim().is_empty());
    let (name, text) = pair.ok_or("write NAME=TEXT, such as gpt=\"GPT-4o\"")?;
    Ok((name.trim().to_owned(), text.trim().to_owned()))
}

fn parse_group(text: &str) -> std::result::Result<(String, Vec<String>), String> {
    let (heading, metrics) =
        parse_name(text).map_err(|_| "write HEADING=METRICS, such as Rubric=score,ann_score")?;
    Ok((
        heading,
        metrics
            .split(',')
            .map(|name| name.trim().to_owned())
            .collect(),
    ))
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
    let names = names_in_print(comparison, metrics, options)?;
    let groups = distinct(metrics.iter().map(|metric| options.group_of(metric)));
    let mut shown = metrics.to_vec();
    shown.sort_by_key(|metric| {
        groups
            .iter()
            .position(|group| *group == options.group_of(metric))
    });
    let mut columns = vec![Column::headed(
        "system",
        options.renamed(&["system"]).unwrap_or("system"),
        Format::Text,
    )];
    columns.extend(
        shown
            .iter()
            .map(|metric| column(comparison, metric, options)),
    );
    let mut table = Table::new(title(comparison, metrics, options), columns);
    for name in ordered(comparison, metrics, &names, options)? {
        let cell = |metric: &&MetricComparison| {
            let own = with_values(metric).find(|own| names[own.system] == name);
            let interval = own
                .and_then(|own| own.interval)
                .filter(|_| options.interval != IntervalStyle::None);
            let letters = own
                .filter(|_| options.letters)
                .map_or("", |own| own.letters.as_str());
            Cell::estimate(own.and_then(|own| own.mean), interval).flagged(letters)
        };
        table.rows.push(
            std::iter::once(Cell::text(name))
                .chain(shown.iter().map(cell))
                .collect(),
        );
    }
    table.notes = notes(comparison, metrics, options);
    Ok(table)
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
    let is_shown = |judged: &&JudgedRole| {
        metrics
            .iter()
            .any(|metric| has_role(&metric.metric.scorer, &judged.role))
    };
    let judged: Vec<&JudgedRole> = comparison.judged_by.iter().filter(is_shown).collect();
    let judges = judge_lines(&judged)
        .into_iter()
        .chain(unpublished(&judged))
        .map(Note::warning);
    table.notes = run_warnings(comparison)
        .into_iter()
        .chain(judges)
        .chain(table.notes)
        .collect();
    Ok(table)
}

/// Whether judges of this role give the scorer's values.
fn has_role(scorer: &str, role: &str) -> bool {
    match scorer {
        "prometheus" => role.starts_with("aspect."),
        "entailment" => role == "citation",
        _ => scorer.trim_start_matches("lexical_") == role,
    }
}

fn with_values(metric: &MetricComparison) -> impl Iterator<Item = &SystemMean> {
    metric.systems.iter().filter(|own| own.own_cases > 0)
}

/// The name in print of each system. Systems of one name in several runs share a row, unless a metric has values of two
/// of them.
fn names_in_print<'a>(
    comparison: &'a Comparison,
    metrics: &[&MetricComparison],
    options: &'a MetricsTableOptions,
) -> Result<Vec<&'a str>> {
    let systems = &comparison.systems;
    let plain = |own: &'a ObservedSystem| {
        let is_it = |other: &&SystemMean| systems[other.system].system == own.system;
        let is_alone = metrics
            .iter()
            .all(|metric| with_values(metric).filter(is_it).count() < 2);
        if is_alone {
            own.system.as_str()
        } else {
            own.label.as_str()
        }
    };
    let metric_names: Vec<String> = metrics
        .iter()
        .map(|metric| metric_name(comparison, metric))
        .collect();
    let known = systems
        .iter()
        .flat_map(|own| [own.label.as_str(), plain(own)]);
    let known = distinct(
        known
            .chain(metric_names.iter().map(String::as_str))
            .chain(["system"]),
    );
    if let Some((name, _)) = options
        .names
        .iter()
        .find(|(name, _)| !known.contains(&name.as_str()))
    {
        return Err(unknown_name("system or metric", name, &known, None));
    }
    let in_print = |own: &'a ObservedSystem| {
        options
            .renamed(&[&own.label, plain(own)])
            .unwrap_or(plain(own))
    };
    let names: Vec<&str> = systems.iter().map(in_print).collect();
    for metric in metrics {
        let mut seen = BTreeMap::new();
        for own in with_values(metric) {
            let name = names[own.system];
            if let Some(other) = seen.insert(name, &own.label) {
                return Err(Error::Settings(format!(
                    "--names: {name} is the name of {other} and {}",
                    own.label
                )));
            }
        }
    }
    Ok(names)
}

/// The names of the rows, in order.
fn ordered<'a>(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    names: &[&'a str],
    options: &'a MetricsTableOptions,
) -> Result<Vec<&'a str>> {
    let of_metric = |metric: &MetricComparison| {
        with_values(metric)
            .map(|own| names[own.system])
            .collect::<Vec<_>>()
    };
    let all: Vec<&str> = metrics
        .iter()
        .flat_map(|metric| of_metric(metric))
        .collect();
    let first: Vec<&str> = match options.order.as_deref() {
        None => Vec::new(),
        Some("name") => all
            .iter()
            .copied()
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
        Some("given") => options
            .names
            .iter()
            .map(|(_, text)| text.as_str())
            .chain(names.iter().copied())
            .collect(),
        Some(order) => match metrics.iter().find(|metric| metric.metric.is_called(order)) {
            Some(metric) => of_metric(metric),
            None => {
                let known: Vec<String> = metrics
                    .iter()
                    .map(|metric| metric_name(comparison, metric))
                    .collect();
                let known: Vec<&str> = known
                    .iter()
                    .map(String::as_str)
                    .chain(["name", "given"])
                    .collect();
                return Err(unknown_name("column or order", order, &known, None));
            }
        },
    };
    let first = first
        .into_iter()
        .filter(|name| all.contains(name))
        .collect::<Vec<_>>();
    Ok(distinct(first.into_iter().chain(all)))
}

fn column(
    comparison: &Comparison,
    metric: &MetricComparison,
    options: &MetricsTableOptions,
) -> Column {
    let (id, name) = (&metric.metric, metric_name(comparison, metric));
    let heading = options
        .renamed(&[&name, &id.name])
        .map_or_else(|| name.replace('_', " "), str::to_owned);
    let format = match options.decimals {
        Some(decimals) => Format::of_mean_to(id.unit, usize::from(decimals)),
        None => Format::of_mean(id.unit),
    };
    let mut column = Column {
        heading: heading + if has_fewer_cases(metric) { "*" } else { "" },
        format,
        half_widths: options.interval == IntervalStyle::Pm,
        group: options.group_of(metric).to_owned(),
        ..Column::metric(&name, id.unit)
    };
    column.highest_is_best &= !lacks_systems(comparison, metric);
    column
}

/// Whether an unfinished run has no value of a system yet: then the best of the others is not the best.
fn lacks_systems(comparison: &Comparison, metric: &MetricComparison) -> bool {
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
    let units = distinct(metrics.iter().map(|metric| unit_name(metric.metric.unit)));
    let questions: BTreeSet<usize> = metrics.iter().map(|metric| metric.questions).collect();
    let (least, most) = (
        questions.first().copied().unwrap_or(0),
        questions.last().copied().unwrap_or(0),
    );
    let least = if least < most {
        format!("{least} to ")
    } else {
        String::new()
    };
    let level = percent(comparison.options.level);
    let interval = match options.interval {
        IntervalStyle::Brackets => format!(", with {level} intervals"),
        IntervalStyle::Pm => format!(", with half the width of {level} intervals"),
        IntervalStyle::None => String::new(),
    };
    format!(
        "Means ({}) over {least}{}{interval}",
        units.join(", "),
        counted(most, "question")
    )
}

/// What letters and `*` mean.
fn notes(
    comparison: &Comparison,
    metrics: &[&MetricComparison],
    options: &MetricsTableOptions,
) -> Vec<Note> {
    let letters = options.letters.then(|| {
        "In a column, systems that share a letter do not differ significantly (adjusted for all pairs); a column without \
         letters was not tested."
            .to_owned()
    });
    let fewer = metrics.iter().filter(|metric| has_fewer_cases(metric));
    let fewer = fewer.map(|own| {
        format!(
            "{} {} of {}",
            metric_name(comparison, own),
            own.cases.len(),
            own.cases_in_all
        )
    });
    let fewer = fewer.reduce(|all, own| format!("{all}, {own}"));
    let fewer =
        fewer.map(|cases| format!("* Over the cases with a value of every system: {cases}."));
    [letters, fewer]
        .into_iter()
        .flatten()
        .map(Note::warning)
        .collect()
}
