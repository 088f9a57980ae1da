//! How raters agree, as tables for people, CSV and JSON.

use super::files::terminal_safe_json;
use super::table::{Cell, Column, Format, Table, short_names, shown_notes};
use super::{TableStyle, visible, wrapped};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{
    AgreementLevel, Measures, PartMeasures, Ranking, RaterAgreement, RaterGroup, RaterPair, Wins,
};
use crate::domain::RaterKind;
use crate::error::{Error, Result};

/// Decimals of coefficients and shares.
const COEFFICIENT: Format = Format::Number(2);
/// Decimals of raters' means, each on its own scale.
const MEAN: Format = Format::Number(3);

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

/// The agreement as CSV, one row per number; the columns are those of
/// [`EstimateRow`](crate::analysis::rater_agreement::EstimateRow), with the means and rates of systems as parts `ranking`
/// and `wins`.
///
/// # Errors
/// [`Error::Internal`] if it cannot be written.
pub fn render_agreement_csv(agreement: &RaterAgreement) -> Result<String> {
    let text = |key| Column::new(key, Format::Text);
    let count = |key| Column::new(key, Format::Count);
    let number = |key| Column::new(key, COEFFICIENT);
    let columns = vec![
        text("first"),
        text("second"),
        text("part"),
        text("name"),
        text("measure"),
        count("n"),
        count("questions"),
        number("estimate"),
        number("low"),
        number("high"),
        text("undefined"),
    ];
    let mut table = Table::new("", columns);
    let mut add = |texts: [&str; 5], n: usize, questions: usize, estimate: &Estimate| {
        let numbers = [estimate.estimate, estimate.low, estimate.high].map(Cell::maybe);
        let undefined = Cell::text(estimate.undefined.as_deref().unwrap_or_default());
        let row = texts.map(Cell::text).into_iter().chain([Cell::count(n), Cell::count(questions)]);
        table.rows.push(row.chain(numbers).chain([undefined]).collect());
    };
    for row in agreement.estimates() {
        add([row.first, row.second, row.part, row.name, row.measure], row.n, row.questions, row.estimate);
    }
    for pair in &agreement.pairs {
        let mut plain = |part, name, n, measures: [(&str, f64); 2]| {
            for (measure, value) in measures {
                let estimate = Estimate { estimate: Some(value), ..Estimate::default() };
                add([&pair.first, &pair.second, part, name, measure], n, pair.overall.questions, &estimate);
            }
        };
        for of in pair.ranking.iter().flat_map(|ranking| &ranking.systems) {
            let means = [("first_mean", of.first_mean), ("second_mean", of.second_mean)];
            plain("ranking", of.system.as_str(), of.n, means);
        }
        for of in pair.wins.iter().flat_map(|wins| &wins.systems) {
            let rates = [("first_rate", of.first_rate), ("second_rate", of.second_rate)];
            plain("wins", of.system.as_str(), of.n, rates);
        }
    }
    table.csv()
}

fn tables(agreement: &RaterAgreement) -> Vec<Table> {
    let names = Names::new(agreement);
    let units = match agreement.options.level {
        AgreementLevel::System => "means of systems",
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    };
    let mut tables = vec![summary(agreement)];
    let overall = agreement.pairs.iter().map(|pair| (names.cells(pair), &pair.overall)).collect();
    let raters = [Column::new("raters", Format::Text), Column::headed("second", "", Format::Text)];
    tables.extend(measures(&format!("Agreement on {units}"), &raters, overall));
    tables.push(groups(agreement));
    for pair in agreement.pairs.iter().filter(|pair| is_detailed(agreement, pair)) {
        let title = names.title(pair);
        tables.extend(parts(&format!("{title}, by item"), "item", &pair.items));
        tables.extend(parts(&format!("{title}, by system"), "system", &pair.systems));
        tables.extend(pair.ranking.as_ref().map(|ranking| names.ranking(pair, ranking)));
        tables.extend(pair.wins.as_ref().map(|wins| names.wins(pair, wins)));
    }
    tables.push(powered(agreement, &names));
    tables
}

