//! The scorecard: every scorer's columns, for people, as JSON and as CSV.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::files::{csv_line, file, internal, render_csv, terminal_safe_json};
use super::footnotes::{footnotes, intervals_note};
use super::headline::headline;
use super::layout::push_item;
use super::panel_notes::panel_notes;
use super::rubric_table::rubric_table;
use super::section_table::{section_notes, section_table};
use super::{ReportContext, TableStyle, visible};
use crate::analysis::{Scorecard, Section};
use crate::error::{Error, Result};

/// The tables, the rubric's first, then what has to be said beside them.
pub fn render_scorecard_table(card: &Scorecard, context: &ReportContext, style: &TableStyle) -> String {
    let mut tables: Vec<String> = headline(card, style).into_iter().collect();
    tables.extend(card.rubric.iter().map(|rubric| rubric_table(rubric, style)));
    tables.extend(card.sections.iter().map(|section| section_table(section, style)));
    let mut out = part(context) + &tables.join("\n");
    out.push('\n');
    let mut notes = run_notes(card, context);
    notes.extend(card.sections.iter().flat_map(|section| section_notes(section, card.on_unscored)));
    notes.extend(panel_notes(&card.panels, &card.noise));
    for note in notes {
        push_item(&mut out, &note, usize::from(style.width.max(80)));
    }
    out
}

/// A line above the tables of a part of the answers.
pub(super) fn part(context: &ReportContext) -> String {
    let told = |slice: &String| format!("slice {}: a part of the answers, no result\n\n", visible(slice));
    context.slice.as_ref().map(told).unwrap_or_default()
}

/// What has to be said of the run and, where it was asked, of the rubric.
pub(super) fn run_notes(card: &Scorecard, context: &ReportContext) -> Vec<String> {
    match &card.rubric {
        Some(rubric) => footnotes(rubric, context),
        None => {
            let mut notes = vec![intervals_note(card.level, card.resamples, card.seed, (card.cases, card.questions))];
            notes.extend(context.remarks.iter().map(|remark| format!("{}.", visible(remark))));
            notes
        }
    }
}

/// `summary.json`: that of the rubric where it was asked (see [`super::render_json`]), else its head alone with empty `rows`;
/// then `scorers`, a list of `{scorer, columns, rows, notes}`, and where there are any `panels` ([`PanelAgreement`]),
/// `noise` ([`DrawNoise`]), `slice` (`2/5`: a part of the answers) and `endpoints` ([`crate::domain::EndpointUse`]). Shares are 0..=1, grades 1..=5, null where there is none.
///
/// [`PanelAgreement`]: crate::analysis::PanelAgreement
/// [`DrawNoise`]: crate::analysis::DrawNoise
///
/// # Errors
/// [`Error::Internal`] if it cannot be serialised.
pub fn render_scorecard_json(card: &Scorecard, context: &ReportContext) -> Result<String> {
    let head = match &card.rubric {
        Some(rubric) => serde_json::to_value(file(rubric, context)).map_err(internal)?,
        None => head(card, context),
    };
    let Value::Object(mut file) = head else {
        return Err(Error::Internal("the summary is no JSON object".into()));
    };
    file.insert("unscored_share".to_owned(), card.unscored_share().into());
    file.insert("scorers".to_owned(), serde_json::to_value(&card.sections).map_err(internal)?);
    if let Some(slice) = &context.slice {
        file.insert("slice".to_owned(), slice.as_str().into());
    }
    if !card.panels.is_empty() {
        file.insert("panels".to_owned(), serde_json::to_value(&card.panels).map_err(internal)?);
    }
    if !card.noise.is_empty() {
        file.insert("noise".to_owned(), serde_json::to_value(&card.noise).map_err(internal)?);
    }
    if !context.endpoints.is_empty() {
        file.insert("endpoints".to_owned(), serde_json::to_value(&context.endpoints).map_err(internal)?);
    }
    let json = serde_json::to_string_pretty(&file).map_err(internal)?;
    Ok(terminal_safe_json(&json) + "\n")
}

fn head(card: &Scorecard, context: &ReportContext) -> Value {
    json!({
        "schema_version": 1, "run": context.run, "unscored_share": 0.0, "mode": card.mode,
        "on_unscored": card.on_unscored, "level": card.level, "resamples": card.resamples, "seed": card.seed,
        "cases": card.cases, "questions": card.questions, "rows": [], "remarks": context.remarks,
    })
}

