//! Run directories: what survives a kill, and what is rejected.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use futures::executor::block_on;

use super::*;
use crate::domain::{
    Answer, Component, ComponentKind, Fingerprint, Item, JudgeReply, MemberValues, Mode, Role,
    Score, ScoredAnswer, ScorerId, TestCase, UnscoredKind, UnscoredReason, Verdict,
};
use crate::judge::planner::ReplySource;
use crate::judge::{Body, Judge, JudgeRequest, Outcome, Rendered};
use crate::question::{Expertise, JudgeCall, PROPERTY};
use crate::record::{CallRecord, EventSink, RunEvent, call_id};

fn judged_by(id: &str) -> RoleEntry {
    let judge = JudgeEntry {
        id: id.into(),
        samples: 1,
        ..JudgeEntry::default()
    };
    RoleEntry {
        judges: vec![judge],
        ..RoleEntry::default()
    }
}

/// What differs between the run in a directory and a new one.
fn differences(there: &Manifest, here: &Manifest) -> Vec<String> {
    let differences = setting_differences(&[("in the run", there), ("now", here)], true);
    differences
        .into_iter()
        .map(|difference| difference.text)
        .collect()
}

pub(super) fn manifest(setting: &str) -> Manifest {
    Manifest {
        settings: BTreeMap::from([("model".to_owned(), setting.into())]),
        roles: BTreeMap::from([("rubric".to_owned(), judged_by("toy"))]),
        scorers: vec!["rubric".into()],
        answers: 1,
        ..Manifest::begin(Mode::Default)
    }
}

fn record(item: &str, reply: Option<&str>) -> CallRecord {
    CallRecord {
        call_id: call_id(&"s".into(), &"c".into(), &request(item).call, 0),
        system: "s".into(),
        case_id: "c".into(),
        item: item.into(),
        kind: PROPERTY.kind(),
        role: Role::Rubric,
        judge: "toy".into(),
        sample: 0,
        attempt: 0,
        fingerprint: None,
        prompt: None,
        room: 0,
        reply: reply.map(JudgeReply::of_text),
        is_decision: false,
        is_replaced: false,
        verdict: match reply {
            Some(_) => Ok(Verdict::Points(7.0)),
            None => Err(UnscoredReason::new(UnscoredKind::Unreachable, "503")),
        },
    }
}

fn request(item: &str) -> JudgeRequest {
    JudgeRequest {
        call: JudgeCall::new(
            item,
            Role::Rubric,
            Expertise {
                question: "q".into(),
                answer: "a".into(),
            },
        ),
        system: "s".into(),
        case_id: "c".into(),
        attempt: 0,
        rendered: None,
    }
}

fn open(path: &Path, setting: &str) -> RunRecord {
    let dir = RunDir::open(path).expect("a directory");
    let manifest = manifest(setting);
    dir.claim(&manifest, false).expect("claimed");
    RunRecord::open(dir, manifest, true).expect("a record")
}

fn call(record: &mut RunRecord, item: &str, reply: Option<&str>) {
    record
        .on_event(&RunEvent::Call(Box::new(self::record(item, reply))))
        .expect("written");
}

const NO_ANSWERS: &[Arc<ScoredAnswer>] = &[];

#[test]
fn a_resumed_record_keeps_its_lines_and_adds_what_is_missing() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut first = open(dir.path(), "m");
    call(&mut first, "a", Some("{\"score\": 7}"));
    call(&mut first, "b", None);
    drop(first);
    let calls = dir.path().join("calls.jsonl");
    let mut torn = std::fs::read(&calls).expect("calls");
    torn.extend_from_slice(b"{\"v\":1,\"call_id\":\"12");
    std::fs::write(&calls, torn).expect("written");

    let mut second = open(dir.path(), "m");
    call(&mut second, "a", Some("{\"score\": 7}"));
    call(&mut second, "b", Some("{\"score\": 7}"));
    call(&mut second, "c", None);
    second
        .finish(RunStatus::Complete, NO_ANSWERS)
        .expect("finished");
    let text = std::fs::read_to_string(&calls).expect("calls");
    let lines: Vec<CallRecord> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a call"))
        .collect();
    let seen: Vec<_> = lines
        .iter()
        .map(|line| (&*line.item, line.reply.is_some()))
        .collect();
    assert_eq!(
        seen,
        [("a", true), ("b", true), ("c", false)],
        "one line a call, torn and replaced ones gone"
    );
    let manifest = Manifest::load(dir.path()).expect("read").expect("there");
    assert_eq!(manifest.status, RunStatus::Complete);
}

