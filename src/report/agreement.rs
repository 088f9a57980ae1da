//! Agreement of raters, as tables for people, CSV and JSON.

use super::layout::counted;
use super::table::{Cell, Column, Format, Table, short_names, shown_notes};
use super::{CsvText, TableStyle, visible, wrapped};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{AgreementLevel, Measures, RaterAgreement, RaterPair};
use crate::error::Result;

/// Decimals of coefficients and shares.
const COEFFICIENT: Format = Format::Number(2);
/// Decimals of raters' means, which keep their own scales.
const MEAN: Format = Format::Number(3);

/// Estimates of one table, with their headings.
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

/// The main result, then the tables, then the warnings. Tables by system and the prediction-powered means are shown
/// with all notes.
pub fn render_agreement_table(agreement: &RaterAgreement, style: &TableStyle) -> String {
    let tables = tables(agreement, style.all_notes).into_iter().filter(|table| !table.rows.is_empty());
    let mut out = tables.map(|table| table.terminal(style)).collect::<Vec<_>>().join("\n");
    let notes = shown_notes(&agreement.notes, style.all_notes);
    let mut lines: Vec<String> = notes.iter().map(|note| format!("- {}", visible(&note.text))).collect();
    if !style.all_notes {
        let hidden = counted(agreement.notes.len() - notes.len(), "more note");
        lines.push(format!("- Tables by system, prediction-powered means and {hidden}: --notes."));
    }
    out.push('\n');
    lines.iter().for_each(|line| out.push_str(&(wrapped(line, usize::from(style.width.max(80))) + "\n")));
    out
}

/// The agreement as CSV, one row per number. `part` is `overall`, `item`, `system`, `ranking` or `wins` for two raters,
/// `ratings` or `preferences` for a group (`first` is its name), `mean` for a prediction-powered mean.
///
/// # Errors
/// [`Error::Internal`](crate::error::Error::Internal) if it cannot be written.
pub fn render_agreement_csv(agreement: &RaterAgreement, texts: CsvText) -> Result<String> {
    let mut columns = ["first", "second", "part", "name", "measure"].map(|key| Column::new(key, Format::Text)).to_vec();
    columns.extend(["n", "questions"].map(|key| Column::new(key, Format::Count)));
    columns.extend(["estimate", "low", "high"].map(|key| Column::new(key, COEFFICIENT)));
    columns.push(Column::new("undefined", Format::Text));
    let mut table = Table::new("", columns);
    let mut add = |place: [&str; 4], measure: &str, [n, questions]: [usize; 2], estimate: &Estimate| {
        let mut cells: Vec<Cell> = place.into_iter().chain([measure]).map(Cell::text).collect();
        cells.extend([n, questions].map(Cell::count));
        cells.extend([estimate.estimate, estimate.low, estimate.high].map(Cell::maybe));
        cells.push(Cell::text(estimate.undefined.as_deref().unwrap_or_default()));
        table.rows.push(cells);
    };
    for pair in &agreement.pairs {
        let (first, second, overall) = (&*pair.first, &*pair.second, &pair.overall);
        let items = pair.items.iter().map(|item| ("item", item.name.as_str(), &item.measures));
        let systems = pair.systems.iter().map(|system| ("system", system.name.as_str(), &system.measures));
        for (part, name, measures) in std::iter::once(("overall", "", overall)).chain(items).chain(systems) {
            for (measure, n, estimate) in measures.estimates() {
                add([first, second, part, name], measure, [n, measures.questions], estimate);
            }
        }
        if let Some(ranking) = &pair.ranking {
            let counts = [ranking.systems.len(), overall.questions];
            add([first, second, "ranking", ""], "kendall_tau_b", counts, &ranking.kendall_tau_b);
        }
        if let Some(wins) = &pair.wins {
            let questions = overall.comparisons.as_ref().map_or(overall.questions, |compared| compared.questions);
            let (place, counts) = ([first, second, "wins", ""], [wins.systems.len(), questions]);
            add(place, "kendall_tau_b", counts, &wins.kendall_tau_b);
            add(place, "first_means_second_wins", counts, &wins.first_means_second_wins);
        }
    }
    for group in &agreement.groups {
        let place = [&*group.name, "", group.of, ""];
        add(place, "alpha_nominal", [group.n, group.questions], &group.alpha_nominal);
        add(place, "alpha_ordinal", [group.n, group.questions], &group.alpha_ordinal);
        add(place, "alpha_interval", [group.n, group.questions], &group.alpha_interval);
        add(place, "icc_2_1", [group.complete, group.questions], &group.icc_2_1);
    }
    for mean in &agreement.powered {
        let place = [&*mean.judge, &*mean.human, "mean", mean.system.as_str()];
        add(place, "labels_only", [mean.labelled; 2], &mean.labels_only);
        add(place, "prediction_powered", [mean.labelled + mean.unlabelled, mean.labelled], &mean.powered);
    }
    table.csv(texts)
}

