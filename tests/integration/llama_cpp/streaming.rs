//! Streams of the real server: the same reply. And no work for a client that has gone.

use std::sync::Arc;
use std::time::Duration;

use scholareval::judge::AskError;
use scholareval::judge::body::RequestOptions;
use scholareval::judge::chat::Chat;
use scholareval::judge::conversation::Conversation;
use scholareval::judge::endpoint::Endpoint;
use scholareval::judge::kind::JudgeKind;
use scholareval::prompt::Messages;
use scholareval::question::ASPECT;
use serde_json::json;

use super::server::{ALIAS, KEY, LlamaServer, shared};

/// So often, and so far apart, the server is asked whether it is idle.
const LOOKS: u32 = 300;
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

fn endpoint(server: &LlamaServer, stream: bool) -> Endpoint {
    let mut endpoint = Endpoint::new(&server.base_url()).unwrap();
    endpoint.api_key = Some(KEY.to_owned().into());
    endpoint.stream = stream;
    endpoint
}

/// A call whose reply `grammar` decides.
fn options(kind: JudgeKind, grammar: &str, max_tokens: u64) -> RequestOptions {
    let mut options = RequestOptions::new(ALIAS);
    (options.endpoint, options.conversation) = (kind, Conversation::ChatMl);
    options.max_tokens.insert(ASPECT.kind(), max_tokens);
    options
        .extra_body
        .insert("grammar".to_owned(), json!(grammar));
    options
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_streamed_reply_is_the_whole_one_in_pieces() {
    let Some(server) = shared() else { return };
    for kind in [JudgeKind::Chat, JudgeKind::Completions] {
        let options = RequestOptions {
            logprobs: Some(3),
            ..options(kind, r#"root ::= "[RESULT] 4""#, 12)
        };
        let messages = Messages::new(
            Some("You grade answers from 1 to 5.".into()),
            "Grade: the sky is blue.",
        );
        let call = options.render(&ASPECT, &options.prompt(messages, true), 0, 0);
        let [whole, streamed] = [false, true].map(|stream| {
            let judge = Chat::new(endpoint(&server, stream).through(kind), Arc::default()).unwrap();
            runtime().block_on(judge.send(&call)).unwrap()
        });
        assert_eq!(streamed.content, whole.content, "{kind}");
        assert_eq!(
            (&streamed.finish_reason, &streamed.model),
            (&whole.finish_reason, &whole.model),
            "{kind}"
        );
        assert_eq!(
            streamed.usage.prompt_tokens, whole.usage.prompt_tokens,
            "{kind}"
        );
        assert_eq!(
            streamed.usage.completion_tokens, whole.usage.completion_tokens,
            "{kind}"
        );
        let tokens = |reply: &scholareval::domain::JudgeReply| {
            reply
                .logprobs
                .iter()
                .flatten()
                .map(|token| token.token.clone())
                .collect::<String>()
        };
        assert!(
            !tokens(&whole).is_empty() && tokens(&streamed) == tokens(&whole),
            "{kind}: {streamed:?} {whole:?}"
        );
    }
}

/// Without a stream this server notices within 2 s at times, and at other times not before the reply is whole.
#[test]
fn a_dropped_stream_ends_the_servers_work() {
    let Some(server) = shared() else { return };
    const MOST: u64 = 1500;
    let options = options(JudgeKind::Completions, r#"root ::= "la " root"#, MOST);
    let call = options.render(
        &ASPECT,
        &options.prompt(Messages::new(None, "Sing."), true),
        0,
        0,
    );
    let mut endpoint = endpoint(&server, true);
    endpoint.timeouts.total = Duration::from_secs(2);
    let judge = Chat::new(endpoint.through(JudgeKind::Completions), Arc::default()).unwrap();
    let before = server.counter("tokens_predicted_total");
    let runtime = runtime();
    let result = runtime.block_on(judge.send(&call));
    assert!(
        matches!(
            &result,
            Err(AskError::Transient {
                status: Some(408),
                ..
            })
        ),
        "{result:?}"
    );
    let is_idle = (0..LOOKS).any(|_| {
        // Within the runtime, whose tasks close the connection.
        runtime.block_on(async { tokio::time::sleep(BETWEEN_LOOKS).await });
        server.counter("requests_processing") == 0.0
    });
    assert!(is_idle, "the server still works for nobody");
    let generated = server.counter("tokens_predicted_total") - before;
    assert!(
        generated < MOST as f64,
        "it stopped only when it had made all {generated} tokens"
    );
}
