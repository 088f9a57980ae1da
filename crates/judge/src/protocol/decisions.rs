//! Decisions of OpenAI, vLLM and Fireworks: `POST /decisions`, questions and answers as lists.

use serde_json::{Value, json};

use super::{
    BodyFault, Members, OPENAI, Protocol, ServiceAddress, WireRequest,
    decision_reply::decision_replies,
};
use crate::prompt::Messages;
use scholareval_core::domain::JudgeReply;
use scholareval_core::question::DecisionShape;

/// Decisions by lists.
pub(crate) static DECISIONS: DecisionsProtocol = DecisionsProtocol;

/// See the module.
#[derive(Debug)]
pub(crate) struct DecisionsProtocol;

impl Protocol for DecisionsProtocol {
    decision_replies!();

    fn address(&self) -> &'static ServiceAddress {
        &OPENAI
    }

    fn path(&self) -> &'static str {
        "/decisions"
    }

    fn missing_route_hint(&self) -> &'static str {
        "; servers that ask by name have /systemone: --judge systemone"
    }

    fn key_route(&self) -> Value {
        json!("decisions")
    }

    fn decision_shape(&self) -> Option<DecisionShape> {
        Some(DecisionShape::Listed)
    }

    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        vec![
            ("model", json!(request.model)),
            ("input", json!("")),
            ("questions", json!([])),
        ]
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        vec![
            ("input", json!(messages.user)),
            ("questions", messages.questions_json()),
        ]
    }

    fn texts_of(&self, body: &Value) -> String {
        body["input"].as_str().unwrap_or_default().to_owned()
    }
}
