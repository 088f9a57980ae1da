//! Tests of comparisons, in every format.

use std::sync::Arc;

use super::{comparison_table, comparison_text};
use crate::analysis::comparison::{
    ComparedCase, ComparedRun, Comparison, ComparisonOptions, JudgedRole, LengthEffect,
    MetricComparison, MetricId, ObservedSystem, PairComparison, RunFactor, SystemMean,
};
use crate::domain::{CaseId, Note, SubjectKind, Unit};
use crate::report::{CsvText, TableStyle, render_json};
use crate::stats::{Interval, PairedMethod};

/// A name with markup of several formats.
const HOSTILE: &str = "a|b & \\input{x} <script>\u{1b}[2J\n_$%#^~\u{202e}*[l](http://x)";

fn around(center: f64, half: f64) -> Interval {
    Interval {
        low: center - half,
        high: center + half,
    }
}

fn system(at: usize, label: &str, mean: f64, letters: &str) -> SystemMean {
    SystemMean {
        system: at,
        label: label.to_owned(),
        rank: Some(at + 1),
        letters: letters.to_owned(),
        mean: Some(mean),
        interval: Some(around(mean, 0.0146)),
        own_mean: Some(mean),
        own_cases: 3,
        unscored: 0,
        missing: 0,
        bounds: None,
    }
}

fn pair(first: usize, second: usize, difference: f64, p: f64) -> PairComparison {
    PairComparison {
        is_at_look: false,
        method: Some(PairedMethod::BootstrapT),
        standard_error: None,
        first,
        second,
        difference,
        interval: Some(around(difference, 0.02)),
        p: Some(p),
        pointwise: Some(around(difference, 0.01)),
        pointwise_p: Some(p / 2.0),
        differs: p < 0.05,
        wins: 2,
        ties: 1,
        losses: 0,
        cohens_dz: Some(1.234),
        cliffs_delta: Some(0.5),
        bounds: None,
        sensitive: false,
        length: None,
        detectable: Some(0.03),
    }
}

fn metric(name: &str, unit: Unit) -> MetricComparison {
    let id = |at: usize| ComparedCase {
        case_id: CaseId::from(format!("c{at}").as_str()),
        question: Arc::from("why?"),
    };
    MetricComparison {
        metric: MetricId {
            scorer: "rubric".into(),
            name: name.to_owned(),
            unit,
            higher_is_better: true,
        },
        cases: (0..3).map(id).collect(),
        questions: 2,
        cases_in_all: 5,
        systems: vec![
            system(0, "careful", 0.485, "a"),
            SystemMean {
                unscored: 1,
                own_cases: 4,
                bounds: Some(Interval {
                    low: 0.3,
                    high: 0.5,
                }),
                ..system(1, "brief", 0.42, "a")
            },
            SystemMean {
                missing: 2,
                ..system(2, HOSTILE, 0.1, "b")
            },
        ],
        pairs: vec![
            PairComparison {
                sensitive: true,
                bounds: Some(Interval {
                    low: -0.05,
                    high: 0.1,
                }),
                length: Some(LengthEffect {
                    adjusted: -0.01,
                    interval: around(-0.01, 0.02),
                    words: 123.4,
                    changes_conclusion: true,
                    less_precise: false,
                }),
                ..pair(0, 1, 0.065, 0.0499)
            },
            pair(0, 2, 0.385, 0.000_01),
            PairComparison {
                p: None,
                interval: None,
                cohens_dz: None,
                differs: false,
                ..pair(1, 2, 0.32, 1.0)
            },
        ],
        method: Some(PairedMethod::BootstrapT),
        smallest_p: Some(0.0001),
        groups: vec![vec![0, 1], vec![2]],
        ranks: Some(vec![
            vec![0.9, 0.1, 0.0],
            vec![0.1, 0.9, 0.0],
            vec![0.0, 0.0, 1.0],
        ]),
        notes: vec![Note::info("A note on the metric.")],
    }
}

