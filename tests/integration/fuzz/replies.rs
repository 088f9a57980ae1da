//! Judges' replies: whole, streamed, in the files of a batch, and what is read in their text.

use std::sync::{Arc, Mutex};

use scholareval::domain::{
    CaseCriterion, JudgeReply, Level, Mode, ReplyForm, ReplyShape, ReportLanguage, Role,
    ScoreLocation, Verdict, expected_value,
};
use scholareval::judge::batch::{BatchCalls, BatchManifest, ImportReport};
use scholareval::judge::body::RequestOptions;
use scholareval::judge::cache::Cache;
use scholareval::judge::chat::Chat;
use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::kind::JudgeKind;
use scholareval::judge::{Judge as _, JudgeRequest, Outcome};
use scholareval::prompt::Messages;
use scholareval::question::{
    AspectGrade, Citations, CitedStatements, CriteriaLevels, DistinctStatements, Expertise,
    JudgeCall, NamedStatement, PROPERTY, PageSupport, Property, Question, SnippetEvidence,
    SourceSupport,
};

use serde_json::{Value, json};

use super::driver::fuzz;
use crate::support::fake_server::{Act, Behaviour, FakeServer};

const SNIPPETS: usize = 2;

/// A question about criteria in every form of reply.
fn criteria() -> Vec<Arc<dyn Question>> {
    let level = |level: u8| Level {
        level: level.into(),
        credit: f64::from(level),
        also: [("strict".to_owned(), 1.0)].into(),
        means: String::new(),
    };
    let criterion = |text: &str| CaseCriterion {
        text: text.into(),
        ..CaseCriterion::default()
    };
    let mut questions: Vec<Arc<dyn Question>> = Vec::new();
    for (form, by_text) in [
        (ReplyForm::Object, true),
        (ReplyForm::Object, false),
        (ReplyForm::Lines, false),
        (ReplyForm::List, false),
        (ReplyForm::Map, false),
        (ReplyForm::FirstWord, false),
        (ReplyForm::Mark, false),
    ] {
        let is_about_one = matches!(form, ReplyForm::FirstWord | ReplyForm::Mark);
        let texts = if is_about_one {
            &["a"][..]
        } else {
            &["a", "b"]
        };
        let shape = ReplyShape {
            form,
            by_text,
            key: "verdict".to_owned(),
            marks: vec!["VERDICT:".to_owned()],
            levels: vec![level(0), level(1)],
            continuous: form == ReplyForm::Mark,
            ..ReplyShape::default()
        };
        questions.push(Arc::new(CriteriaLevels {
            question: "why?".into(),
            answer: "because".into(),
            criteria: texts.iter().copied().map(criterion).collect(),
            shape: shape.into(),
            reference: None,
            shown: Default::default(),
            layout: Default::default(),
        }));
    }
    questions
}

/// A task of every kind.
fn tasks() -> Vec<Arc<dyn Question>> {
    let mut tasks = criteria();
    tasks.extend(other_tasks());
    tasks
}

/// A task of every kind but criteria.
fn other_tasks() -> Vec<Arc<dyn Question>> {
    let (question, answer) = (|| "why?".into(), || "because".into());
    vec![
        Arc::new(Expertise {
            question: question(),
            answer: answer(),
        }),
        Arc::new(Property {
            question: question(),
            answer: answer(),
            criterion: "names it".into(),
        }),
        Arc::new(SnippetEvidence {
            question: question(),
            answer: answer(),
            snippets: vec![String::new(); SNIPPETS].into(),
        }),
        Arc::new(Citations {
            question: question(),
            answer: answer(),
        }),
        Arc::new(AspectGrade {
            aspect: Arc::default(),
            instruction: "".into(),
            question: question(),
            answer: answer(),
            reference: None,
        }),
        Arc::new(SourceSupport {
            claim: answer(),
            document: "a source".into(),
        }),
        Arc::new(CitedStatements {
            report: "Ice shrinks [1].\n\n[1] https://a.example".into(),
            language: ReportLanguage::English,
        }),
        Arc::new(PageSupport {
            page: "Ice shrinks.".into(),
            statements: ["s1", "s2"].map(named).into(),
            language: ReportLanguage::English,
        }),
        Arc::new(DistinctStatements::new(
            ["a".into(), "b".into()],
            ReportLanguage::English,
        )),
    ]
}

