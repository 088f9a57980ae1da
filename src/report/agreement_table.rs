//! How raters agree, for people.

use std::fmt::Write as _;

use comfy_table::{Attribute, Cell, CellAlignment};

use super::agreement_names::{RaterNames, middle, part_name};
use super::agreement_notes::{is_detailed, notes};
use super::layout::{plain_table, push_item, wrapped};
use super::{TableStyle, visible};
use crate::analysis::rater_agreement::{
    AgreementLevel, Estimate, Measures, PairAgreement, PartMeasures, Ranking, RaterAgreement, RaterPair, Wins,
};
use crate::domain::RaterKind;

/// The raters, then their agreement by two and together, rankings, means on the human scale, and the notes.
pub fn render_agreement_table(agreement: &RaterAgreement, style: &TableStyle) -> String {
    let mut out = String::new();
    let width = usize::from(style.width.max(80));
    let names = &RaterNames::new(agreement);
    let writer = &mut Writer { out: &mut out, color: style.color, width, names };
    writer.raters(agreement);
    let pairs = || agreement.pairs.iter().map(|pair| (names.below(pair), &pair.overall)).collect::<Vec<_>>();
    let level = level_name(agreement.options.level);
    writer.measures(&format!("Agreement on {level}"), "raters", &pairs());
    writer.groups(agreement);
    let detailed: Vec<&RaterPair> = agreement.pairs.iter().filter(|pair| is_detailed(agreement, pair)).collect();
    for pair in &detailed {
        writer.parts(&format!("{}, by item", names.beside(pair)), "item", &pair.items);
    }
    for pair in &detailed {
        writer.parts(&format!("{}, by system", names.beside(pair)), "system", &pair.systems);
    }
    for pair in &detailed {
        if let Some(ranking) = &pair.ranking {
            writer.ranking(pair, ranking);
        }
        if let Some(wins) = &pair.wins {
            writer.wins(pair, wins);
        }
    }
    writer.powered(agreement);
    out.push('\n');
    for note in notes(agreement) {
        push_item(&mut out, &visible(&note), width);
    }
    out
}

fn level_name(level: AgreementLevel) -> &'static str {
    match level {
        AgreementLevel::System => "means of systems",
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    }
}

/// Sections, a blank line before each but the first.
struct Writer<'a> {
    out: &'a mut String,
    color: bool,
    width: usize,
    names: &'a RaterNames,
}

