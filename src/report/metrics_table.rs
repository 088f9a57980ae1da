//! The table of a paper: systems by metrics, over one or several runs.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, ValueEnum};

use super::comparison::{metric_name, percent, run_warnings};
use super::layout::counted;
use super::table::{Cell, Column, Format, Table};
use crate::analysis::comparison::{Comparison, MetricComparison, SystemMean, unknown_name};
use crate::domain::{Note, Unit};
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
    /// Names in print, of systems, metrics and runs, such as gpt="GPT-4o"; systems of one name share a row
    #[arg(long, value_name = "NAME=TEXT", value_delimiter = ',', value_parser = parse_name)]
    pub names: Vec<(String, String)>,
    /// Order of the systems: by a metric (best first), name, or given (as in --names, then as in the runs) [default: by
    /// the first metric]
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
    /// Decimals of all numbers [default: 1, of grades 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=6))]
    pub decimals: Option<u8>,
    /// Intervals: brackets, pm (± half the width) or none
    #[arg(long, value_enum, default_value_t, hide_possible_values = true, value_name = "STYLE")]
    pub interval: IntervalStyle,
    /// Letters: in a column, systems that share one do not differ significantly (as in compare)
    #[arg(long)]
    pub letters: bool,
    /// Show runs whose judge, prompts, tests or settings differ, in columns of their own, and flag it
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
        self.metrics.iter().chain(self.group.iter().flat_map(|(_, metrics)| metrics)).cloned().collect()
    }

    /// The printed name of what has one of these names.
    fn renamed(&self, names: &[&str]) -> Option<&str> {
        let text = |name: &&str| self.names.iter().find(|(own, _)| own == name).map(|(_, text)| text.as_str());
        names.iter().find_map(text)
    }
}

fn parse_name(text: &str) -> std::result::Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, text)| !name.trim().is_empty() && !text.trim().is_empty());
    let (name, text) = pair.ok_or("write NAME=TEXT, such as gpt=\"GPT-4o\"")?;
    Ok((name.trim().to_owned(), text.trim().to_owned()))
}

fn parse_group(text: &str) -> std::result::Result<(String, Vec<String>), String> {
    let (heading, metrics) = parse_name(text).map_err(|_| "write HEADING=METRICS, such as Rubric=score,ann_score")?;
    Ok((heading, metrics.split(',').map(|name| name.trim().to_owned()).collect()))
}

/// The metrics of this comparison as a table with a row per printed name of a system. Means are over the shared cases.
/// `for_csv`: with intervals and the number of cases (`KEY_n`) in any case.
///
/// # Errors
/// [`Error::Settings`] for an unknown name, and for two values of a system in one column.
pub fn metrics_table(comparison: &Comparison, options: &MetricsTableOptions, for_csv: bool) -> Result<Table> {
    let sheet = Sheet { comparison, options };
    sheet.check_names()?;
    let places = sheet.places()?;
    let rows = sheet.rows(&places)?;
    let mut columns = vec![Column::headed("system", options.renamed(&["system"]).unwrap_or("system"), Format::Text)];
    for place in &places {
        columns.push(sheet.column(place));
        let key = format!("{}_n", columns[columns.len() - 1].key);
        columns.extend(for_csv.then(|| Column::new(&key, Format::Count)));
    }
    let mut table = Table::new(sheet.title(), columns);
    for name in rows {
        let mut row = vec![Cell::text(&name)];
        for place in &places {
            let own = place.systems(comparison).find(|own| sheet.name_of(own) == name && own.mean.is_some());
            let interval =
                own.and_then(|own| own.interval).filter(|_| for_csv || options.interval != IntervalStyle::None);
            let letters = own.filter(|_| options.letters).map_or("", |own| own.letters.as_str());
            row.push(Cell::estimate(own.and_then(|own| own.mean), interval).flagged(letters));
            row.extend(for_csv.then(|| own.map_or(Cell::Missing, |_| Cell::count(place.metric.cases.len()))));
        }
        table.rows.push(row);
    }
    table.notes = sheet.notes();
    Ok(table)
}

/// A column: a metric, of one run if systems have values in several.
struct Place<'a> {
    metric: &'a MetricComparison,
    run: Option<usize>,
    group: String,
}

impl<'a> Place<'a> {
    /// The systems with a value, best first.
    fn systems(&self, comparison: &Comparison) -> impl Iterator<Item = &'a SystemMean> {
        let is_of_run = |own: &&SystemMean| self.run.is_none_or(|run| comparison.systems[own.system].run == run);
        with_values(self.metric).filter(is_of_run)
    }

    /// Whether its means are over fewer cases than the metric has.
    fn has_fewer_cases(&self) -> bool {
        self.metric.cases.len() < self.metric.cases_in_all
    }
}

fn with_values(metric: &MetricComparison) -> impl Iterator<Item = &SystemMean> {
    metric.systems.iter().filter(|own| own.own_cases > 0)
}