fn named(item: &str) -> NamedStatement {
    NamedStatement {
        item: item.into(),
        text: "Ice shrinks.".into(),
    }
}

/// A verdict of the default mode is on the scale of its kind.
#[track_caller]
fn is_on_its_scale(verdict: Verdict) {
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    let is_good = match verdict {
        Verdict::Points(points) => (0.0..=10.0).contains(&points),
        Verdict::Count(count) => (0.0..=SNIPPETS as f64).contains(&count),
        Verdict::Claims(shares) => is_share(shares.citations) && is_share(shares.excerpts),
        Verdict::Grade(grade) => (1.0..=5.0).contains(&grade),
        Verdict::Attribution(_) | Verdict::Irrelevant(_) | Verdict::CitedClaims(_) => true,
        Verdict::Criteria(ref all) => all.iter().filter_map(|one| one.credit).all(is_share),
        Verdict::Statements(ref all) => all.iter().all(|one| !one.text.is_empty()),
        Verdict::Support(ref all) => all.len() == 2,
        Verdict::Kept(ref places) => places.iter().all(|place| *place < 2),
        ref other => panic!("teach this test the scale of {other:?}"),
    };
    assert!(is_good, "{verdict:?}");
}

/// Reads a verdict of every kind in this reply.
fn read_verdicts(reply: &JudgeReply) {
    for task in tasks() {
        if let Ok(reading) = task.parse(reply, Mode::Default) {
            is_on_its_scale(reading.verdict);
        }
        let _ = task.parse(reply, Mode::Compat);
    }
    for (range, location) in [
        (0..=10, ScoreLocation::JsonScore),
        (1..=5, ScoreLocation::AfterResult),
    ] {
        if let Ok(expected) = expected_value(reply, range.clone(), location) {
            let (low, high) = (f64::from(*range.start()), f64::from(*range.end()));
            assert!((low..=high).contains(&expected.value), "{expected:?}");
        }
    }
}

/// A value as Python prints it, with a comma behind every last member.
fn printed(value: &Value) -> String {
    let text = |text: &str| {
        let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
        format!("'{}'", escaped.replace('\r', "\\r"))
    };
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(string) => text(string),
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(|value| printed(value) + ",").collect();
            format!("[{}]", list.concat())
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| format!("{}: {},", text(key), printed(value)));
            format!("{{{}}}", fields.collect::<String>())
        }
        number => number.to_string(),
    }
}

/// An object in nearly-JSON forms has the verdict that it has as JSON, or none; the beginning of such a reply has none.
fn read_nearly_json(object: &Value) {
    let json = object.to_string();
    let printed = printed(object);
    // Behind a backslash that is escaped, an n begins no line.
    let raw_breaks = if json.contains(r"\\") {
        json.clone()
    } else {
        json.replace("\\n", "\n")
    };
    for task in tasks().iter().filter(|task| task.replies_in_json()) {
        let verdict = |text: &str| {
            let reading = task.parse(&JudgeReply::of_text(text), Mode::Default);
            reading.ok().map(|reading| format!("{:?}", reading.verdict))
        };
        let strict = verdict(&json);
        for text in [
            printed.clone(),
            format!("{json}."),
            format!("{{\"result\": {printed}}}"),
            format!("[{printed}]"),
            raw_breaks.clone(),
        ] {
            let nearly = verdict(&text);
            assert!(
                nearly.is_none() || nearly == strict,
                "{text}: {nearly:?}, {strict:?}"
            );
        }
        for (end, _) in printed.char_indices() {
            assert_eq!(verdict(&printed[..end]), None, "{}", &printed[..end]);
        }
    }
}

