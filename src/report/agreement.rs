//! Agreement of raters, as tables for people, CSV and JSON.

use super::table::{Cell, Column, Format, Table, note_lines, short_names};
use super::{CsvText, TableStyle, visible, wrapped};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{
    AgreementLevel, LabelPlan, Measures, PoweredMean, RaterAgreement, RaterPair, SummaryRow,
};
use crate::domain::Note;
use crate::error::Result;

/// Decimals of coefficients.
const COEFFICIENT: Format = Format::Number(2);
/// Decimals of raters' means, which keep their own scales.
const MEAN: Format = Format::Number(3);

/// Estimates of one table, with their headings.
type Headings = [(&'static str, &'static str, Format)];
const RATINGS: &Headings = &[
    ("kendall_tau_b", "Kendall tau-b", COEFFICIENT),
    (
        "within_question_tau_b",
        "tau-b within question",
        COEFFICIENT,
    ),
    ("spearman", "Spearman", COEFFICIENT),
    ("pearson", "Pearson", COEFFICIENT),
    ("kappa", "Cohen's kappa", COEFFICIENT),
    ("quadratic_kappa", "quadratic kappa", COEFFICIENT),
];
const COMPARISONS: &Headings = &[
    ("pairs_half_credit", "better of two (%)", Format::Percent),
    ("pairs_strict", "strict (%)", Format::Percent),
    ("pairs_decided", "decided (%)", Format::Percent),
    ("pairs_kappa", "kappa", COEFFICIENT),
];

/// A space at which no line breaks: numbers and intervals stay together.
const UNBROKEN: &str = "\u{a0}";

/// The row of the ceiling for every judge.
const PEOPLE: &str = "people with people";

/// Tables that are shown on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AgreementTables {
    /// Every pair of raters, and raters together.
    Rater,
    /// Every item, at the level of items.
    Item,
    /// Every system.
    System,
}

/// The summary, the verdict, the tables in `by` (with all notes: every table), then the notes.
pub fn render_agreement_table(
    agreement: &RaterAgreement,
    by: &[AgreementTables],
    style: &TableStyle,
) -> String {
    let is_shown = |table: AgreementTables| style.all_notes || by.contains(&table);
    let lines = |lines: Vec<String>| -> String {
        lines
            .iter()
            .map(|line| wrapped(&visible(line), style.columns()).replace(UNBROKEN, " ") + "\n")
            .collect()
    };
    let mut out = summary(agreement).terminal(style);
    out += &format!("\n{}", lines(vec![verdict(agreement)]));
    for table in tables(agreement, is_shown) {
        out += &if table.rows.is_empty() {
            style.notes(&table.notes)
        } else {
            format!("\n{}", table.terminal(style))
        };
    }
    let mut notes = note_lines(&agreement.notes, style.all_notes);
    if !style.all_notes {
        notes.push(
            "Tables of raters, items or systems: --by rater, --by item, --by system".to_owned(),
        );
    }
    out + "\n" + &lines(notes.iter().map(|note| format!("- {note}")).collect())
}

