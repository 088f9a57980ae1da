//! Citation entailment against the numbers and calls of the reference script.
//!
//! The judge is the golden file's stub. The reference asks one question after the other and repeats itself; our scorer
//! asks in rounds and never twice. `oracle` therefore walks an answer in the reference's order: its list of calls must
//! be the golden one, and our calls must be the distinct ones of that list.

mod oracle;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, CITATION_F1, CITATION_F1_MACRO, summarize};
use scholareval::dataset::{load_predictions, parse_predictions};
use scholareval::domain::{
    Answer, Attribution, CaseId, Mode, Prediction, Reading, Score, ScoredAnswer, TestCase,
    UnscoredKind, Verdict,
};
use scholareval::question::SourceSupport;
use scholareval::scorer::citation::IndexBase;
use scholareval::scorer::entailment::{EntailmentScorer, Form};
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use scholareval::stats::mean;
use serde_json::Value;

use oracle::{Asked, hex_sha256, stub, walk};

struct Golden {
    file: Value,
    human: Vec<Prediction>,
}

fn golden() -> Option<Golden> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let dir = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(text) = std::fs::read_to_string(dir.join("golden/citation_nli.json")) else {
        eprintln!("skipped: no golden numbers in {}", dir.display());
        return None;
    };
    let human = load_predictions(&dir.join("data/scholarqa_multi/human_answers.json"))
        .unwrap()
        .items;
    Some(Golden {
        file: serde_json::from_str(&text).unwrap(),
        human,
    })
}

fn parsed(items: &Value) -> Vec<Prediction> {
    parse_predictions(&items.to_string(), "x.json".as_ref())
        .unwrap()
        .items
}

impl Golden {
    /// The item of a row: given, or one of the file, perhaps with another output.
    fn item(&self, row: &Value) -> Prediction {
        if row.get("item").is_some() {
            return parsed(&Value::from(vec![row["item"].clone()])).remove(0);
        }
        let reference = row["ref"].as_str().unwrap();
        let index = reference
            .split(['[', ']'])
            .nth(1)
            .unwrap()
            .parse::<usize>()
            .unwrap();
        let mut item = self.human[index].clone();
        if let Some(output) = row["output"].as_str() {
            item.output = Some(output.into());
        }
        item
    }

    fn group(&self, data: &Value) -> Vec<Prediction> {
        match data.as_str() {
            None if data.as_array().unwrap().is_empty() => Vec::new(),
            None => parsed(data),
            Some(all) if all.ends_with("all 108") => self.human.clone(),
            Some(slice) => {
                let mut ends = slice
                    .split(['[', ':', ']'])
                    .filter_map(|end| end.parse::<usize>().ok());
                let (from, to) = (ends.next().unwrap(), ends.next().unwrap());
                self.human[from..to].to_vec()
            }
        }
    }
}

fn scorer(row: &Value, form: Form, mode: Mode) -> EntailmentScorer {
    let at_most = row["at_most_citations"]
        .as_u64()
        .map_or(usize::MAX, |at_most| at_most as usize);
    EntailmentScorer {
        form,
        at_most,
        index_base: IndexBase::Zero,
        mode,
    }
}

/// The score with the stub as the judge, and the distinct questions that were asked.
fn score(scorer: &EntailmentScorer, item: &Prediction) -> (Score, HashSet<(String, String)>) {
    let case = TestCase::without_rubric(CaseId::from("1"), &item.input);
    let mut answer = Answer::new("mine".into(), CaseId::from("1"), item.output());
    answer.prediction = Some(Arc::new(item.clone()));
    let mut verdicts = Verdicts::new();
    let mut asked = HashSet::new();
    loop {
        match scorer.step(&Subject::new(&case, &answer), &verdicts) {
            Step::Done(score) => return (score, asked),
            Step::Ask(calls) => {
                for call in calls {
                    let asked_of: &SourceSupport = call.question.downcast_ref().unwrap();
                    let document = asked_of.document.to_string();
                    let claim = asked_of.claim.to_string();
                    let label = if stub(&document, &claim) {
                        Attribution::Attributable
                    } else {
                        Attribution::Extrapolatory
                    };
                    assert!(
                        asked.insert((document, claim)),
                        "asked twice: {}",
                        call.item
                    );
                    verdicts.insert(call.item, Ok(Reading::new(Verdict::Attribution(label))));
                }
            }
        }
    }
}

fn value(score: &Score, name: &str) -> Option<f64> {
    score.component(name).and_then(|component| component.value)
}

fn distinct(walked: &[Asked]) -> HashSet<(String, String)> {
    walked
        .iter()
        .map(|call| (call.document.clone(), call.claim.clone()))
        .collect()
}