#[test]
fn a_directory_of_other_settings_is_refused_with_what_differs() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open(dir.path(), "gpt-4"));
    let run_dir = RunDir::open(dir.path()).expect("a directory");
    let error = run_dir
        .claim(&manifest("gpt-5"), false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(
            ": different model: gpt-4 (in the run), gpt-5 (now); the directory holds another run; name another"
        ),
        "{error}"
    );
    assert!(error.contains("--overwrite"), "{error}");
    assert!(
        !run_dir
            .claim(&manifest("gpt-5"), true)
            .expect("overwritten")
    );
    assert!(!dir.path().join("calls.jsonl").exists());
}

#[test]
fn only_differing_parts_of_structured_settings_are_listed() {
    let with = |merge: serde_json::Value| Manifest {
        settings: [("merge".to_owned(), merge)].into_iter().collect(),
        ..manifest("m")
    };
    let there = with(serde_json::json!({"drafts": ["mean"], "judges": null, "samples": 3}));
    let here =
        with(serde_json::json!({"drafts": ["mean", "median"], "judges": "mean", "samples": 3}));
    assert_eq!(
        differences(&there, &here),
        [
            "different merge.drafts: [\"mean\"] (in the run), [\"mean\",\"median\"] (now)",
            "different merge.judges: unset (in the run), mean (now)"
        ]
    );
}

#[test]
fn a_refusal_names_models_prompts_and_files_in_words() {
    let run = |model: Option<&str>, label: &str, path: &str, hash: u8| {
        let input = |name: &str, path: &str| crate::dataset::InputFile {
            name: name.into(),
            path: path.into(),
            blake3: [hash; 32].into(),
        };
        let mut role = judged_by(model.unwrap_or("lexical-1"));
        let settings = model.map(|_| ("temperature".to_owned(), 0.into()));
        role.judges[0].settings = settings.into_iter().collect();
        let fingerprint = blake3::hash(label.as_bytes()).into();
        role.prompts = Some(PromptsEntry {
            label: label.into(),
            fingerprint,
            comparable_with_published: false,
        });
        Manifest {
            roles: BTreeMap::from([("rubric".to_owned(), role)]),
            inputs: vec![input("tests", "t.json"), input("gpt", path)],
            ..manifest("m")
        }
    };
    let digits = |label: &str| blake3::hash(label.as_bytes()).to_hex()[..8].to_owned();
    let old = run(Some("gpt-4o"), "a@1", "a/gpt.jsonl", 1);
    assert_eq!(
        differences(&old, &run(Some("gpt-4.1"), "b@2", "b/gpt.jsonl", 2)),
        [
            "different judge of rubric: gpt-4o (in the run), gpt-4.1 (now)".to_owned(),
            "different answers of gpt: a/gpt.jsonl [01010101..] (in the run), b/gpt.jsonl [02020202..] (now)"
                .to_owned(),
            format!(
                "different prompts of rubric: a@1 [{}..] (in the run), b@2 [{}..] (now)",
                digits("a@1"),
                digits("b@2")
            ),
            "different test cases: t.json [01010101..] (in the run), t.json [02020202..] (now)".to_owned(),
        ]
    );
    // Settings that the lexical baseline does not have are not worth a note.
    let lexical = differences(&old, &run(None, "a@1", "a/gpt.jsonl", 1));
    assert_eq!(
        lexical,
        ["different judge of rubric: gpt-4o (in the run), lexical-1 (now)"]
    );
    let none = Manifest {
        inputs: Vec::new(),
        ..old.clone()
    };
    let inputs = differences(&none, &old);
    assert_eq!(
        inputs,
        [
            "different answers of gpt: none (in the run), a/gpt.jsonl [01010101..] (now)",
            "different test cases: none (in the run), t.json [01010101..] (now)"
        ]
    );
}

