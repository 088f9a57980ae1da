//! The tables of an agreement: the summary of every run of `agree`, and the detailed ones that `--by` asks for.

use std::collections::HashMap;

use super::{PEOPLE, powered_name};
use crate::analysis::Estimate;
use crate::analysis::rater_agreement::{
    AgreementLevel, Confusion, LabelPlan, Measures, PartMeasures, PoweredMean, RaterAgreement,
    RaterGroup, RaterPair, Reliability,
};
use crate::domain::{Note, RaterKind};
use crate::report::layout::counted;
use crate::report::numbers::{COEFFICIENT, shown_coefficient};
use crate::report::table::{Cell, Column, Format, Table, short_names};

/// Decimals of raters' means, which stay on the scale of each rater.
const MEAN: Format = Format::Number(3);

/// Estimates of one table: their keys in the result, headings and formats.
type Headings = [(&'static str, &'static str, Format)];
/// Those that narrow terminals need to have room for come first.
const RATINGS: [&Headings; 2] = [
    &[
        ("kendall_tau_b", "Kendall tau-b", COEFFICIENT),
        ("kappa", "Cohen's kappa", COEFFICIENT),
    ],
    &[
        ("shift", "shift", COEFFICIENT),
        (
            "within_question_tau_b",
            "tau-b within question",
            COEFFICIENT,
        ),
        ("spearman", "Spearman", COEFFICIENT),
        ("pearson", "Pearson", COEFFICIENT),
        ("quadratic_kappa", "quadratic kappa", COEFFICIENT),
    ],
];
/// Beside kappa, where nearly all ratings are of one value.
const SKEWED: &Headings = &[
    ("raw_agreement", "equal (%)", Format::Percent),
    ("ac1", "AC1", COEFFICIENT),
];
const COMPARISONS: &Headings = &[
    ("pairs_half_credit", "better of two (%)", Format::Percent),
    ("pairs_strict", "strict (%)", Format::Percent),
    ("pairs_decided", "decided (%)", Format::Percent),
    ("pairs_kappa", "kappa", COEFFICIENT),
];

/// With a larger share of one value, kappa is shown with raw agreement and AC1.
const SKEW: f64 = 0.8;
/// Why.
const PARADOX: &str = "Over 80% of a rater's values are equal: kappa can be low there although raters agree, since by chance they \
                       would agree nearly as often (kappa's paradox); equal (%) and AC1 do not fall.";

/// Why there is no table by group.
const NO_GROUPS: &str =
    "--by group: no table, since the cases are not of several groups (`group` of a profile).";

/// Tables that are shown on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum AgreementTables {
    /// Every pair of raters, and raters together.
    Rater,
    /// Every item, at the level of items.
    Item,
    /// Every system.
    System,
    /// Every group of cases.
    Group,
}

/// Agreement among people, the ceiling for every judge, and of each judge with people.
pub(super) fn summary(agreement: &RaterAgreement) -> Table {
    let has_people = agreement.summary.iter().any(|row| row.who == PEOPLE);
    let ceiling = if has_people {
        "; people with people is the ceiling"
    } else {
        ""
    };
    let title = format!(
        "{} Agreement on {}, {:.0}% intervals, n in parentheses{ceiling}",
        question(agreement),
        level_name(agreement),
        100.0 * agreement.options.confidence
    );
    let rows = &agreement.summary;
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("raters"), rows, |row| &row.who);
    let better = Column::new("better of two (%)", Format::Percent);
    table.column(better, rows, |row| with_units(&row.half_credit));
    let tau = |heading: &str| Column::new(heading, COEFFICIENT);
    table.column(tau("Kendall tau-b"), rows, |row| {
        with_units(&row.kendall_tau_b)
    });
    table.column(tau("order of systems"), rows, |row| {
        with_units(&row.systems)
    });
    table.column(tau("tau-b within question"), rows, |row| {
        with_units(&row.within_question_tau_b)
    });
    table
}