#[track_caller]
fn assert_close(found: Option<f64>, expected: &Value, what: &str) {
    match expected.as_f64() {
        Some(expected) => assert!(
            (found.unwrap() - expected).abs() < 1e-12,
            "{what}: {found:?} is not {expected}"
        ),
        None => assert_eq!(found, None, "{what}"),
    }
}

fn rows(golden: &Golden) -> Vec<(Form, &Value)> {
    let of = |name: &str, form| {
        golden.file[name]
            .as_array()
            .unwrap()
            .iter()
            .map(move |row| (form, row))
    };
    of("long", Form::Long)
        .chain(of("short", Form::Short))
        .collect()
}

#[test]
fn every_golden_answer_has_the_references_scores_and_calls_in_compat() {
    let Some(golden) = golden() else { return };
    let rows = rows(&golden);
    assert!(rows.len() >= 200);
    for (form, row) in rows {
        let what = format!("{form:?} {}", row["i"]);
        let scorer = scorer(row, form, Mode::Compat);
        let item = golden.item(row);
        let (score, asked) = score(&scorer, &item);
        if row["result"]["exception"].is_string() {
            let reason = score
                .component("citation_recall")
                .unwrap()
                .reason
                .clone()
                .unwrap();
            assert_eq!(reason.kind, UnscoredKind::Exception, "{what}");
            assert!(asked.is_empty());
            continue;
        }
        assert_close(
            value(&score, "citation_recall"),
            &row["result"]["citation_rec"][0],
            &what,
        );
        assert_close(
            value(&score, "citation_precision"),
            &row["result"]["citation_prec"][0],
            &what,
        );
        if form == Form::Long && value(&score, "citation_recall").is_some() {
            assert_close(
                value(&score, "cited_papers"),
                &row["result"]["cited_paper_numbers"],
                &what,
            );
        }
        let walked = walk(&scorer, &item);
        let calls: Vec<Value> = walked.calls.iter().map(Asked::line).collect();
        assert_eq!(&Value::from(calls), &row["calls"], "{what}");
        assert_eq!(walked.calls.len() as u64, row["n_calls"].as_u64().unwrap());
        assert_eq!(asked, distinct(&walked.calls), "{what}");
    }
}

#[test]
fn every_golden_group_has_the_references_means_and_calls_in_compat() {
    let Some(golden) = golden() else { return };
    for row in golden.file["groups"].as_array().unwrap() {
        let what = format!("group {}", row["i"]);
        let form = if row["form"] == "short" {
            Form::Short
        } else {
            Form::Long
        };
        let scorer = scorer(row, form, Mode::Compat);
        let items = golden.group(&row["data"]);
        let scores: Vec<Score> = items.iter().map(|item| score(&scorer, item).0).collect();
        let all = |name: &str| {
            scores
                .iter()
                .filter_map(|score| value(score, name))
                .collect::<Vec<f64>>()
        };
        for (name, theirs) in [
            ("citation_recall", "citation_rec"),
            ("citation_precision", "citation_prec"),
        ] {
            let expected = row["result"][format!("{theirs}_all")].as_array().unwrap();
            assert_eq!(all(name).len(), expected.len(), "{what}");
            for (own, expected) in all(name).into_iter().zip(expected) {
                assert_close(Some(own), expected, &what);
            }
            assert_close(
                mean(&all(name)).map(|mean| 100.0 * mean),
                &row["result"][theirs],
                &what,
            );
        }
        if form == Form::Long {
            assert_close(
                mean(&all("cited_papers")),
                &row["result"]["cited_paper_numbers"],
                &what,
            );
        }
        let calls: Vec<Asked> = items
            .iter()
            .flat_map(|item| walk(&scorer, item).calls)
            .collect();
        assert_eq!(
            calls.len() as u64,
            row["n_calls"].as_u64().unwrap(),
            "{what}"
        );
        let lines =
            serde_json::to_string(&calls.iter().map(Asked::line).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            hex_sha256(lines.as_bytes()),
            row["calls_sha256"].as_str().unwrap(),
            "{what}"
        );
    }
}

#[test]
fn by_default_only_answers_on_a_fault_of_the_reference_differ_from_it() {
    let Some(golden) = golden() else { return };
    let mut equal = 0;
    for (form, row) in rows(&golden) {
        let what = format!("{form:?} {}", row["i"]);
        let scorer = scorer(row, form, Mode::Default);
        let item = golden.item(row);
        let (score, asked) = score(&scorer, &item);
        let walked = walk(&scorer, &item);
        assert_eq!(asked, distinct(&walked.calls), "{what}");
        assert_close(
            value(&score, "citation_recall"),
            &walked.recall.into(),
            &what,
        );
        assert_close(
            value(&score, "citation_precision"),
            &walked.precision.into(),
            &what,
        );
        if walked.on_a_fault {
            continue;
        }
        equal += 1;
        assert_close(
            value(&score, "citation_recall"),
            &row["result"]["citation_rec"][0],
            &what,
        );
        assert_close(
            value(&score, "citation_precision"),
            &row["result"]["citation_prec"][0],
            &what,
        );
        let calls: Vec<Value> = walked.calls.iter().map(Asked::line).collect();
        assert_eq!(&Value::from(calls), &row["calls"], "{what}");
    }
    assert!(equal >= 100, "{equal} rows are on no fault");
}

