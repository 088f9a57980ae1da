//! ScholarQA-CS2 against the numbers of its reference, astabench 0.5.4, which scored 344 answers with given replies.

use std::collections::BTreeMap;
use std::sync::Arc;

use scholareval::analysis::{AggregateOptions, summarize};
use scholareval::dataset::{load_tests, rubric_profile};
use scholareval::domain::{
    Answer, CitedClaim, JudgeReply, Mode, REPORT_METRICS, Reading, Report, RubricProfile, Score,
    ScoredAnswer, ShownText, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use scholareval::question::{CriteriaLevels, Question};
use scholareval::scorer::criteria::CriteriaScorer;
use scholareval::scorer::report_metrics::{CitationCounts, global_average, irrelevant_paragraphs};
use scholareval::scorer::{Scorer, Step, Subject, Verdicts};
use scholareval::text::difflib::{paragraphs, ratio};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::text_golden::golden;

/// One criterion a call (`assess_jointly=False`) is left out.
const LEFT_OUT: [&str; 4] = ["alone-544", "alone-545", "alone-546", "alone-549"];

/// Attempts of the reference.
const ATTEMPTS: usize = 21;

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[track_caller]
fn is_close(actual: Option<f64>, expected: &Value, id: &str) {
    let (Some(actual), Some(expected)) = (actual, expected.as_f64()) else {
        panic!("{id}: {actual:?} {expected}");
    };
    assert!(
        (actual - expected).abs() < 1e-12,
        "{id}: {actual} {expected}"
    );
}

/// The case and the profile of its file; `None` if the rubric cannot be read.
fn case_of(golden_case: &Value, mode: Mode) -> Option<(Arc<TestCase>, RubricProfile)> {
    let file = tempfile::Builder::new().suffix(".json").tempfile().unwrap();
    std::fs::write(file.path(), format!("[{}]", golden_case["rubric"])).unwrap();
    let (tests, mut profile) = load_tests(file.path(), mode, Some("scholarqa-cs2"), false).ok()?;
    profile.retrieverless = golden_case["mode"]["is_retrieverless"] == true;
    Some((Arc::clone(&tests.cases[0]), profile))
}

fn answer_of(golden: &Value, case: &Value) -> Answer {
    let output = case
        .get("output")
        .unwrap_or_else(|| &golden["outputs"][text(&case["output_ref"])]);
    let (report_text, report) = Report::in_completion(text(output));
    let mut answer = Answer::new("s".into(), text(&case["id"]).into(), report_text);
    answer.report = Some(report.into());
    answer
}

/// A judge that gives the replies of a case in order, the last one again when they run out.
struct Replies<'a> {
    case: &'a Value,
    calls: BTreeMap<&'static str, usize>,
    irrelevant: Vec<String>,
    claims: BTreeMap<String, Vec<CitedClaim>>,
}