/// The question that the summary answers.
fn question(agreement: &RaterAgreement) -> String {
    let has_people = agreement.summary.iter().any(|row| row.who == PEOPLE);
    let raters = agreement.raters.iter();
    let judges = raters.filter(|rater| rater.kind == RaterKind::Judge);
    let judges: Vec<&str> = judges.map(|rater| &*rater.name).collect();
    let all_judges = judges.len() == agreement.raters.len();
    let (subject, verb) = match judges[..] {
        [judge] => (judge, "Does"),
        _ => ("the judges", "Do"),
    };
    match (judges.is_empty(), has_people) {
        (true, _) => "Do people agree with each other?".to_owned(),
        (false, true) => {
            format!("{verb} {subject} agree with people as people do with each other?")
        }
        (false, false) if all_judges => "Do the judges agree with each other?".to_owned(),
        (false, false) => format!("{verb} {subject} agree with people?"),
    }
}

/// The tables in `by`, or all of them.
pub(super) fn tables(agreement: &RaterAgreement, by: &[AgreementTables], all: bool) -> Vec<Table> {
    let is_shown = |table: AgreementTables| all || by.contains(&table);
    let names = ShortNames::of(agreement);
    let mut tables = Vec::new();
    if is_shown(AgreementTables::Rater) {
        tables.extend(tables_of_raters(agreement, &names));
    } else {
        tables.push(skewed(agreement, &names));
    }
    for pair in &agreement.pairs {
        if !is_detailed(agreement, pair) {
            continue;
        }
        let raters = [names.get(&pair.first), names.get(&pair.second)];
        let both = raters.join(" and ");
        if is_shown(AgreementTables::Item) {
            let question = format!("Where do {both} differ most?");
            tables.extend(tables_by_part(&question, "item", &pair.items));
        }
        if is_shown(AgreementTables::System) {
            let question = format!("Do {both} agree on every system?");
            tables.extend(tables_by_part(&question, "system", &pair.systems));
            tables.extend(order_of_systems(pair, &raters));
        }
        if is_shown(AgreementTables::Group) {
            let question = format!("Do {both} agree in every group of cases?");
            tables.extend(tables_by_part(&question, "group", &pair.groups));
        }
    }
    if by.contains(&AgreementTables::Group)
        && agreement.pairs.iter().all(|pair| pair.groups.is_empty())
    {
        let mut table = Table::new("", Vec::new());
        table.notes.push(Note::warning(NO_GROUPS));
        tables.push(table);
    }
    if is_shown(AgreementTables::System) {
        tables.push(powered_means(agreement, &names));
        tables.push(corrected_shares(agreement, &names));
    }
    tables
}

/// The names of raters as a table has room for them.
struct ShortNames<'a>(HashMap<&'a str, String>);

impl<'a> ShortNames<'a> {
    fn of(agreement: &'a RaterAgreement) -> Self {
        let names: Vec<&str> = agreement.raters.iter().map(|rater| &*rater.name).collect();
        let short = short_names(names.iter().copied());
        Self(names.into_iter().zip(short).collect())
    }

    fn get(&self, name: &str) -> String {
        self.0.get(name).map_or(name, String::as_str).to_owned()
    }
}

/// False for a judge and one of several people: the detailed tables use the people's mean.
fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let mut raters = agreement.raters.iter();
    let mean = raters.find(|rater| !rater.mean_of.is_empty());
    // A single person is the people's side.
    let Some(mean) = mean else { return true };
    pair.second == mean.name || kind_of(agreement, &pair.first) == kind_of(agreement, &pair.second)
}

fn kind_of(agreement: &RaterAgreement, name: &str) -> Option<RaterKind> {
    let rater = agreement.raters.iter().find(|rater| *rater.name == *name);
    rater.map(|rater| rater.kind)
}

/// Every pair, and the groups.
fn tables_of_raters(agreement: &RaterAgreement, names: &ShortNames<'_>) -> Vec<Table> {
    let mut rows = Vec::new();
    for pair in &agreement.pairs {
        let raters = vec![names.get(&pair.first), names.get(&pair.second)];
        rows.push((raters, &pair.overall));
    }
    let title = format!(
        "Who agrees with whom? Agreement on {}",
        level_name(agreement)
    );
    let mut tables = tables_of_measures(&title, &["raters", ""], &rows);
    tables.push(groups(agreement));
    tables
}