/// Rows on a fault of the reference: recall and precision by default, with the arithmetic.
const MENDED: [(&str, Option<u64>, Form, f64, f64); 12] = [
    // [2][2] is one citation, which supports: 1/1, 1/1.
    ("dup", None, Form::Long, 1.0, 1.0),
    ("triple_dup", Some(3), Form::Long, 1.0, 1.0),
    // [6] [4] of 6 sources: 0 of 2, the next two cite nothing, [1] supports: 1/4, 1/3.
    ("random_15", Some(3), Form::Long, 0.25, 1.0 / 3.0),
    // [6], out of range, is a wrong citation: 0/2, 0/1.
    ("random_13", Some(3), Form::Long, 0.0, 0.0),
    ("equal_len", Some(3), Form::Long, 0.0, 0.0),
    ("four_last_out_of_range", Some(3), Form::Long, 0.0, 0.0),
    // [4] [3], then [0] [0], here once. Golden calls: both supported; 4 does not support alone and 3 does, so 4 is not
    // needed; 0 supports: 2/2, 2/3.
    ("random_7", Some(3), Form::Long, 1.0, 2.0 / 3.0),
    // [0] in the question is not a citation of the answer: 0/1.
    ("citation_in_input", Some(3), Form::Short, 0.0, 0.0),
    // [2020] in the question is none; [0] is asked, and the stub's hash begins with e: 0/1, 0/1.
    ("year_bracket_in_input", Some(3), Form::Short, 0.0, 0.0),
    // [3 patients] is none; [0] alone, which the golden row shows as support (its third call).
    ("text_bracket", Some(3), Form::Short, 1.0, 1.0),
    ("no_docs", Some(3), Form::Short, 0.0, 0.0),
    // docs has 2 of 6: [3] is out of range instead of an IndexError.
    ("docs_shorter_than_ctxs", Some(3), Form::Long, 0.0, 0.0),
];

#[test]
fn rows_on_a_fault_of_the_reference_have_stated_values_of_their_own() {
    let Some(golden) = golden() else { return };
    let mut found = 0;
    for (form, row) in rows(&golden) {
        let row_key = (
            row["ref"].as_str().unwrap(),
            row["at_most_citations"].as_u64(),
            form,
        );
        let Some(mended) = MENDED.iter().find(|m| (m.0, m.1, m.2) == row_key) else {
            continue;
        };
        let (score, _) = score(&scorer(row, form, Mode::Default), &golden.item(row));
        assert_close(value(&score, "citation_recall"), &mended.3.into(), mended.0);
        assert_close(
            value(&score, "citation_precision"),
            &mended.4.into(),
            mended.0,
        );
        found += 1;
    }
    assert!(found > 0);
}

#[test]
fn the_f1_of_the_expert_answers_comes_from_their_mean_precision_and_recall() {
    let Some(golden) = golden() else { return };
    let Some(row) = golden.file["groups"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["tag"] == "file")
    else {
        return;
    };
    let scorer = scorer(row, Form::Long, Mode::Compat);
    let answer = |(at, item): (usize, &Prediction)| {
        let case = TestCase::without_rubric(CaseId::from(at.to_string().as_str()), "");
        let score = score(&scorer, item).0;
        Arc::new(ScoredAnswer::new("expert".into(), Arc::new(case), score))
    };
    let answers: Vec<Arc<ScoredAnswer>> = golden.human.iter().enumerate().map(answer).collect();
    let options = AggregateOptions {
        mode: Mode::Compat,
        ..AggregateOptions::default()
    };
    let summary = summarize(&answers, &[], options).scorers.remove(0);
    let estimate = |name: &str| summary.rows[0].metrics[name].estimate.unwrap();
    let (p, r) = (
        row["result"]["citation_prec"].as_f64().unwrap(),
        row["result"]["citation_rec"].as_f64().unwrap(),
    );
    assert!((100.0 * estimate(CITATION_F1) - 2.0 * p * r / (p + r)).abs() < 1e-10);
    assert!(estimate(CITATION_F1_MACRO) < estimate(CITATION_F1));
}