impl Replies<'_> {
    fn judged(&mut self, task: &dyn Question, mode: Mode) -> Result<Verdict, UnscoredReason> {
        let kind = match task.info().name {
            "precision" => "precision",
            "citation_group" => "citations",
            _ => "ingredients",
        };
        for _ in 0..ATTEMPTS {
            let replies = list(&self.case["replies"], kind);
            let count = self.calls.entry(kind).or_default();
            let reply = replies.get(*count).or(replies.last()).expect("a reply");
            *count += 1;
            // An exception of the call is asked again, as an unreadable reply.
            let Some(reply) = reply.as_str() else {
                continue;
            };
            match task.parse(&JudgeReply::of_text(reply), mode) {
                Ok(reading) => return Ok(reading.verdict),
                Err(unreadable) if unreadable.ask_again => {}
                Err(unreadable) => return Err(unreadable.into()),
            }
        }
        Err(UnscoredReason::new(UnscoredKind::Unreadable, "no verdict"))
    }

    fn score(&mut self, scorer: &CriteriaScorer, case: &TestCase, answer: &Answer) -> Score {
        let mut verdicts = Verdicts::new();
        loop {
            let calls = match scorer.step(&Subject::new(case, answer), &verdicts) {
                Step::Done(score) => return score,
                Step::Ask(calls) => calls,
            };
            for call in calls {
                let levels = call.question.downcast_ref::<CriteriaLevels>();
                match (levels, self.judged(&*call.question, scorer.mode)) {
                    (Some(levels), Ok(Verdict::Criteria(all))) => {
                        for (criterion, one) in levels.criteria.iter().zip(all.iter()) {
                            let verdict = Ok(Reading::new(Verdict::Criteria([one.clone()].into())));
                            verdicts.insert(criterion.name.as_str().into(), verdict);
                        }
                    }
                    (_, Ok(verdict)) => {
                        match &verdict {
                            Verdict::Irrelevant(texts) => self.irrelevant = texts.to_vec(),
                            Verdict::CitedClaims(claims) => {
                                self.claims.insert(call.item.to_string(), claims.to_vec());
                            }
                            _ => {}
                        }
                        verdicts.insert(call.item, Ok(Reading::new(verdict)));
                    }
                    (_, Err(reason)) => {
                        verdicts.insert(call.item, Err(reason));
                    }
                }
            }
        }
    }
}

/// The score of a case in a mode, with the replies that it used; `None` if its rubric cannot be read.
fn scored<'a>(
    golden: &Value,
    case: &'a Value,
    mode: Mode,
) -> Option<(ScoredAnswer, Replies<'a>, Answer, CriteriaScorer)> {
    let (test, profile) = case_of(case, mode)?;
    let answer = answer_of(golden, case);
    let mut replies = Replies {
        case,
        calls: BTreeMap::new(),
        irrelevant: Vec::new(),
        claims: BTreeMap::new(),
    };
    let scorer = CriteriaScorer {
        profile,
        mode,
        is_baseline: false,
    };
    let score = replies.score(&scorer, &test, &answer);
    Some((
        ScoredAnswer::new("s".into(), test, score),
        replies,
        answer,
        scorer,
    ))
}

fn metric(score: &Score, name: &str) -> Option<f64> {
    score.component(name).and_then(|component| component.value)
}

