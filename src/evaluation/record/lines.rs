//! The lines of `calls.jsonl` and `scores.jsonl`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::SCHEMA_VERSION;
use crate::domain::{
    CaseId, ClaimSupport, JudgeReply, MemberValues, Score, ScoredAnswer, SystemName, TokenLogprob, UnscoredKind,
    UnscoredReason, Usage,
};
use crate::evaluation::CallRecord;
use crate::scorer::rubric::LEXICAL;

/// One line of `calls.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallLine {
    /// Schema version.
    pub v: u32,
    /// 32 hexadecimal digits; see [`crate::evaluation::call_id`].
    pub call_id: String,
    /// Whose answer.
    pub system: SystemName,
    /// Which case.
    pub case_id: CaseId,
    /// Which component.
    pub item: String,
    /// Which kind of question.
    pub kind: String,
    /// Which judge was asked.
    pub role: String,
    /// Its identity.
    pub judge: String,
    /// Index of the draw.
    pub draw: u32,
    /// 0, or the n-th time of asking again.
    pub attempt: u32,
    /// Cache key, where the judge has one.
    pub fingerprint: Option<String>,
    /// The raw reply; null if none came.
    pub raw: Option<String>,
    /// Why the server stopped.
    pub finish_reason: Option<String>,
    /// The model the server says it used.
    pub model: Option<String>,
    /// What was read (`{"points": 7}`, `{"count": 2}`, `{"claims": {..}}`); null if nothing was.
    pub verdict: Option<Value>,
    /// Why nothing was read.
    pub reason: Option<String>,
    /// Which kind of reason.
    pub reason_kind: Option<UnscoredKind>,
    /// True if the reply was already paid.
    pub cached: bool,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Those of them the server had cached.
    pub cached_prompt_tokens: u64,
    /// Tokens of the reply.
    pub completion_tokens: u64,
    /// Milliseconds of the original call.
    pub latency_ms: u64,
    /// Probabilities of the reply's tokens, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// What a reader of the verdict must know of how it was asked, such as that the text was cut to fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl CallLine {
    /// The line of that record.
    pub fn of(record: &CallRecord) -> Self {
        let reply = record.reply.as_ref();
        let usage = reply.map_or_else(Usage::default, |reply| reply.usage);
        let reason = record.verdict.as_ref().err();
        Self {
            v: SCHEMA_VERSION,
            call_id: record.call_id.clone(),
            system: record.system.clone(),
            case_id: record.case_id.clone(),
            item: record.item.to_string(),
            kind: record.kind.to_string(),
            role: record.role.name().into_owned(),
            judge: record.judge.to_string(),
            draw: record.draw,
            attempt: record.attempt,
            fingerprint: record.fingerprint.map(|fingerprint| fingerprint.to_string()),
            raw: reply.map(|reply| reply.content.clone()),
            finish_reason: reply.and_then(|reply| reply.finish_reason.clone()),
            model: reply.and_then(|reply| reply.model.clone()),
            verdict: record.verdict.as_ref().ok().and_then(|verdict| serde_json::to_value(verdict).ok()),
            reason: reason.map(|reason| reason.message.clone()),
            reason_kind: reason.map(|reason| reason.kind),
            cached: reply.is_some_and(|reply| reply.cached),
            prompt_tokens: usage.prompt_tokens,
            cached_prompt_tokens: usage.cached_prompt_tokens,
            completion_tokens: usage.completion_tokens,
            latency_ms: reply.map_or(0, |reply| reply.latency_ms),
            logprobs: reply.and_then(|reply| reply.logprobs.clone()),
            note: reply.and_then(|reply| reply.note.clone()),
        }
    }

    /// The raw reply of this line, as a reply already paid.
    pub fn reply(&self) -> Option<JudgeReply> {
        Some(JudgeReply {
            content: self.raw.clone()?,
            finish_reason: self.finish_reason.clone(),
            model: self.model.clone(),
            logprobs: self.logprobs.clone(),
            usage: Usage {
                prompt_tokens: self.prompt_tokens,
                cached_prompt_tokens: self.cached_prompt_tokens,
                completion_tokens: self.completion_tokens,
            },
            latency_ms: self.latency_ms,
            note: self.note.clone(),
            cached: true,
        })
    }
}

