//! Both kinds of endpoint of the real server: probabilities, counted tokens, the context it tells.

use std::sync::Arc;

use scholareval::domain::{JudgeReply, ScoreLocation, WhyNot, expected_value};
use scholareval::judge::body::RequestOptions;
use scholareval::judge::capacity::Capacity;
use scholareval::judge::chat::Chat;
use scholareval::judge::conversation::Conversation;
use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::identity::ask_server;
use scholareval::judge::kind::JudgeKind;
use scholareval::prompt::Messages;
use scholareval::question::ASPECT;
use serde_json::json;

use super::server::{ALIAS, CONTEXT, KEY, LlamaServer, shared};

const KINDS: [JudgeKind; 2] = [JudgeKind::Chat, JudgeKind::Completions];

fn endpoint(server: &LlamaServer) -> Endpoint {
    let mut endpoint = Endpoint::new(&server.base_url()).unwrap();
    endpoint.api_key = Some(KEY.to_owned().into());
    endpoint
}

/// A short call whose reply is held to the form of a grade, so that there is one.
fn options(kind: JudgeKind) -> RequestOptions {
    let mut options = RequestOptions::new(ALIAS);
    (options.endpoint, options.conversation, options.logprobs) =
        (kind, Conversation::ChatMl, Some(8));
    options.max_tokens.insert(ASPECT.kind(), 12);
    options
        .extra_body
        .insert("grammar".to_owned(), json!(r#"root ::= "[RESULT] " [1-5]"#));
    options
}

fn ask(server: &LlamaServer, options: &RequestOptions, user: &str) -> JudgeReply {
    let messages = Messages::new(Some("You grade answers from 1 to 5.".into()), user);
    let rendered = options.render(&ASPECT, &options.prompt(messages, true), 0, 0);
    let judge = Chat::new(endpoint(server).through(options.endpoint), Arc::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(judge.send(&rendered)).unwrap()
}

#[test]
fn both_kinds_of_endpoint_give_a_grade_with_its_alternatives() {
    let Some(server) = shared() else { return };
    for kind in KINDS {
        let reply = ask(
            &server,
            &options(kind),
            "Question: why is the sky blue? Answer: it scatters.",
        );
        assert!(
            reply.content.trim().starts_with("[RESULT] "),
            "{kind}: {reply:?}"
        );
        let tokens = reply.logprobs.as_deref().unwrap();
        let text: String = tokens.iter().map(|token| token.token.as_str()).collect();
        assert!(
            text.contains(reply.content.trim()),
            "{kind}: {text:?} is not {:?}",
            reply.content
        );
        let score = tokens
            .iter()
            .find(|token| token.token.contains(|c: char| c.is_ascii_digit()))
            .unwrap();
        assert!(
            !score.top.is_empty() && score.top.is_sorted_by(|a, b| a.1 >= b.1),
            "{kind}: {score:?}"
        );
        // What the model thinks is by chance, and the alternatives are those before the grammar: few may be grades.
        match expected_value(&reply, 1..=5, ScoreLocation::AfterResult) {
            Ok(expected) => assert!(
                (1.0..=5.0).contains(&expected.value),
                "{kind}: {expected:?}"
            ),
            Err(why) => assert!(
                matches!(why, WhyNot::Covers(mass) if mass < 0.5),
                "{kind}: {why}"
            ),
        }
    }
}

#[test]
fn a_raw_chatml_prompt_is_read_as_the_servers_own_template_makes_it() {
    let Some(server) = shared() else { return };
    let tokens = KINDS.map(|kind| {
        ask(&server, &options(kind), "Say a number.")
            .usage
            .prompt_tokens
    });
    assert_eq!(tokens[0], tokens[1]);
}

#[test]
fn the_server_tells_the_context_of_a_slot() {
    let Some(server) = shared() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let report = runtime
        .block_on(ask_server(&endpoint(&server), Some(ALIAS)))
        .unwrap();
    let expected = Capacity {
        context_tokens: u64::from(CONTEXT),
        counts_reply: false,
    };
    assert_eq!(report.capacity, Some(expected));
}
