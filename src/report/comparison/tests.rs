//! Tests of the renderers, on comparisons made by hand.

use std::sync::Arc;

use super::latex::escaped as latex_escaped;
use super::markdown::escaped as markdown_escaped;
use super::*;
use crate::analysis::comparison::{
    ComparedCase, Comparison, ComparisonOptions, DrawsNeeded, JudgeNoise, LengthChange, LengthEffect, MetricComparison,
    MetricId, ObservedSystem, PairComparison, SystemMean,
};
use crate::domain::{CaseId, Unit};
use crate::report::TableStyle;
use crate::stats::VarianceComponents;

/// Names that would be more than text in one form or another.
const HOSTILE: &str = "a|b & \\input{x} <script>\u{1b}[2J\n_$%#^~\u{202e}*[l](http://x)";

fn system(at: usize, label: &str, mean: f64, letters: &str) -> SystemMean {
    SystemMean {
        system: at,
        label: label.to_owned(),
        rank: Some(at + 1),
        letters: letters.to_owned(),
        mean: Some(mean),
        interval: Some((mean - 0.015, mean + 0.0145)),
        own_mean: Some(mean),
        own_cases: 3,
        unscored: 0,
        absent: 0,
        bounds: None,
        length_correlation: Some((0.25, Some((0.1, 0.4)))),
    }
}

fn pair(first: usize, second: usize, difference: f64, p_holm: f64) -> PairComparison {
    PairComparison {
        first,
        second,
        difference,
        interval: Some((difference - 0.02, difference + 0.02)),
        p: Some(p_holm / 2.0),
        exact: true,
        p_holm: Some(p_holm),
        differs: p_holm < 0.05,
        wins: 2,
        ties: 1,
        losses: 0,
        cohens_dz: Some(1.234),
        cliffs_delta: Some(0.5),
        missing_bounds: None,
        depends_on_missing: false,
        in_common: None,
        length: None,
        length_left_out: None,
        detectable: Some(0.03),
        questions_needed: None,
    }
}

fn metric(name: &str, unit: Unit) -> MetricComparison {
    let id = |at: usize| ComparedCase { case_id: CaseId::from(format!("c{at}").as_str()), question: Arc::from("why?") };
    MetricComparison {
        metric: MetricId { scorer: "rubric".to_owned(), name: name.to_owned(), unit, higher_is_better: true },
        cases: (0..3).map(id).collect(),
        questions: 2,
        cases_in_all: 5,
        systems: vec![
            system(0, "careful", 0.485, "a"),
            SystemMean { unscored: 1, own_cases: 4, bounds: Some((0.3, 0.5)), ..system(1, "brief", 0.42, "a") },
            SystemMean { absent: 2, length_correlation: None, ..system(2, HOSTILE, 0.1, "b") },
        ],
        pairs: vec![
            PairComparison {
                depends_on_missing: true,
                in_common: None,
                missing_bounds: Some((-0.05, 0.1)),
                length: Some(LengthEffect {
                    at_equal_length: -0.01,
                    interval: (-0.03, 0.01),
                    per_100_words: 0.02,
                    per_100_words_interval: (0.01, 0.03),
                    words: 123.4,
                    change: Some(LengthChange::HoldsZero),
                }),
                ..pair(0, 1, 0.065, 0.0499)
            },
            pair(0, 2, 0.385, 0.000_01),
            PairComparison { p: None, p_holm: None, interval: None, cohens_dz: None, ..pair(1, 2, 0.32, 1.0) },
        ],
        groups: vec![vec![0, 1], vec![2]],
        ranks: Some(vec![vec![0.9, 0.1, 0.0], vec![0.1, 0.9, 0.0], vec![0.0, 0.0, 1.0]]),
        noise: Some(JudgeNoise {
            components: VarianceComponents {
                question: 0.03,
                judge: None,
                question_judge: None,
                draw: 0.01,
                balanced: true,
                questions: 2,
                judges: 1,
            },
            judges: 1,
            draws: 3,
            draw_standard_error: Some(0.0123),
            detectable: Some(0.045),
            needed: Some(DrawsNeeded { difference: 0.02, pair: Some((0, 1)), draws: None, questions: Some(40) }),
        }),
        notes: vec!["a note of the scorer".to_owned()],
    }
}