/// People with people is the ceiling of every judge.
fn summary(agreement: &RaterAgreement) -> Table {
    let columns = vec![
        Column::headed("who", "mean of pairs of raters", Format::Text),
        Column::headed("pairs", "raters", Format::Count),
        Column::headed("half_credit", "better of two", COEFFICIENT),
        Column::headed("kendall_tau_b", "Kendall tau-b", COEFFICIENT),
        Column::headed("systems", "order of systems", COEFFICIENT),
    ];
    let mut table = Table::new("Agreement in short; people with people is the most a judge can reach", columns);
    if !agreement.summary.iter().any(|row| row.who == "people with people") {
        table.title = "Agreement in short".to_owned();
    }
    for row in &agreement.summary {
        let estimates = [&row.half_credit, &row.kendall_tau_b, &row.systems].map(cell);
        table.rows.push([Cell::text(&row.who), Cell::count(row.pairs)].into_iter().chain(estimates).collect());
    }
    table
}

/// Short names of the raters.
struct Names<'a> {
    names: Vec<(&'a str, String)>,
}

impl<'a> Names<'a> {
    fn new(agreement: &'a RaterAgreement) -> Self {
        let raters = || agreement.raters.iter().map(|rater| &*rater.name);
        Self { names: raters().zip(short_names(raters())).collect() }
    }

    fn of(&self, name: &str) -> &str {
        self.names.iter().find(|(known, _)| *known == name).map_or("", |(_, short)| short)
    }

    fn cells(&self, pair: &RaterPair) -> Vec<Cell> {
        vec![Cell::text(self.of(&pair.first)), Cell::text(self.of(&pair.second))]
    }

    fn title(&self, pair: &RaterPair) -> String {
        format!("{} and {}", self.of(&pair.first), self.of(&pair.second))
    }

    fn ranking(&self, pair: &RaterPair, ranking: &Ranking) -> Table {
        let columns = vec![
            Column::new("system", Format::Text),
            Column::new("n", Format::Count),
            Column::headed("first_mean", self.of(&pair.first), MEAN),
            Column::headed("first_rank", "rank", Format::Count),
            Column::headed("second_mean", self.of(&pair.second), MEAN),
            Column::headed("second_rank", "rank", Format::Count),
        ];
        let tau = in_line(&ranking.kendall_tau_b);
        let mut table = Table::new(format!("{}, means of systems: tau-b {tau}", self.title(pair)), columns);
        table.rows.extend(ranking.systems.iter().map(|of| {
            vec![
                Cell::text(of.system.as_str()),
                Cell::count(of.n),
                Cell::number(of.first_mean),
                Cell::count(of.first_rank),
                Cell::number(of.second_mean),
                Cell::count(of.second_rank),
            ]
        }));
        table
    }

    fn wins(&self, pair: &RaterPair, wins: &Wins) -> Table {
        let first = self.of(&pair.first);
        let columns = vec![
            Column::new("system", Format::Text),
            Column::new("n", Format::Count),
            Column::headed("first_rate", first, MEAN),
            Column::headed("second_rate", self.of(&pair.second), MEAN),
            Column::headed("first_mean", &format!("mean of {first}"), MEAN),
        ];
        let mut title =
            format!("{}, share of comparisons won: tau-b {}", self.title(pair), in_line(&wins.kendall_tau_b));
        if wins.first_means_second_wins.estimate.is_some() {
            title +=
                &format!("; means of the first with wins of the second: {}", in_line(&wins.first_means_second_wins));
        }
        let mut table = Table::new(title, columns);
        table.rows.extend(wins.systems.iter().map(|of| {
            vec![
                Cell::text(of.system.as_str()),
                Cell::count(of.n),
                Cell::number(of.first_rate),
                Cell::number(of.second_rate),
                Cell::maybe(of.first_mean),
            ]
        }));
        table
    }
}