#[test]
fn a_system_called_tests_hides_no_change_of_the_test_cases() {
    let input = |hash: u8| crate::dataset::InputFile {
        name: "tests".into(),
        path: "p".into(),
        blake3: [hash; 32].into(),
    };
    let manifest_of = |inputs: [u8; 2]| Manifest {
        inputs: inputs.map(input).into(),
        ..manifest("m")
    };
    let (there, here) = (manifest_of([1, 3]), manifest_of([2, 3]));
    assert_ne!(there.identity(), here.identity());
    assert_eq!(
        differences(&there, &here),
        [
            "different test cases: p [01010101..] and p [03030303..] (in the run), p [02020202..] and p [03030303..] (now)"
        ]
    );
}

#[test]
fn two_processes_cannot_write_into_one_directory() {
    let dir = tempfile::tempdir().expect("a directory");
    let _first = RunDir::open(dir.path()).expect("a directory");
    let error = RunDir::open(dir.path()).unwrap_err().to_string();
    assert!(error.contains("another scholareval"), "{error}");
}

#[test]
fn whatever_a_kill_leaves_of_a_new_run_is_its_own() {
    let dir = tempfile::tempdir().expect("a directory");
    let claimed = || {
        RunDir::open(dir.path())
            .expect("a directory")
            .claim(&manifest("m"), false)
            .expect("claimed")
    };
    assert!(!claimed());
    for leftover in ["inputs.jsonl", "calls.jsonl", ".scores.jsonl.partial"] {
        std::fs::write(dir.path().join(leftover), "").expect("written");
        assert!(claimed(), "after {leftover}");
    }
}

#[test]
fn files_of_ours_without_a_manifest_are_not_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("scores.jsonl"), "precious").expect("written");
    let run_dir = RunDir::open(dir.path()).expect("a directory");
    let error = run_dir
        .claim(&manifest("m"), false)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("holds \"scores.jsonl\" but no manifest.json"),
        "{error}"
    );
}

#[test]
fn recorded_replies_are_found_by_call_and_fingerprint() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = open(dir.path(), "m");
    call(&mut run, "a", Some("{\"score\": 7}"));
    call(&mut run, "b", None);
    drop(run);
    let replies = RecordedReplies::of_run(dir.path(), &manifest("m")).expect("read");
    assert_eq!(
        replies
            .find(&request("a"))
            .expect("read")
            .map(|reply| reply.content),
        Some("{\"score\": 7}".into())
    );
    assert_eq!(replies.find(&request("b")).expect("read"), None);
    let unscored = |item| match block_on(replies.ask(&request(item))) {
        Ok(Outcome::Unscored(reason)) => Some((reason.kind, reason.message)),
        _ => None,
    };
    assert_eq!(
        unscored("b"),
        Some((UnscoredKind::Unreachable, "503".into())),
        "it failed"
    );
    assert_eq!(
        unscored("c").map(|(kind, _)| kind),
        Some(UnscoredKind::NotAsked),
        "it is not recorded"
    );
    let rendered = Rendered::new(Fingerprint::from([1; 32]), Body::default);
    let other = JudgeRequest {
        rendered: Some(rendered),
        ..request("a")
    };
    assert_eq!(
        replies.find(&other).expect("read"),
        None,
        "a reply to other messages is none"
    );
}