fn check_case(golden: &Value, case: &Value) {
    let (id, expect) = (text(&case["id"]), &case["expect"]);
    let is_dropped = expect["status"] == "dropped";
    let Some((scored, replies, answer, scorer)) = scored(golden, case, Mode::Compat) else {
        // The reference raises an exception on these rubrics.
        return assert!(
            is_dropped && expect["scorers"]["ingredients"] == "error:ValidationError",
            "{id}"
        );
    };
    let (score, report) = (&scored.score, answer.report.as_ref().unwrap());
    if let Some(hash) = expect["report_sha256"].as_str() {
        let own = Sha256::digest(answer.answer_text.as_bytes());
        let own: String = own.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(own, hash, "{id}: {}", answer.answer_text);
    }
    if is_dropped {
        assert_eq!(
            (score.value, REPORT_METRICS.map(|name| metric(score, name))),
            (None, [None; 4]),
            "{id}"
        );
        return;
    }
    let mut metrics = expect["metrics"].as_object().unwrap().clone();
    let average = metrics.remove("global_avg").unwrap();
    metrics.remove("f1");
    for (name, value) in &metrics {
        is_close(metric(score, name), value, &format!("{id} {name}"));
    }
    let values = REPORT_METRICS.map(|name| metric(score, name).unwrap());
    match case["mode"]["weights"].as_array() {
        Some(weights) => {
            let weights: Vec<f64> = weights.iter().filter_map(Value::as_f64).collect();
            is_close(
                Some(global_average(values, weights.try_into().unwrap())),
                &average,
                id,
            );
        }
        None => is_close(score.value, &average, id),
    }
    for (name, value) in expect["components"].as_object().into_iter().flatten() {
        let name = if name.is_empty() { "unnamed" } else { name };
        is_close(metric(score, name), value, &format!("{id} {name}"));
    }
    let calls = expect["calls"].as_object().unwrap();
    for (kind, count) in calls {
        // A list without ingredients is not asked for: nothing depends on the reply.
        let is_asked = kind != "ingredients" || !scored.case.criteria.is_empty();
        assert_eq!(
            replies.calls.get(kind.as_str()).copied().unwrap_or(0) as u64,
            if is_asked { count.as_u64().unwrap() } else { 0 },
            "{id} {kind}"
        );
    }
    if let Some(count) = expect["paragraphs"].as_u64() {
        let (own, marked) = irrelevant_paragraphs(&answer.answer_text, &replies.irrelevant);
        assert_eq!(
            (own as u64, Value::from(marked)),
            (count, expect["marked"].clone()),
            "{id}"
        );
    }
    let groups = list(expect, "groups");
    assert_eq!(report.groups.len(), groups.len(), "{id}");
    for (at, (group, expect)) in report.groups.iter().zip(groups).enumerate() {
        let claims = replies.claims.get(&format!("citation_group_{}", at + 1));
        let mut own = CitationCounts::default();
        own.add(group, claims.map_or(&[], Vec::as_slice), &scorer.profile);
        let counts = ["A", "X", "H"].map(|key| expect[key].as_u64().unwrap() as usize);
        assert_eq!(
            [own.supported, own.unsupported, own.half],
            counts,
            "{id} group {at}"
        );
        let of_claims = ["s", "n", "h"].map(|key| expect[key].clone());
        let own_claims = [0, 1, 2]
            .map(|at| Value::from(own.claims.iter().map(|claim| claim[at]).collect::<Vec<_>>()));
        assert_eq!(own_claims, of_claims, "{id} group {at}");
        let is_title = |at: &usize| matches!(group.citations[*at].shown, ShownText::Title(_));
        let titles: Vec<usize> = (0..group.citations.len()).filter(is_title).collect();
        assert_eq!(Value::from(titles), expect["title_only"], "{id} group {at}");
    }
}

#[test]
fn compat_scores_and_drops_as_the_reference() {
    let Some(golden) = golden("cs2.json") else {
        return;
    };
    let failed: Vec<&str> = list(&golden, "cases")
        .iter()
        .filter(|case| !LEFT_OUT.contains(&text(&case["id"])))
        .filter(|case| std::panic::catch_unwind(|| check_case(&golden, case)).is_err())
        .map(|case| text(&case["id"]))
        .collect();
    assert_eq!(failed, [""; 0]);
}