/// Whether the judge that is closest to people agrees with them beyond chance; without judges, people with each other.
fn verdict(agreement: &RaterAgreement) -> String {
    let main = |row: &SummaryRow| main_estimate(row).estimate;
    let (people, others): (Vec<&SummaryRow>, Vec<&SummaryRow>) = agreement
        .summary
        .iter()
        .filter(|row| main(row).is_some())
        .partition(|row| row.who == PEOPLE);
    let people = people.first().copied();
    let best = others
        .iter()
        .copied()
        .reduce(|best, row| if main(row) > main(best) { row } else { best });
    let Some(row) = best.or(people) else {
        let reason = agreement
            .summary
            .iter()
            .find_map(|row| main_estimate(row).undefined.as_deref());
        return format!(
            "No agreement can be measured: {}.",
            reason.unwrap_or("no two raters share ratings")
        );
    };
    let show = |row: &SummaryRow| match row.half_credit.estimate {
        Some(share) => {
            let interval = row
                .half_credit
                .interval()
                .map(|own| format!(" {}", Format::Percent.show_interval(own)));
            format!(
                "{}%{}",
                Format::Percent.show(share),
                interval.unwrap_or_default()
            )
            .replace(' ', UNBROKEN)
        }
        None => tau(&row.kendall_tau_b),
    };
    let (what, at_chance) = match row.half_credit.estimate {
        Some(_) => (
            "which of two answers is better",
            format!("{:.0}%", 100.0 * row.chance),
        ),
        None => ("ratings", "0".to_owned()),
    };
    let relation = match main_estimate(row).interval() {
        Some(interval) if interval.low > row.chance => "is above chance",
        Some(interval) if interval.high < row.chance => "is below chance",
        Some(_) => "includes chance",
        None if row.is_above_chance => "is above chance for every pair of raters",
        None => "may be chance",
    };
    let closest = if others.len() > 1 {
        format!(" (closest of {} judges)", others.len())
    } else {
        String::new()
    };
    let ceiling = people.filter(|_| best.is_some());
    let end = match ceiling {
        Some(people) => format!("; people with people: {}", show(people)),
        None if best.is_none() => ", and is the most that a judge can reach".to_owned(),
        None => String::new(),
    };
    let beside = |of: &dyn Fn(&SummaryRow) -> &Estimate| {
        let ceiling = ceiling.filter(|_| of(row).estimate.is_some());
        let ceiling = ceiling.map(|people| format!(" (people with people: {})", tau(of(people))));
        format!("{}{}", tau(of(row)), ceiling.unwrap_or_default())
    };
    let (within, order) = (
        beside(&|row| &row.within_question_tau_b),
        beside(&|row| &row.systems),
    );
    format!(
        "{}{closest}, on {what}: {} {relation} ({at_chance}){end}. Answers to one question: {within}. Order of systems: {order}.",
        row.who,
        show(row)
    )
}

/// Agreement on which of two answers is better, else on ratings.
fn main_estimate(row: &SummaryRow) -> &Estimate {
    if row.half_credit.estimate.is_some() {
        &row.half_credit
    } else {
        &row.kendall_tau_b
    }
}

/// Kendall's tau-b within a sentence.
fn tau(estimate: &Estimate) -> String {
    let text = format!("tau-b {}", in_line(estimate));
    if estimate.estimate.is_some() {
        text.replace(' ', UNBROKEN)
    } else {
        text
    }
}