impl Writer<'_> {
    /// A table whose first column is a name, the others numbers.
    fn section(&mut self, title: &str, header: &[&str], rows: Vec<Vec<String>>) {
        self.table(title, (header, 1), rows);
    }

    fn table(&mut self, title: &str, (header, text_columns): (&[&str], usize), rows: Vec<Vec<String>>) {
        if rows.is_empty() {
            return;
        }
        let mut table = plain_table(self.color);
        table.set_header(header.iter().map(|title| {
            let cell = Cell::new(title);
            if self.color { cell.add_attribute(Attribute::Bold) } else { cell }
        }));
        for row in rows {
            table.add_row(row);
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, 1));
            // Names and words stand left, numbers right.
            if index >= text_columns {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let gap = if self.out.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{gap}{}\n\n{}\n", wrapped(title, self.width), table.trim_fmt());
    }

    fn raters(&mut self, agreement: &RaterAgreement) {
        let row = |rater: &crate::analysis::rater_agreement::RaterSummary| {
            let kind = match (rater.mean_of.len(), rater.kind) {
                (0, RaterKind::Judge) => "judge".to_owned(),
                (0, RaterKind::Human) => "person".to_owned(),
                (people, _) => format!("mean of {people}"),
            };
            let letter = self.names.has_letters().then(|| self.names.letter(&rater.name).to_owned());
            let cells = [middle(&rater.name, 40), kind, rater.ratings.to_string(), rater.preferences.to_string()];
            letter.into_iter().chain(cells).collect()
        };
        let of = match agreement.options.level {
            AgreementLevel::Item => "items",
            _ => "answers",
        };
        let rows = agreement.raters.iter().map(row).collect();
        let header = ["", "rater", "", "ratings", "comparisons"];
        if self.names.has_letters() {
            self.table(&format!("Raters of {of}, in the tables below by these letters"), (&header, 3), rows);
        } else {
            self.table(&format!("Raters of {of}"), (&header[1..], 2), rows);
        }
    }

    fn measures(&mut self, title: &str, first: &str, rows: &[(String, &Measures)]) {
        let rated: Vec<&(String, &Measures)> = rows.iter().filter(|(_, measures)| measures.n > 0).collect();
        let correlations = rated.iter().map(|(name, measures)| {
            let numbers = [&measures.pearson, &measures.spearman, &measures.kendall_tau_b];
            [name.clone(), measures.n.to_string()].into_iter().chain(numbers.map(cell)).collect()
        });
        self.section(title, &[first, "n", "Pearson", "Spearman", "Kendall tau-b"], correlations.collect());
        let has_kappa = |(_, measures): &&&(String, &Measures)| measures.kappa.estimate.is_some();
        let kappas = rated.iter().filter(has_kappa).map(|(name, measures)| {
            let numbers = [&measures.kappa, &measures.quadratic_kappa];
            [name.clone(), measures.n.to_string()].into_iter().chain(numbers.map(cell)).collect()
        });
        self.section(
            &format!("{title}: Cohen's kappa"),
            &[first, "n", "kappa", "quadratic-weighted kappa"],
            kappas.collect(),
        );
        let compared = rows.iter().filter_map(|(name, measures)| Some((name, measures.comparisons.as_ref()?)));
        let compared = compared.map(|(name, agreement)| compared_row(name, agreement));
        self.section(
            &format!("{title}: which of two is better"),
            &[first, "pairs\n(ties)", "strict", "half for\nties", "decided\n(pairs)", "kappa"],
            compared.collect(),
        );
    }

    fn parts(&mut self, title: &str, first: &str, parts: &[PartMeasures]) {
        let rows: Vec<(String, &Measures)> = parts.iter().map(|part| (part_name(&part.name), &part.measures)).collect();
        self.measures(title, first, &rows);
    }

    fn groups(&mut self, agreement: &RaterAgreement) {
        let row = |group: &crate::analysis::rater_agreement::RaterGroup| {
            let numbers = [&group.alpha_nominal, &group.alpha_ordinal, &group.alpha_interval];
            let mut row = vec![format!("{} ({})\n{}", group.name, group.raters.len(), group.of), group.n.to_string()];
            row.extend(numbers.map(cell));
            row.push(if group.of == "ratings" { counted_cell(&group.icc_2_1, group.complete) } else { String::new() });
            row
        };
        let title = "Raters together: Krippendorff's alpha and ICC(2,1)";
        self.section(
            title,
            &["who (how many)", "n", "nominal", "ordinal", "interval", "ICC(2,1)"],
            agreement.groups.iter().filter(|group| group.n > 0).map(row).collect(),
        );
    }

    fn ranking(&mut self, pair: &RaterPair, ranking: &Ranking) {
        let rows = ranking.systems.iter().map(|system| {
            vec![
                part_name(system.system.as_str()),
                system.n.to_string(),
                format!("{:.3}", system.first_mean),
                system.first_rank.to_string(),
                format!("{:.3}", system.second_mean),
                system.second_rank.to_string(),
            ]
        });
        let title = format!(
            "Systems by {} (means, each on its rater's own scale): tau-b {}",
            self.names.beside(pair),
            in_line(&ranking.kendall_tau_b)
        );
        let (first, second) = (self.names.of(&pair.first), self.names.of(&pair.second));
        self.section(&title, &["system", "n", &first, "rank", &second, "rank"], rows.collect());
    }

    fn wins(&mut self, pair: &RaterPair, wins: &Wins) {
        let rows = wins.systems.iter().map(|system| {
            vec![
                part_name(system.system.as_str()),
                system.n.to_string(),
                format!("{:.3}", system.first_rate),
                format!("{:.3}", system.second_rate),
                system.first_mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
            ]
        });
        let mut title = format!(
            "Comparisons won by {} (shares, 0..1): tau-b {}",
            self.names.beside(pair),
            in_line(&wins.kendall_tau_b)
        );
        if wins.first_means_second_wins.estimate.is_some() {
            let tau = in_line(&wins.first_means_second_wins);
            // Writing to a string cannot fail.
            let _ = write!(title, "\n(means of the first with wins of the second: tau-b {tau})");
        }
        let (first, second) = (self.names.of(&pair.first), self.names.of(&pair.second));
        let mean = format!("mean of\n{first}");
        self.section(&title, &["system", "n", &first, &second, &mean], rows.collect());
    }

    fn powered(&mut self, agreement: &RaterAgreement) {
        let row = |mean: &crate::analysis::rater_agreement::PoweredMean| {
            vec![
                part_name(mean.system.as_str()),
                self.names.of(&mean.judge),
                format!("{} + {}", mean.labelled, mean.unlabelled),
                cell(&mean.labels_only),
                cell(&mean.powered),
                mean.lambda.map_or_else(|| "-".to_owned(), |lambda| format!("{lambda:.2}")),
            ]
        };
        let useful = |mean: &&crate::analysis::rater_agreement::PoweredMean| mean.powered.estimate.is_some();
        self.section(
            "Means on the human scale: of the labels alone, and prediction-powered",
            &["system", "judge", "labelled\n+ judged", "labels\nonly", "prediction-\npowered", "lambda"],
            agreement.powered.iter().filter(useful).map(row).collect(),
        );
    }
}