fn comparison(metrics: Vec<MetricComparison>) -> Comparison {
    let system = |(at, label): (usize, &str)| ObservedSystem {
        label: label.to_owned(),
        system: label.into(),
        run: at / 2,
    };
    let run = |name: &str| ComparedRun {
        name: name.to_owned(),
        ..ComparedRun::default()
    };
    Comparison {
        schema_version: 1,
        subject: SubjectKind::Answer,
        runs: vec![run("run1"), run("run\n2")],
        systems: ["careful", "brief", HOSTILE]
            .into_iter()
            .enumerate()
            .map(system)
            .collect(),
        options: ComparisonOptions::seeded(42),
        metrics,
        differences: vec!["different judge of rubric: gpt-4o (run1), x|y_\u{1b} (run2)".to_owned()],
        judged_by: vec![JudgedRole {
            role: "rubric".to_owned(),
            judge: "gpt-4o; prompts scholareval@1a2b3c4d".to_owned(),
            check: None,
            differs_from_published: Some("prompts scholareval@1a2b3c4d".to_owned()),
            runs: Vec::new(),
        }],
        pairwise: None,
        across: RunFactor::default(),
        judge_ranks: Vec::new(),
        judge_changes: Vec::new(),
        self_preference: Vec::new(),
        run_changes: Vec::new(),
        old_scales: Vec::new(),
        correction: None,
        gates: Vec::new(),
        left_out: Vec::new(),
    }
}

fn one_metric() -> Comparison {
    comparison(vec![metric("score", Unit::Share)])
}

fn two_metrics() -> Comparison {
    comparison(vec![
        metric("score", Unit::Share),
        metric("aspect_mean", Unit::Grade),
    ])
}

fn terminal(comparison: &Comparison) -> String {
    comparison_text(comparison, false, &TableStyle::default()).unwrap()
}

fn with_all_notes(comparison: &Comparison) -> String {
    comparison_text(
        comparison,
        false,
        &TableStyle {
            all_notes: true,
            ..TableStyle::default()
        },
    )
    .unwrap()
}

fn has_no_unseen(text: &str) -> bool {
    !text
        .chars()
        .any(|c| c != '\n' && (c.is_control() || c == '\u{202e}'))
}

#[test]
fn a_terminal_shows_tables_verdict_and_warnings() {
    let mut comparison = one_metric();
    comparison.metrics[0].systems[2].label = "vague".to_owned();
    let text = terminal(&comparison);
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn all_notes_are_shown_on_request() {
    insta::assert_snapshot!(
        with_all_notes(&one_metric())
            .split_once("Differences in score")
            .unwrap()
            .1
    );
}

#[test]
fn length_adjusted_differences_are_columns_on_request() {
    let style = TableStyle {
        width: 200,
        ..TableStyle::default()
    };
    let text = comparison_text(&one_metric(), true, &style).unwrap();
    let pairs = text.split_once("Differences in score").unwrap().1;
    let first = pairs.lines().find(|line| line.starts_with("careful"));
    // -0.01 [-0.03, 0.01] and 123.4 words
    assert!(
        first.unwrap().contains("-1.0 [-3.0, +1.0]") && first.unwrap().contains(" +123 "),
        "{pairs}"
    );
    assert!(
        text.contains("Without a length-adjusted difference: 2 of 3 pairs."),
        "{text}"
    );
    let csv = comparison_table(&one_metric(), true)
        .csv(CsvText::Guarded)
        .unwrap();
    assert!(csv.contains("length_adjusted,length_adjusted_low"), "{csv}");
    assert!(!terminal(&one_metric()).contains("Differences in score"));
}

#[test]
fn csv_has_a_row_for_each_system_and_pair_and_does_not_round() {
    let csv = comparison_table(&one_metric(), false)
        .csv(CsvText::Guarded)
        .unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    // 3 systems, 3 pairs
    assert_eq!(rows.len(), 6);
    let cell = |row: usize, key: &str| {
        rows[row][header.iter().position(|name| name == key).unwrap()].to_owned()
    };
    let system = [
        "kind", "scorer", "metric", "unit", "system", "group", "cases", "mean",
    ];
    assert_eq!(
        system.map(|key| cell(0, key)),
        [
            "system", "rubric", "score", "share", "careful", "a", "3", "0.485"
        ]
    );
    assert_eq!(
        (cell(0, "mean_low"), cell(0, "first")),
        ((0.485_f64 - 0.0146).to_string(), "0.9".to_owned())
    );
    let pair = [
        "kind",
        "system",
        "against",
        "difference",
        "difference_flag",
        "p",
        "wins_ties_losses",
    ];
    assert_eq!(
        pair.map(|key| cell(3, key)),
        ["pair", "careful", "brief", "0.065", "*!", "0.0499", "2/1/0"]
    );
    assert!(cell(5, "warnings").contains("different judge of rubric") && cell(5, "p").is_empty());
}

#[test]
fn json_is_the_comparison() {
    let json = render_json(&one_metric()).unwrap();
    assert!(has_no_unseen(&json));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["metrics"][0]["systems"][2]["label"], HOSTILE);
    assert_eq!(
        value["metrics"][0]["pairs"][0]["bounds"],
        serde_json::json!({"low": -0.05, "high": 0.1})
    );
    assert_eq!(
        (&value["schema_version"], &value["options"]["seed"]),
        (&1.into(), &42.into())
    );
    assert_eq!(value["judged_by"][0]["role"], "rubric");
    assert!(
        value["differences"][0]
            .as_str()
            .unwrap()
            .starts_with("different judge of rubric")
    );
}