/// `summary.csv`: a row a system; the rubric's columns where it was asked, then for each column of each scorer
/// `<scorer>.<column>` and the same with `_low`, `_high`, `_n`, `_unscored`.
pub fn render_scorecard_csv(card: &Scorecard) -> String {
    let rubric = card.rubric.as_ref().map(render_csv);
    let mut lines: Vec<String> = match &rubric {
        Some(csv) => csv.lines().map(str::to_owned).collect(),
        None => std::iter::once("system".to_owned()).chain(systems(card).map(|system| quoted(&system))).collect(),
    };
    let width = lines.first().map_or(0, |header| header.matches(',').count());
    // Systems that the rubric has no row for.
    let ranked: Vec<&str> = card.rubric.iter().flat_map(|rubric| &rubric.rows).map(|row| row.system.as_str()).collect();
    if rubric.is_some() {
        let others = systems(card).filter(|system| !ranked.contains(&system.as_str()));
        lines.extend(others.map(|system| quoted(&system) + &",".repeat(width)));
    }
    for section in &card.sections {
        append(section, &mut lines, &ranked);
    }
    lines.join("\n") + "\n"
}

fn systems(card: &Scorecard) -> impl Iterator<Item = String> {
    card.sections.first().into_iter().flat_map(|section| &section.rows).map(|row| row.system.to_string())
}

pub(super) fn quoted(name: &str) -> String {
    let mut line = String::new();
    csv_line(&mut line, &[visible(name)]);
    line.truncate(line.trim_end_matches('\n').len());
    line
}

/// The section's cells at the end of every line. A section has a row for every system, in the order of the scorecard.
pub(super) fn append(section: &Section, lines: &mut [String], ranked: &[&str]) {
    let parts = ["", "_low", "_high", "_n", "_unscored"];
    let header = section
        .columns
        .iter()
        .flat_map(|column| parts.map(|part| Cow::from(format!("{}.{}{part}", section.scorer, column.name))));
    push_cells(lines.first_mut(), &header.collect::<Vec<_>>());
    let mut rows: Vec<_> = section.rows.iter().collect();
    rows.sort_by_key(|row| ranked.iter().position(|system| *system == row.system.as_str()).unwrap_or(usize::MAX));
    for (line, row) in lines.iter_mut().skip(1).zip(rows) {
        let number = |value: Option<f64>| Cow::from(value.map(|value| value.to_string()).unwrap_or_default());
        let cells = row.metrics.iter().flat_map(|metric| {
            let metric = metric.metric;
            let (low, high) = metric.interval.unzip();
            let counts = [metric.n, metric.unscored].map(|count| Cow::from(count.to_string()));
            [metric.estimate, low, high].map(number).into_iter().chain(counts)
        });
        push_cells(Some(line), &cells.collect::<Vec<_>>());
    }
}

