//! Tests of `render_table`, on small made summaries.

use super::*;
use crate::analysis::made::{answer, simple_score};
use crate::analysis::{AggregateOptions, OnUnscored, Summary, scorecard, summarize};
use crate::domain::{CaseId, Mode, ScoredAnswer, SystemName};

fn context() -> ReportContext {
    ReportContext {
        run: "runs/1".to_owned(),
        judge_label: "gpt-4o-2024-08-06".to_owned(),
        prompts_label: "set 5f0c2a19".to_owned(),
        comparability_note: Some("not comparable with published numbers".to_owned()),
        slice: None,
        names_roles: false,
        remarks: vec![],
        agreement: None,
        endpoints: vec![],
    }
}

fn answers(system: &str, values: &[Option<f64>]) -> Vec<ScoredAnswer> {
    let numbered = values.iter().enumerate();
    numbered.map(|(i, value)| answer(system, &format!("c{i}"), simple_score(*value))).collect()
}

/// Two systems; one answer is unscored, one is missing, one tries to steer.
fn eventful(options: AggregateOptions) -> Summary {
    let mut scored = answers("careful", &[Some(1.0), Some(0.9), Some(0.8), Some(1.0)]);
    scored.extend(answers("brief", &[Some(0.2), None, Some(0.5)]));
    scored[6].steering = vec!["a ready verdict".to_owned()];
    scored[0].score.notes = vec!["weights scaled: a property has no snippets".to_owned()];
    summarize(&scored, &[(SystemName::from("brief"), CaseId::from("c3"))], options)
}

fn options() -> AggregateOptions {
    AggregateOptions { seed: 42, ..AggregateOptions::default() }
}

fn at(width: u16) -> TableStyle {
    TableStyle { width, color: false, all_notes: false }
}

fn longest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn a_table_of_80_columns() {
    insta::assert_snapshot!(render_table(&eventful(options()), &context(), &at(80)));
}

#[test]
fn a_table_of_110_columns_has_every_interval_below_its_mean() {
    insta::assert_snapshot!(render_table(&eventful(options()), &context(), &at(110)));
}

#[test]
fn a_table_of_180_columns_has_every_interval_beside_its_mean() {
    insta::assert_snapshot!(render_table(&eventful(options()), &context(), &at(180)));
}

#[test]
fn a_lexical_table_says_that_it_is_a_baseline() {
    let table = render_table(&eventful(AggregateOptions { lexical: true, ..options() }), &context(), &at(80));
    insta::assert_snapshot!(table);
    let table = render_table(&eventful(AggregateOptions { lexical: true, ..options() }), &context(), &at(180));
    assert!(table.contains("is a baseline and no LLM"));
    assert!(!table.contains("rubric"));
}

#[test]
fn the_widest_numbers_fit_80_columns() {
    let system = "a_system_with_quite_a_long_name_that_goes_on";
    let mut summary = eventful(options());
    for row in &mut summary.rows {
        row.system = SystemName::from(system);
        (row.cases_scored, row.cases_kept) = (110, 110);
        let full = crate::analysis::Metric { estimate: Some(1.0), interval: Some((0.999, 1.0)), n: 1, unscored: 0 };
        row.metrics = crate::analysis::Metrics {
            score: full,
            ann_score: full,
            length: full,
            expertise: full,
            citations: full,
            excerpts: full,
        };
    }
    for lexical in [false, true] {
        summary.lexical = lexical;
        let table = render_table(&summary, &context(), &at(80));
        assert!(longest(&table) <= 80, "{table}");
        assert!(table.contains("99.9–100"), "{table}");
        assert!(table.contains("a_system_wi"), "the name is in shreds: {table}");
    }
}

#[test]
fn hostile_names_and_messages_cannot_reach_the_terminal() {
    let mut scored = answers("a\u{1b}[2J\u{202e}b\nc", &[Some(1.0), None]);
    scored[0].steering = vec!["\u{1b}]0;title\u{7}".to_owned()];
    scored[1].score.components[4].reason.as_mut().unwrap().message = "\u{9b}31m\r".to_owned();
    scored[0].score.notes = vec!["\u{8}note".to_owned()];
    let summary = summarize(&scored, &[(SystemName::from("\u{1b}c"), CaseId::from("\u{7f}"))], options());
    let context = ReportContext { judge_label: "\u{1b}[31m".to_owned(), ..context() };
    for width in [80, 110, 180] {
        let table = render_table(&summary, &context, &at(width));
        let bad: Vec<char> = table.chars().filter(|c| *c != '\n' && visible(&c.to_string()) != c.to_string()).collect();
        assert!(bad.is_empty(), "{bad:?} in {table}");
        assert!(table.contains(r"\u{1b}"), "{table}");
    }
}

#[test]
fn without_colour_there_is_no_escape_and_with_it_the_header_is_bold() {
    let summary = eventful(options());
    assert!(!render_table(&summary, &context(), &at(110)).contains('\u{1b}'));
    let coloured = render_table(&summary, &context(), &TableStyle { width: 110, color: true, all_notes: false });
    assert!(coloured.contains("\u{1b}[1m"), "{coloured}");
}

