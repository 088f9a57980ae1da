//! How raters agree, as tables for people, CSV and JSON.

use super::json::terminal_safe_json;
use super::table::{Cell, Column, Format, Table, short_names, shown_notes};
use super::{TableStyle, visible, wrapped};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{AgreementLevel, EstimateRow, PoweredMean, RaterAgreement, RaterPair};
use crate::domain::RaterKind;
use crate::error::{Error, Result};

/// Decimals of coefficients and shares.
const COEFFICIENT: Format = Format::Number(2);
/// Decimals of raters' means, each on its own scale.
const MEAN: Format = Format::Number(3);

/// Measures of [`EstimateRow`] that stand in one table, with their headings.
type Headings = [(&'static str, &'static str)];
const RATINGS: &Headings = &[
    ("kendall_tau_b", "Kendall tau-b"),
    ("spearman", "Spearman"),
    ("pearson", "Pearson"),
    ("kappa", "Cohen's kappa"),
    ("quadratic_kappa", "quadratic kappa"),
];
const COMPARISONS: &Headings = &[
    ("pairs_half_credit", "half for ties"),
    ("pairs_strict", "strict"),
    ("pairs_decided", "decided"),
    ("pairs_kappa", "kappa"),
];
const GROUPS: &Headings = &[
    ("alpha_ordinal", "ordinal"),
    ("alpha_interval", "interval"),
    ("alpha_nominal", "nominal"),
    ("icc_2_1", "ICC(2,1)"),
];
const MEANS: &Headings = &[("labels_only", "labels only"), ("prediction_powered", "prediction-powered")];

/// The result in short, then the tables, then the weightiest notes.
pub fn render_agreement_table(agreement: &RaterAgreement, style: &TableStyle) -> String {
    let tables = tables(agreement).into_iter().filter(|table| !table.rows.is_empty());
    let mut out = tables.map(|table| table.terminal(style)).collect::<Vec<_>>().join("\n");
    let notes = shown_notes(&agreement.notes, style.all_notes);
    let hidden = agreement.notes.len() - notes.len();
    let mut lines: Vec<String> = notes.iter().map(|note| format!("- {}", visible(&note.text))).collect();
    if hidden > 0 {
        lines.push(format!("- {hidden} more with --notes."));
    }
    out.push('\n');
    lines.iter().for_each(|line| out.push_str(&(wrapped(line, usize::from(style.width.max(80))) + "\n")));
    out
}

/// The agreement as JSON: [`RaterAgreement`] as it is.
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialized.
pub fn render_agreement_json(agreement: &RaterAgreement) -> Result<String> {
    let json = serde_json::to_string_pretty(agreement)
        .map_err(|error| Error::Internal(format!("agreement as JSON: {error}")))?;
    Ok(terminal_safe_json(&json) + "\n")
}

/// The agreement as CSV, one row per number; the columns are those of [`EstimateRow`], with the means and rates of systems as
/// parts `ranking` and `wins`.
///
/// # Errors
/// [`Error::Internal`] if it cannot be written.
pub fn render_agreement_csv(agreement: &RaterAgreement) -> Result<String> {
    let mut columns = ["first", "second", "part", "name", "measure"].map(|key| Column::new(key, Format::Text)).to_vec();
    columns.extend(["n", "questions"].map(|key| Column::new(key, Format::Count)));
    columns.extend(["estimate", "low", "high"].map(|key| Column::new(key, COEFFICIENT)));
    columns.push(Column::new("undefined", Format::Text));
    let mut table = Table::new("", columns);
    let mut add = |row: EstimateRow<'_>| {
        let mut cells = [row.first, row.second, row.part, row.name, row.measure].map(Cell::text).to_vec();
        cells.extend([row.n, row.questions].map(Cell::count));
        cells.extend([row.estimate.estimate, row.estimate.low, row.estimate.high].map(Cell::maybe));
        cells.push(Cell::text(row.estimate.undefined.as_deref().unwrap_or_default()));
        table.rows.push(cells);
    };
    agreement.estimates().into_iter().for_each(&mut add);
    for pair in &agreement.pairs {
        let (first, second) = (&*pair.first, &*pair.second);
        let compared = pair.overall.comparisons.as_ref().map_or(pair.overall.questions, |compared| compared.questions);
        let mut plain = |part, name, n, measure, value| {
            let questions = if part == "wins" { compared } else { pair.overall.questions };
            let estimate = &Estimate { estimate: Some(value), ..Estimate::default() };
            add(EstimateRow { first, second, part, name, measure, n, questions, estimate });
        };
        for of in pair.ranking.iter().flat_map(|ranking| &ranking.systems) {
            plain("ranking", of.system.as_str(), of.n, "first_mean", of.first_mean);
            plain("ranking", of.system.as_str(), of.n, "second_mean", of.second_mean);
        }
        for of in pair.wins.iter().flat_map(|wins| &wins.systems) {
            plain("wins", of.system.as_str(), of.n, "first_rate", of.first_rate);
            plain("wins", of.system.as_str(), of.n, "second_rate", of.second_rate);
        }
    }
    table.csv()
}