/// One line of `scores.jsonl`. Where the lexical baseline judged, `score` and `ann_score` are written as
/// `lexical_score` and `lexical_ann_score`. `ann_score` and weights stand only where the score is a
/// weighted sum; claims and members only where there are any.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreLine {
    /// Schema version.
    pub v: u32,
    /// Whose answer.
    pub system: SystemName,
    /// Which case.
    pub case_id: CaseId,
    /// Which scorer.
    pub scorer: &'static str,
    /// 0..1; null if a component has no value.
    pub score: Option<f64>,
    /// 0..1; null if an annotated component has no value.
    pub ann_score: Option<f64>,
    /// Value or null by component, in rubric order.
    pub components: Map<String, Value>,
    /// Weight by component, in rubric order.
    pub weights: Map<String, Value>,
    /// What each component is, in rubric order.
    pub kinds: Map<String, Value>,
    /// What was judged, by component, where that can be said.
    pub texts: BTreeMap<String, String>,
    /// The judge's words, by component, where it gave any.
    pub feedback: BTreeMap<String, String>,
    /// What the sum over annotated components is divided by.
    pub ann_divisor: f64,
    /// True if the score is the weighted sum of its components.
    pub is_weighted: bool,
    /// The claims with their support, where citations were judged.
    pub claims: Vec<ClaimSupport>,
    /// What each judge of a panel said in each draw, by component.
    pub members: BTreeMap<Arc<str>, Vec<MemberValues>>,
    /// Reason by component that has no value.
    pub unscored: BTreeMap<String, UnscoredReason>,
    /// What a reader must know of how the score came about.
    pub notes: Vec<String>,
    /// Why the answer looks as if it tried to steer the judge.
    pub steering: Vec<String>,
}

impl Serialize for ScoreLine {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lexical = self.scorer == LEXICAL;
        let name = |plain: &'static str, lexical_name: &'static str| if lexical { lexical_name } else { plain };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("v", &self.v)?;
        map.serialize_entry("system", &self.system)?;
        map.serialize_entry("case_id", &self.case_id)?;
        map.serialize_entry("scorer", self.scorer)?;
        map.serialize_entry(name("score", "lexical_score"), &self.score)?;
        if self.is_weighted {
            map.serialize_entry(name("ann_score", "lexical_ann_score"), &self.ann_score)?;
        }
        map.serialize_entry("components", &self.components)?;
        map.serialize_entry("kinds", &self.kinds)?;
        if self.is_weighted {
            map.serialize_entry("weights", &self.weights)?;
            map.serialize_entry("ann_divisor", &self.ann_divisor)?;
        }
        if !self.texts.is_empty() {
            map.serialize_entry("texts", &self.texts)?;
        }
        if !self.feedback.is_empty() {
            map.serialize_entry("feedback", &self.feedback)?;
        }
        map.serialize_entry("unscored", &self.unscored)?;
        if !self.claims.is_empty() {
            map.serialize_entry("claims", &self.claims)?;
        }
        if !self.members.is_empty() {
            map.serialize_entry("members", &self.members)?;
        }
        map.serialize_entry("notes", &self.notes)?;
        map.serialize_entry("steering", &self.steering)?;
        map.end()
    }
}

impl ScoreLine {
    /// The line of that answer.
    pub fn of(scored: &ScoredAnswer) -> Self {
        let score = &scored.score;
        Self {
            v: SCHEMA_VERSION,
            system: scored.system.clone(),
            case_id: scored.case.case_id.clone(),
            scorer: score.scorer,
            score: finite(score.value),
            ann_score: finite(score.ann_score),
            components: values(score, |component| component.value),
            weights: values(score, |component| Some(component.weight)),
            kinds: by_name(score, |component| Some(component.kind.as_str().into())).collect(),
            texts: by_name(score, |component| some_text(&component.text)).collect(),
            feedback: by_name(score, |component| component.feedback.clone()).collect(),
            ann_divisor: score.ann_divisor,
            is_weighted: score.is_weighted_sum(),
            claims: score.claims.clone(),
            members: scored.members.clone(),
            unscored: unscored(score),
            notes: score.notes.clone(),
            steering: scored.steering.clone(),
        }
    }
}

fn by_name<T>(
    score: &Score,
    value: impl Fn(&crate::domain::Component) -> Option<T>,
) -> impl Iterator<Item = (String, T)> {
    score.components.iter().filter_map(move |component| Some((component.name.clone(), value(component)?)))
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}

fn values(score: &Score, value: impl Fn(&crate::domain::Component) -> Option<f64>) -> Map<String, Value> {
    score.components.iter().map(|component| (component.name.clone(), Value::from(finite(value(component))))).collect()
}

/// Reasons by component; a NaN (compat mode lets it pass) is named, since JSON cannot hold it.
fn unscored(score: &Score) -> BTreeMap<String, UnscoredReason> {
    let not_finite = || UnscoredReason::new(UnscoredKind::Exception, "the value is not a finite number");
    let reason = |component: &crate::domain::Component| match component.value {
        Some(value) if value.is_finite() => None,
        Some(_) => Some(not_finite()),
        None => component.reason.clone().or_else(|| Some(UnscoredReason::new(UnscoredKind::NotAsked, "not asked"))),
    };
    score
        .components
        .iter()
        .filter_map(|component| reason(component).map(|reason| (component.name.clone(), reason)))
        .collect()
}