fn comparison(metrics: Vec<MetricComparison>) -> Comparison {
    let of = |(at, label): (usize, &str)| ObservedSystem { label: label.to_owned(), system: label.into(), run: at / 2 };
    Comparison {
        schema_version: 1,
        runs: vec!["run1".to_owned(), "run\n2".to_owned()],
        systems: ["careful", "brief", HOSTILE].into_iter().enumerate().map(of).collect(),
        options: ComparisonOptions::seeded(42),
        metrics,
        marks: vec!["judge of rubric differs: gpt-4o (run1), x|y_\u{1b} (run2)".to_owned()],
    }
}

fn made() -> ComparisonContext {
    ComparisonContext { made: vec!["rubric: judge gpt-4o; prompts scholareval@1a2b3c4d".to_owned()] }
}

fn one() -> Comparison {
    comparison(vec![metric("score", Unit::Share)])
}

fn has_no_unseen(text: &str) -> bool {
    !text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'))
}

fn table(width: u16) -> String {
    render_comparison_table(&one(), &made(), &TableStyle { width, color: false, all_notes: false })
}

#[test]
fn a_comparison_in_80_columns() {
    insta::assert_snapshot!(table(80));
}

#[test]
fn a_comparison_in_120_columns_has_intervals_beside_their_numbers() {
    let text = table(120);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_comparison_as_markdown() {
    insta::assert_snapshot!(render_comparison_markdown(&one(), &made()));
}

#[test]
fn a_comparison_as_latex() {
    let two = comparison(vec![metric("score", Unit::Share), metric("aspect_mean", Unit::Grade)]);
    insta::assert_snapshot!(render_comparison_latex(&two, &made()));
}

#[test]
fn a_comparison_as_csv() {
    insta::assert_snapshot!(render_comparison_csv(&one()));
}

#[test]
fn every_row_of_the_csv_has_every_column_and_numbers_are_not_rounded() {
    let csv = render_comparison_csv(&one());
    let hostile = "\"a|b & ";
    let plain: Vec<&str> = csv.lines().filter(|line| !line.contains(hostile)).collect();
    let columns = plain[0].split(',').count();
    // Only the mark has a comma, within quotation marks.
    assert!(plain[1..].iter().all(|line| line.split(',').count() == columns + 1), "{csv}");
    assert!(
        plain[1].starts_with("system,rubric,score,share,careful,,1,a,3,2,0.485,0.47,0.4995,0.485,3,0,0,,,0.9,0.25,")
    );
    // 3 systems, 3 pairs.
    assert_eq!(csv.lines().count(), 7);
}

#[test]
fn json_is_the_comparison_with_who_judged_beside_it() {
    let json = render_comparison_json(&one(), &made()).unwrap();
    assert!(has_no_unseen(&json));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["metrics"][0]["systems"][2]["label"], HOSTILE);
    assert_eq!(value["metrics"][0]["pairs"][0]["missing_bounds"], serde_json::json!([-0.05, 0.1]));
    assert_eq!((&value["schema_version"], &value["options"]["seed"]), (&1.into(), &42.into()));
    assert_eq!(value["made"][0], made().made[0]);
    assert!(value["marks"][0].as_str().unwrap().starts_with("judge of rubric differs"));
}

#[test]
fn hostile_names_stay_text_in_every_form() {
    let comparison = one();
    let table = table(80);
    let (csv, markdown) = (render_comparison_csv(&comparison), render_comparison_markdown(&comparison, &made()));
    let latex = render_comparison_latex(&comparison, &made());
    for text in [&table, &csv, &markdown, &latex] {
        assert!(has_no_unseen(text), "{text}");
    }
    for line in markdown.lines().filter(|line| line.starts_with('|')) {
        let bars = line.replace("\\|", "").matches('|').count();
        assert!(bars == 7 || bars == 8, "{bars} bars: {line}");
    }
    assert!(!markdown.contains("<script>") && !markdown.contains("](http:"), "{markdown}");
    let code: String = latex.lines().filter(|line| !line.starts_with('%')).map(|line| format!("{line}\n")).collect();
    assert!(!code.contains("\\input{") && !code.contains("<script>"), "{code}");
    for row in code.lines().filter(|line| line.ends_with("\\\\") && line.starts_with("a\\textbar")) {
        assert_eq!(row.replace("\\&", "").matches('&').count(), 1, "{row}");
    }
}

