//! Default mode by METRICS.md section 1, written a second time and as plainly as can be: what the scorer must say
//! where the golden file holds a fault of the reference.

use std::collections::BTreeSet;

use scholareval::domain::{RubricParts, TestCase};
use serde_json::Value;

use super::stub;

/// Whether a configuration can be used, or what its fault must mention.
#[derive(Debug, PartialEq)]
pub(super) enum Expected {
    Usable,
    Fault(&'static str),
}

pub(super) struct Scores {
    pub(super) score: Option<f64>,
    pub(super) ann_score: Option<f64>,
}

fn share(value: &Value, default: f64) -> f64 {
    match value {
        Value::Null => default,
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap(),
    }
}

/// Is `config` an input error?
pub(super) fn input(config: &Value) -> Expected {
    let none = Vec::new();
    let properties = config["other_properties"].as_array().unwrap_or(&none);
    let length = |key: &str, default: f64| share(&config[key], default);
    if length("low_length", 300.0) > length("high_length", 600.0) {
        return Expected::Fault("is above high_length");
    }
    let mut names: BTreeSet<String> = ["length", "expertise", "citations", "excerpts"]
        .into_iter()
        .map(str::to_owned)
        .collect();
    let mut own = BTreeSet::new();
    for property in properties {
        let (text, snippets) = (
            property["criterion"] != "",
            property["evidence"]
                .as_array()
                .is_some_and(|e| !e.is_empty()),
        );
        let name = property["name"].as_str().unwrap();
        if !text && !snippets {
            return Expected::Fault("neither a criterion nor evidence");
        }
        if (text && !names.insert(name.to_owned()))
            || (snippets && !names.insert(format!("{name}_evidence")))
            || !own.insert(name)
        {
            return Expected::Fault("property name");
        }
    }
    let mut weights = vec![
        share(&config["length_weight"], 0.05),
        share(&config["expertise_weight"], 0.05),
        share(&config["citations_weight"], 0.2),
        share(&config["excerpts_weight"], 0.1),
    ];
    weights.extend(
        properties
            .iter()
            .map(|property| share(&property["weight"], f64::NAN)),
    );
    if weights.iter().any(|weight| *weight < 0.0) {
        return Expected::Fault("is not a share");
    }
    if (weights.iter().sum::<f64>() - 1.0).abs() >= 1e-6 {
        return Expected::Fault("weights sum to");
    }
    Expected::Usable
}

/// The object in a reply, read by serde_json.
fn object(raw: &str) -> Option<Value> {
    let whole: Option<Value> = serde_json::from_str(raw.trim()).ok();
    if whole.as_ref().is_some_and(Value::is_object) {
        return whole;
    }
    let raw = raw.split_once("</think>").map_or(raw, |(_, rest)| rest);
    let braces = raw.get(raw.find('{')?..=raw.rfind('}')?)?;
    serde_json::from_str(braces).ok()
}

/// True for texts whose object this oracle cannot read although Python can, or may.
pub(super) fn is_foreign(raw: &str) -> bool {
    object(raw).is_none()
}

/// What a kind of question gets from a reply: a number, or the two shares; `None` if it is unreadable.
pub(super) fn reading(kind: &str, raw: &str) -> Option<Value> {
    let object = object(raw)?;
    match kind {
        "property" => object["score"]
            .as_f64()
            .filter(|score| (0.0..=10.0).contains(score))
            .map(|score| (score / 10.0).into()),
        "evidence3" => object["score"]
            .as_f64()
            .filter(|score| *score >= 0.0)
            .map(|score| (score / 3.0).min(1.0).into()),
        _ => {
            let (citations, excerpts) = shares(&claims(&object)?);
            Some(serde_json::json!({"citations": citations, "excerpts": excerpts}))
        }
    }
}

/// Excerpts by citation by claim.
fn claims(object: &Value) -> Option<Vec<Vec<u64>>> {
    let citation = |citation: &Value| {
        citation
            .get("excerpts")?
            .as_array()
            .map(|list| list.len() as u64)
    };
    let claim = |claim: &Value| {
        claim
            .get("citations")?
            .as_array()?
            .iter()
            .map(citation)
            .collect()
    };
    object
        .get("claims")?
        .as_array()?
        .iter()
        .map(claim)
        .collect()
}

fn shares(claims: &[Vec<u64>]) -> (f64, f64) {
    let cited = claims
        .iter()
        .filter(|citations| !citations.is_empty())
        .count();
    let citations: Vec<u64> = claims.iter().flatten().copied().collect();
    let quoted = citations.iter().filter(|excerpts| **excerpts > 0).count();
    (
        cited as f64 / claims.len().max(1) as f64,
        quoted as f64 / citations.len().max(1) as f64,
    )
}

/// Points / 10 of the stub, or of the one reply to everything.
fn points(raw: Option<&str>, stub: u64) -> Option<f64> {
    raw.map_or(Some(stub as f64 / 10.0), |raw| {
        reading("property", raw)?.as_f64()
    })
}

pub(super) fn score(
    case: &TestCase,
    answer: &str,
    parts: RubricParts,
    raw: Option<&str>,
) -> Scores {
    let rubric = &case.rubric;
    let (low, high) = (rubric.low_length as f64, rubric.high_length as f64);
    // The golden answers hold no white space that only Python splits at.
    let words = answer.split_whitespace().count() as f64;
    let length = if low == high {
        f64::from(u8::from(words <= low))
    } else {
        1.0 - (words.clamp(low, high) - low) / (high - low)
    };
    let claims = raw.map_or(Some(stub::claims(answer)), |raw| claims(&object(raw)?));
    let shares = claims.as_deref().map(shares);
    let fixed = [
        (rubric.length_weight, Some(length)),
        (
            rubric.expertise_weight,
            points(raw, stub::expertise(&rubric.question, answer)),
        ),
        (
            rubric.citations_weight,
            shares.map(|(citations, _)| citations),
        ),
        (rubric.excerpts_weight, shares.map(|(_, excerpts)| excerpts)),
    ];
    let total: f64 = rubric
        .criteria
        .iter()
        .map(|criterion| criterion.weight)
        .sum();
    let (mut judged, mut earned) = (0.0, Some(0.0));
    for criterion in &rubric.criteria {
        let text = parts.rubrics && !criterion.criterion.is_empty();
        let snippets = parts.snippets && !criterion.snippets.is_empty();
        if !text && !snippets {
            continue;
        }
        judged += criterion.weight;
        let value = points(raw, stub::property(&criterion.criterion, answer)).filter(|_| text);
        let n = criterion.snippets.len() as f64;
        let count = raw.map_or_else(
            || Some(stub::evidence(&criterion.snippets, answer) as f64),
            |raw| object(raw)?["score"].as_f64().filter(|count| *count >= 0.0),
        );
        let present = if text && value == Some(0.0) {
            Some(0.0)
        } else {
            count.map(|count| (count / n).min(1.0))
        };
        let mean = match (text, snippets) {
            (true, true) => value
                .zip(present)
                .map(|(value, present)| (value + present) / 2.0),
            (true, false) => value,
            _ => present,
        };
        earned = earned
            .zip(mean)
            .map(|(earned, mean)| earned + criterion.weight * mean);
    }
    // Properties that have a part stand for those that have none.
    let annotated = if judged > 0.0 {
        earned.map(|earned| earned * total / judged)
    } else {
        Some(0.0).filter(|_| total == 0.0)
    };
    let fixed: Option<f64> = fixed
        .into_iter()
        .map(|(weight, value)| value.map(|value| weight * value))
        .sum();
    Scores {
        score: fixed
            .zip(annotated)
            .map(|(fixed, annotated)| fixed + annotated),
        ann_score: annotated
            .filter(|_| total > 0.0)
            .map(|annotated| annotated / total),
    }
}