/// The agreement as CSV, one row per number. `part` is `overall`, `item`, `system`, `ranking` or `wins` for two raters,
/// `ratings` or `preferences` for a group (`first` is its name), `mean` for a prediction-powered mean, `difference` for one
/// of two systems (`name` is `FIRST - SECOND`).
///
/// # Errors
/// [`Error::Internal`](crate::error::Error::Internal) if it cannot be written.
pub fn render_agreement_csv(agreement: &RaterAgreement, texts: CsvText) -> Result<String> {
    let mut columns = ["first", "second", "part", "name", "measure"]
        .map(|key| Column::new(key, Format::Text))
        .to_vec();
    columns.extend(["n", "questions"].map(|key| Column::new(key, Format::Count)));
    columns.extend(["estimate", "low", "high"].map(|key| Column::new(key, COEFFICIENT)));
    columns.push(Column::new("undefined", Format::Text));
    let mut table = Table::new("", columns);
    let mut add =
        |place: [&str; 4], measure: &str, [n, questions]: [usize; 2], estimate: &Estimate| {
            let mut cells: Vec<Cell> = place.into_iter().chain([measure]).map(Cell::text).collect();
            cells.extend([n, questions].map(Cell::count));
            cells.extend([estimate.estimate, estimate.low, estimate.high].map(Cell::maybe));
            cells.push(Cell::text(
                estimate.undefined.as_deref().unwrap_or_default(),
            ));
            table.rows.push(cells);
        };
    for pair in &agreement.pairs {
        let (first, second, overall) = (&*pair.first, &*pair.second, &pair.overall);
        let items = pair
            .items
            .iter()
            .map(|item| ("item", item.name.as_str(), &item.measures));
        let systems = pair
            .systems
            .iter()
            .map(|system| ("system", system.name.as_str(), &system.measures));
        for (part, name, measures) in std::iter::once(("overall", "", overall))
            .chain(items)
            .chain(systems)
        {
            for (measure, counts, estimate) in measures.estimates() {
                add([first, second, part, name], measure, counts, estimate);
            }
        }
        for at in &pair.by_tie_threshold {
            for (measure, counts, estimate) in at.comparisons.estimates() {
                let threshold = at.tie_threshold.to_string();
                add(
                    [first, second, "tie_threshold", &threshold],
                    measure,
                    counts,
                    estimate,
                );
            }
        }
        let questions = overall
            .comparisons
            .as_ref()
            .map_or(overall.questions, |compared| compared.questions);
        for (part, order, questions) in [
            ("ranking", &pair.ranking, overall.questions),
            ("wins", &pair.wins, questions),
        ] {
            let Some(order) = order else { continue };
            add(
                [first, second, part, ""],
                "kendall_tau_b",
                [order.systems.len(), questions],
                &order.kendall_tau_b,
            );
        }
    }
    for group in &agreement.groups {
        let place = [&*group.name, "", group.of, ""];
        add(
            place,
            "alpha_nominal",
            [group.n, group.questions],
            &group.alpha_nominal,
        );
        add(
            place,
            "alpha_ordinal",
            [group.n, group.questions],
            &group.alpha_ordinal,
        );
        add(
            place,
            "alpha_interval",
            [group.n, group.questions],
            &group.alpha_interval,
        );
        add(
            place,
            "icc_2_1",
            [group.complete, group.questions],
            &group.icc_2_1,
        );
    }
    for mean in &agreement.powered {
        let part = if mean.minus.is_some() {
            "difference"
        } else {
            "mean"
        };
        let name = powered_name(mean);
        let (place, all) = (
            [&*mean.judge, &*mean.human, part, &name],
            mean.labeled + mean.unlabeled,
        );
        add(place, "labels_only", [mean.labeled; 2], &mean.labels_only);
        add(
            place,
            "prediction_powered",
            [all, mean.labeled],
            &mean.powered,
        );
        if mean.minus.is_some() {
            add(
                place,
                "p",
                [all, mean.labeled],
                &Estimate::new(mean.p, || None, "no interval"),
            );
        }
    }
    table.csv(texts)
}

/// The half widths of planned numbers of labels, with the numbers that they rest on as notes.
pub fn label_plan_table(plans: &[LabelPlan]) -> Table {
    let title = "Half width of the 95% interval of a system's mean on the human scale, by its number of labels";
    let mut table = Table::new(title, vec![text("judge"), count("labels")]);
    table
        .columns
        .extend([Column::headed("labels_only", "labels only", MEAN)]);
    table.columns.extend([Column::headed(
        "prediction_powered",
        "prediction-powered",
        MEAN,
    )]);
    for plan in plans {
        table.rows.extend(plan.rows.iter().map(|row| {
            let widths = [row.labels_only, row.powered].map(Cell::number);
            [Cell::text(&*plan.judge), Cell::count(row.labels)]
                .into_iter()
                .chain(widths)
                .collect()
        }));
        table.notes.push(Note::warning(format!(
            "{}: normal approximation from {} labels, for {} answers of a system; within systems labels have a standard deviation of \
             {:.3} and a correlation of {:.2} with the judge.",
            plan.judge, plan.labels, plan.answers, plan.sd, plan.correlation
        )));
    }
    table
}

fn tables(agreement: &RaterAgreement, is_shown: impl Fn(AgreementTables) -> bool) -> Vec<Table> {
    let raters = || agreement.raters.iter().map(|rater| &*rater.name);
    let names: Vec<(&str, String)> = raters().zip(short_names(raters())).collect();
    let short = |name: &str| {
        names
            .iter()
            .find(|(known, _)| *known == name)
            .map_or(name, |(_, short)| short)
            .to_owned()
    };
    let mut tables = Vec::new();
    if is_shown(AgreementTables::Rater) {
        let overall = |pair: &'_ RaterPair| vec![short(&pair.first), short(&pair.second)];
        let rows = agreement
            .pairs
            .iter()
            .map(|pair| (overall(pair), &pair.overall))
            .collect();
        tables.extend(measured(
            &format!("Agreement on {}", level(agreement)),
            &["raters", ""],
            rows,
        ));
        tables.push(by_tie_threshold(agreement, short));
        tables.push(groups(agreement));
    }
    for pair in agreement
        .pairs
        .iter()
        .filter(|pair| is_detailed(agreement, pair))
    {
        let who = [short(&pair.first), short(&pair.second)];
        let parts = [
            (AgreementTables::Item, "item", &pair.items),
            (AgreementTables::System, "system", &pair.systems),
        ];
        for (_, part, own) in parts.into_iter().filter(|(table, ..)| is_shown(*table)) {
            let rows = own
                .iter()
                .map(|own| (vec![own.name.clone()], &own.measures))
                .collect();
            tables.extend(measured(
                &format!("{}, by {part}", who.join(" and ")),
                &[part],
                rows,
            ));
        }
        tables.extend(systems(pair, &who).filter(|_| is_shown(AgreementTables::System)));
    }
    if is_shown(AgreementTables::System) {
        tables.push(powered(agreement, short));
    }
    tables
}