#[test]
fn what_a_form_reads_as_markup_is_spelled_out() {
    assert_eq!(
        markdown_escaped("a|b<i>&*_@x https://y www.z"),
        r"a\|b&lt;i&gt;&amp;\*\_&#64;x https&#58;//y www&#46;z"
    );
    assert_eq!(latex_escaped("a_b & c%\\x{1}"), r"a\_b \& c\%\textbackslash{}x\{1\}");
    assert_eq!(latex_escaped("[1ex] *x"), "{[}1ex{]} {*}x");
    assert_eq!(latex_escaped("é 模 --- ^^M"), r"é \texttt{U+6A21} -{}-{}- \textasciicircum{}\textasciicircum{}M");
}

#[test]
fn a_single_system_has_neither_groups_nor_pairs_nor_ranks() {
    let mut metric = metric("score", Unit::Share);
    (metric.pairs, metric.groups, metric.ranks, metric.noise) = (Vec::new(), Vec::new(), None, None);
    metric.systems.truncate(1);
    let text = render_comparison_table(&comparison(vec![metric]), &made(), &TableStyle::default());
    let header = text.lines().find(|line| line.starts_with("system")).unwrap();
    assert_eq!(header.split_whitespace().collect::<Vec<_>>(), ["system", "mean", "n", "unscored"]);
    assert!(!text.contains("permutation") && !text.contains("letter"), "{text}");
}

#[test]
fn without_a_shared_case_nothing_is_made_up() {
    let mut empty = metric("score", Unit::Share);
    empty.cases.clear();
    empty.questions = 0;
    empty.notes = vec!["nothing can be compared".to_owned()];
    for system in &mut empty.systems {
        (system.mean, system.interval, system.rank) = (None, None, None);
    }
    for pair in &mut empty.pairs {
        *pair =
            PairComparison { p: None, p_holm: None, interval: None, cohens_dz: None, detectable: None, ..pair.clone() };
    }
    let comparison = comparison(vec![empty]);
    let text = render_comparison_table(&comparison, &made(), &TableStyle::default());
    assert!(text.contains("nothing can be compared"), "{text}");
    let row = text.lines().find(|line| line.starts_with("careful – brief")).unwrap();
    assert_eq!(row.split_whitespace().nth(3), Some("-"), "{row}");
    assert!(render_comparison_latex(&comparison, &made()).contains("careful & -- \\\\"));
}

#[test]
fn long_names_stay_distinct_in_the_table() {
    let with = |labels: [&str; 3]| {
        let mut metric = metric("score", Unit::Share);
        for (system, label) in metric.systems.iter_mut().zip(labels) {
            label.clone_into(&mut system.label);
        }
        render_comparison_table(
            &comparison(vec![metric]),
            &made(),
            &TableStyle { width: 120, color: false, all_notes: false },
        )
    };
    let run = "a-run-with-quite-a-long-name-of-its-own";
    let ends = with([&format!("{run}/alpha"), &format!("{run}/beta"), "short"]);
    let middle = with([&format!("{run}/one/{run}"), &format!("{run}/two/{run}"), "short"]);
    for text in [ends, middle] {
        let text = text.split("\n- ").next().unwrap();
        // Wrapped behind a mark, so nothing need be left out.
        assert!(text.lines().all(|line| line.chars().count() <= 120) && !text.contains('…'), "{text}");
        assert!(text.lines().any(|line| line.starts_with("a-run-with-quite-a-long-")), "{text}");
    }
}

#[test]
fn several_metrics_begin_with_an_overview_that_fits_the_page() {
    let two = comparison(vec![metric("score", Unit::Share), metric("aspect_mean", Unit::Grade)]);
    let text = render_comparison_table(&two, &made(), &TableStyle { width: 80, color: false, all_notes: false });
    let overview: Vec<&str> = text.split("\n\n").nth(1).unwrap().lines().collect();
    let row = overview.iter().find(|line| line.starts_with("score ")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["score", "%", "3", "48.5", "a", "42.0", "a", "10.0", "b"], "{text}");
    assert!(overview.iter().all(|line| line.chars().count() <= 80), "{text}");
    let markdown = render_comparison_markdown(&two, &made());
    assert!(markdown.contains("| aspect\\_mean | 1 to 5 | 3 | 0.48 a | 0.42 a | 0.10 b |"), "{markdown}");
}