fn tables(agreement: &RaterAgreement, all: bool) -> Vec<Table> {
    let raters = || agreement.raters.iter().map(|rater| &*rater.name);
    let names: Vec<(&str, String)> = raters().zip(short_names(raters())).collect();
    let short = |name: &str| names.iter().find(|(known, _)| *known == name).map_or(name, |(_, short)| short).to_owned();
    let level = match agreement.options.level {
        AgreementLevel::System => "means of systems",
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    };
    let overall = || agreement.pairs.iter().map(|pair| (vec![short(&pair.first), short(&pair.second)], &pair.overall));
    let mut tables = vec![summary(agreement)];
    tables.extend(measured(&format!("Agreement on {level}"), &["raters", ""], overall().collect()));
    tables.push(groups(agreement));
    for pair in agreement.pairs.iter().filter(|pair| is_detailed(agreement, pair)) {
        let who = [short(&pair.first), short(&pair.second)];
        for (part, own) in [("item", &pair.items), ("system", &pair.systems)] {
            let rows = own.iter().filter(|_| all || part == "item").map(|own| (vec![own.name.clone()], &own.measures));
            tables.extend(measured(&format!("{}, by {part}", who.join(" and ")), &[part], rows.collect()));
        }
        if all || agreement.options.level == AgreementLevel::System {
            tables.extend(systems(pair, &who));
        }
    }
    if all {
        let title = "Means on the human scale: of the labels alone, and prediction-powered";
        let mut table = Table::new(title, vec![text("system"), text("judge"), count("n")]);
        table.columns.extend(["labels only", "prediction-powered"].map(|key| Column::new(key, COEFFICIENT)));
        for mean in agreement.powered.iter().filter(|mean| mean.lambda.is_some()) {
            let names = [Cell::text(mean.system.as_str()), Cell::text(short(&mean.judge)), Cell::count(mean.labelled)];
            table.rows.push(names.into_iter().chain([&mean.labels_only, &mean.powered].map(cell)).collect());
        }
        tables.push(table);
    }
    tables
}

/// Agreement among people, the ceiling for every judge.
fn summary(agreement: &RaterAgreement) -> Table {
    let measures = ["better of two", "Kendall tau-b", "order of systems"].map(|key| Column::new(key, COEFFICIENT));
    let columns = [text("raters")].into_iter().chain(measures).collect();
    let has_people = agreement.summary.iter().any(|row| row.who == "people with people");
    let ceiling = if has_people { "; people with people is the most a judge can reach" } else { "" };
    let mut table = Table::new(format!("Agreement in short, mean of pairs of raters{ceiling}"), columns);
    for row in &agreement.summary {
        let estimates = [&row.half_credit, &row.kendall_tau_b, &row.systems].map(cell);
        table.rows.push([Cell::text(&row.who)].into_iter().chain(estimates).collect());
    }
    table
}

/// Agreement on ratings and preferences; `n` is that of the first measure.
fn measured(title: &str, headings: &[&str], rows: Vec<(Vec<String>, &Measures)>) -> [Table; 2] {
    [(title.to_owned(), RATINGS), (format!("{title}: which of two is better"), COMPARISONS)].map(|(title, shown)| {
        let mut table = Table::new(title, headings.iter().map(|heading| text(heading)).chain([count("n")]).collect());
        table.columns.extend(shown.iter().map(|(key, heading)| Column::headed(key, heading, COEFFICIENT)));
        for (names, measures) in &rows {
            let all = measures.estimates();
            let find = |key: &str| all.iter().find(|(measure, n, _)| *measure == key && *n > 0);
            if let Some((_, n, _)) = find(shown[0].0) {
                let cells = shown.iter().map(|(key, _)| find(key).map_or(Cell::Missing, |(.., own)| cell(own)));
                table.rows.push(names.iter().map(Cell::text).chain([Cell::count(*n)]).chain(cells).collect());
            }
        }
        table
    })
}

fn groups(agreement: &RaterAgreement) -> Table {
    let columns = vec![text("raters"), text(""), count("n")];
    let mut table = Table::new("Raters together: Krippendorff's alpha and ICC(2,1)", columns);
    table.columns.extend(["ordinal", "interval", "nominal", "ICC(2,1)"].map(|key| Column::new(key, COEFFICIENT)));
    for group in agreement.groups.iter().filter(|group| group.n > 0) {
        let names = [Cell::text(&group.name), Cell::text(group.of), Cell::count(group.n)];
        let all = [&group.alpha_ordinal, &group.alpha_interval, &group.alpha_nominal, &group.icc_2_1];
        table.rows.push(names.into_iter().chain(all.map(cell)).collect());
    }
    table
}

/// The systems by the means of two raters.
fn systems(pair: &RaterPair, who: &[String; 2]) -> Option<Table> {
    let [first, second] = who;
    let ranking = pair.ranking.as_ref()?;
    let title = format!("{}, means of systems: tau-b {}", who.join(" and "), in_line(&ranking.kendall_tau_b));
    let mean = |heading: &str| Column::new(heading, MEAN);
    let columns = vec![text("system"), count("n"), mean(first), count("rank"), mean(second), count("rank")];
    let mut table = Table::new(title, columns);
    table.rows.extend(ranking.systems.iter().map(|of| {
        let (first, second) = (Cell::number(of.first_mean), Cell::number(of.second_mean));
        let (first_rank, second_rank) = (Cell::count(of.first_rank), Cell::count(of.second_rank));
        vec![Cell::text(of.system.as_str()), Cell::count(of.n), first, first_rank, second, second_rank]
    }));
    Some(table)
}

/// False for a judge and one of several people: the detailed tables use the people's mean.
fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let kind = |name: &str| agreement.raters.iter().find(|rater| *rater.name == *name).map(|rater| rater.kind);
    let mean = agreement.raters.iter().find(|rater| !rater.mean_of.is_empty());
    mean.is_none_or(|mean| pair.second == mean.name || kind(&pair.first) == kind(&pair.second))
}

fn text(heading: &str) -> Column {
    Column::new(heading, Format::Text)
}

fn count(heading: &str) -> Column {
    Column::new(heading, Format::Count)
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