/// The coefficients of ratings, then those of comparisons; `names` are the first columns of both.
fn measures(title: &str, names: &[Column], rows: Vec<(Vec<Cell>, &Measures)>) -> [Table; 2] {
    let columns = |own: Vec<Column>| names.iter().cloned().chain(own).collect();
    let mut ratings = Table::new(
        title,
        columns(vec![
            Column::new("n", Format::Count),
            Column::headed("kendall_tau_b", "Kendall tau-b", COEFFICIENT),
            Column::headed("spearman", "Spearman", COEFFICIENT),
            Column::headed("pearson", "Pearson", COEFFICIENT),
            Column::headed("kappa", "Cohen's kappa", COEFFICIENT),
            Column::headed("quadratic_kappa", "quadratic kappa", COEFFICIENT),
        ]),
    );
    let mut comparisons = Table::new(
        format!("{title}: which of two is better"),
        columns(vec![
            Column::headed("n", "pairs", Format::Count),
            Column::headed("half_credit", "half for ties", COEFFICIENT),
            Column::new("strict", COEFFICIENT),
            Column::headed("decided_agreement", "decided", COEFFICIENT),
            Column::headed("decided", "decided pairs", Format::Count),
            Column::new("kappa", COEFFICIENT),
            Column::headed("first_ties", "ties of first", Format::Count),
            Column::headed("second_ties", "of second", Format::Count),
        ]),
    );
    for (names, of) in rows {
        if of.n > 0 {
            let estimates = [&of.kendall_tau_b, &of.spearman, &of.pearson, &of.kappa, &of.quadratic_kappa].map(cell);
            ratings.rows.push(names.iter().cloned().chain([Cell::count(of.n)]).chain(estimates).collect());
        }
        if let Some(of) = &of.comparisons {
            let own = [
                Cell::count(of.n),
                cell(&of.half_credit),
                cell(&of.strict),
                cell(&of.decided_agreement),
                Cell::count(of.decided),
                cell(&of.kappa),
                Cell::count(of.first_ties),
                Cell::count(of.second_ties),
            ];
            comparisons.rows.push(names.into_iter().chain(own).collect());
        }
    }
    [ratings, comparisons]
}

fn parts(title: &str, what: &str, parts: &[PartMeasures]) -> [Table; 2] {
    let rows = parts.iter().map(|part| (vec![Cell::text(&part.name)], &part.measures)).collect();
    measures(title, &[Column::new(what, Format::Text)], rows)
}

fn groups(agreement: &RaterAgreement) -> Table {
    let columns = vec![
        Column::new("raters", Format::Text),
        Column::headed("of", "", Format::Text),
        Column::new("n", Format::Count),
        Column::headed("alpha_ordinal", "ordinal", COEFFICIENT),
        Column::headed("alpha_interval", "interval", COEFFICIENT),
        Column::headed("alpha_nominal", "nominal", COEFFICIENT),
        Column::headed("icc_2_1", "ICC(2,1)", COEFFICIENT),
        Column::headed("complete", "rated by all", Format::Count),
    ];
    let row = |group: &RaterGroup| {
        let estimates = [&group.alpha_ordinal, &group.alpha_interval, &group.alpha_nominal, &group.icc_2_1].map(cell);
        let name = Cell::text(format!("{} ({})", group.name, group.raters.len()));
        let counts = [name, Cell::text(group.of), Cell::count(group.n)];
        counts.into_iter().chain(estimates).chain([Cell::count(group.complete)]).collect()
    };
    let mut table = Table::new("Raters together: Krippendorff's alpha and ICC(2,1)", columns);
    table.rows.extend(agreement.groups.iter().filter(|group| group.n > 0).map(row));
    table
}

fn powered(agreement: &RaterAgreement, names: &Names<'_>) -> Table {
    let columns = vec![
        Column::new("system", Format::Text),
        Column::new("judge", Format::Text),
        Column::headed("labels_only", "labels only", COEFFICIENT),
        Column::headed("powered", "prediction-powered", COEFFICIENT),
        Column::headed("labelled", "labels", Format::Count),
        Column::headed("unlabelled", "judged only", Format::Count),
        Column::new("lambda", COEFFICIENT),
    ];
    let mut table = Table::new("Means on the human scale: of the labels alone, and prediction-powered", columns);
    table.rows.extend(agreement.powered.iter().filter(|mean| mean.powered.estimate.is_some()).map(|mean| {
        vec![
            Cell::text(mean.system.as_str()),
            Cell::text(names.of(&mean.judge)),
            cell(&mean.labels_only),
            cell(&mean.powered),
            Cell::count(mean.labelled),
            Cell::count(mean.unlabelled),
            Cell::maybe(mean.lambda),
        ]
    }));
    table
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