#[test]
fn published_prompts_carry_no_warning() {
    let context =
        ReportContext { prompts_label: "scholarqabench@95e6fc5".to_owned(), comparability_note: None, ..context() };
    let table = render_table(&eventful(options()), &context, &at(80));
    assert!(table.contains("prompts: scholarqabench@95e6fc5.\n") && !table.contains("not comparable"));
}

#[test]
fn policy_and_mode_are_told() {
    let options = AggregateOptions { mode: Mode::Compat, on_unscored: OnUnscored::Zero, ..options() };
    let table = render_table(&eventful(options), &context(), &at(180));
    assert!(table.contains("missing components counted as 0"), "{table}");
    assert!(table.contains("compat mode"), "{table}");
}

#[test]
fn agreement_is_noted_with_its_figures() {
    let agreement = Agreement {
        kendall_tau_b: Some(0.5),
        kendall_questions: 9,
        pearson: None,
        undefined: 1,
        ..Agreement::default()
    };
    let context = ReportContext { agreement: Some(agreement), ..context() };
    let table = render_table(&eventful(options()), &context, &at(400));
    assert!(table.contains("Kendall's tau-b 0.500 over 9 questions, Pearson's r undefined; undefined for 1 question."));
}

#[test]
fn a_run_without_answers_still_gives_a_table() {
    let table = render_table(&summarize::<ScoredAnswer>(&[], &[], options()), &context(), &at(80));
    assert!(table.contains("system") && table.contains("prompts:"));
}

#[test]
fn many_remarks_are_cut_and_counted() {
    let mut scored = answers("a", &[Some(1.0); 8]);
    for (i, answer) in scored.iter_mut().enumerate() {
        answer.score.notes = vec![format!("weights scaled by {i}")];
    }
    let table = render_table(&summarize(&scored, &[], options()), &context(), &at(80));
    assert_eq!(table.matches("weights scaled").count(), 5);
    assert!(table.contains("3 more of such remarks"), "{table}");
}

fn told(summary: &Summary) -> String {
    render_table(summary, &context(), &at(80)).replace("\n  ", " ")
}

#[test]
fn a_mean_over_few_cases_that_stands_first_is_marked_and_the_shared_means_are_told() {
    // beta has one case, and there it is the better one: 0.2 + 0.6 * 1 = 0.8 against 0.5; over all alpha has 0.65.
    let mut scored = answers("alpha", &[Some(0.5), Some(1.0)]);
    scored.extend(answers("beta", &[Some(1.0)]));
    let table = told(&summarize(&scored, &[], options()));
    let beta = table.lines().find(|line| line.starts_with("beta ")).unwrap();
    assert_eq!(beta.split_whitespace().nth(1), Some("80.0*"), "{table}");
    assert!(table.contains("- *: a mean over fewer cases than another system's: beta score 1 of 2."), "{table}");
    assert!(table.contains("the 1 case scored for all of them; over these cases: beta 80.0, alpha 50.0."), "{table}");
}

#[test]
fn a_system_without_a_score_is_not_said_to_have_been_ranked() {
    let mut scored = answers("alpha", &[Some(0.5), Some(1.0)]);
    scored.extend(answers("beta", &[None]));
    let table = told(&summarize(&scored, &[], options()));
    assert!(table.contains("- only alpha has a score, so nothing is ranked; without one: beta."), "{table}");
    scored.extend(answers("gamma", &[Some(0.5)]));
    let table = told(&summarize(&scored, &[], options()));
    assert!(table.contains("scored for all systems that have a score (none yet: beta)"), "{table}");
    assert!(table.contains("beta: 1 answer unscored, left out of the means (1 component unreadable, e.g."), "{table}");
}

#[test]
fn names_of_any_length_fit_80_columns_and_break_at_their_marks() {
    let hundred = |system: &str| -> Vec<ScoredAnswer> {
        let one = |at: usize| answer(system, &format!("c{at}"), simple_score(Some([0.4, 0.6][at % 2])));
        (0..100).map(one).collect()
    };
    let names = ["perplexity", "gpt-4o-2024-08-06", "openscholar_8b_reranked_with_feedback_and_more_words"];
    let scored: Vec<ScoredAnswer> = names.iter().flat_map(|name| hundred(name)).collect();
    let table = render_table(&summarize(&scored, &[], options()), &context(), &at(80));
    assert!(longest(&table) <= 80, "{table}");
    assert!(table.lines().any(|line| line.starts_with("perplexity ")), "{table}");
    assert!(table.lines().any(|line| line.starts_with("gpt-4o-2024-08-06 ")), "{table}");
    assert!(table.contains("openscholar_") && table.contains("more_words"), "{table}");
}

#[test]
fn a_part_of_the_answers_says_so_before_its_numbers() {
    let card = scorecard(&answers("alpha", &[Some(0.5)]), &[], options());
    let context = ReportContext { slice: Some("2/5".to_owned()), ..context() };
    let table = render_scorecard_table(&card, &context, &at(80));
    assert!(table.starts_with("slice 2/5: a part of the answers, no result\n\n"), "{table}");
    let json: serde_json::Value = serde_json::from_str(&render_scorecard_json(&card, &context).unwrap()).unwrap();
    assert_eq!(json["slice"], "2/5");
}