/// Means and differences of systems on the human scale, with their notes.
fn powered(agreement: &RaterAgreement, short: impl Fn(&str) -> String) -> Table {
    let title = "Means on the human scale and their differences: by the labels alone, and prediction-powered";
    let mut table = Table::new(
        title,
        vec![
            text("system"),
            text("judge"),
            count("labels"),
            count("answers"),
        ],
    );
    table
        .columns
        .extend(["labels only", "prediction-powered"].map(|key| Column::new(key, COEFFICIENT)));
    table.columns.push(Column::new("p", Format::PValue));
    for mean in agreement
        .powered
        .iter()
        .filter(|mean| mean.lambda.is_some())
    {
        let names = [
            Cell::text(powered_name(mean)),
            Cell::text(short(&mean.judge)),
        ];
        let counts = [mean.labeled, mean.labeled + mean.unlabeled].map(Cell::count);
        let estimates = [&mean.labels_only, &mean.powered]
            .map(cell)
            .into_iter()
            .chain([Cell::maybe(mean.p)]);
        table
            .rows
            .push(names.into_iter().chain(counts).chain(estimates).collect());
    }
    table.notes.clone_from(&agreement.powered_notes);
    table
}

/// `FIRST`, or `FIRST - SECOND`.
fn powered_name(mean: &PoweredMean) -> String {
    let minus = mean
        .minus
        .as_ref()
        .map_or(String::new(), |minus| format!(" - {minus}"));
    format!("{}{minus}", mean.system)
}

fn level(agreement: &RaterAgreement) -> &'static str {
    match agreement.options.level {
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    }
}

/// Agreement among people, the ceiling for every judge, and of each judge with people.
fn summary(agreement: &RaterAgreement) -> Table {
    let has_people = agreement.summary.iter().any(|row| row.who == PEOPLE);
    let ceiling = if has_people {
        "; people with people is the ceiling"
    } else {
        ""
    };
    let confidence = 100.0 * agreement.options.confidence;
    let title = format!(
        "Agreement on {}, {confidence:.0}% intervals{ceiling}",
        level(agreement)
    );
    let columns = vec![
        text("raters"),
        Column::new("better of two (%)", Format::Percent),
        Column::new("Kendall tau-b", COEFFICIENT),
        Column::new("order of systems", COEFFICIENT),
        Column::new("tau-b within question", COEFFICIENT),
    ];
    let mut table = Table::new(title, columns);
    for row in &agreement.summary {
        let estimates = [
            &row.half_credit,
            &row.kendall_tau_b,
            &row.systems,
            &row.within_question_tau_b,
        ]
        .map(cell);
        table.rows.push(
            [Cell::text(&row.who)]
                .into_iter()
                .chain(estimates)
                .collect(),
        );
    }
    table
}