#[test]
fn hostile_names_stay_text_in_every_format() {
    let csv = comparison_table(&one_metric(), false)
        .csv(CsvText::Guarded)
        .unwrap();
    for text in [terminal(&one_metric()), with_all_notes(&two_metrics()), csv] {
        assert!(has_no_unseen(&text), "{text}");
    }
}

#[test]
fn a_single_system_has_neither_groups_nor_pairs_nor_verdict() {
    let mut metric = metric("score", Unit::Share);
    (metric.pairs, metric.groups, metric.ranks) = (Vec::new(), Vec::new(), None);
    metric.systems.truncate(1);
    let text = terminal(&comparison(vec![metric]));
    let header = text
        .lines()
        .find(|line| line.starts_with("system"))
        .unwrap();
    assert_eq!(
        header.split_whitespace().collect::<Vec<_>>(),
        ["system", "mean", "cases", "unscored"]
    );
    assert!(
        !text.contains("differ significantly") && !text.contains("letter"),
        "{text}"
    );
}

#[test]
fn the_verdict_names_the_pairs_that_differ() {
    let verdict_of = |p_values: &[f64]| {
        let mut metric = metric("score", Unit::Share);
        metric.systems[2].label = "vague".to_owned();
        let places = [(0, 1), (0, 2), (1, 2)];
        metric.pairs = places
            .iter()
            .zip(p_values)
            .map(|((a, b), p)| pair(*a, *b, 0.034, *p))
            .collect();
        let comparison = comparison(vec![metric]);
        super::verdict::verdict(&comparison.metrics[0], super::verdict::VerdictWords::Higher)
    };
    assert_eq!(
        verdict_of(&[0.107]),
        "careful and brief do not differ significantly (+3.4 [1.4, 5.4], p = 0.107)."
    );
    assert_eq!(
        verdict_of(&[0.011, 0.2, 1.0]),
        "careful scores higher than brief (+3.4 [1.4, 5.4], p = 0.011); no other pair differs significantly."
    );
    assert_eq!(
        verdict_of(&[0.0001, 0.2]),
        "careful scores higher than brief (+3.4 [1.4, 5.4], p < 0.001); the other pair does not differ significantly."
    );
    assert_eq!(
        verdict_of(&[0.5, 0.2, 1.0]),
        "No pair differs significantly."
    );
    let many = verdict_of(&[0.01, 0.01, 0.01]);
    assert_eq!(
        many,
        "careful scores higher than all others (closest: brief, +3.4 [1.4, 5.4], p = 0.010); brief scores higher than vague (+3.4 \
         [1.4, 5.4], p = 0.010)."
    );
}

#[test]
fn with_a_baseline_the_verdict_names_it_and_no_letters_are_explained() {
    let mut comparison = two_metrics();
    comparison.options.baseline = Some("vague".to_owned());
    for metric in &mut comparison.metrics {
        metric
            .pairs
            .iter_mut()
            .for_each(|pair| pair.differs = false);
        metric
            .systems
            .iter_mut()
            .for_each(|system| system.letters.clear());
    }
    let text = terminal(&comparison);
    let verdict = "No system differs significantly from vague in score, aspect_mean.\n";
    assert!(text.starts_with(verdict), "{text}");
    assert!(!text.contains("share a letter"), "{text}");
}

#[test]
fn the_signs_in_the_means_are_explained_before_notes_on_single_metrics() {
    let mut comparison = two_metrics();
    for metric in &mut comparison.metrics {
        metric.notes = (0..9)
            .map(|at| Note::warning(format!("fault {at}")))
            .collect();
    }
    let text = terminal(&comparison);
    assert!(
        text.contains("- * Over the cases with a value of every system"),
        "{text}"
    );
    assert!(text.contains("more notes: --notes"), "{text}");
}

#[test]
fn several_metrics_begin_with_an_overview() {
    let text = terminal(&two_metrics());
    let row = text
        .lines()
        .find(|line| line.starts_with("careful  "))
        .unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["careful", "48.5a", "0.48a"],
        "{text}"
    );
    assert!(
        text.contains("\naspect_mean: careful scores higher than all others"),
        "{text}"
    );
}
