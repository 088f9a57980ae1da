//! System One of TypeSafe and of servers that speak it: `POST /systemone`, questions and answers as objects by name.
//!
//! Google has the same questions under another route, with another name of the text and its own header of the key. A pasted
//! address whose route is another one, as Perplexity's `/v1/decisions` and Cloudflare's `/ai/run/@cf/..`, is kept.

use serde_json::{Value, json};

use super::{
    BodyFault, GEMINI, ListedModel, Members, Protocol, ServiceAddress, WireRequest,
    decision_reply::decision_replies, listed_by_openai,
};
use crate::prompt::Messages;
use scholareval_core::domain::JudgeReply;
use scholareval_core::question::DecisionShape;

/// System One.
pub(crate) static SYSTEM_ONE: SystemOneProtocol = SystemOneProtocol { is_google: false };

/// Its form at Google.
pub(crate) static GOOGLE_DECISIONS: SystemOneProtocol = SystemOneProtocol { is_google: true };

static TYPESAFE: ServiceAddress = ServiceAddress {
    name: "TypeSafe",
    base_url: "https://api.typesafe.ai/v1",
    default_path: "/v1",
    host: "api.typesafe.ai",
    key_variable: "TYPESAFE_API_KEY",
    key_beginning: "sk-",
    address_variable: Some("TYPESAFE_BASE_URL"),
};

/// See the module.
#[derive(Debug)]
pub(crate) struct SystemOneProtocol {
    is_google: bool,
}

impl SystemOneProtocol {
    /// The member with the text that the questions are about.
    fn state(&self) -> &'static str {
        if self.is_google { "input" } else { "state" }
    }
}

impl Protocol for SystemOneProtocol {
    decision_replies!();

    fn address(&self) -> &'static ServiceAddress {
        if self.is_google {
            GEMINI.address()
        } else {
            &TYPESAFE
        }
    }

    fn key_header(&self) -> (&'static str, &'static str) {
        if self.is_google {
            GEMINI.key_header()
        } else {
            ("authorization", "Bearer ")
        }
    }

    fn path(&self) -> &'static str {
        if self.is_google {
            "/decisions"
        } else {
            "/systemone"
        }
    }

    fn other_route<'a>(&self, path: &'a str) -> Option<(&'a str, &'a str)> {
        if let Some(base) = path.strip_suffix("/decisions") {
            return Some((base, "/decisions"));
        }
        Some(path.split_at(path.find("/ai/run/")?))
    }

    fn missing_route_hint(&self) -> &'static str {
        "; servers that ask by lists have /decisions: --judge decisions"
    }

    fn key_route(&self) -> Value {
        json!("systemone")
    }

    fn decision_shape(&self) -> Option<DecisionShape> {
        Some(DecisionShape::Named)
    }

    fn fields<'a>(&self, request: &WireRequest<'a>) -> Members<'a> {
        vec![
            ("model", json!(request.model)),
            (self.state(), json!("")),
            ("questions", json!({})),
        ]
    }

    fn texts(&self, messages: &Messages) -> Members<'static> {
        vec![
            (self.state(), json!(messages.user)),
            ("questions", messages.questions_json()),
        ]
    }

    fn texts_of(&self, body: &Value) -> String {
        body[self.state()].as_str().unwrap_or_default().to_owned()
    }

    /// The list of OpenAI, or `{"models": [{"name"}]}` (TypeSafe). llama.cpp has both, and says more in the first.
    fn models(&self, list: &Value) -> Vec<ListedModel> {
        if self.is_google {
            return GEMINI.models(list);
        }
        let entries = list["data"].as_array().into_iter().flatten();
        let mut models: Vec<ListedModel> = entries.filter_map(listed_by_openai).collect();
        if models.is_empty() {
            for entry in list["models"].as_array().into_iter().flatten() {
                models.extend(entry["name"].as_str().map(|name| ListedModel {
                    id: name.to_owned(),
                    ..ListedModel::default()
                }));
            }
        }
        models
    }
}