fn push_cells(line: Option<&mut String>, cells: &[Cow<'_, str>]) {
    let (Some(line), false) = (line, cells.is_empty()) else { return };
    let mut more = String::new();
    csv_line(&mut more, cells);
    line.push(',');
    line.push_str(more.trim_end_matches('\n'));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made::{answer, component, simple_score};
    use crate::analysis::{AggregateOptions, scorecard};
    use crate::domain::{ComponentKind, Score, ScoredAnswer};

    fn plain(system: &str, case: &str, parts: &[(&str, ComponentKind, Option<f64>)]) -> ScoredAnswer {
        let components = parts.iter().map(|(name, kind, value)| component(name, *kind, 0.0, *value)).collect();
        answer(system, case, Score { scorer: "prometheus", components, ..Score::default() })
    }

    fn card(with_rubric: bool) -> Scorecard {
        let grade = |value| ("coverage", ComponentKind::Aspect, value);
        let mut scored = vec![
            plain("a\u{1b}", "1", &[grade(Some(4.0)), ("match", ComponentKind::Share, Some(0.5))]),
            plain("a\u{1b}", "2", &[grade(Some(2.0))]),
            plain("b", "1", &[grade(None)]),
        ];
        if with_rubric {
            scored.push(answer("b", "1", simple_score(Some(1.0))));
        }
        scorecard(&scored, &[], AggregateOptions::default())
    }

    #[test]
    fn grades_have_two_decimals_and_what_is_missing_is_told_and_never_zero() {
        let table = render_scorecard_table(&card(false), &ReportContext::default(), &TableStyle::default());
        assert!(table.contains("grades from 1 to 5") && table.contains("3.00 [2.00, 4.00]"), "{table}");
        assert!(table.contains("a\\u{1b}"), "{table}");
        let b = table.lines().find(|line| line.starts_with("b ")).unwrap();
        assert_eq!(b.split_whitespace().collect::<Vec<_>>(), ["b", "1", "-", "-"]);
        let told = table.replace("\n  ", " ");
        assert!(told.contains("coverage 1.00 or 5.00"), "{told}");
        assert!(told.contains("match: a\\u{1b} 1 of 2, b 0 of 1"), "{told}");
    }

    #[test]
    fn the_main_numbers_of_all_scorers_stand_in_one_table_first() {
        let table = render_scorecard_table(&card(true), &ReportContext::default(), &TableStyle::default());
        let lines: Vec<&str> = table.lines().collect();
        assert!(lines[0].starts_with("scorecard: means"), "{table}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[2]), ["system", "n", "rubric", "coverage", "match"], "{table}");
        // the rubric's answer of b is the only one; what a system lacks is a dash
        let row = |name: &str| words(lines.iter().find(|line| line.starts_with(name)).unwrap());
        assert_eq!(row("b "), ["b", "1", "80.0*", "-", "-"]);
        // a match of one of its two answers
        assert_eq!(row("a\\u{1b} "), ["a\\u{1b}", "2", "-", "3.00", "50.0*"]);
        let told = table.replace("\n  ", " ");
        assert!(told.contains("rubric score: b 1 of 2; match: a\\u{1b} 1 of 2."), "{table}");
        let alone = render_scorecard_table(&card(false), &ReportContext::default(), &TableStyle::default());
        assert!(!alone.contains("scorecard:"), "one scorer's table says it all");
    }

    #[test]
    fn a_narrow_terminal_gets_every_column_in_blocks() {
        let names = ["one_quantity", "two_quantity", "three_quantity", "four_quantity", "five_quantity"];
        let parts = names.map(|name| (name, ComponentKind::Share, Some(0.25)));
        let scored = [plain("s", "1", &parts), plain("s", "2", &names.map(|n| (n, ComponentKind::Share, Some(0.75))))];
        let card = scorecard(&scored, &[], AggregateOptions::default());
        let table = render_scorecard_table(&card, &ReportContext::default(), &TableStyle::default());
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(names.iter().all(|name| table.contains(&name.replace('_', " "))), "{table}");
    }

    #[test]
    fn files_have_every_column_beside_the_rubrics() {
        let json: Value =
            serde_json::from_str(&render_scorecard_json(&card(true), &ReportContext::default()).unwrap()).unwrap();
        assert_eq!(json["rows"][0]["system"], "b");
        let rows = &json["scorers"][0]["rows"];
        assert_eq!((&rows[0]["system"], &rows[1]["system"]), (&json!("b"), &json!("a\u{1b}")));
        assert!(rows[0]["metrics"]["coverage"]["estimate"].is_null());
        assert_eq!(rows[1]["metrics"]["coverage"]["estimate"], 3.0);
        assert_eq!(json["unscored_share"], 1.0 / 3.0);
        for with_rubric in [true, false] {
            let csv = render_scorecard_csv(&card(with_rubric));
            let lines: Vec<&str> = csv.lines().collect();
            assert!(lines.iter().all(|line| line.matches(',').count() == lines[0].matches(',').count()), "{csv}");
            assert!(lines[0].contains("prometheus.coverage,prometheus.coverage_low,"), "{csv}");
            let a = lines.iter().find(|line| line.starts_with("a\\u{1b}")).unwrap();
            assert!(a.contains(",3,2,4,2,0,0.5,,,1,0"), "{a}");
        }
    }

    #[test]
    fn panels_and_noise_are_told_where_there_are_any_and_plain_runs_have_neither() {
        let json = |card: &Scorecard| -> Value {
            serde_json::from_str(&render_scorecard_json(card, &ReportContext::default()).unwrap()).unwrap()
        };
        let plain = json(&card(true));
        assert!(plain.get("panels").is_none() && plain.get("noise").is_none());
        let mut scored = plain_panel([[1.0, 2.0], [2.0, 2.0], [4.0, 5.0]]);
        scored[0].members.values_mut().for_each(|said| said[0].draws.push(Some(3.0)));
        let card = scorecard(&scored, &[], AggregateOptions::default());
        let file = json(&card);
        let panel = &file["panels"][0];
        assert_eq!((&panel["scorer"], &panel["group"]), (&json!("prometheus"), &json!("coverage")));
        assert_eq!((&panel["scale"], &panel["judges"][1]["judge"]), (&json!("grade"), &json!("kind")));
        // (2 + 2 + 5) / 3
        assert_eq!(panel["judges"][1]["mean"], 3.0);
        assert!(panel["alpha"]["estimate"].is_f64() && panel["kappa"]["low"].is_f64());
        // 1 and 3: the square root of 2
        assert!((file["noise"][0]["mean_sd"].as_f64().unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
        let told =
            render_scorecard_table(&card, &ReportContext::default(), &TableStyle::default()).replace("\n  ", " ");
        assert!(told.contains("- coverage: judges strict, kind (means 2.33, 3.00): alpha 0."), "{told}");
        assert!(
            told.contains("- coverage: 2 samples by judge strict differ by a standard deviation of 1.41"),
            "{told}"
        );
    }

    /// Grades of coverage by two judges, one answer a case.
    fn plain_panel(grades: [[f64; 2]; 3]) -> Vec<ScoredAnswer> {
        let one = |(at, grades): (usize, [f64; 2])| {
            let mut scored = plain("s", &at.to_string(), &[("coverage", ComponentKind::Aspect, Some(3.0))]);
            let said = ["strict", "kind"].iter().zip(grades).map(|(judge, grade)| crate::domain::MemberValues {
                judge: (*judge).into(),
                value: Some(grade),
                draws: vec![Some(grade)],
                spread: None,
            });
            scored.members.insert("coverage".into(), said.collect());
            scored
        };
        grades.into_iter().enumerate().map(one).collect()
    }
}