/// The text of replies, and replies with probabilities as they stand in a record.
#[test]
fn reply_texts() {
    fuzz("reply_texts", |input| {
        let text = String::from_utf8_lossy(input);
        read_verdicts(&JudgeReply::of_text(&*text));
        read_verdicts(&JudgeReply {
            finish_reason: Some("length".to_owned()),
            ..JudgeReply::of_text(&*text)
        });
        let value = serde_json::from_slice::<Value>(input).unwrap_or_default();
        if value.is_object() && input.len() < 400 {
            read_nearly_json(&value);
        }
        if let Ok(reply) = serde_json::from_slice::<JudgeReply>(input) {
            read_verdicts(&reply);
        }
    });
}

/// What judges reply to the questions here, in nearly-JSON forms.
#[test]
fn nearly_json_replies_have_the_verdict_of_json_or_none() {
    for object in [
        json!({"score": 7, "feedback": "it's \"fine\",\nsay \\alpha }"}),
        json!({"score": 1.5}),
        json!({"claims": [{"claim_text": "a", "citations": [{"citation_text": "[1]", "excerpts": ["b"]}]}]}),
        json!({"statements": [{"statement": "Ice shrinks.", "urls": ["https://a.example"]}]}),
        json!({"statements": []}),
        json!({"claims": []}),
        json!({"verdicts": [{"number": 1, "verdict": "supported"}, {"number": 2, "verdict": "unsupported"}]}),
        json!({"duplicates": [[1, 2]]}),
        json!({"verdicts": {"criterion1": {"verdict": 1}, "criterion2": {"verdict": 0}}}),
        json!({"verdicts": [{"criterion": "b", "verdict": 1}, {"criterion": "a", "verdict": 0}]}),
        json!({"result": {"score": 3, "ok": true, "x": null}}),
    ] {
        read_nearly_json(&object);
    }
}

/// Bodies of responses, taken as a whole reply and as a stream of events, by chat and by raw completions.
#[test]
fn reply_bodies() {
    let act = Arc::new(Mutex::new(Act::Good));
    let next = Arc::clone(&act);
    let judging = Behaviour::good()
        .without_record()
        .deciding(move |_| Some(next.lock().unwrap().clone()));
    let server = FakeServer::start(judging);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let judges = [JudgeKind::Chat, JudgeKind::Completions].map(|kind| {
        let mut endpoint = Endpoint::new(&server.base_url()).unwrap();
        endpoint.stream = true;
        let messages = Messages::new(None, "x");
        let rendered = RequestOptions {
            endpoint: kind,
            ..RequestOptions::new("m")
        };
        let rendered = Some(rendered.render(&PROPERTY, &rendered.prompt(messages, true), 0, 0));
        let call = JudgeCall {
            item: "expertise".into(),
            role: Role::Rubric,
            question: other_tasks().swap_remove(0),
            sample: 0,
            member: 0,
            opens: None,
        };
        let request = JudgeRequest {
            call,
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered,
        };
        (
            Chat::new(endpoint.through(kind), Arc::default()).unwrap(),
            request,
        )
    });
    fuzz("reply_bodies", move |input| {
        let _server = &server;
        for media in ["application/json", "text/event-stream"] {
            *act.lock().unwrap() = Act::status(200, input).with_header("content-type", media);
            for (judge, request) in &judges {
                match runtime.block_on(judge.ask(request)) {
                    Ok(Outcome::Reply(reply)) => read_verdicts(&reply),
                    Ok(_) => {}
                    Err(error) => drop(format!("{error:?}")),
                }
            }
        }
    });
}

/// Files of a batch: its manifest, its list of calls, and results.
#[test]
fn batch_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("batch.json");
    let cache = Cache::open(&dir.path().join("cache.sqlite")).unwrap();
    let known = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/fuzz/batch_files/calls.jsonl"
    );
    fuzz("batch_files", move |input| {
        std::fs::write(&path, input).unwrap();
        let _ = BatchManifest::load(dir.path()).map_err(|error| error.to_string());
        let _ = BatchCalls::default()
            .read(&path)
            .map_err(|error| error.to_string());
        let mut calls = BatchCalls::default();
        calls.read(known.as_ref()).unwrap();
        let mut report = ImportReport::default();
        calls.import(&path, &cache, &mut report).unwrap();
    });
}