/// An answer to case `c` with two components; the scorer's id decides the names of the sums.
fn scored(
    scorer: impl Into<ScorerId>,
    kind: ComponentKind,
    values: [Option<f64>; 2],
) -> ScoredAnswer {
    let component = |name: &str, value: Option<f64>| Component {
        value,
        reason: value
            .is_none()
            .then(|| UnscoredReason::new(UnscoredKind::Cut, "cut at 5 tokens").into()),
        feedback: value.map(|_| Arc::new("good".to_owned())),
        ..Component::new(name, kind)
            .with_text("what")
            .with_weight(if kind.is_weighted() { 0.5 } else { 0.0 })
    };
    let components = vec![component("b", values[0]), component("a", values[1])];
    let total = components
        .iter()
        .map(|part| Some(part.value? * 0.5))
        .sum::<Option<f64>>();
    let score = Score {
        scorer: scorer.into(),
        value: total,
        ann_score: total.filter(|_| kind.is_weighted()),
        ann_divisor: if kind.is_weighted() { 1.0 } else { 0.0 },
        components,
        notes: vec!["scaled".into()],
        ..Score::default()
    };
    let sample = MemberValues {
        stops_early: false,
        judge: "toy".into(),
        value: Some(7.0),
        samples: vec![Some(7.0), None],
        spread: None,
    };
    ScoredAnswer {
        members: BTreeMap::from([("b".into(), vec![sample])]),
        ..ScoredAnswer::new(
            "s".into(),
            Arc::new(TestCase::without_rubric("c".into(), "why?")),
            score,
        )
    }
}

/// A finished run of these scores.
fn finished(dir: &Path, answers: &[ScoredAnswer]) {
    let items = answers.iter().map(|scored| {
        let case_id = scored.case.case_id.clone();
        let answer = Answer::new(scored.system.clone(), case_id, "because");
        Item::new(Arc::clone(&scored.case), answer)
    });
    Inputs::new(items.take(1).collect())
        .write(&dir.join("inputs.jsonl"))
        .expect("written");
    let answers: Vec<Arc<ScoredAnswer>> = answers.iter().cloned().map(Arc::new).collect();
    let run_dir = RunDir::open(dir).expect("a directory");
    RunRecord::open(run_dir, manifest("m"), false)
        .expect("a record")
        .finish(RunStatus::Complete, &answers)
        .expect("finished");
}

#[test]
fn scores_are_read_back_as_they_were_written() {
    let dir = tempfile::tempdir().expect("a directory");
    let answers = [
        scored(
            "rubric",
            ComponentKind::Property,
            [Some(0.25), Some(0.1 + 0.2)],
        ),
        scored("rubric", ComponentKind::Property, [None, Some(1.0)]),
        scored(
            ScorerId::baseline("rubric"),
            ComponentKind::Property,
            [Some(0.0), Some(1.0)],
        ),
        scored("prometheus", ComponentKind::Aspect, [Some(4.0), Some(2.0)]),
    ];
    finished(dir.path(), &answers);
    let run = load_run(dir.path()).expect("a run");
    assert_eq!(
        run.scored
            .iter()
            .map(|answer| (**answer).clone())
            .collect::<Vec<_>>(),
        answers
    );
    let text = std::fs::read_to_string(dir.path().join("scores.jsonl")).expect("text");
    assert_eq!(
        run.manifest.files["scores.jsonl"].blake3,
        blake3::hash(text.as_bytes()).into()
    );
    let lexical = text.lines().nth(2).expect("a line");
    assert!(
        lexical.contains("\"lexical_score\":0.5") && !lexical.contains("\"score\""),
        "{lexical}"
    );
}

#[test]
fn a_value_that_is_not_finite_is_written_as_unscored_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    finished(
        dir.path(),
        &[scored(
            "rubric",
            ComponentKind::Property,
            [Some(f64::NAN), Some(1.0)],
        )],
    );
    let run = load_run(dir.path()).expect("a run");
    let score = &run.scored[0].score;
    assert_eq!((score.value, score.components[0].value), (None, None));
    assert_eq!(
        score.components[0]
            .reason
            .as_ref()
            .map(|reason| reason.kind),
        Some(UnscoredKind::Exception)
    );
}

/// Makes the run one that was killed: its manifest has no stamps.
fn unfinish(dir: &Path) {
    let manifest = Manifest::of_run(dir).expect("a manifest").unfinished();
    let json = serde_json::to_vec(&manifest).expect("JSON");
    std::fs::write(dir.join("manifest.json"), json).expect("written");
}