/// Where the default differs, and what it gives.
const DEFAULT: [(&str, f64); 21] = [
    // A list of paragraphs that cannot be read is asked for again: .7 / 4 + (1 - 1/3) / 4.
    ("precision-386", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-387", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-388", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-389", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-393", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-401", 0.7 / 4.0 + 1.0 / 6.0),
    ("precision-405", 0.7 / 4.0 + 1.0 / 6.0),
    // Ingredients with one name each count: (.5 x 0 + .2 x .5 + .3 x 1 + 1) / 4, and (.5 x .5 + .5 x 1 + 1) / 4.
    ("ingr-443", 0.35),
    ("ingr-444", 0.35),
    ("ingr-446", 0.4375),
    // Levels as texts are understood: (.5 x .5 + .5 x .5 + 1) / 4 and so on; true is not the number of an ingredient.
    ("ingr-455", 0.375),
    ("ingr-456", 0.4375),
    ("ingr-457", 0.3125),
    ("ingr-471", 0.25),
    // Texts beside the level may be missing or of another type: (.5 x .5 + .5 x 1 + 1) / 4.
    ("ingr-479", 0.4375),
    ("ingr-482", 0.4375),
    ("ingr-483", 0.4375),
    ("ingr-484", 0.4375),
    ("ingr-486", 0.4375),
    // A key that stands twice with different values is asked for again; both ingredients are then 0: (0 + 1) / 4.
    ("ingr-506", 0.25),
    // A raw line break in a text has one reading, so that the first reply counts: (.5 x 1 + .5 x .5 + 1) / 4.
    ("ingr-505", 0.4375),
];

#[test]
fn the_default_differs_only_where_it_says_so() {
    let Some(golden) = golden("cs2.json") else {
        return;
    };
    let mut differing = BTreeMap::new();
    for case in list(&golden, "cases")
        .iter()
        .filter(|case| !LEFT_OUT.contains(&text(&case["id"])))
    {
        let Some((own, ..)) = scored(&golden, case, Mode::Default) else {
            continue;
        };
        let value = own.score.value;
        let expected = case["expect"]["metrics"]["global_avg"].as_f64();
        let is_same = match (value, expected) {
            (Some(value), Some(expected)) => (value - expected).abs() < 1e-12,
            (value, expected) => value == expected,
        };
        if !is_same && case["mode"]["weights"].is_null() {
            differing.insert(text(&case["id"]), value.unwrap());
        }
    }
    let ids: Vec<&str> = differing.keys().copied().collect();
    let mut stated = DEFAULT.map(|(id, _)| id);
    stated.sort_unstable();
    assert_eq!(ids, stated);
    for (id, value) in DEFAULT {
        is_close(Some(differing[id]), &value.into(), id);
    }
}

#[test]
fn means_over_answers_leave_out_what_the_reference_drops() {
    let Some(golden) = golden("cs2.json") else {
        return;
    };
    let cases: BTreeMap<&str, &Value> = list(&golden, "cases")
        .iter()
        .map(|case| (text(&case["id"]), case))
        .collect();
    let mut checked = 0;
    for group in list(&golden, "over_answers") {
        let ids: Vec<&str> = list(group, "ids").iter().map(text).collect();
        let is_left_out = |id: &&str| LEFT_OUT.contains(id) || cases[id]["mode"].is_object();
        if list(group, "ids").is_empty() || group["scored"] == 0 || ids.iter().any(is_left_out) {
            continue;
        }
        let answers: Vec<Arc<ScoredAnswer>> = ids
            .iter()
            .filter_map(|id| Some(Arc::new(scored(&golden, cases[id], Mode::Compat)?.0)))
            .collect();
        let options = AggregateOptions {
            mode: Mode::Compat,
            ..AggregateOptions::default()
        };
        let summary = summarize(&answers, &[], options);
        let metrics = &summary.scorers[0].rows[0].metrics;
        for (name, expect) in group["metrics"].as_object().into_iter().flatten() {
            let own = if name == "global_avg" { "score" } else { name };
            let estimate = metrics.get(own).and_then(|metric| metric.estimate);
            is_close(estimate, &expect["mean"], &format!("{ids:?} {name}"));
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn similarity_and_paragraphs_are_those_of_python() {
    let Some(golden) = golden("cs2.json") else {
        return;
    };
    for pair in list(&golden, "difflib") {
        is_close(
            Some(ratio(text(&pair["a"]), text(&pair["b"]))),
            &pair["ratio"],
            text(&pair["a"]),
        );
    }
    for split in list(&golden, "split") {
        assert_eq!(
            Value::from(paragraphs(text(&split["text"]))),
            split["paragraphs"]
        );
    }
}

#[test]
fn a_quote_that_begins_with_the_marker_of_titles_counts_as_a_title() {
    let mut profile = rubric_profile(Some("scholarqa-cs2")).unwrap();
    let response = serde_json::json!({"sections": [{"text": "A [1].", "citations": [{"id": "[1]", "snippets": ["M: x"]}]}]});
    let report = Report::of_response(&response).1;
    let claim = CitedClaim {
        supporting: vec!["1".into()],
        non_supporting: Vec::new(),
        is_fully_supported: true,
    };
    let recall = |profile: &RubricProfile| {
        let mut counts = CitationCounts::default();
        counts.add(&report.groups[0], std::slice::from_ref(&claim), profile);
        counts.recall()
    };
    assert_eq!(recall(&profile), 1.0);
    profile.title_marker = "M: ".to_owned();
    assert_eq!(recall(&profile), 0.5);
}
