//! How raters agree, for people.

use std::fmt::Write as _;

use comfy_table::{Attribute, Cell, CellAlignment};

use super::layout::{counted, plain_table, push_item};
use super::visible::shortened;
use super::{TableStyle, visible};
use crate::aggregate::rater_agreement::{
    AgreementLevel, Estimate, Measures, PairAgreement, PartMeasures, Ranking, RaterAgreement, RaterPair, Wins,
};
use crate::domain::RaterKind;

/// Characters of a name in a table.
const NAME: usize = 18;

/// The raters, then their agreement by two and together, rankings, means on the human scale, and the notes.
pub fn render_agreement_table(agreement: &RaterAgreement, style: &TableStyle) -> String {
    let mut out = String::new();
    let writer = &mut Writer { out: &mut out, color: style.color };
    writer.raters(agreement);
    let pairs = || agreement.pairs.iter().map(|pair| (pair_name(pair), &pair.overall)).collect::<Vec<_>>();
    let level = level_name(agreement.options.level);
    writer.measures(&format!("Agreement on {level}"), "raters", &pairs());
    writer.groups(agreement);
    let detailed: Vec<&RaterPair> = agreement.pairs.iter().filter(|pair| is_detailed(agreement, pair)).collect();
    for pair in &detailed {
        writer.parts(&format!("{}, by item", one_line(pair)), "item", &pair.items);
    }
    for pair in &detailed {
        writer.parts(&format!("{}, by system", one_line(pair)), "system", &pair.systems);
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
        push_item(&mut out, &visible(&note), usize::from(style.width.max(80)));
    }
    out
}

/// A judge beside one of several people is told overall only: the mean of the people stands for them.
fn is_detailed(agreement: &RaterAgreement, pair: &RaterPair) -> bool {
    let mean = agreement.raters.iter().find(|rater| !rater.mean_of.is_empty());
    let is_judge =
        |name: &str| agreement.raters.iter().any(|rater| *rater.name == *name && rater.kind == RaterKind::Judge);
    mean.is_none_or(|mean| pair.second == mean.name || is_judge(&pair.first) == is_judge(&pair.second))
}

fn level_name(level: AgreementLevel) -> &'static str {
    match level {
        AgreementLevel::System => "means of systems",
        AgreementLevel::Answer => "answers",
        AgreementLevel::Item => "items",
    }
}

fn pair_name(pair: &RaterPair) -> String {
    format!("{}\n– {}", middle(&pair.first, NAME), middle(&pair.second, NAME - 2))
}

/// The name, visible, with its middle left out where it is longer than `limit`: files of one set differ at the end.
fn middle(name: &str, limit: usize) -> String {
    let shown: Vec<char> = visible(name).chars().collect();
    if shown.len() <= limit {
        return shown.into_iter().collect();
    }
    let tail = limit / 2;
    let head = limit - 1 - tail;
    shown[..head].iter().chain(&['…']).chain(&shown[shown.len() - tail..]).collect()
}

fn one_line(pair: &RaterPair) -> String {
    format!("{} – {}", shortened(&pair.first, 60), shortened(&pair.second, 60))
}

/// Sections, a blank line before each but the first.
struct Writer<'a> {
    out: &'a mut String,
    color: bool,
}