/// Kappa and AC1 of each judge with the people together, or the only person, where nearly all values of one of them are equal.
fn skewed(agreement: &RaterAgreement, names: &ShortNames<'_>) -> Table {
    let mut rows: Vec<(String, &Measures)> = Vec::new();
    for pair in &agreement.pairs {
        let is_of_both = kind_of(agreement, &pair.first) == Some(RaterKind::Judge)
            && kind_of(agreement, &pair.second) == Some(RaterKind::Human);
        if is_of_both && is_detailed(agreement, pair) && is_skewed(&pair.overall) {
            let raters = [names.get(&pair.first), names.get(&pair.second)];
            rows.push((raters.join(" and "), &pair.overall));
        }
    }
    let title = "Do they agree beyond the most frequent value?";
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("raters"), &rows, |(raters, _)| raters);
    let equal = Column::new("equal (%)", Format::Percent).kept();
    table.column(equal, &rows, |(_, measures)| {
        with_units(&measures.raw_agreement)
    });
    let coefficient = |heading: &str| Column::new(heading, COEFFICIENT).kept();
    table.column(coefficient("kappa"), &rows, |(_, measures)| &measures.kappa);
    table.column(coefficient("AC1"), &rows, |(_, measures)| &measures.ac1);
    if !rows.is_empty() {
        table.notes.push(Note::warning(PARADOX));
    }
    table
}

/// Whether nearly all ratings of a rater are of one value.
pub(in crate::report) fn is_skewed(measures: &Measures) -> bool {
    measures.most_frequent.is_some_and(|share| share > SKEW)
}

/// Two raters by item, system or group, those with the largest shift first.
fn tables_by_part(question: &str, part: &str, of_parts: &[PartMeasures]) -> Vec<Table> {
    let mut rows = Vec::new();
    for part_measures in of_parts {
        rows.push((vec![part_measures.name.clone()], &part_measures.measures));
    }
    let shift = |measures: &Measures| measures.shift.estimate.map_or(-1.0, f64::abs);
    rows.sort_by(|(_, a), (_, b)| shift(b).total_cmp(&shift(a)));
    tables_of_measures(&format!("{question} By {part}"), &[part], &rows)
}

/// A table of the ratings and one of the preferences in these rows, which begin with their names.
fn tables_of_measures(
    title: &str,
    headings: &[&str],
    rows: &[(Vec<String>, &Measures)],
) -> Vec<Table> {
    let [first, others] = RATINGS;
    let mut shown = first.to_vec();
    let is_skewed = rows.iter().any(|(_, measures)| is_skewed(measures));
    if is_skewed {
        shown.extend(SKEWED);
    }
    shown.extend(others);
    let mut ratings = table_of_measures(title.to_owned(), headings, rows, &shown);
    if is_skewed {
        ratings.notes.push(Note::warning(PARADOX));
    }
    let better = format!("{title}: which of two is better");
    vec![
        ratings,
        table_of_measures(better, headings, rows, COMPARISONS),
    ]
}

/// These measures of each row that has the first of them, whose number of units is that of the row.
fn table_of_measures(
    title: String,
    headings: &[&str],
    rows: &[(Vec<String>, &Measures)],
    shown: &Headings,
) -> Table {
    let headings = headings.iter();
    let mut columns: Vec<Column> = headings.map(|heading| Column::text(heading)).collect();
    columns.push(Column::count("n"));
    for (key, heading, format) in shown {
        columns.push(Column::headed(key, heading, *format));
    }
    let mut table = Table::new(title, columns);
    for (names, measures) in rows {
        // Ratings and preferences are different units: a rater may have given only one of the two.
        let Some((units, _)) = find_measure(measures, shown[0].0) else {
            continue;
        };
        let mut cells: Vec<Cell> = names.iter().map(Cell::text).collect();
        cells.push(Cell::count(units));
        for (key, ..) in shown {
            let measure = find_measure(measures, key);
            cells.push(measure.map(|(_, estimate)| estimate).into());
        }
        table.rows.push(cells);
    }
    table
}

