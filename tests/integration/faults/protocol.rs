//! The ways in which replies come: every wire form that the fake server knows, whole and as a stream.

use std::fmt;

use serde_json::{Value, json};

use super::{Act, Behaviour, CALM, CALM_RAW, Calm};
use crate::support::fake_server::{self, DONE, FORMS, WireForm};

/// How a judge is asked and answers.
#[derive(Clone, Copy)]
pub(super) struct Protocol {
    form: &'static WireForm,
    is_streaming: bool,
}

/// Replies of chat, whole.
pub(super) const CHAT: Protocol = whole(&fake_server::CHAT);
/// Raw completions.
pub(super) const RAW: Protocol = whole(&fake_server::RAW);
/// Replies of chat, as streams.
pub(super) const STREAM: Protocol = Protocol {
    is_streaming: true,
    ..CHAT
};

const fn whole(form: &'static WireForm) -> Protocol {
    Protocol {
        form,
        is_streaming: false,
    }
}

impl Protocol {
    /// Every form, whole and, where it has streams, as a stream.
    pub(super) fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for form in FORMS {
            all.push(whole(form));
            if form.stream.is_some() {
                all.push(Self {
                    form,
                    is_streaming: true,
                });
            }
        }
        all
    }

    fn is_chat(self) -> bool {
        self.form.kind == fake_server::CHAT.kind
    }

    /// The arguments of `score` that choose it, before `more`.
    pub(super) fn arguments<'a>(self, more: &[&'a str]) -> Vec<&'a str> {
        let mut arguments = Vec::new();
        if !self.is_chat() {
            arguments.extend(["--judge", self.form.kind, "--api-key-env", "OPENAI_API_KEY"]);
        }
        if self.is_streaming {
            arguments.extend(["--stream", "on"]);
        }
        arguments.extend(more);
        arguments
    }

    /// A good judge that answers in it.
    pub(super) fn judge(self) -> Behaviour {
        if self.is_streaming {
            Behaviour::good().streaming()
        } else {
            Behaviour::good()
        }
    }

    /// The run that nobody disturbs. Other forms than raw completions bring the replies of chat.
    pub(super) fn calm(self) -> &'static Calm {
        if self.form.kind == fake_server::RAW.kind {
            &CALM_RAW
        } else {
            &CALM
        }
    }

    /// An act that is written for chat, in the form of this protocol.
    pub(super) fn act(self, act: Act) -> Act {
        let body = match &act {
            Act::After(wait, then) => {
                return Act::After(*wait, Box::new(self.act((**then).clone())));
            }
            Act::Response {
                status: 200, body, ..
            } if self.is_streaming || !self.is_chat() => body,
            _ => return act,
        };
        let Ok(json) = serde_json::from_slice::<Value>(body) else {
            return act;
        };
        let json = (self.form.of_chat)(json);
        let stream = self.form.stream.as_ref().filter(|_| self.is_streaming);
        match stream.and_then(|stream| (stream.one_piece)(&json)) {
            Some(text) => Act::status(200, text).with_header("content-type", "text/event-stream"),
            None => Act::json(&json),
        }
    }
}

impl Default for Protocol {
    fn default() -> Self {
        CHAT
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.form.kind)?;
        f.write_str(if self.is_streaming { ", streams" } else { "" })
    }
}

/// The body of an act in this protocol.
fn body(protocol: Protocol, act: &Act) -> String {
    match protocol.act(act.clone()) {
        Act::Response { body, .. } => String::from_utf8(body).unwrap(),
        other => panic!("{other:?}"),
    }
}

/// The JSON behind `data: ` of the first event.
fn first_event(stream: &str) -> Value {
    let (first, _) = stream.split_once("\n\n").unwrap();
    serde_json::from_str(first.strip_prefix("data: ").unwrap()).unwrap()
}

#[test]
fn acts_are_translated() {
    let choice = json!({"message": {"content": "x"}, "finish_reason": "stop"});
    let act = Act::json(&json!({"choices": [choice], "model": "m"}));
    let expected = [
        ("chat", json!({"choices": [choice], "model": "m"})),
        (
            "chat, streams",
            json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "model": "m"}),
        ),
        (
            "completions",
            json!({"choices": [{"text": "x", "finish_reason": "stop"}], "model": "m"}),
        ),
        (
            "anthropic",
            json!({"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "model": "m"}),
        ),
        (
            "gemini",
            json!({
                "candidates": [{"content": {"parts": [{"text": "x"}], "role": "model"}, "finishReason": "STOP"}],
                "modelVersion": "m",
            }),
        ),
    ];
    for protocol in Protocol::all() {
        let body = body(protocol, &act);
        let name = format!("{protocol:?}");
        let found = if protocol.is_streaming {
            first_event(&body)
        } else {
            serde_json::from_str(&body).unwrap()
        };
        if let Some((_, expected)) = expected.iter().find(|(own, _)| *own == name) {
            assert_eq!(found, *expected, "{name}");
        }
    }
    assert!(body(STREAM, &act).ends_with(DONE));
}
