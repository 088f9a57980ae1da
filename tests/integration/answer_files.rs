//! A file of predictions scores as it would after converting, real ones too.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use scholareval::dataset::{
    PairOptions, Scorable, ScorableOptions, load_answers, load_references, load_test_cases, scorable, supports,
};
use scholareval::domain::Mode;
use scholareval::scorer::citation::IndexBase;
use serde_json::{Value, json};

use crate::rubric_golden::shared;
use crate::support::workspace::{Workspace, plain_case};

/// The released answers of experts, with their passages.
fn human_answers() -> Option<PathBuf> {
    let path = shared()?.canonicalize().unwrap().join("data/scholarqa_multi/human_answers.json");
    if path.is_file() {
        return Some(path);
    }
    eprintln!("skipped: no released answers at {}", path.display());
    None
}

/// A test case for every question but each seventh, two for each tenth, the second ones at the end.
fn cases_for(path: &Path) -> (Vec<Value>, usize) {
    let items = scholareval::dataset::load_predictions(&[path.to_path_buf()]).unwrap().remove(0).items;
    let case = |id: String, input: &str| {
        let mut case = plain_case(&id);
        case["initial_prompt"] = input.into();
        case
    };
    let asked = || items.iter().enumerate().filter(|(at, _)| at % 7 != 0);
    let first = asked().map(|(at, item)| case(format!("case-{at}"), &item.input));
    let again = asked().filter(|(at, _)| at % 10 == 0).map(|(at, item)| case(format!("again-{at}"), &item.input));
    (first.chain(again).collect(), asked().count())
}

fn items_of(file: &Path, tests: &Path, compat: bool, agreement: bool) -> Scorable {
    let mode = if compat { Mode::Compat } else { Mode::Default };
    let tests = load_test_cases(tests, mode).unwrap();
    let systems = load_answers(&[file.to_path_buf()], mode).unwrap();
    let pairing = PairOptions { compat, agreement, ..PairOptions::default() };
    scorable(Some(&tests), &systems, None, &ScorableOptions { pairing, block: Some(IndexBase::Zero) }).unwrap()
}

/// What a rubric is judged on.
fn judged(made: &Scorable) -> Vec<(String, String, String)> {
    let of = |item: &scholareval::domain::Item| {
        let answer = &item.answer;
        (item.case.case_id.to_string(), answer.answer_text.to_string(), answer.own_text().to_owned())
    };
    made.rubric.iter().map(of).collect()
}

#[test]
fn the_released_expert_answers_score_directly_as_after_converting() {
    let Some(path) = human_answers() else { return };
    let (cases, asked) = cases_for(&path);
    let work = Workspace::with_cases(&cases);
    let (from, tests) = (path.to_str().unwrap(), work.path("tests.json"));
    for (compat, agreement) in [(false, false), (false, true), (true, false)] {
        let mode: &[&str] = if compat { &["--compat"] } else { &[] };
        work.run(&[&["convert", from, "--tests", "tests.json", "--out", "c.jsonl"][..], mode].concat()).exits_with(0);
        let direct = items_of(&path, &tests, compat, agreement);
        let converted = items_of(&work.path("c.jsonl"), &tests, compat, agreement);
        assert_eq!(judged(&direct), judged(&converted));
        // each tenth but each seventh of 108 places is asked twice: 10, 20, .., 100 without 70
        assert_eq!(direct.rubric.len(), asked + if agreement { 9 } else { 0 });
        let again = direct.rubric.iter().filter(|item| item.case.case_id.as_str().starts_with("again-")).count();
        assert_eq!(again, if compat || agreement { 9 } else { 0 }, "the reference takes the last of two cases");
        assert_eq!((direct.plain.len(), converted.plain.len()), (108, asked));
        assert!(judged(&direct).iter().all(|(_, text, own)| text.starts_with(&format!("{own}\nReferences:\n"))));
    }
}

#[test]
fn the_released_expert_answers_are_references_to_each_other_and_support_what_they_hold() {
    let Some(path) = human_answers() else { return };
    let systems = load_answers(std::slice::from_ref(&path), Mode::Default).unwrap();
    let references = load_references(&path).unwrap();
    let made = scorable(None, &systems, Some(&references), &ScorableOptions::default()).unwrap();
    let found = supports(&made);
    assert_eq!((made.plain.len(), found.questions, found.sources), (108, 108, 108));
    assert_eq!((found.rubric, found.gold_answer, found.gold_sources), (0, 0, 0));
    assert!(made.notes[0].ends_with("for 108 of 108 answers, by input"), "{:?}", made.notes);
    // one id stands twice in the file
    let mut ids = HashMap::new();
    made.plain.iter().for_each(|item| *ids.entry(item.case.case_id.as_str()).or_insert(0) += 1);
    assert_eq!(ids.len(), 108);
    for item in &made.plain {
        assert_eq!(item.answer.reference_answer.as_deref(), Some(&*item.answer.answer_text));
    }
}

#[test]
fn appended_references_count_as_length_in_compat_alone() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    let item = json!({"input": "What is known about c1?", "output": "word ".repeat(299) + "[0]",
                      "ctxs": [{"title": "T", "text": "long ".repeat(400)}]});
    work.write("p.jsonl", &item.to_string());
    work.run(&["convert", "p.jsonl", "--tests", "tests.json", "--out", "a.jsonl"]).exits_with(0);
    // 299 * 5 characters and those of the marker
    assert_eq!(work.lines("a.jsonl")[0]["references_from"], 299 * 5 + 3);
    let length = |out: &str, mode: &[&str]| {
        work.run(&[&["score", "a.jsonl", "--tests", "tests.json", "--out", out][..], mode].concat()).exits_with(0);
        work.lines(&format!("{out}/scores.jsonl"))[0]["components"]["length"].as_f64()
    };
    // 300 own words; more than 600 with the list
    assert_eq!((length("o", &[]), length("c", &["--compat"])), (Some(1.0), Some(0.0)));
    // the record keeps what is the answer's own
    work.run(&["rescore", "o", "--out", "again"]).exits_with(0);
    assert_eq!(work.lines("again/scores.jsonl"), work.lines("o/scores.jsonl"));
    work.run(&["convert", "p.jsonl", "--tests", "tests.json", "--out", "n.jsonl", "--references-block", "none"]);
    assert_eq!(work.lines("n.jsonl")[0].get("references_from"), None);
}

#[test]
fn a_wrong_place_of_references_is_told() {
    let work = Workspace::with_cases(&[plain_case("c1")]);
    work.write("a.jsonl", "{\"case_id\": \"c1\", \"answer_text\": \"abc\", \"references_from\": 4}");
    work.run(&["score", "a.jsonl", "--tests", "tests.json", "--out", "o"]).exits_with(3).says(&[
        "a.jsonl:1 (case c1): references_from: expected a whole number from 0 to 3 (characters of answer_text), found 4",
    ]);
}