fn tables(agreement: &RaterAgreement) -> Vec<Table> {
    let raters = || agreement.raters.iter().map(|rater| &*rater.name);
    let names: Vec<(&str, String)> = raters().zip(short_names(raters())).collect();
    let short = |name: &str| names.iter().find(|(known, _)| *known == name).map_or(name, |(_, short)| short).to_owned();
    let rows = agreement.estimates();
    let only = |keep: &dyn Fn(&EstimateRow<'_>) -> bool| -> Vec<EstimateRow<'_>> {
        rows.iter().filter(|row| row.n > 0 && keep(row)).copied().collect()
    };
    let level = match agreement.options.level {
        AgreementLevel::System => "means of systems",
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    };
    let mut tables = vec![summary(agreement)];
    let both = |row: &EstimateRow<'_>| vec![short(row.first), short(row.second)];
    let overall = only(&|row| row.part == "overall");
    tables.push(pivot(format!("Agreement on {level}"), &["raters", ""], &overall, RATINGS, &both));
    let title = format!("Agreement on {level}: which of two is better");
    tables.push(pivot(title, &["raters", ""], &overall, COMPARISONS, &both));
    let title = "Raters together: Krippendorff's alpha and ICC(2,1)".to_owned();
    let groups = only(&|row| row.second.is_empty());
    tables.push(pivot(title, &["raters", ""], &groups, GROUPS, &|row| vec![row.first.to_owned(), row.part.to_owned()]));
    for pair in agreement.pairs.iter().filter(|pair| is_detailed(agreement, pair)) {
        let who = [short(&pair.first), short(&pair.second)];
        for part in ["item", "system"] {
            let own = only(&|row| row.part == part && row.first == &*pair.first && row.second == &*pair.second);
            let title = format!("{}, by {part}", who.join(" and "));
            let name = |row: &EstimateRow<'_>| vec![row.name.to_owned()];
            tables.push(pivot(title.clone(), &[part], &own, RATINGS, &name));
            tables.push(pivot(title + ": which of two is better", &[part], &own, COMPARISONS, &name));
        }
        tables.extend(systems(pair, &who));
    }
    let is_powered = |row: &EstimateRow<'_>| {
        let is_own = |mean: &&PoweredMean| *mean.judge == *row.first && mean.system.as_str() == row.name;
        row.part == "mean" && agreement.powered.iter().find(is_own).is_some_and(|mean| mean.lambda.is_some())
    };
    let title = "Means on the human scale: of the labels alone, and prediction-powered".to_owned();
    let name = |row: &EstimateRow<'_>| vec![row.name.to_owned(), short(row.first)];
    tables.push(pivot(title, &["system", "judge"], &only(&is_powered), MEANS, &name));
    tables
}

/// People with people is the ceiling of every judge.
fn summary(agreement: &RaterAgreement) -> Table {
    let measures = ["better of two", "Kendall tau-b", "order of systems"].map(|key| Column::new(key, COEFFICIENT));
    let columns = [Column::new("raters", Format::Text)].into_iter().chain(measures).collect();
    let has_people = agreement.summary.iter().any(|row| row.who == "people with people");
    let ceiling = if has_people { "; people with people is the most a judge can reach" } else { "" };
    let mut table = Table::new(format!("Agreement in short, mean of pairs of raters{ceiling}"), columns);
    for row in &agreement.summary {
        let estimates = [&row.half_credit, &row.kendall_tau_b, &row.systems].map(cell);
        table.rows.push([Cell::text(&row.who)].into_iter().chain(estimates).collect());
    }
    table
}

