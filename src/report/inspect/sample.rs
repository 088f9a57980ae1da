//! One sample: question, answer, scores.

use serde_json::{Map, Value, json};

use super::{InspectSample, or_nan};
use crate::domain::{Component, Score, ScoredAnswer, SystemName, UnscoredKind, UnscoredReason};

/// What a scorer gives one sample.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    /// A number under each name, of its own or none.
    Numbers(Vec<(String, Option<f64>)>),
    /// One object of numbers under the scorer's name.
    Object(&'static str, Vec<(String, Option<f64>)>),
}

/// The numbers of a score and their names: of a weighted sum the sums, since its components differ from case to case; of
/// other scorers the score, where it has one, and every component.
pub(super) fn given(score: &Score, has_score: bool) -> Given {
    if score.is_weighted_sum() {
        let name = score.scorer;
        return Given::Numbers(vec![(name.to_owned(), score.value), (format!("{name}.ann_score"), score.ann_score)]);
    }
    let own = has_score.then(|| ("score".to_owned(), score.value));
    let parts = score.components.iter().filter(|part| part.name != "score" || !has_score);
    Given::Object(score.scorer, own.into_iter().chain(parts.map(|part| (part.name.clone(), part.value))).collect())
}

/// The sample as JSON; `has_score` tells which scorers have a score of their own.
pub(super) fn sample(
    system: &SystemName,
    sample: &InspectSample<'_>,
    has_score: impl Fn(&ScoredAnswer) -> bool,
) -> Value {
    let (question, answer) = (sample.case.initial_prompt.as_str(), sample.answer.unwrap_or_default());
    let mut scores = Map::new();
    for scored in &sample.scored {
        match given(&scored.score, has_score(scored)) {
            Given::Numbers(numbers) => {
                for (name, number) in numbers {
                    scores.insert(name, entry(scored, or_nan(number), number.is_none()));
                }
            }
            Given::Object(name, numbers) => {
                let is_unscored = numbers.iter().any(|(_, number)| number.is_none());
                let object: Map<String, Value> =
                    numbers.into_iter().map(|(name, number)| (name, Value::from(number))).collect();
                scores.insert(name.to_owned(), entry(scored, object.into(), is_unscored));
            }
        }
    }
    let assistant = json!({"role": "assistant", "content": answer, "model": system, "source": "generate"});
    let mut metadata = Map::new();
    if !sample.case.annotator.is_empty() {
        metadata.insert("annotator".to_owned(), sample.case.annotator.as_str().into());
    }
    if sample.answer.is_none() {
        metadata.insert("note".to_owned(), "the record of the run does not hold this answer".into());
    }
    json!({
        "id": sample.case.case_id,
        "epoch": 1,
        "input": question,
        "target": sample.target.unwrap_or_default(),
        "messages": [{"role": "user", "content": question, "source": "input"}, assistant],
        "output": {
            "model": system,
            "choices": [{"message": assistant, "stop_reason": "stop"}],
            "completion": answer,
        },
        "scores": scores,
        "metadata": metadata,
        "store": {},
        "events": [],
        "model_usage": {},
        "attachments": {},
    })
}

fn entry(scored: &ScoredAnswer, value: Value, is_unscored: bool) -> Value {
    let score = &scored.score;
    let mut entry = json!({"value": value, "explanation": explanation(score), "metadata": metadata(scored)});
    if is_unscored {
        entry["reason"] =
            score.components.iter().find_map(|part| part.reason.as_ref()).map_or("scoring_failed", reason).into();
    }
    entry
}

/// Which of inspect-ai's reasons it is: the judge failed, or there was nothing to judge with.
fn reason(reason: &UnscoredReason) -> &'static str {
    match reason.kind {
        UnscoredKind::Unreadable
        | UnscoredKind::Cut
        | UnscoredKind::ContextOverflow
        | UnscoredKind::Refused
        | UnscoredKind::Unreachable => "grader_failed",
        UnscoredKind::DependsOnUnscored
        | UnscoredKind::Exception
        | UnscoredKind::NotAsked
        | UnscoredKind::NeedsOtherCalls
        | UnscoredKind::NoJudge => "scoring_failed",
    }
}

/// What each component got, a line each, with the judge's words where it gave any.
fn explanation(score: &Score) -> String {
    let line = |part: &Component| {
        let value = match (part.value, &part.reason) {
            (Some(value), _) => value.to_string(),
            (None, Some(reason)) => format!("unscored ({reason})"),
            (None, None) => "unscored".to_owned(),
        };
        let feedback = part.feedback.as_ref().map(|words| format!(": {words}")).unwrap_or_default();
        format!("- {} = {value}{feedback}", part.name)
    };
    score
        .components
        .iter()
        .map(line)
        .chain(score.notes.iter().map(|note| format!("- note: {note}")))
        .collect::<Vec<_>>()
        .join("\n")
}

fn metadata(scored: &ScoredAnswer) -> Value {
    let score = &scored.score;
    let component = |part: &Component| {
        let mut object = json!({"name": part.name, "kind": part.kind, "value": part.value});
        if part.kind.is_weighted() {
            object["weight"] = part.weight.into();
        }
        if !part.text.is_empty() {
            object["text"] = part.text.as_str().into();
        }
        if let Some(reason) = &part.reason {
            object["unscored"] = json!(reason);
        }
        if let Some(feedback) = &part.feedback {
            object["feedback"] = feedback.as_str().into();
        }
        object
    };
    let mut metadata = json!({"components": score.components.iter().map(component).collect::<Vec<_>>()});
    let lists = [("claims", json!(score.claims)), ("notes", json!(score.notes)), ("steering", json!(scored.steering))];
    for (name, list) in lists {
        if list.as_array().is_some_and(|list| !list.is_empty()) {
            metadata[name] = list;
        }
    }
    metadata
}
