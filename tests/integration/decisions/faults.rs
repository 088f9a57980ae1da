//! Every fault of the fake server, each at one answer: its verdicts are gone for a reason, those beside it stay, and nothing that
//! was answered is sent again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fake::{Decider, SHAPES, fault_kinds, run, score_of, workspace};
use crate::support::workspace::Workspace;

/// What becomes of the three criteria of an answer.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    /// All have verdicts.
    Whole,
    /// The first has none, for this reason.
    First(&'static str),
    /// The last has none.
    Last(&'static str),
    /// None has one.
    All(&'static str),
}

use Fate::{All, First, Last, Whole};

const FORMS: [&str; 3] = ["predicate", "choice", "score"];

/// The fate by a fault of a reply, and how many requests it takes: one; with one unreadable answer that item alone; if nothing
/// can be read, two repeats and each item alone.
fn fate(fault: &str, form: &str, judge: &str) -> (Fate, u64) {
    let is_listed = judge == "decisions";
    let is_predicate = form == "predicate";
    match fault {
        "missing" => (Last("missing"), 1),
        // An entry of a list that is null has no name.
        "null" if is_listed => (All("unreadable"), 6),
        "null" => (Last("missing"), 1),
        "empty" => (All("missing"), 1),
        "twice" | "nameless" if is_listed => (All("unreadable"), 6),
        "nan" => (All("unreadable"), 6),
        "above-one" | "below-zero" | "nan-text" | "other-type" => (First("unreadable"), 2),
        "sum-50" | "label-missing" | "contradict" if !is_predicate => (First("unreadable"), 2),
        // The entries of a list of levels are known by their places, which this fault leaves alone.
        "label-unknown" if form == "choice" || form == "score" && !is_listed => {
            (First("unreadable"), 2)
        }
        "refusal" => (First("refused"), 1),
        "refuse-all" | "blocked" => (All("refused"), 1),
        // All three, two and one, one and one.
        "long" | "e413" => (All("context_overflow"), 5),
        "e400" | "e422" => (All("refused"), 1),
        "cut" | "drop" | "close" | "blank" | "html" | "error-200" | "hang" => {
            (All("unreachable"), 2)
        }
        status if status.starts_with('e') && status[1..].parse::<u16>().is_ok() => {
            (All("unreachable"), 2)
        }
        _ => (Whole, 1),
    }
}

/// Whether the fault leaves no reply that is kept, so that the same command asks again.
fn is_asked_again(fate: Fate, fault: &str) -> bool {
    fate == All("unreachable") || fault == "e400" || fault == "e422"
}

/// Faults at which a run stops, with the exit code 4.
const STOPPING: [&str; 5] = ["e401", "e402", "e403", "e404", "e501"];

/// A rubric whose criteria are asked in this form, and the probabilities that the server gives for three criteria.
fn asked_as(form: &str) -> (&'static str, [&'static str; 3]) {
    match form {
        "predicate" => ("healthbench", ["0.9", "0.8", "0.3"]),
        "choice" => ("criteria", [".8,.1,.1", ".7,.2,.1", ".2,.7,.1"]),
        _ => ("researchrubrics", [".1,.1,.8", ".1,.2,.7", ".7,.2,.1"]),
    }
}

/// An answer for each fault, named after it, and one without.
fn workspace_of(form: &str, faults: &[&str]) -> (Workspace, &'static str) {
    let (rubric, probabilities) = asked_as(form);
    let case = |fault: &&str| {
        let criterion =
            |(at, p): (usize, &&str)| (format!("Criterion {at} @p={p}@"), [5, 3, -4][at]);
        let criteria = probabilities.iter().enumerate().map(criterion);
        let mark = if *fault == "none" {
            String::new()
        } else {
            format!("@fault={fault}@")
        };
        (
            (*fault).to_owned(),
            format!("Question {mark}"),
            criteria.collect(),
        )
    };
    let cases: Vec<_> = faults.iter().map(case).collect();
    (workspace(rubric, &cases), rubric)
}

#[test]
fn a_fault_concerns_the_answers_that_it_concerns_and_nothing_is_sent_twice() {
    passes_through("systemone");
}

#[test]
fn so_it_does_among_answers_in_a_list() {
    passes_through("decisions");
}

/// Runs over all faults that do not stop a run, with each form of question.
#[track_caller]
fn passes_through(judge: &str) {
    let Some(kinds) = fault_kinds() else { return };
    assert_eq!(kinds.len(), 48, "{kinds:?}");
    for form in FORMS {
        let passing = kinds
            .iter()
            .map(String::as_str)
            .filter(|kind| !STOPPING.contains(kind));
        // Its time-outs take the longest, and are the same in every form.
        let passing = passing.filter(|kind| *kind != "hang" || form == "predicate");
        let mut faults: Vec<&str> = passing.collect();
        faults.insert(0, "none");
        let (work, rubric) = workspace_of(form, &faults);
        let decider = Decider::start(&["--latency", "0.001"]).unwrap();
        let more = ["--retries", "1", "--timeout", "3s", "--max-unscored", "1"];
        decider.score(&work, judge, rubric, &more).exits_with(0);
        let sent = decider.stats()["faults"].clone();
        let calm = score_of(&work, "none");
        for fault in &faults {
            let (fate, requests) = fate(fault, form, judge);
            let place = format!("{fault} of a {form} as {judge}");
            has_fate(&score_of(&work, fault), fate, &calm, &place);
            if *fault != "none" {
                assert_eq!(sent[*fault], requests, "{place}");
            }
        }
        let kept = |case: &str| !is_asked_again(fate(case, form, judge).0, case);
        let scores = verdicts(&work, "out", kept);
        decider.score(&work, judge, rubric, &more);
        let again = decider.stats()["faults"].clone();
        for fault in &faults {
            if kept(fault) {
                assert_eq!(again[*fault], sent[*fault], "{fault} is sent again");
            }
        }
        assert_eq!(verdicts(&work, "out", kept), scores, "{form} as {judge}");
        let before = decider.requests();
        run(
            &work,
            &["rescore", "out", "--out", "again", "--max-unscored", "1"],
        )
        .exits_with(0);
        assert_eq!(verdicts(&work, "again", kept), scores, "{form} as {judge}");
        assert_eq!(decider.requests(), before);
    }
}

/// The scores and components of these cases of a run, with the kinds of reasons for what is missing.
fn verdicts(
    work: &Workspace,
    out: &str,
    of_case: impl Fn(&str) -> bool,
) -> BTreeMap<String, Value> {
    let mut verdicts = BTreeMap::new();
    for score in work.lines(&format!("{out}/scores.jsonl")) {
        let case = score["case_id"].as_str().unwrap().to_owned();
        if of_case(&case) {
            let reasons =
                ["c1", "c2", "c3"].map(|name| score["details"][name]["unscored"]["kind"].clone());
            verdicts.insert(
                case,
                json!([
                    score["score"],
                    score["expected_score"],
                    score["components"],
                    reasons
                ]),
            );
        }
    }
    verdicts
}

/// The verdicts that the fault leaves are those of the calm answer; only a whole answer has a score.
#[track_caller]
fn has_fate(score: &Value, fate: Fate, calm: &Value, place: &str) {
    let expected = |at: usize| match fate {
        Whole => None,
        First(reason) => (at == 0).then_some(reason),
        Last(reason) => (at == 2).then_some(reason),
        All(reason) => Some(reason),
    };
    for at in 0..3 {
        let name = format!("c{}", at + 1);
        let reason = score["details"][&name]["unscored"]["kind"].as_str();
        assert_eq!(reason, expected(at), "{name}, {place}: {score}");
        // Half of the first probability is another verdict; a mean level alone is not a level.
        if reason.is_none() && !place.starts_with("sum-50") && !place.starts_with("no-prob") {
            assert_eq!(
                score["components"][&name], calm["components"][&name],
                "{name}, {place}"
            );
        }
    }
    assert_eq!(score["score"].is_null(), fate != Whole, "{place}: {score}");
}

#[test]
fn a_run_that_a_fault_stops_is_finished_by_the_same_command() {
    for (judge, fault) in SHAPES
        .iter()
        .flat_map(|judge| STOPPING.map(|fault| (*judge, fault)))
    {
        let first = format!("{fault}::1");
        let Some(decider) = Decider::start(&["--fault", &first]) else {
            return;
        };
        let work = super::calm(3);
        decider
            .score(&work, judge, "healthbench", &["--concurrency", "1"])
            .exits_with(4);
        assert_eq!(decider.requests(), 1, "{fault}");
        decider
            .score(&work, judge, "healthbench", &[])
            .exits_with(0);
        assert_eq!(decider.requests(), 4, "{fault}");
    }
}

#[test]
fn a_reply_of_another_model_is_noted() {
    let Some(decider) = Decider::start(&["--fault", "other-model::1"]) else {
        return;
    };
    let work = super::calm(2);
    decider.score(&work, "systemone", "healthbench", &["--concurrency", "1"]);
    let models: BTreeMap<String, u64> =
        work.lines("out/calls.jsonl")
            .iter()
            .fold(BTreeMap::new(), |mut models, call| {
                *models
                    .entry(call["reply"]["model"].to_string())
                    .or_default() += 1;
                models
            });
    assert_eq!(models.len(), 2, "{models:?}");
    let manifest = work.read("out/manifest.json");
    assert!(manifest.contains("another-model"), "{manifest}");
}
