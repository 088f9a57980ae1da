//! Tests of the scorecard, on small synthetic summaries.

use serde_json::{Value, json};

use super::*;
use crate::analysis::AggregateOptions;
use crate::analysis::test_support::{answer, component, simple_score, summary_of};
use crate::domain::{CaseId, ComponentKind, MemberValues, Score, ScoredAnswer, ScorerId};
use crate::report::TableStyle;

fn context() -> ReportContext {
    ReportContext {
        run: "runs/1".to_owned(),
        judge: "gpt-4o-2024-08-06".to_owned(),
        prompts: "set 1".to_owned(),
        ..ReportContext::default()
    }
}

fn options() -> AggregateOptions {
    AggregateOptions {
        seed: 42,
        ..AggregateOptions::default()
    }
}

fn answers(system: &str, values: &[Option<f64>]) -> Vec<ScoredAnswer> {
    let numbered = values.iter().enumerate();
    numbered
        .map(|(i, value)| answer(system, &format!("c{i}"), simple_score(*value)))
        .collect()
}

fn plain(system: &str, case: &str, parts: &[(&str, ComponentKind, Option<f64>)]) -> ScoredAnswer {
    let components = parts
        .iter()
        .map(|(name, kind, value)| component(name, *kind, 0.0, *value))
        .collect();
    answer(
        system,
        case,
        Score {
            scorer: "prometheus".into(),
            components,
            ..Score::default()
        },
    )
}

/// Two systems; one answer is unscored, one is missing, one has signs of prompt injection.
fn eventful(options: AggregateOptions) -> Summary {
    let mut scored = answers("careful", &[Some(1.0), Some(0.9), Some(0.8), Some(1.0)]);
    scored.extend(answers("brief", &[Some(0.2), None, Some(0.5)]));
    scored[6].injection = vec!["a ready verdict".to_owned()];
    scored[0].score.notes = vec!["weights scaled: a property has no snippets".to_owned()];
    summary_of(
        &scored,
        &[(SystemName::from("brief"), CaseId::from("c3"))],
        options,
    )
}

/// Grades and a share by another scorer, and with `with_rubric` one answer by the rubric.
fn graded(with_rubric: bool) -> Summary {
    let grade = |value| ("coverage", ComponentKind::Aspect, value);
    let mut scored = vec![
        plain(
            "a\u{1b}",
            "1",
            &[grade(Some(4.0)), ("match", ComponentKind::Share, Some(0.5))],
        ),
        plain("a\u{1b}", "2", &[grade(Some(2.0))]),
        plain("b", "1", &[grade(None)]),
    ];
    if with_rubric {
        scored.push(answer("b", "1", simple_score(Some(1.0))));
    }
    summary_of(&scored, &[], AggregateOptions::default())
}

fn shown_at(summary: &Summary, context: &ReportContext, width: u16) -> String {
    let style = TableStyle {
        width,
        ..TableStyle::default()
    };
    let notes = notes(summary, context);
    let tables: Vec<String> = scorecard(summary, context)
        .iter()
        .map(|table| table.terminal(&style))
        .collect();
    tables.join("\n") + &style.notes(&notes)
}

/// Wide, with unwrapped notes.
fn render(summary: &Summary) -> String {
    shown_at(summary, &context(), 1000)
}