/// The estimates with a row per name and a column per measure; `n` is that of the first measure.
fn pivot(
    title: String,
    headings: &[&str],
    rows: &[EstimateRow<'_>],
    measures: &Headings,
    names: &dyn Fn(&EstimateRow<'_>) -> Vec<String>,
) -> Table {
    let mut columns: Vec<Column> = headings.iter().map(|key| Column::new(key, Format::Text)).collect();
    columns.push(Column::new("n", Format::Count));
    columns.extend(measures.iter().map(|(key, heading)| Column::headed(key, heading, COEFFICIENT)));
    let mut table = Table::new(title, columns);
    let mut last = Vec::new();
    for row in rows {
        let Some(at) = measures.iter().position(|(measure, _)| *measure == row.measure) else { continue };
        let own = names(row);
        if last != own {
            let cells = own.iter().map(Cell::text).chain([Cell::count(row.n)]);
            table.rows.push(cells.chain(measures.iter().map(|_| Cell::Missing)).collect());
            last = own;
        }
        if let Some(cells) = table.rows.last_mut() {
            cells[headings.len() + 1 + at] = cell(row.estimate);
        }
    }
    table
}

/// The systems by the means of two raters, and by the comparisons they win.
fn systems(pair: &RaterPair, who: &[String; 2]) -> Vec<Table> {
    let [first, second] = who;
    let text = |heading: &str| Column::new(heading, Format::Text);
    let count = |heading: &str| Column::new(heading, Format::Count);
    let mean = |heading: &str| Column::new(heading, MEAN);
    let mut tables = Vec::new();
    if let Some(ranking) = &pair.ranking {
        let title = format!("{}, means of systems: tau-b {}", who.join(" and "), in_line(&ranking.kendall_tau_b));
        let columns = vec![text("system"), count("n"), mean(first), count("rank"), mean(second), count("rank")];
        let mut table = Table::new(title, columns);
        table.rows.extend(ranking.systems.iter().map(|of| {
            let (first, second) = (Cell::number(of.first_mean), Cell::number(of.second_mean));
            let (first_rank, second_rank) = (Cell::count(of.first_rank), Cell::count(of.second_rank));
            vec![Cell::text(of.system.as_str()), Cell::count(of.n), first, first_rank, second, second_rank]
        }));
        tables.push(table);
    }
    if let Some(wins) = &pair.wins {
        let mut title = format!("{}, comparisons won: tau-b {}", who.join(" and "), in_line(&wins.kendall_tau_b));
        if wins.first_means_second_wins.estimate.is_some() {
            title += &format!("; means of {first} with wins of {second}: {}", in_line(&wins.first_means_second_wins));
        }
        let columns = vec![text("system"), count("n"), mean(first), mean(second), mean(&format!("mean of {first}"))];
        let mut table = Table::new(title, columns);
        table.rows.extend(wins.systems.iter().map(|of| {
            let numbers = [Some(of.first_rate), Some(of.second_rate), of.first_mean].map(Cell::maybe);
            [Cell::text(of.system.as_str()), Cell::count(of.n)].into_iter().chain(numbers).collect()
        }));
        tables.push(table);
    }
    tables
}

/// False for a judge and one of several people: their mean stands for them in the detailed tables.
fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let rater = |name: &str| agreement.raters.iter().find(|rater| *rater.name == *name);
    let kind = |name: &str| rater(name).map_or(RaterKind::Human, |rater| rater.kind);
    let has_mean = agreement.raters.iter().any(|rater| !rater.mean_of.is_empty());
    let is_mean = rater(&pair.second).is_some_and(|rater| !rater.mean_of.is_empty());
    !has_mean || is_mean || kind(&pair.first) == kind(&pair.second)
}

fn cell(estimate: &Estimate) -> Cell {
    Cell::estimate(estimate.estimate, estimate.interval())
}

/// `0.61 [0.50, 0.70]`.
pub(super) fn in_line(estimate: &Estimate) -> String {
    match (estimate.estimate, &estimate.undefined) {
        (Some(value), _) => COEFFICIENT.show_estimate(value, estimate.interval()),
        (None, Some(reason)) => format!("not defined ({reason})"),
        (None, None) => "not defined".to_owned(),
    }
}