/// The measure of this key with its units, if it has any.
fn find_measure<'a>(measures: &'a Measures, key: &str) -> Option<(usize, &'a Estimate)> {
    for (measure, [units, _], estimate) in measures.estimates() {
        if measure == key && units > 0 {
            return Some((units, estimate));
        }
    }
    None
}

/// All raters, all people and all judges together.
fn groups(agreement: &RaterAgreement) -> Table {
    let title = "Do the raters agree beyond chance? Together: Krippendorff's alpha and ICC(2,1)";
    let groups = agreement.groups.iter().filter(|group| group.n > 0);
    let rows: Vec<&RaterGroup> = groups.collect();
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("raters"), &rows, |row| &row.name);
    table.column(Column::text(""), &rows, |row| row.of);
    table.column(Column::count("n"), &rows, |row| row.n);
    let coefficient = |heading: &str| Column::new(heading, COEFFICIENT);
    table.column(coefficient("ordinal"), &rows, |row| &row.alpha_ordinal);
    table.column(coefficient("interval"), &rows, |row| &row.alpha_interval);
    table.column(coefficient("nominal"), &rows, |row| &row.alpha_nominal);
    table.column(coefficient("ICC(2,1)"), &rows, |row| &row.icc_2_1);
    table
}

/// The levels of a judge, in columns, by those of people: weighted shares of all items, and how well the judge recognizes each level.
pub(in crate::report) fn confusion_table(confusion: &Confusion) -> Table {
    let split = match confusion.split {
        0 => String::new(),
        split => format!("; {split} split between two levels are left out"),
    };
    let title = format!(
        "What people say, by row, and {}, by column: % of {} items in {} questions{split}",
        confusion.judge, confusion.items, confusion.questions,
    );
    let levels = &confusion.levels;
    let accuracy_of = |level: &String| {
        let mut accuracy = confusion.accuracy.iter();
        accuracy.find(|accuracy| accuracy.level == *level)
    };
    let share = |heading: &str| Column::new(heading, Format::Percent);
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("people"), levels, |level| level);
    for (at, level) in levels.iter().enumerate() {
        table.column(share(level), &confusion.shares, |row| row[at]);
    }
    table.column(share("sensitivity").kept(), levels, |level| {
        accuracy_of(level).map(|accuracy| &accuracy.sensitivity)
    });
    table.column(share("specificity").kept(), levels, |level| {
        accuracy_of(level).map(|accuracy| &accuracy.specificity)
    });
    table
}

/// What people say of criteria by the judge's probability of them.
pub(super) fn reliability_table(reliability: &Reliability) -> Table {
    let title = format!(
        "Probabilities of {} and labels of {} verdicts: Brier score {:.3}, {:.3} by the share of met criteria alone",
        reliability.judge, reliability.items, reliability.brier, reliability.base,
    );
    let bins = &reliability.bins;
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("p (%)"), bins, |bin| {
        format!("{:.0}-{:.0}", 100.0 * bin.range[0], 100.0 * bin.range[1])
    });
    table.column(Column::count("verdicts"), bins, |bin| bin.items);
    table.column(Column::new("mean p (%)", Format::Percent), bins, |bin| {
        bin.mean_probability
    });
    table.column(Column::new("met (%)", Format::Percent), bins, |bin| bin.met);
    table
}

/// The systems by the means of two raters.
fn order_of_systems(pair: &RaterPair, raters: &[String; 2]) -> Option<Table> {
    let ranking = pair.ranking.as_ref()?;
    let title = format!(
        "Do {} put systems in the same order? Means, tau-b {}",
        raters.join(" and "),
        shown_coefficient(&ranking.kendall_tau_b)
    );
    let rows = &ranking.systems;
    let [first, second] = [&raters[0], &raters[1]].map(|rater| Column::new(rater, MEAN));
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.system);
    table.column(Column::count("n"), rows, |row| row.n);
    table.column(first, rows, |row| row.first_mean);
    table.column(Column::count("rank"), rows, |row| row.first_rank);
    table.column(second, rows, |row| row.second_mean);
    table.column(Column::count("rank"), rows, |row| row.second_rank);
    Some(table)
}