struct Sheet<'a> {
    comparison: &'a Comparison,
    options: &'a MetricsTableOptions,
}

impl<'a> Sheet<'a> {
    fn check_names(&self) -> Result<()> {
        let (systems, runs) = (&self.comparison.systems, &self.comparison.runs);
        let metrics: Vec<String> =
            self.comparison.metrics.iter().map(|own| metric_name(self.comparison, own)).collect();
        let systems = systems.iter().flat_map(|own| [own.label.as_str(), own.system.as_str()]);
        let known = systems.chain(metrics.iter().map(String::as_str)).chain(runs.iter().map(|run| run.name.as_str()));
        let known: Vec<&str> = known.chain(["system"]).collect::<BTreeSet<_>>().into_iter().collect();
        match self.options.names.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, _)) => Err(unknown_name("system, metric or run", name, &known, None)),
            None => Ok(()),
        }
    }

    /// The printed name of a system.
    fn name_of(&self, own: &SystemMean) -> &'a str {
        let system = &self.comparison.systems[own.system];
        self.options.renamed(&[&system.label, system.system.as_str()]).unwrap_or(system.system.as_str())
    }

    /// The columns. Those of a group stand together, at the place of its first.
    fn places(&self) -> Result<Vec<Place<'a>>> {
        let mut places: Vec<Place<'a>> = Vec::new();
        for metric in &self.comparison.metrics {
            let is_member = |names: &[String]| names.iter().any(|name| metric.metric.is_called(name));
            let group =
                self.options.group.iter().find(|(_, names)| is_member(names)).map(|(heading, _)| heading.as_str());
            for run in self.runs_of(metric)? {
                let of_run = run.map(|run| self.comparison.runs[run].name.as_str());
                let of_run = of_run.map(|name| self.options.renamed(&[name]).unwrap_or(name));
                let group = group.into_iter().chain(of_run).collect::<Vec<_>>().join(", ");
                places.push(Place { metric, run, group });
            }
        }
        let groups: Vec<String> = places.iter().map(|place| place.group.clone()).collect();
        places.sort_by_key(|place| groups.iter().position(|group| *group == place.group));
        Ok(places)
    }

    /// The runs that need a column of their own of this metric; one without a run if none does.
    fn runs_of(&self, metric: &MetricComparison) -> Result<Vec<Option<usize>>> {
        let mut seen: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        with_values(metric).for_each(|own| seen.entry(self.name_of(own)).or_default().push(own.system));
        let system = |at: usize| &self.comparison.systems[at];
        for (name, systems) in &seen {
            let runs: BTreeSet<usize> = systems.iter().map(|at| system(*at).run).collect();
            if runs.len() < systems.len() {
                let labels: Vec<&str> = systems.iter().map(|at| system(*at).label.as_str()).collect();
                return Err(Error::Settings(format!("--names: {name} is the name of {}", labels.join(" and "))));
            }
            if runs.len() > 1 && !self.options.anyway {
                let runs: Vec<&str> = runs.iter().map(|run| self.comparison.runs[*run].name.as_str()).collect();
                return Err(Error::Settings(format!(
                    "{name} has a value of {} in several runs, {}: name one of them, or add --anyway for a column of each",
                    metric.metric.name,
                    runs.join(" and ")
                )));
            }
        }
        let runs: BTreeSet<usize> = with_values(metric).map(|own| system(own.system).run).collect();
        let has_several = seen.values().any(|systems| systems.len() > 1);
        Ok(if has_several { runs.into_iter().map(Some).collect() } else { vec![None] })
    }

    /// The printed names of the systems, in order.
    fn rows(&self, places: &[Place<'a>]) -> Result<Vec<String>> {
        let names =
            |place: &Place<'a>| -> Vec<&str> { place.systems(self.comparison).map(|own| self.name_of(own)).collect() };
        let mut rows: Vec<&str> = places.iter().flat_map(names).collect();
        let known: BTreeSet<&str> = rows.iter().copied().collect();
        match self.options.order.as_deref() {
            None => {}
            Some("name") => rows = known.iter().copied().collect(),
            Some("given") => {
                let systems = self.comparison.systems.iter();
                let systems = systems
                    .map(|own| self.options.renamed(&[&own.label, own.system.as_str()]).unwrap_or(own.system.as_str()));
                rows = self.options.names.iter().map(|(_, text)| text.as_str()).chain(systems).collect();
            }
            Some(name) => {
                let Some(place) = places.iter().find(|place| place.metric.metric.is_called(name)) else {
                    let known = places.iter().map(|place| place.metric.metric.name.as_str()).chain(["name", "given"]);
                    return Err(unknown_name("column or order", name, &known.collect::<Vec<_>>(), None));
                };
                rows = [names(place), rows].concat();
            }
        }
        let mut seen = BTreeSet::new();
        rows.retain(|name| known.contains(name) && seen.insert(*name));
        Ok(rows.into_iter().map(str::to_owned).collect())
    }

    fn column(&self, place: &Place<'_>) -> Column {
        let (id, name) = (&place.metric.metric, metric_name(self.comparison, place.metric));
        let run = place.run.map(|run| format!("{}.", self.comparison.runs[run].name)).unwrap_or_default();
        let heading = self.options.renamed(&[&name, &id.name]).map_or_else(|| name.replace('_', " "), str::to_owned);
        let format = match self.options.decimals {
            Some(decimals) => Format::of_mean_to(id.unit, usize::from(decimals)),
            None => Format::of_mean(id.unit),
        };
        Column {
            heading: heading + if place.has_fewer_cases() { "*" } else { "" },
            format,
            half_widths: self.options.interval == IntervalStyle::Pm,
            group: place.group.clone(),
            ..Column::metric(&(run + &name), id.unit)
        }
    }

    /// Units, number of questions and kind of interval.
    fn title(&self) -> String {
        let metrics = &self.comparison.metrics;
        let units = [(Unit::Share, "%"), (Unit::Grade, "grades from 1 to 5"), (Unit::Count, "counts per answer")];
        let units = units.iter().filter(|(unit, _)| metrics.iter().any(|metric| metric.metric.unit == *unit));
        let units: Vec<&str> = units.map(|(_, name)| *name).collect();
        let (least, most) =
            (metrics.iter().map(|own| own.questions).min(), metrics.iter().map(|own| own.questions).max());
        let (least, most) = (least.unwrap_or_default(), counted(most.unwrap_or_default(), "question"));
        let questions = if most.starts_with(&format!("{least} ")) { most } else { format!("{least} to {most}") };
        let level = percent(self.comparison.options.level);
        let interval = match self.options.interval {
            IntervalStyle::Brackets => format!(", with {level} BCa bootstrap intervals"),
            IntervalStyle::Pm => format!(", with half the width of {level} BCa bootstrap intervals"),
            IntervalStyle::None => String::new(),
        };
        format!("Means ({}) over {questions}{interval}", units.join(", "))
    }

    /// What a reader must know: differences of the runs, judges, letters, cases.
    fn notes(&self) -> Vec<Note> {
        let (comparison, metrics) = (self.comparison, &self.comparison.metrics);
        let name = |metric: &MetricComparison| metric_name(comparison, metric);
        let mut notes: Vec<String> = judges(comparison);
        if self.options.letters {
            let alpha = comparison.options.alpha;
            notes.push(format!("In a column, systems that share a letter do not differ significantly (paired permutation test, p Holm below {alpha})."));
            let without = metrics.iter().filter(|metric| metric.groups.is_empty() && with_values(metric).count() > 1);
            let without: Vec<String> = without.map(name).collect();
            notes.extend(
                (!without.is_empty())
                    .then(|| format!("Without letters: {}, no mean over answers.", without.join(", "))),
            );
        }
        let fewer = metrics.iter().filter(|metric| metric.cases.len() < metric.cases_in_all);
        let fewer = fewer.map(|metric| format!("{} {} of {}", name(metric), metric.cases.len(), metric.cases_in_all));
        let fewer: Vec<String> = fewer.collect();
        notes.extend(
            (!fewer.is_empty())
                .then(|| format!("* Over the cases with a value of every system: {}.", fewer.join(", "))),
        );
        run_warnings(comparison).into_iter().chain(notes.into_iter().map(Note::warning)).collect()
    }
}

