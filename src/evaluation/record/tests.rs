//! The run directory: what survives a kill, and what is refused.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::domain::{
    CallKind, Fingerprint, JudgeCall, JudgeReply, JudgeTask, Mode, Role, ScoredAnswer, UnscoredKind, UnscoredReason,
    Verdict,
};
use crate::evaluation::{CallRecord, EventSink, RunEvent, call_id};
use crate::judge::JudgeRequest;
use crate::judge::planner::ReplySource;

pub(super) fn manifest(setting: &str) -> Manifest {
    Manifest {
        schema_version: SCHEMA_VERSION,
        scholareval_version: "0".into(),
        status: RunStatus::Running,
        label: None,
        started_at: "2026-01-01T00:00:00Z".into(),
        finished_at: None,
        mode: Mode::Default,
        reference: None,
        settings: BTreeMap::from([("model".to_owned(), setting.into())]),
        inputs: vec![],
        prompts: None,
        judge: Some(JudgeEntry { id: "toy".into(), model: None, base_url: None, served: None, lexical: false }),
        scorers: vec!["rubric".into()],
        roles: Default::default(),
        policy: None,
        endpoints: vec![],
        seed: 1,
        answers: 1,
        missing: vec![],
        kept_cases: vec![],
        warnings: vec![],
    }
}

fn record(item: &str, reply: Option<&str>) -> CallRecord {
    CallRecord {
        call_id: call_id(&"s".into(), &"c".into(), &request(item).call, 0),
        system: "s".into(),
        case_id: "c".into(),
        item: item.into(),
        kind: CallKind::Property,
        role: Role::Rubric,
        judge: "toy".into(),
        draw: 0,
        attempt: 0,
        fingerprint: None,
        reply: reply.map(JudgeReply::of_text),
        verdict: match reply {
            Some(_) => Ok(Verdict::Points(7.0)),
            None => Err(UnscoredReason::new(UnscoredKind::Unreachable, "503")),
        },
    }
}

fn request(item: &str) -> JudgeRequest {
    JudgeRequest {
        call: JudgeCall {
            item: item.into(),
            role: Role::Rubric,
            task: JudgeTask::Expertise { question: "q".into(), answer: "a".into() },
            draw: 0,
            member: 0,
        },
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
    record.on_event(&RunEvent::Call(Box::new(self::record(item, reply)))).expect("written");
}

const NOBODY: &[Arc<ScoredAnswer>] = &[];

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
    second.finish(RunStatus::Complete, NOBODY).expect("finished");
    let text = std::fs::read_to_string(&calls).expect("calls");
    let lines: Vec<CallLine> = text.lines().map(|line| serde_json::from_str(line).expect("a call")).collect();
    let seen: Vec<_> = lines.iter().map(|line| (line.item.as_str(), line.raw.is_some())).collect();
    assert_eq!(seen, [("a", true), ("b", true), ("c", false)], "one line a call, torn and replaced ones gone");
    let manifest = load_manifest(dir.path()).expect("read").expect("there");
    assert_eq!(manifest.status, RunStatus::Complete);
}

#[test]
fn a_directory_of_other_settings_is_refused_with_what_differs() {
    let dir = tempfile::tempdir().expect("a directory");
    drop(open(dir.path(), "gpt-4"));
    let run_dir = RunDir::open(dir.path()).expect("a directory");
    let error = run_dir.claim(&manifest("gpt-5"), false).unwrap_err().to_string();
    assert!(error.contains("model: there gpt-4, here gpt-5"), "{error}");
    assert!(error.contains("--overwrite"), "{error}");
    assert!(!run_dir.claim(&manifest("gpt-5"), true).expect("overwritten"));
    assert!(!dir.path().join("calls.jsonl").exists());
}

#[test]
fn of_structured_settings_only_the_parts_that_differ_are_told_in_words() {
    let with = |merge: serde_json::Value| Manifest {
        reference: None,
        settings: [("merge".to_owned(), merge)].into_iter().collect(),
        ..manifest("m")
    };
    let there = with(serde_json::json!({"draws": ["mean"], "judges": null, "samples": 3}));
    let here = with(serde_json::json!({"draws": ["mean", "median"], "judges": "mean", "samples": 3}));
    assert_eq!(
        differences(&there, &here),
        ["merge.draws: there mean, here mean,median", "merge.judges: there none, here mean"]
    );
}

#[test]
fn a_system_called_tests_hides_no_change_of_the_test_cases() {
    let input = |hash: u8| InputFile { name: "tests".into(), path: "p".into(), blake3: [hash; 32].into() };
    let of = |inputs: [u8; 2]| Manifest { inputs: inputs.map(input).into(), ..manifest("m") };
    let (there, here) = (of([1, 3]), of([2, 3]));
    assert_ne!(there.identity(), here.identity());
    assert_eq!(
        differences(&there, &here),
        ["input tests: there 010101010101+030303030303, here 020202020202+030303030303"]
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
fn files_of_ours_without_a_manifest_are_not_written_over() {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join("scores.jsonl"), "precious").expect("written");
    let run_dir = RunDir::open(dir.path()).expect("a directory");
    let error = run_dir.claim(&manifest("m"), false).unwrap_err().to_string();
    assert!(error.contains("holds \"scores.jsonl\" but no manifest.json"), "{error}");
}

#[test]
fn recorded_replies_are_found_by_call_and_fingerprint() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut run = open(dir.path(), "m");
    call(&mut run, "a", Some("{\"score\": 7}"));
    call(&mut run, "b", None);
    drop(run);
    let replies = RecordedReplies::open(&dir.path().join("calls.jsonl")).expect("read").expect("there");
    assert_eq!(replies.len(), 1);
    assert_eq!(replies.find(&request("a")).expect("read").map(|reply| reply.content), Some("{\"score\": 7}".into()));
    assert_eq!(replies.find(&request("b")).expect("read"), None);
    assert_eq!(replies.reason(&request("b")).expect("read").map(|reason| reason.message), Some("503".into()));
    let rendered = crate::judge::Rendered {
        body: bytes::Bytes::new(),
        fingerprint: Fingerprint::from([1; 32]),
        prompt_tokens: 0,
        max_tokens: None,
        note: None,
        is_unpaid: false,
    };
    let other = JudgeRequest { rendered: Some(rendered), ..request("a") };
    assert_eq!(replies.find(&other).expect("read"), None, "a reply to other messages is none");
}