fn words(text: &str, start: &str) -> Vec<String> {
    let line = text
        .lines()
        .find(|line| line.starts_with(start))
        .unwrap_or_else(|| panic!("no {start} in {text}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn the_rubric_fits_80_columns_and_names_the_columns_that_do_not() {
    let table = shown_at(&eventful(options()), &context(), 80);
    assert!(
        table.starts_with(
            "Means per answer, 95% intervals, shares in %; judge: gpt-4o-2024-08-06\n"
        ),
        "{table}"
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
        "{table}"
    );
    assert!(
        table.contains("Not shown at this width (see --format csv): "),
        "{table}"
    );
}

#[test]
fn a_wide_terminal_shows_every_column_with_its_interval() {
    let table = shown_at(&eventful(options()), &context(), 180);
    // 0.2 + 0.6 * (0.2 | 0.5): two of the four cases have a score; t = 12.7 with one degree of freedom
    assert_eq!(
        words(&table, "brief")[..7],
        ["brief", "41.0*", "[1.4,", "97.3]", "3", "1", "1"],
        "{table}"
    );
    assert_eq!(words(&table, "careful")[4..7], ["4", "0", "0"], "{table}");
    assert!(!table.contains("Not shown"), "{table}");
    for note in [
        "1 answer missing: brief/c3.",
        "1 answer with signs of prompt injection: brief/c2 (a ready verdict).",
    ] {
        assert!(table.contains(note), "{table}");
    }
}

#[test]
fn a_lexical_table_names_the_baseline() {
    let scored = answers("a", &[Some(1.0), Some(0.5)])
        .into_iter()
        .map(|mut answer| {
            answer.score.scorer = ScorerId::baseline("rubric");
            answer
        });
    let summary = summary_of(&scored.collect::<Vec<_>>(), &[], options());
    let table = render(&summary);
    assert!(
        table.contains("- Scored by the built-in lexical baseline, not by an LLM.\n"),
        "{table}"
    );
    assert_eq!(
        words(&table, "system")[..3],
        ["system", "lexical_score", "answers"],
        "{table}"
    );
    let csv = scorecard_csv(&summary, CsvText::Guarded).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert!(
        header.contains(&"lexical_score")
            && !header.contains(&"score")
            && !header.contains(&"ann_score")
    );
}

#[test]
fn hostile_names_and_messages_cannot_reach_the_terminal() {
    let mut scored = answers("a\u{1b}[2J\u{202e}b\nc", &[Some(1.0), None]);
    scored[0].injection = vec!["\u{1b}]0;title\u{7}".to_owned()];
    scored[1].score.components[4]
        .reason
        .as_mut()
        .unwrap()
        .message = "\u{9b}31m\r".to_owned();
    scored[0].score.notes = vec!["\u{8}note".to_owned()];
    let summary = summary_of(
        &scored,
        &[(SystemName::from("\u{1b}c"), CaseId::from("\u{7f}"))],
        options(),
    );
    let context = ReportContext {
        judge: "\u{1b}[31m".to_owned(),
        ..context()
    };
    for width in [80, 180] {
        let table = shown_at(&summary, &context, width);
        let bad: Vec<char> = table
            .chars()
            .filter(|c| *c != '\n' && visible(&c.to_string()) != c.to_string())
            .collect();
        assert!(bad.is_empty(), "{bad:?} in {table}");
        assert!(table.contains(r"\u{1b}"), "{table}");
    }
}

#[test]
fn policy_and_mode_are_named() {
    let options = AggregateOptions {
        mode: Mode::Compat,
        on_unscored: OnUnscored::Zero,
        ..options()
    };
    let table = render(&eventful(options));
    assert!(
        table.contains("counted as the lowest value: brief 1 of 3"),
        "{table}"
    );
    assert!(table.contains("- Compat mode: "), "{table}");
}

#[test]
fn agreement_of_annotators_is_a_table() {
    let agreement = Agreement {
        kendall_tau_b: Some(0.5),
        kendall_questions: 9,
        ..Agreement::default()
    };
    let table = shown_at(
        &eventful(options()),
        &ReportContext {
            agreement: Some(agreement),
            ..context()
        },
        180,
    );
    assert_eq!(
        words(&table, "Kendall's tau-b"),
        ["Kendall's", "tau-b", "0.500", "9"],
        "{table}"
    );
    assert_eq!(words(&table, "Pearson's r")[2..], ["-", "0"], "{table}");
}

#[test]
fn a_run_without_answers_still_gives_a_table() {
    assert!(render(&summary_of(&[], &[], options())).contains("No answer was scored"));
}

#[test]
fn a_mean_over_fewer_cases_is_flagged_and_the_shared_means_are_in_the_note() {
    // beta has one case, and is better there: 0.2 + 0.6 * 1 = 0.8 against 0.5; over all cases alpha has 0.65.
    let mut scored = answers("alpha", &[Some(0.5), Some(1.0)]);
    scored.extend(answers("beta", &[Some(1.0)]));
    let table = render(&summary_of(&scored, &[], options()));
    assert_eq!(
        words(&table, "beta")[..3],
        ["beta", "80.0*", "1"],
        "{table}"
    );
    let note = "* mean over fewer than 2 answers (rubric). score over the shared cases: beta 80.0; alpha 50.0.";
    assert!(table.contains(note), "{table}");
    let mut apart = answers("alpha", &[Some(0.5)]);
    apart.push(answer("beta", "other", simple_score(Some(1.0))));
    let table = render(&summary_of(&apart, &[], options()));
    assert!(!table.contains('*'), "{table}");
}

#[test]
fn grades_have_two_decimals_and_what_is_missing_is_never_zero() {
    let table = render(&graded(false));
    assert!(
        table.contains("3.00 [1.02, 4.98]") && table.contains("a\\u{1b}"),
        "{table}"
    );
    assert_eq!(words(&table, "b "), ["b", "-", "-", "1", "1"], "{table}");
    assert!(
        table.contains("left out of the means: b 1 of 1 ("),
        "{table}"
    );
    assert!(table.contains("50.0*"), "{table}");
}

#[test]
fn the_main_numbers_of_all_scorers_are_in_one_table_first() {
    let table = render(&graded(true));
    assert!(table.starts_with("Means per answer"), "{table}");
    let header = words(&table, "system");
    assert_eq!(
        header,
        [
            "system", "score", "coverage", "match", "answers", "unscored"
        ],
        "{table}"
    );
    // the rubric's answer of b is its only one; missing values are dashes
    assert_eq!(
        words(&table, "b "),
        ["b", "80.0", "-", "-", "1", "1"],
        "{table}"
    );
    // a match of one of its two answers
    let a = [
        "a\\u{1b}", "-", "3.00", "[1.02,", "4.98]", "50.0*", "2", "0",
    ];
    assert_eq!(words(&table, "a\\u{1b} "), a, "{table}");
    assert_eq!(scorer_tables(&graded(true), false).len(), 2);
    assert!(
        scorer_tables(&graded(false), false).is_empty(),
        "one scorer's table is enough"
    );
}

#[test]
fn a_slice_is_named_first() {
    let context = ReportContext {
        part: Some("slice 2/5".to_owned()),
        ..context()
    };
    let summary = summary_of(&answers("alpha", &[Some(0.5)]), &[], options());
    let table = shown_at(&summary, &context, 80);
    assert!(
        table.contains("\n- A part of the answers, not a result: slice 2/5.\n"),
        "{table}"
    );
    let json: Value = serde_json::from_str(&scorecard_json(&summary, &context).unwrap()).unwrap();
    assert_eq!(json["part"], "slice 2/5");
}

#[test]
fn json_has_every_number_and_every_note() {
    let json: Value =
        serde_json::from_str(&scorecard_json(&eventful(options()), &context()).unwrap()).unwrap();
    assert_eq!(
        (&json["schema_version"], &json["judge"]),
        (&json!(1), &json!("gpt-4o-2024-08-06"))
    );
    let rubric = &json["scorers"][0];
    assert_eq!(
        (&rubric["scorer"], &rubric["columns"][0]),
        (&json!("rubric"), &json!({"name": "score", "unit": "share"}))
    );
    let brief = &rubric["rows"][1];
    assert_eq!(
        (&brief["system"], &brief["rank"], &brief["missing"]),
        (&json!("brief"), &json!(2), &json!(1))
    );
    // (0.32 + 0.5) / 2; with the missing value 0 or 1: (0.82 + 0.2) / 3 and (0.82 + 0.8) / 3
    let score = &brief["metrics"]["score"];
    assert!((score["estimate"].as_f64().unwrap() - 0.41).abs() < 1e-12);
    assert!((score["bounds"]["high"].as_f64().unwrap() - 0.54).abs() < 1e-12);
    assert!(
        json["notes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|note| note["severity"] == "info")
    );
    assert!(json.get("panels").is_none() && json.get("noise").is_none());
}

#[test]
fn csv_has_a_row_a_system_and_empty_cells_for_what_is_missing() {
    for with_rubric in [true, false] {
        let csv = scorecard_csv(&graded(with_rubric), CsvText::Guarded).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(
            lines[0].contains(",coverage,coverage_low,coverage_high,"),
            "{csv}"
        );
        let a = lines
            .iter()
            .find(|line| line.starts_with("a\\u{1b}"))
            .unwrap();
        assert!(
            a.contains(",3,1.0245") && a.ends_with(",2,0,0.5,,,1,0,2,0,0"),
            "{a}"
        );
    }
    let csv = scorecard_csv(&eventful(options()), CsvText::Guarded).unwrap();
    assert!(
        csv.starts_with("system,rank,score,score_low,score_high,score_n,score_unscored,ann_score,"),
        "{csv}"
    );
    assert!(
        csv.lines().nth(2).unwrap().starts_with("brief,2,0.41"),
        "{csv}"
    );
}

#[test]
fn panels_and_noise_are_in_json_and_notes() {
    let panel_answer = |(at, grades): (usize, [f64; 2])| {
        let mut scored = plain(
            "s",
            &at.to_string(),
            &[("coverage", ComponentKind::Aspect, Some(3.0))],
        );
        let members = ["strict", "kind"]
            .iter()
            .zip(grades)
            .map(|(judge, grade)| MemberValues {
                stops_early: false,
                judge: (*judge).into(),
                value: Some(grade),
                samples: vec![Some(grade)],
                spread: None,
            });
        scored.members.insert("coverage".into(), members.collect());
        scored
    };
    let mut scored: Vec<ScoredAnswer> = [[1.0, 2.0], [2.0, 2.0], [4.0, 5.0]]
        .into_iter()
        .enumerate()
        .map(panel_answer)
        .collect();
    scored[0]
        .members
        .values_mut()
        .for_each(|members| members[0].samples.push(Some(3.0)));
    let summary = summary_of(&scored, &[], AggregateOptions::default());
    let json: Value = serde_json::from_str(&scorecard_json(&summary, &context()).unwrap()).unwrap();
    let panel = &json["panels"][0];
    assert_eq!(
        (&panel["scorer"], &panel["group"]),
        (&json!("prometheus"), &json!("coverage"))
    );
    assert_eq!(
        (&panel["scale"], &panel["judges"][1]["judge"]),
        (&json!("grade"), &json!("kind"))
    );
    // (2 + 2 + 5) / 3
    assert_eq!(panel["judges"][1]["mean"], 3.0);
    assert!(panel["alpha"]["estimate"].is_f64() && panel["kappa"]["low"].is_f64());
    // 1 and 3: the square root of 2
    assert!((json["noise"][0]["mean_sd"].as_f64().unwrap() - 2.0_f64.sqrt()).abs() < 1e-12);
    let notes = json["notes"].to_string();
    assert!(
        notes.contains("prometheus coverage: judges strict, kind: alpha 0."),
        "{notes}"
    );
    let noise = "prometheus coverage: noise of strict in 2 samples of grades from 1 to 5: standard deviation 1.41 on \
                 average, all equal in 0.0% of 1 rating.";
    assert!(notes.contains(noise), "{notes}");
}

#[test]
fn the_f1_that_the_verdict_compares_is_next_to_that_of_the_means() {
    let cited = |system: &str, value: f64| {
        let part = |name: &str| component(name, ComponentKind::Share, 0.0, Some(value));
        let components = ["citation_precision", "citation_recall", "citation_f1"].map(part);
        let score = Score {
            scorer: "entailment".into(),
            components: components.to_vec(),
            ..Score::default()
        };
        answer(system, "c1", score)
    };
    let headings = |scored: &[ScoredAnswer]| {
        let summary = summary_of(scored, &[], options());
        words(&shown_at(&summary, &context(), 80), "system")
    };
    let two = headings(&[cited("a", 0.5), cited("b", 0.4)]);
    assert_eq!(two[..3], ["system", "citation_f1", "citation_f1_macro"]);
    let one = headings(&[cited("a", 0.5)]);
    assert_eq!(one[..3], ["system", "citation_f1", "answers"]);
}

#[test]
fn an_unfinished_run_says_what_it_rests_on_and_has_no_winner_over_different_cases() {
    let context = ReportContext {
        unfinished: true,
        ..context()
    };
    let table_of = |alpha: &[Option<f64>], beta: &[Option<f64>]| {
        let mut scored = answers("alpha", alpha);
        scored.extend(answers("beta", beta));
        let summary = summary_of(&scored, &[], options());
        let best = scorecard(&summary, &context)[0].is_best(0, 1);
        (shown_at(&summary, &context, 200), best)
    };
    // The better one has a score of another case, the easier one.
    let (table, has_best) = table_of(&[Some(0.9), Some(0.9), None], &[Some(0.1), None, None]);
    let note = "- Unfinished run: every system has a value of score for 1 of 3 cases.\n";
    assert!(table.contains(note) && !has_best, "{table}");

    let (table, has_best) = table_of(&[Some(0.9), Some(0.9), None], &[Some(0.1), Some(0.2), None]);
    let note = "- Unfinished run: every system has a value of score for 2 of 3 cases.\n";
    assert!(table.contains(note) && has_best, "{table}");

    let (table, has_best) = table_of(&[Some(0.9), None], &[None, Some(0.1)]);
    let note = "- Unfinished run: no case has a value of score for every system, so the systems cannot be compared.\n";
    assert!(table.contains(note) && !has_best, "{table}");
    let (table, has_best) = table_of(&[Some(0.9), None], &[None, None]);
    assert!(table.contains(note) && !has_best, "{table}");
}