/// A sentence on each judge of these metrics, with the roles.
fn judges(comparison: &Comparison) -> Vec<String> {
    let mut judges: Vec<(&str, Vec<&str>)> = Vec::new();
    for (role, judge) in comparison.judged_by.iter().filter_map(|line| line.split_once(": ")) {
        let (scorer, role) = match role.split_once('.') {
            Some((_, aspect)) => ("prometheus", aspect),
            None if role == "citation" => ("entailment", role),
            None => ("rubric", role),
        };
        // Runs that share a metric have one judge, unless they differ: then the names of the runs say whose.
        let is_run = |text: &str| comparison.runs.iter().any(|run| text.starts_with(&run.name));
        let names = judge.rsplit_once(" (").filter(|(_, names)| comparison.differences.is_empty() && is_run(names));
        let judge = names.map_or(judge, |(judge, _)| judge);
        if comparison.metrics.iter().any(|metric| metric.metric.scorer.ends_with(scorer)) {
            match judges.iter_mut().find(|(known, _)| *known == judge) {
                Some((_, roles)) => roles.push(role),
                None => judges.push((judge, vec![role])),
            }
        }
    }
    let line = |(judge, roles): (&str, Vec<&str>)| {
        format!("Judge of {}: {}.", roles.join(", "), judge.strip_prefix("judge ").unwrap_or(judge))
    };
    judges.into_iter().map(line).collect()
}