#[test]
fn a_torn_last_line_of_an_unfinished_run_is_left_out_and_a_broken_one_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    finished(
        dir.path(),
        &[scored(
            "rubric",
            ComponentKind::Property,
            [Some(0.25), Some(0.5)],
        )],
    );
    unfinish(dir.path());
    let path = dir.path().join("scores.jsonl");
    let whole = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).expect("written");
    assert_eq!(load_run(dir.path()).expect("a run").scored.len(), 1);
    std::fs::write(&path, format!("{whole}{{}}\n")).expect("written");
    let error = load_run(dir.path()).expect_err("a broken line").to_string();
    assert!(
        error.contains("scores.jsonl:2: no line of a run record"),
        "{error}"
    );
}

#[test]
fn calls_come_in_file_order_and_a_broken_line_is_named() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = open(dir.path(), "m");
    call(&mut run, "a", Some("{\"score\": 7}"));
    call(&mut run, "b", None);
    drop(run);
    let path = dir.path().join("calls.jsonl");
    let items = || {
        let mut items = Vec::new();
        for_each_call(dir.path(), &manifest("m"), |call| {
            items.push(call.item.to_string());
            Ok(())
        })
        .map(|()| items)
    };
    assert_eq!(items().expect("calls"), ["a", "b"]);
    let whole = std::fs::read_to_string(&path).expect("text");
    std::fs::write(&path, &whole[..whole.len() - 3]).expect("written");
    assert_eq!(items().expect("calls"), ["a"]);
    std::fs::write(&path, whole + "{}\n").expect("written");
    let broken = items().expect_err("a fault").to_string();
    assert!(
        broken.contains("calls.jsonl:3: no line of a run record"),
        "{broken}"
    );
}

#[test]
fn answers_that_a_stopped_run_did_not_get_to_are_unscored_in_order_with_the_components_of_the_others()
 {
    let dir = tempfile::tempdir().expect("a directory");
    let item = |case: &str| {
        let case = Arc::new(TestCase::without_rubric(case.into(), "why?"));
        let answer = Answer::new("s".into(), case.case_id.clone(), "because");
        Item::new(case, answer)
    };
    let items = ["c1", "c2", "c3"].map(item);
    Inputs::of_lists(&items, &items)
        .write(&dir.path().join("inputs.jsonl"))
        .expect("written");
    let answer_of = |scorer: &str, at: usize, name: &str| {
        let answer = scored(scorer, ComponentKind::Aspect, [Some(4.0), Some(4.0)]);
        let mut components = answer.score.components;
        components.truncate(1);
        components[0].name = name.into();
        let score = Score {
            components,
            ..answer.score
        };
        Arc::new(ScoredAnswer::new(
            "s".into(),
            Arc::clone(&items[at].case),
            score,
        ))
    };
    let scorers = ["rubric", "prometheus", "overlap"]
        .map(str::to_owned)
        .to_vec();
    let run_dir = RunDir::open(dir.path()).expect("a directory");
    let mut record = RunRecord::open(
        run_dir,
        Manifest {
            scorers,
            ..manifest("m")
        },
        false,
    )
    .expect("a record");
    let there = [
        answer_of("rubric", 1, "length"),
        answer_of("prometheus", 2, "coverage"),
    ];
    record.finish(RunStatus::Stopped, &there).expect("finished");
    let all = load_run(dir.path()).expect("a run").scored;
    let scores: Vec<(&str, &str, bool)> = all
        .iter()
        .map(|answer| {
            (
                answer.score.scorer.as_str(),
                answer.case.case_id.as_str(),
                answer.score.value.is_some(),
            )
        })
        .collect();
    // overlap has scored nothing: its components are unknown
    assert_eq!(
        scores,
        [
            ("rubric", "c1", false),
            ("rubric", "c2", true),
            ("rubric", "c3", false),
            ("prometheus", "c1", false),
            ("prometheus", "c2", false),
            ("prometheus", "c3", true),
        ]
    );
    let names = |at: usize| {
        all[at]
            .score
            .components
            .iter()
            .map(|part| &*part.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (names(0), names(3)),
        (
            vec!["length", "expertise", "citations", "excerpts"],
            vec!["coverage"]
        )
    );
    let why = all[3].score.components[0]
        .reason
        .as_ref()
        .expect("a reason");
    assert_eq!(
        (why.kind, why.message.as_str()),
        (UnscoredKind::NotAsked, "the run did not get to it")
    );
}
