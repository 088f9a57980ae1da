//! Forms of a request: how much a model reasons, whether its reply follows a schema, how soon it is wanted.

use std::collections::BTreeSet;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::domain::python_json::kind;
use crate::domain::{JudgeTask, ReplyForm};

/// How much a reasoning model thinks before it replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// A little.
    Low,
    /// Somewhat.
    Medium,
    /// Thoroughly.
    High,
    /// As much as it can.
    Xhigh,
}

impl Effort {
    /// Tokens that a reply limit grows by, since it holds for the reasoning as well: 0, 1,000, 4,000, 12,000, 32,000 and
    /// 64,000. A limit that the user gives is not changed.
    pub fn tokens(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Minimal => 1_000,
            Self::Low => 4_000,
            Self::Medium => 12_000,
            Self::High => 32_000,
            Self::Xhigh => 64_000,
        }
    }
}

/// The form of a reply that is asked of the server, for questions whose reply is a JSON object. All replies are validated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Structured {
    /// A schema where the prompts declare one, else JSON mode; over chat, repeats of unreadable replies have the schema of
    /// [`schema_of`], and so have first attempts once most replies without it were unreadable.
    #[default]
    Auto,
    /// A schema for every question: that of the prompts, else that of [`schema_of`].
    Schema,
    /// JSON mode.
    Json,
    /// Nothing: the prompt alone asks for JSON.
    Off,
}

/// The JSON schema of the reply to a question; `None` where it is not JSON.
///
/// It has what OpenAI's strict mode demands: every property is required, and there are no others.
pub fn schema_of(task: &JudgeTask) -> Option<Value> {
    let object = |properties: Value| {
        let names: Vec<&String> = properties
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys())
            .collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    };
    let list = |items: Value| json!({"type": "array", "items": items});
    let text = json!({"type": "string"});
    Some(match task {
        JudgeTask::Expertise { .. } | JudgeTask::Property { .. } => {
            object(json!({"score": {"type": "number"}}))
        }
        JudgeTask::Evidence { .. } => object(json!({"score": {"type": "integer"}})),
        JudgeTask::Citations { .. } => {
            let citation = object(json!({"citation_text": text, "excerpts": list(text.clone())}));
            let claim = object(json!({"claim_text": text, "citations": list(citation)}));
            object(json!({"claims": list(claim)}))
        }
        JudgeTask::Precision { .. } => {
            let paragraph = object(json!({"reason": text, "answer_text": text}));
            object(json!({"irrelevant_paragraphs": list(paragraph)}))
        }
        JudgeTask::CitationGroup { .. } => {
            let (ids, truth) = (list(text.clone()), json!({"type": "boolean"}));
            let claim = json!({"text": text, "supporting": ids, "non_supporting": ids, "is_fully_supported": truth});
            object(json!({"claims": list(object(claim))}))
        }
        JudgeTask::Criteria {
            criteria, shape, ..
        } if shape.form == ReplyForm::Object => {
            let levels = shape.words();
            let types: BTreeSet<&str> = levels
                .iter()
                .map(|level| kind(level).trim_start_matches("a "))
                .collect();
            let is_open = shape.continuous;
            let level = if is_open {
                json!({"type": "number"})
            } else {
                json!({"type": types, "enum": levels})
            };
            let mut verdict: Value = shape
                .texts()
                .iter()
                .map(|key| (*key, text.clone()))
                .collect();
            verdict[&*shape.key] = level.clone();
            if !shape.second.is_empty() {
                verdict[&*shape.second] = level;
            }
            let (of_all, number) = shape.list_keys();
            if criteria.len() == 1 && shape.list.is_none() {
                return Some(object(verdict));
            }
            verdict[number] = json!({"type": "integer"});
            object(json!({of_all: list(object(verdict))}))
        }
        JudgeTask::Aspect { .. } | JudgeTask::Attribution { .. } | JudgeTask::Criteria { .. } => {
            return None;
        }
    })
}

/// How soon a reply is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceTier {
    /// OpenAI's flex processing: at the price of batches, slower, and sometimes refused for now (429).
    Flex,
}

impl ServiceTier {
    /// The share of the listed price.
    pub fn price_share(self) -> f64 {
        match self {
            Self::Flex => 0.5,
        }
    }

    /// Time-out and retries are multiplied by this.
    pub fn patience(self) -> u32 {
        match self {
            Self::Flex => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dataset::rubric_profile;
    use crate::domain::{CaseCriterion, JudgeReply, Mode};

    #[test]
    fn schemas_describe_what_is_read() {
        let (question, answer) = ("q".into(), "a".into());
        let citations = JudgeTask::Citations { question, answer };
        let reply = json!({"claims": [{"claim_text": "c", "citations": [{"citation_text": "[1]", "excerpts": ["e"]}]}]});
        assert!(
            citations
                .parse(&JudgeReply::of_text(reply.to_string()), Mode::Default)
                .is_ok()
        );
        let schema = schema_of(&citations).unwrap();
        let claim = &schema["properties"]["claims"]["items"];
        assert_eq!(claim["required"], json!(["claim_text", "citations"]));
        assert_eq!(
            claim["properties"]["citations"]["items"]["required"],
            json!(["citation_text", "excerpts"])
        );
        assert_eq!(claim["additionalProperties"], false);
        let criterion = CaseCriterion {
            text: "c".into(),
            ..CaseCriterion::default()
        };
        let of = |rubric: &str, count: usize| {
            let (question, answer) = ("q".into(), "a".into());
            let criteria = vec![criterion.clone(); count].into();
            let shape = rubric_profile(Some(rubric)).unwrap().reply;
            let shares = vec![1.0; count];
            let task = JudgeTask::Criteria {
                question,
                answer,
                criteria,
                shape: Arc::clone(&shape),
                reference: None,
            };
            assert!(
                task.parse(
                    &JudgeReply::of_text(shape.reply_of(&shares, &shares)),
                    Mode::Default
                )
                .is_ok()
            );
            schema_of(&task)
        };
        let one = of("criteria", 1).unwrap();
        assert_eq!(
            one["properties"]["verdict"],
            json!({"type": ["string"], "enum": ["met", "not met", "cannot assess"]})
        );
        let ingredients = of("scholarqa-cs2", 2).unwrap();
        let verdict = &ingredients["properties"]["scores"]["items"];
        assert_eq!(
            verdict["properties"]["score"],
            json!({"type": ["number"], "enum": [2, 1, 0]})
        );
        assert_eq!(
            verdict["required"],
            json!(["criteria", "reasoning", "evidence", "score", "criteria_idx"])
        );
        assert_eq!(
            of("healthbench", 1).unwrap()["properties"]["criteria_met"]["type"],
            json!(["boolean"])
        );
        assert_eq!(of("researchqa", 1), None, "lines are not JSON");
    }
}
