//! Raw completions, token probabilities and context limits over HTTP.

use std::collections::BTreeMap;

use scholareval::domain::{ScoreLocation, WhyNot, expected_value};
use scholareval::judge::capacity::Capacity;
use scholareval::judge::conversation::Conversation;
use scholareval::judge::identity::ask_server;
use scholareval::judge::kind::JudgeKind;
use scholareval::judge::layers::context_limited::ContextLimited;
use scholareval::question::{ASPECT, KINDS, Kind};

use super::*;

fn judge_through(server: &FakeServer, kind: JudgeKind) -> Chat {
    Chat::new(endpoint(server).through(kind), Arc::default()).unwrap()
}

fn limits(kind: JudgeKind) -> BTreeMap<Kind, u64> {
    KINDS
        .into_iter()
        .filter_map(|call| Some((call.kind(), kind.default_max_tokens(call)?)))
        .collect()
}

/// The published parameters of Prometheus.
fn prometheus(model: &str) -> RequestOptions {
    RequestOptions {
        endpoint: JudgeKind::Completions,
        conversation: Conversation::Llama2,
        temperature: Some(0.01),
        top_p: Some(0.95),
        json_mode: false,
        max_tokens: limits(JudgeKind::Completions),
        ..RequestOptions::new(model)
    }
}

/// The published parameters of AttrScore.
fn attrscore(model: &str) -> RequestOptions {
    let (endpoint, max_tokens) = (JudgeKind::Label, limits(JudgeKind::Label));
    RequestOptions {
        endpoint,
        json_mode: false,
        max_tokens,
        ..RequestOptions::new(model)
    }
}

fn rendered(options: &RequestOptions, text: &str) -> JudgeRequest {
    let messages = Messages::new(Some("judge".into()), text);
    JudgeRequest {
        rendered: Some(options.render(&ASPECT, &options.prompt(messages, true), 0, 0)),
        ..request(text)
    }
}

async fn raw(act: Act) -> Result<Outcome, AskError> {
    let server = FakeServer::start(Behaviour::always(act));
    let request = rendered(&prometheus("m"), "x");
    judge_through(&server, JudgeKind::Completions)
        .ask(&request)
        .await
}