/// Agreement on ratings and preferences; `n` is that of the first measure.
fn measured(title: &str, headings: &[&str], rows: Vec<(Vec<String>, &Measures)>) -> [Table; 2] {
    [
        (title.to_owned(), RATINGS),
        (format!("{title}: which of two is better"), COMPARISONS),
    ]
    .map(|(title, shown)| {
        let mut table = Table::new(
            title,
            headings
                .iter()
                .map(|heading| text(heading))
                .chain([count("n")])
                .collect(),
        );
        table.columns.extend(
            shown
                .iter()
                .map(|(key, heading, format)| Column::headed(key, heading, *format)),
        );
        for (names, measures) in &rows {
            let all = measures.estimates();
            let find = |key: &str| {
                all.iter()
                    .find(|(measure, [n, _], _)| *measure == key && *n > 0)
            };
            if let Some((_, [n, _], _)) = find(shown[0].0) {
                let cells = shown
                    .iter()
                    .map(|(key, ..)| find(key).map_or(Cell::Missing, |(.., own)| cell(own)));
                table.rows.push(
                    names
                        .iter()
                        .map(Cell::text)
                        .chain([Cell::count(*n)])
                        .chain(cells)
                        .collect(),
                );
            }
        }
        table
    })
}

/// Agreement of judges with people on which of two is better, at several tie thresholds.
fn by_tie_threshold(agreement: &RaterAgreement, short: impl Fn(&str) -> String) -> Table {
    let title = "Which of two is better, by the largest difference of the judge that is a tie: 0, 1% of its scale, as used";
    let columns = vec![
        text("judge"),
        text("person"),
        Column::new("tie up to", Format::Number(3)),
        count("ties"),
    ];
    let mut table = Table::new(title, columns);
    table.columns.extend(
        COMPARISONS
            .iter()
            .map(|(key, heading, format)| Column::headed(key, heading, *format)),
    );
    for (pair, at) in agreement
        .pairs
        .iter()
        .flat_map(|pair| pair.by_tie_threshold.iter().map(move |at| (pair, at)))
    {
        let of = &at.comparisons;
        let names = [&pair.first, &pair.second].map(|name| Cell::text(short(name)));
        let estimates = [
            &of.half_credit,
            &of.strict,
            &of.decided_agreement,
            &of.kappa,
        ]
        .map(cell);
        let threshold = [Cell::number(at.tie_threshold), Cell::count(of.first_ties)];
        table.rows.push(
            names
                .into_iter()
                .chain(threshold)
                .chain(estimates)
                .collect(),
        );
    }
    table
}

fn groups(agreement: &RaterAgreement) -> Table {
    let columns = vec![text("raters"), text(""), count("n")];
    let mut table = Table::new(
        "Raters together: Krippendorff's alpha and ICC(2,1)",
        columns,
    );
    table.columns.extend(
        ["ordinal", "interval", "nominal", "ICC(2,1)"].map(|key| Column::new(key, COEFFICIENT)),
    );
    for group in agreement.groups.iter().filter(|group| group.n > 0) {
        let names = [
            Cell::text(&group.name),
            Cell::text(group.of),
            Cell::count(group.n),
        ];
        let all = [
            &group.alpha_ordinal,
            &group.alpha_interval,
            &group.alpha_nominal,
            &group.icc_2_1,
        ];
        table
            .rows
            .push(names.into_iter().chain(all.map(cell)).collect());
    }
    table
}

/// The systems by the means of two raters.
fn systems(pair: &RaterPair, who: &[String; 2]) -> Option<Table> {
    let [first, second] = who;
    let ranking = pair.ranking.as_ref()?;
    let title = format!(
        "{}, means of systems: tau-b {}",
        who.join(" and "),
        in_line(&ranking.kendall_tau_b)
    );
    let mean = |heading: &str| Column::new(heading, MEAN);
    let columns = vec![
        text("system"),
        count("n"),
        mean(first),
        count("rank"),
        mean(second),
        count("rank"),
    ];
    let mut table = Table::new(title, columns);
    table.rows.extend(ranking.systems.iter().map(|of| {
        let (first, second) = (Cell::number(of.first_mean), Cell::number(of.second_mean));
        let (first_rank, second_rank) = (Cell::count(of.first_rank), Cell::count(of.second_rank));
        vec![
            Cell::text(of.system.as_str()),
            Cell::count(of.n),
            first,
            first_rank,
            second,
            second_rank,
        ]
    }));
    Some(table)
}

/// False for a judge and one of several people: the detailed tables use the people's mean.
fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let kind = |name: &str| {
        agreement
            .raters
            .iter()
            .find(|rater| *rater.name == *name)
            .map(|rater| rater.kind)
    };
    let mean = agreement
        .raters
        .iter()
        .find(|rater| !rater.mean_of.is_empty());
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