fn compared_row(name: &str, agreement: &PairAgreement) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("{}\n{}", agreement.n, ties(agreement)),
        cell(&agreement.strict),
        cell(&agreement.half_credit),
        counted_cell(&agreement.decided_agreement, agreement.decided),
        cell(&agreement.kappa),
    ]
}

/// The ties of both raters, in two lines where they are many.
fn ties(agreement: &PairAgreement) -> String {
    const ROOM: usize = 12;
    let line = format!("({}, {})", agreement.first_ties, agreement.second_ties);
    if line.len() <= ROOM { line } else { line.replace(", ", ",\n") }
}

/// The number with its interval below it; a dash where there is none.
fn cell(estimate: &Estimate) -> String {
    let Some(value) = estimate.estimate else { return "-".to_owned() };
    match estimate.low.zip(estimate.high) {
        Some((low, high)) => format!("{}\n{}", shown(value), ends(low, high)),
        None => shown(value),
    }
}

/// [`cell`] of another number of units than the rest of its row.
fn counted_cell(estimate: &Estimate, n: usize) -> String {
    let shown = cell(estimate);
    match shown.split_once('\n') {
        Some((value, interval)) => format!("{value} ({n})\n{interval}"),
        None => format!("{shown} ({n})"),
    }
}

fn in_line(estimate: &Estimate) -> String {
    match (estimate.estimate, estimate.low.zip(estimate.high), &estimate.undefined) {
        (Some(value), Some((low, high)), _) => format!("{} [{}]", shown(value), ends(low, high)),
        (Some(value), None, _) => shown(value),
        (None, _, Some(why)) => format!("not defined ({})", visible(why)),
        (None, ..) => "not defined".to_owned(),
    }
}

/// Two decimals, without a minus before a zero.
fn shown(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

fn ends(low: f64, high: f64) -> String {
    format!("{}..{}", shown(low), shown(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_its_interval_below_it_or_a_dash_in_its_place() {
        let estimate = Estimate { estimate: Some(-0.001), low: Some(-0.2), high: Some(0.254), undefined: None };
        assert_eq!(cell(&estimate), "0.00\n-0.20..0.25");
        assert_eq!(counted_cell(&estimate, 7), "0.00 (7)\n-0.20..0.25");
        let none = Estimate { undefined: Some("x gave all the same value".to_owned()), ..Estimate::default() };
        assert_eq!(
            (cell(&none), in_line(&none)),
            ("-".to_owned(), "not defined (x gave all the same value)".to_owned())
        );
    }
}