/// Means and differences of systems on the human scale, with their notes.
fn powered_means(agreement: &RaterAgreement, names: &ShortNames<'_>) -> Table {
    let title = "What would people give all answers? Means and differences by the labels alone, and prediction-powered";
    // Without a weight of the judge there was nothing to power the mean with; a note says so.
    let powered = agreement.powered.iter().filter(|row| row.lambda.is_some());
    let rows: Vec<&PoweredMean> = powered.collect();
    let coefficient = |heading: &str| Column::new(heading, COEFFICIENT);
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), &rows, |row| powered_name(row));
    table.column(Column::text("judge"), &rows, |row| names.get(&row.judge));
    table.column(Column::count("labels"), &rows, |row| row.labeled);
    table.column(Column::count("answers"), &rows, |row| {
        row.labeled + row.unlabeled
    });
    table.column(coefficient("labels only"), &rows, |row| &row.labels_only);
    table.column(coefficient("prediction-powered"), &rows, |row| &row.powered);
    table.column(Column::new("p", Format::PValue), &rows, |row| row.p);
    table.notes.clone_from(&agreement.powered_notes);
    table
}

/// Shares of met criteria of systems without labels.
fn corrected_shares(agreement: &RaterAgreement, names: &ShortNames<'_>) -> Table {
    let title = "What share of criteria would people call met? Systems without labels, by sensitivity and specificity (Rogan-Gladen)";
    let rows = &agreement.rogan_gladen;
    let share = |heading: &str| Column::new(heading, Format::Percent);
    let mut table = Table::new(title, Vec::new());
    table.column(Column::text("system"), rows, |row| &row.system);
    table.column(Column::text("judge"), rows, |row| names.get(&row.judge));
    table.column(Column::text("labels of"), rows, |row| {
        names.get(&row.labels_of)
    });
    table.column(Column::count("met labels"), rows, |row| row.met_labels);
    table.column(Column::count("unmet labels"), rows, |row| row.unmet_labels);
    table.column(Column::count("verdicts"), rows, |row| row.verdicts);
    table.column(share("judged met (%)"), rows, |row| row.judged_met);
    table.column(share("met (%)").kept(), rows, |row| &row.met);
    let split: usize = rows.iter().map(|row| row.split).sum();
    if split > 0 {
        table.notes.push(Note::info(format!(
            "{} split evenly between met and unmet left out of these shares.",
            counted(split, "verdict")
        )));
    }
    table
}

/// The half widths of planned numbers of labels, with the numbers that they rest on as notes.
pub fn label_plan_table(plans: &[LabelPlan]) -> Table {
    let title = "Half width of the 95% interval of a system's mean on the human scale, by its number of labels";
    let columns = vec![
        Column::text("judge"),
        Column::count("labels"),
        Column::headed("labels_only", "labels only", MEAN),
        Column::headed("prediction_powered", "prediction-powered", MEAN),
    ];
    let mut table = Table::new(title, columns);
    for plan in plans {
        for labels in &plan.rows {
            table.rows.push(vec![
                Cell::text(&*plan.judge),
                Cell::count(labels.labels),
                Cell::number(labels.labels_only),
                Cell::number(labels.powered),
            ]);
        }
        let halved = match plan.to_halve {
            Some(more) => format!("{more} more labels of each system halve its interval"),
            None => format!(
                "labels of all {} answers of a system do not halve its interval",
                plan.answers
            ),
        };
        table
            .notes
            .push(Note::warning(format!("{}: {halved}.", plan.judge)));
        table.notes.push(Note::warning(format!(
            "{}: normal approximation from {} labels, for {} answers of a system; within systems labels have a standard deviation of \
             {:.3} and a correlation of {:.2} with the judge.",
            plan.judge, plan.labels, plan.answers, plan.sd, plan.correlation
        )));
    }
    table
}

fn level_name(agreement: &RaterAgreement) -> &'static str {
    match agreement.options.level {
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    }
}

/// The estimate with the number of units that it rests on.
fn with_units(estimate: &Estimate) -> Cell {
    let units = estimate.n.map(|n| format!(" ({n})"));
    Cell::from(estimate).flagged(&units.unwrap_or_default())
}
