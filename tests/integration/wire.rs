//! Samples of the wire of judges' services beside the repository: each is read as its service means it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use scholareval::Error;
use scholareval::domain::{JudgeReply, Mode, Role};
use scholareval::judge::body::RequestOptions;
use scholareval::judge::chat::Chat;
use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::forms::Effort;
use scholareval::judge::kind::JudgeKind;
use scholareval::judge::{AskError, Judge, JudgeRequest, Outcome};
use scholareval::prompt::Messages;
use scholareval::question::{JudgeCall, PROPERTY, Property, Question};
use serde_json::{Value, json};

use crate::support::fake_server::{Act, Behaviour, FakeServer};

/// The sample of this name; `None` where the samples are not there.
fn sample(name: &str) -> Option<Value> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let path = shared.join(format!("golden/protocols/{name}.json"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: {} is not there", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

fn property() -> Property {
    Property {
        question: "q".into(),
        answer: "a".into(),
        criterion: "c".into(),
    }
}

/// Sends a call of a judge of this kind, whose server answers `act`.
async fn ask(kind: JudgeKind, effort: Option<Effort>, act: Act) -> Result<Outcome, AskError> {
    let server = FakeServer::start(Behaviour::always(act));
    let endpoint = Endpoint::new(&server.base_url()).unwrap().through(kind);
    let options = RequestOptions {
        endpoint: kind,
        reasoning_effort: effort,
        ..RequestOptions::new("m")
    };
    let rendered = options.render(
        &PROPERTY,
        &options.prompt(Messages::new(None, "u"), true),
        0,
        0,
    );
    let request = JudgeRequest {
        call: JudgeCall::new("c", Role::Rubric, property()),
        system: "s".into(),
        case_id: "c".into(),
        attempt: 0,
        rendered: Some(rendered),
    };
    Chat::new(endpoint, Arc::default())
        .unwrap()
        .ask(&request)
        .await
}

/// The reply to a call whose server answers with this sample.
async fn reply(kind: JudgeKind, sample: &Value) -> JudgeReply {
    match ask(kind, None, Act::json(&sample["response"])).await {
        Ok(Outcome::Reply(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn replies_have_their_text_and_their_tokens_of_reasoning() {
    for (kind, name, tokens, reasoning) in [
        (JudgeKind::Anthropic, "anthropic_structured", 231, 214),
        // 6 of the candidate and 310 thoughts
        (JudgeKind::Gemini, "gemini_level", 316, 310),
        (JudgeKind::Chat, "openai_chat", 140, 128),
    ] {
        let Some(sample) = sample(name) else { return };
        let reply = reply(kind, &sample).await;
        assert_eq!(reply.content, r#"{"score":7}"#, "{name}");
        let usage = reply.usage;
        assert_eq!(
            (usage.completion_tokens, usage.reasoning_tokens),
            (tokens, reasoning),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_cut_inside_reasoning_reads_as_one() {
    for (kind, name, tokens) in [
        (JudgeKind::Anthropic, "anthropic_cut_in_thinking", 100),
        (JudgeKind::Gemini, "gemini_cut_in_thoughts", 97),
        (JudgeKind::Chat, "openai_cut_in_reasoning", 100),
    ] {
        let Some(sample) = sample(name) else { return };
        let reply = reply(kind, &sample).await;
        let unreadable = property().parse(&reply, Mode::Default).unwrap_err();
        let what =
            format!("reply cut inside its reasoning, before any verdict, at {tokens} tokens");
        assert_eq!(unreadable.what, what, "{name}");
    }
}

#[tokio::test]
async fn a_refusal_names_its_category() {
    let Some(sample) = sample("anthropic_refusal") else {
        return;
    };
    let reply = reply(JudgeKind::Anthropic, &sample).await;
    let unreadable = property().parse(&reply, Mode::Default).unwrap_err();
    assert_eq!(
        unreadable.what,
        "the judge refused: \"the reply was blocked (bio)\""
    );
}

/// What is made of each error of this sample: the refused parameter, the end of the run, or a refusal.
async fn outcomes(kind: JudgeKind, name: &str) -> Option<Vec<(String, &'static str)>> {
    let sample = sample(name)?;
    let mut outcomes = Vec::new();
    for error in sample["errors"].as_array().unwrap() {
        let act = Act::status(400, error["body"].to_string());
        let outcome = match ask(kind, Some(Effort::None), act).await {
            Err(AskError::Unsupported { .. }) => "left out",
            Err(AskError::Fatal(Error::JudgeUnavailable(message))) => {
                assert!(
                    message.contains("refuses this --reasoning-effort"),
                    "{message}"
                );
                "ends the run"
            }
            Err(AskError::Refused { .. }) => "refused",
            Ok(Outcome::Reply(reply)) if reply.is_cut() => "a cut reply",
            other => panic!("{other:?}"),
        };
        outcomes.push((error["when"].as_str().unwrap().to_owned(), outcome));
    }
    Some(outcomes)
}

#[tokio::test]
async fn errors_are_left_out_or_end_the_run() {
    for (kind, name, expected) in [
        (
            JudgeKind::Anthropic,
            "anthropic_errors",
            // No tool is sent, and no schema here.
            json!([
                "refused",
                "ends the run",
                "ends the run",
                "left out",
                "refused",
                "refused",
                "refused",
                "refused",
                "ends the run"
            ]),
        ),
        (
            JudgeKind::Gemini,
            "gemini_errors",
            json!(["left out", "ends the run", "refused", "refused", "left out"]),
        ),
        (
            JudgeKind::Chat,
            "openai_errors",
            json!([
                "a cut reply",
                "left out",
                "left out",
                "left out",
                "ends the run",
                "ends the run"
            ]),
        ),
    ] {
        let Some(outcomes) = outcomes(kind, name).await else {
            return;
        };
        let is: Vec<&str> = outcomes.iter().map(|(_, outcome)| *outcome).collect();
        assert_eq!(json!(is), expected, "{outcomes:?}");
    }
}