fn reply_of(outcome: Result<Outcome, AskError>) -> JudgeReply {
    match outcome {
        Ok(Outcome::Reply(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_raw_completion_is_sent_as_it_was_rendered_and_its_text_read() {
    let server = FakeServer::start(
        Behaviour::good()
            .saying(|_| "Feedback: good. [RESULT] 4".into())
            .key(SECRET),
    );
    let request = rendered(&prometheus("m"), "grade this");
    let reply = reply_of(
        judge_through(&server, JudgeKind::Completions)
            .ask(&request)
            .await,
    );
    assert_eq!(reply.content, "Feedback: good. [RESULT] 4");
    assert!(reply.usage.prompt_tokens > 0 && reply.finish_reason.as_deref() == Some("stop"));
    let sent = &server.requests()[0];
    assert_eq!(
        (sent.method.as_str(), sent.path.as_str()),
        ("POST", "/v1/completions")
    );
    assert_eq!(sent.body, *request.rendered.unwrap().body.bytes);
    assert_eq!(
        sent.json()["prompt"],
        "[INST] <<SYS>>\njudge\n<</SYS>>\n\ngrade this [/INST]"
    );
}

#[tokio::test]
async fn failures_of_raw_completions_are_told_apart_like_those_of_chats() {
    let slow_down = Act::status(429, "slow").with_header("Retry-After", "7");
    let result = raw(slow_down).await;
    assert!(
        matches!(&result, Err(AskError::Transient { status: Some(429), retry_after: Some(wait), .. }) if wait.as_secs() == 7),
        "{result:?}"
    );
    for passing in [
        Act::Cut,
        Act::ResetWithin,
        Act::status(200, "<html>starting</html>"),
        Act::json(&json!({"error": {"code": 502, "message": "no"}})),
        Act::json(&json!({"status": "ok"})),
    ] {
        let result = raw(passing.clone()).await;
        assert!(
            matches!(result, Err(AskError::Transient { .. })),
            "{passing:?}: {result:?}"
        );
    }
    let full = Act::error(
        400,
        "BadRequestError",
        "This model's maximum context length is 4096 tokens.",
    );
    let result = raw(full).await;
    assert!(
        matches!(
            result,
            Err(AskError::Refused {
                kind: UnscoredKind::ContextOverflow,
                ..
            })
        ),
        "{result:?}"
    );
    let message = stopped(raw(Act::status(404, r#"{"detail":"Not Found"}"#)).await);
    assert!(message.contains("has no /completions"), "{message}");
}

#[tokio::test]
async fn a_label_comes_back_as_it_was_written() {
    let body = json!({"choices": [{"text": "Attributable", "finish_reason": "length"}]});
    let server = FakeServer::start(Behaviour::always(Act::json(&body)));
    let request = rendered(&attrscore("attrscore"), "claim and reference");
    let reply = reply_of(judge_through(&server, JudgeKind::Label).ask(&request).await);
    assert_eq!(
        (reply.content.as_str(), reply.is_cut()),
        ("Attributable", true)
    );
    assert_eq!(server.requests()[0].path, "/v1/completions");
}

#[tokio::test]
async fn both_forms_of_probabilities_give_the_same_expected_score() {
    let ln = |p: f64| p.ln();
    let columns = json!({"choices": [{"text": " [RESULT] 4", "logprobs": {
        "tokens": [" [", "RESULT", "] ", "4"], "token_logprobs": [0, 0, 0, ln(0.75)], "text_offset": [0, 2, 8, 10],
        "top_logprobs": [null, {}, {"] ": 0}, {"4": ln(0.75), "5": ln(0.25)}],
    }}]});
    let entry = |token: &str, p: f64| json!({"token": token, "logprob": ln(p), "bytes": null});
    let mut score = entry("4", 0.75);
    score["top_logprobs"] = json!([entry("4", 0.75), entry("5", 0.25)]);
    let list = json!({"choices": [{"message": {"content": "[RESULT] 4"}, "logprobs": {"content": [
        entry("```", 1.0), entry("[RESULT] ", 1.0), score, entry("```", 1.0),
    ]}}]});
    let mut replies = vec![
        reply_of(raw(Act::json(&columns)).await),
        reply(Act::json(&list)).await,
    ];
    for reply in &replies {
        let expected = expected_value(reply, 1..=5, ScoreLocation::AfterResult).unwrap();
        // 4 x 0.75 + 5 x 0.25
        assert!(
            (expected.value - 4.25).abs() < 1e-12 && (expected.mass - 1.0).abs() < 1e-12,
            "{expected:?}"
        );
    }
    replies[0].logprobs = None;
    let plain = expected_value(&replies[0], 1..=5, ScoreLocation::AfterResult);
    assert_eq!(plain, Err(WhyNot::NoLogprobs));
}

/// A judge whose server lists `models`, behind the check of its context.
async fn limited(server: &FakeServer, kind: JudgeKind) -> (ContextLimited<Chat>, Option<Capacity>) {
    let endpoint = endpoint(server).through(kind);
    let capacity = ask_server(&endpoint, Some("m")).await.unwrap().capacity;
    let limited = ContextLimited::new(
        judge_through(server, kind),
        capacity.map(|capacity| (capacity, &endpoint)),
    );
    (limited.unwrap(), capacity)
}

fn overflow(outcome: Result<Outcome, AskError>) -> String {
    match outcome {
        Ok(Outcome::Unscored(reason)) if reason.kind == UnscoredKind::ContextOverflow => {
            reason.message
        }
        other => panic!("{other:?}"),
    }
}

fn vllm(max_model_len: u64) -> Behaviour {
    Behaviour::good().models(Act::json(
        &json!({"data": [{"id": "m", "root": "/w/m", "max_model_len": max_model_len}]}),
    ))
}

#[tokio::test]
async fn what_certainly_exceeds_the_context_is_not_sent() {
    let server = FakeServer::start(vllm(1000));
    let (judge, capacity) = limited(&server, JudgeKind::Completions).await;
    let expected = Capacity {
        context_tokens: 1000,
        counts_reply: true,
    };
    assert_eq!(capacity, Some(expected));
    let options = prometheus("m");
    // 488 tokens are left beside a reply of 512; 2000 words are 1500 at the least
    let message = overflow(judge.ask(&rendered(&options, &"word ".repeat(2000))).await);
    assert!(
        message.contains("holds 1000") && message.contains("up to 512"),
        "{message}"
    );
    assert!(matches!(
        judge.ask(&rendered(&options, "short")).await,
        Ok(Outcome::Reply(_))
    ));
    assert_eq!(server.chat_count(), 1);
}

#[tokio::test]
async fn near_the_limit_a_server_that_can_counts_the_tokens() {
    // vLLM and SGLang give a count, llama.cpp the tokens; a word is a token here.
    for key in ["prompt", "content"] {
        let count = move |request: &Recorded| {
            let words = || {
                request.json()[key]
                    .as_str()
                    .unwrap()
                    .split_whitespace()
                    .count()
            };
            let reply = || {
                if key == "prompt" {
                    json!({"count": words()})
                } else {
                    json!({"tokens": vec![7; words()]})
                }
            };
            request
                .path
                .ends_with("/tokenize")
                .then(|| Act::json(&reply()))
        };
        let server = FakeServer::start(vllm(1000).handler(count));
        let (judge, _) = limited(&server, JudgeKind::Completions).await;
        // 488 tokens are left beside a reply of 512
        let message = overflow(
            judge
                .ask(&rendered(&prometheus("m"), &"word ".repeat(500)))
                .await,
        );
        assert!(message.starts_with("the prompt has 50"), "{message}");
        assert!(matches!(
            judge
                .ask(&rendered(&prometheus("m"), &"word ".repeat(450)))
                .await,
            Ok(Outcome::Reply(_))
        ));
        assert!(matches!(
            judge.ask(&rendered(&prometheus("m"), "short")).await,
            Ok(Outcome::Reply(_))
        ));
        let counted = server
            .requests()
            .iter()
            .filter(|request| request.path.ends_with("/tokenize"))
            .count();
        assert_eq!(
            (server.chat_count(), counted),
            (2, 2),
            "only what is close to the limit is counted"
        );
    }
}

#[tokio::test]
async fn near_the_limit_and_without_one_the_server_decides() {
    let server = FakeServer::start(vllm(1000));
    let (judge, _) = limited(&server, JudgeKind::Completions).await;
    let near = rendered(&prometheus("m"), &"word ".repeat(500));
    assert!(matches!(judge.ask(&near).await, Ok(Outcome::Reply(_))));
    let server = FakeServer::start(Behaviour::good());
    let (judge, capacity) = limited(&server, JudgeKind::Completions).await;
    assert_eq!(capacity, None);
    let long = rendered(&prometheus("m"), &"word ".repeat(20_000));
    assert!(matches!(judge.ask(&long).await, Ok(Outcome::Reply(_))));
}