impl Writer<'_> {
    fn section(&mut self, title: &str, header: &[&str], rows: Vec<Vec<String>>) {
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
            column.set_padding((0, 2));
            if index > 0 {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let gap = if self.out.is_empty() { "" } else { "\n" };
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{gap}{title}\n\n{}\n", table.trim_fmt());
    }

    fn raters(&mut self, agreement: &RaterAgreement) {
        let row = |rater: &crate::aggregate::rater_agreement::RaterSummary| {
            let kind = match (rater.mean_of.len(), rater.kind) {
                (0, RaterKind::Judge) => "judge".to_owned(),
                (0, RaterKind::Human) => "person".to_owned(),
                (people, _) => format!("mean of {people}"),
            };
            vec![shortened(&rater.name, 40), kind, rater.ratings.to_string(), rater.preferences.to_string()]
        };
        let title = format!(
            "Raters of {}",
            match agreement.options.level {
                AgreementLevel::Item => "items",
                _ => "answers",
            }
        );
        self.section(&title, &["rater", "", "ratings", "comparisons"], agreement.raters.iter().map(row).collect());
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
        let rows: Vec<(String, &Measures)> =
            parts.iter().map(|part| (shortened(&part.name, NAME), &part.measures)).collect();
        self.measures(title, first, &rows);
    }

    fn groups(&mut self, agreement: &RaterAgreement) {
        let row = |group: &crate::aggregate::rater_agreement::RaterGroup| {
            let numbers = [&group.alpha_nominal, &group.alpha_ordinal, &group.alpha_interval];
            let name = format!("{}\n({}, {})", group.name, counted(group.raters.len(), "rater"), group.of);
            let mut row = vec![name, group.n.to_string()];
            row.extend(numbers.map(cell));
            row.push(if group.of == "ratings" { counted_cell(&group.icc_2_1, group.complete) } else { String::new() });
            row
        };
        let title = "Raters together: Krippendorff's alpha and ICC(2,1)";
        self.section(
            title,
            &["raters", "n", "nominal", "ordinal", "interval", "ICC(2,1)"],
            agreement.groups.iter().filter(|group| group.n > 0).map(row).collect(),
        );
    }

    fn ranking(&mut self, pair: &RaterPair, ranking: &Ranking) {
        let rows = ranking.systems.iter().map(|system| {
            vec![
                shortened(system.system.as_str(), NAME),
                system.n.to_string(),
                format!("{:.3}", system.first_mean),
                system.first_rank.to_string(),
                format!("{:.3}", system.second_mean),
                system.second_rank.to_string(),
            ]
        });
        let title = format!(
            "Systems by {} (means, each on its rater's own scale): tau-b {}",
            one_line(pair),
            in_line(&ranking.kendall_tau_b)
        );
        let (first, second) = (middle(&pair.first, 12), middle(&pair.second, 12));
        self.section(&title, &["system", "n", &first, "rank", &second, "rank"], rows.collect());
    }

    fn wins(&mut self, pair: &RaterPair, wins: &Wins) {
        let rows = wins.systems.iter().map(|system| {
            vec![
                shortened(system.system.as_str(), NAME),
                system.n.to_string(),
                format!("{:.3}", system.first_rate),
                format!("{:.3}", system.second_rate),
                system.first_mean.map_or_else(|| "-".to_owned(), |mean| format!("{mean:.3}")),
            ]
        });
        let mut title =
            format!("Comparisons won by {} (shares, 0..1): tau-b {}", one_line(pair), in_line(&wins.kendall_tau_b));
        if wins.first_means_second_wins.estimate.is_some() {
            let tau = in_line(&wins.first_means_second_wins);
            // Writing to a string cannot fail.
            let _ = write!(title, "\n(means of the first with wins of the second: tau-b {tau})");
        }
        let (first, second) = (middle(&pair.first, 12), middle(&pair.second, 12));
        let mean = format!("mean of\n{first}");
        self.section(&title, &["system", "n", &first, &second, &mean], rows.collect());
    }

    fn powered(&mut self, agreement: &RaterAgreement) {
        let row = |mean: &crate::aggregate::rater_agreement::PoweredMean| {
            vec![
                shortened(mean.system.as_str(), NAME),
                shortened(&mean.judge, 20),
                format!("{} + {}", mean.labelled, mean.unlabelled),
                cell(&mean.labels_only),
                cell(&mean.powered),
                mean.lambda.map_or_else(|| "-".to_owned(), |lambda| format!("{lambda:.2}")),
            ]
        };
        let useful = |mean: &&crate::aggregate::rater_agreement::PoweredMean| mean.powered.estimate.is_some();
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
        format!("{}\n({}, {})", agreement.n, agreement.first_ties, agreement.second_ties),
        cell(&agreement.strict),
        cell(&agreement.half_credit),
        counted_cell(&agreement.decided_agreement, agreement.decided),
        cell(&agreement.kappa),
    ]
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

/// What stands below the tables: thresholds, why numbers are missing, how intervals were made.
fn notes(agreement: &RaterAgreement) -> Vec<String> {
    let mut notes = Vec::new();
    for pair in &agreement.pairs {
        if pair.overall.n == 0 && pair.overall.comparisons.is_none() {
            notes.push(format!("{} – {}: nothing that both rated", pair.first, pair.second));
        }
        if let Some(threshold) = &pair.tie_threshold {
            let how = if threshold.chosen { "chosen to give it as many ties as the other has" } else { "as given" };
            notes.push(format!(
                "{} – {}: differences of {} up to {:.4} count as ties ({how})",
                pair.first, pair.second, threshold.rater, threshold.value
            ));
        }
    }
    notes.extend(undefined(agreement));
    if agreement.pairs.iter().any(|pair| !is_detailed(agreement, pair)) {
        notes.push("of a judge and each single person the parts are in --format json and csv".to_owned());
    }
    notes.extend(agreement.notes.iter().cloned());
    let unlabelled = agreement.powered.iter().find(|mean| mean.powered.estimate.is_none());
    if let Some(why) = unlabelled.and_then(|mean| mean.powered.undefined.as_ref()) {
        notes.push(format!("no prediction-powered mean where {why}"));
    } else if !agreement.powered.is_empty() {
        notes.push("prediction-powered means hold where the labelled answers were drawn at random".to_owned());
    }
    let options = &agreement.options;
    notes.push(format!(
        "intervals: {:.0}%, BCa bootstrap over questions, {} resamples, seed {}; of ICC by F, of prediction-powered means by t",
        100.0 * options.confidence,
        options.resamples,
        options.seed
    ));
    notes
}

/// Why numbers of the overall tables are not defined, each reason once.
fn undefined(agreement: &RaterAgreement) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    let mut add = |who: &str, measure: &'static str, estimate: &Estimate| {
        if let Some(why) = &estimate.undefined {
            let reason = format!("{who}: {why}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, measures)) => measures.push(measure),
                None => reasons.push((reason, vec![measure])),
            }
        }
    };
    for pair in agreement.pairs.iter().filter(|pair| pair.overall.n > 0) {
        let who = format!("{} – {}", pair.first, pair.second);
        add(&who, "Pearson", &pair.overall.pearson);
        add(&who, "Spearman", &pair.overall.spearman);
        add(&who, "Kendall", &pair.overall.kendall_tau_b);
        add(&who, "kappa", &pair.overall.kappa);
        add(&who, "weighted kappa", &pair.overall.quadratic_kappa);
    }
    for pair in &agreement.pairs {
        if let Some(compared) = &pair.overall.comparisons {
            let who = format!("{} – {}", pair.first, pair.second);
            add(&who, "agreement on which is better", &compared.strict);
        }
    }
    for group in agreement.groups.iter().filter(|group| group.n > 0) {
        add(&group.name, "nominal alpha", &group.alpha_nominal);
        add(&group.name, "ordinal alpha", &group.alpha_ordinal);
        add(&group.name, "interval alpha", &group.alpha_interval);
        if group.of == "ratings" {
            add(&group.name, "ICC", &group.icc_2_1);
        }
    }
    let sentence = |(reason, measures): (String, Vec<&str>)| format!("no {}, {reason}", measures.join(", "));
    reasons.into_iter().map(sentence).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_at_the_end_stay_different() {
        assert_eq!(middle("pairwise_dev_assigned_ann1", 12), "pairw…d_ann1");
        assert_eq!(middle("ann", 12), "ann");
        assert_eq!(middle("a\u{1b}b", 12), "a\\u{1b}b");
    }

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
