//! Parses replies to the questions of ScholarQA-CS as the reference script does, including its faults
//! ([`Mode::Compat`](crate::domain::Mode::Compat)).
//!
//! Source: `run_utils.extract_json_from_response` and the `_score_*` methods of `scholarqacs_rubric.py` (ScholarQABench
//! 95e6fc5). Follows Python's truthiness, iteration and arithmetic: `true` is 1, a string iterates by characters, an
//! object by keys. Where the script would raise an exception, the reply has no verdict.

use serde_json::Value;

use super::reading::Unreadable;
use crate::domain::ClaimShares;
use crate::domain::python_json::{self, PythonJsonFault, is_truthy, outermost_braces};

/// The script raises an exception here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Raised;

impl From<Raised> for Unreadable {
    fn from(_: Raised) -> Self {
        Self::exception("the reference script raises an exception on this reply")
    }
}

/// The number under `score`, which the script divides by `divisor`; 0 without an object.
///
/// # Errors
/// If the reference raises an exception; it would not retry.
pub(super) fn score(text: &str, divisor: f64) -> Result<f64, Unreadable> {
    let object = extract_json(text)?;
    Ok(number(object.as_ref(), divisor)?)
}

/// The shares of cited claims and of quoted citations.
///
/// # Errors
/// If the reference raises an exception; it would not retry.
pub(super) fn shares(text: &str) -> Result<ClaimShares, Unreadable> {
    let object = extract_json(text)?;
    // The script catches any exception here and gives 0 and 0, as for a reply without an object.
    let shares = object.as_ref().and_then(claim_shares);
    Ok(shares.unwrap_or_else(|| ClaimShares::of_counts((0, 0), (0, 0))))
}

/// The object from the first `{` to the last `}`, with `]}` appended if needed. `None` if missing or empty, which
/// callers treat alike.
fn extract_json(text: &str) -> Result<Option<Value>, Raised> {
    let Some(object) = outermost_braces(text) else {
        return Ok(None);
    };
    let read = match python_json::parse(object) {
        // The script mends replies that were cut in the list of claims; whatever the kind of
        // question, it tries.
        Err(PythonJsonFault::Decode(_)) => python_json::parse(&format!("{object}]}}")),
        read => read,
    };
    match read {
        Ok(value) => Ok(Some(value).filter(is_truthy)),
        Err(PythonJsonFault::Decode(_)) => Ok(None),
        Err(PythonJsonFault::Limit) => Err(Raised),
    }
}

/// The number under `score`, if Python can divide it by `divisor`; 0 without an object.
fn number(object: Option<&Value>, divisor: f64) -> Result<f64, Raised> {
    let Some(object) = object else { return Ok(0.0) };
    let score = object.get("score").ok_or(Raised)?;
    if let Value::Bool(value) = score {
        return Ok(f64::from(u8::from(*value)));
    }
    let number = python_json::number(score).ok_or(Raised)?;
    // The quotient of an integer must fit a float. Both are compared a factor of 1e20 lower; the largest float stands
    // for a larger count, which is capped anyway.
    let digits = score.as_str().and_then(|text| text.strip_prefix('\0'));
    match digits.and_then(|digits| format!("{digits}e-20").parse::<f64>().ok()) {
        Some(scaled) if (scaled / divisor).abs() > f64::MAX / 1e20 => Err(Raised),
        Some(_) => Ok(number.clamp(f64::MIN, f64::MAX)),
        None => Ok(number),
    }
}

/// Shares of claims and citations; `None` if Python would raise an exception.
fn claim_shares(object: &Value) -> Option<ClaimShares> {
    let claims = items(object.get("claims")?)?;
    let (mut cited, mut citation_count, mut quoted) = (0, 0, 0);
    for claim in &claims {
        let citations = (*claim)?.get("citations")?;
        cited += usize::from(is_truthy(citations));
        let citations = items(citations)?;
        citation_count += citations.len();
        for citation in citations {
            quoted += usize::from(is_truthy(citation?.get("excerpts")?));
        }
    }
    Some(ClaimShares::of_counts(
        (cited, claims.len()),
        (quoted, citation_count),
    ))
}

/// Items of Python's `for` over a value; `None` if it is not iterable. Characters and keys are strings, and looking up
/// a key in a string raises an exception, so they have no value.
fn items(value: &Value) -> Option<Vec<Option<&Value>>> {
    match value {
        Value::Array(values) => Some(values.iter().map(Some).collect()),
        Value::Object(fields) => Some(vec![None; fields.len()]),
        Value::String(text) if python_json::number(value).is_none() => {
            Some(vec![None; text.chars().count()])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{JudgeReply, Mode, UnscoredKind};
    use crate::question::{Property, Question, SnippetEvidence};

    /// The number of a reply; `None` if the script raises an exception.
    fn number(kind: &str, text: &str) -> Option<f64> {
        let question = questions(kind);
        match question.parse(&JudgeReply::of_text(text), Mode::Compat) {
            Ok(reading) => {
                assert_eq!(reading.feedback, None);
                reading.verdict.number()
            }
            Err(unreadable) => {
                assert!(!unreadable.ask_again && unreadable.kind == UnscoredKind::Exception);
                None
            }
        }
    }

    fn questions(kind: &str) -> Box<dyn Question> {
        let question = "q".into();
        let answer = "a".into();
        if kind == "property" {
            let criterion = "c".into();
            return Box::new(Property {
                question,
                answer,
                criterion,
            });
        }
        let snippets = vec!["s".to_owned(); 3].into();
        Box::new(SnippetEvidence {
            question,
            answer,
            snippets,
        })
    }

    fn shares(text: &str) -> (f64, f64) {
        let shares = super::shares(text).unwrap();
        (shares.citations, shares.excerpts)
    }

    #[test]
    fn what_has_no_object_or_an_empty_one_is_zero() {
        for text in [
            "",
            "7",
            "[]",
            "{}",
            "} {",
            "{\"score\": 7",
            "{\"score\": 7} {\"score\": 8}",
            "{\"score\": 7,}",
        ] {
            assert_eq!(number("property", text), Some(0.0), "{text}");
            assert_eq!(number("evidence", text), Some(0.0), "{text}");
            assert_eq!(shares(text), (0.0, 0.0), "{text}");
        }
    }

    #[test]
    fn numbers_are_taken_as_they_are() {
        for (text, value) in [
            ("11", 11.0),
            ("-3", -3.0),
            ("true", 1.0),
            ("false", 0.0),
            ("-0.0", 0.0),
            ("1e400", f64::INFINITY),
        ] {
            assert_eq!(
                number("property", &format!("{{\"score\": {text}}}")),
                Some(value),
                "{text}"
            );
        }
        assert!(number("evidence", "{\"score\": NaN}").unwrap().is_nan());
    }

    #[test]
    fn what_python_cannot_divide_is_an_exception() {
        let huge = format!("{{\"score\": 1{}}}", "0".repeat(309));
        for text in [
            "{\"score\": \"7\"}",
            "{\"score\": null}",
            "{\"score\": [7]}",
            "{\"rating\": 7}",
            huge.as_str(),
        ] {
            assert_eq!(number("property", text), None, "{text}");
        }
        // 10^309 / 3 is still beyond the largest float 1.8e308; 10^308 * 5 / 3 = 1.67e308 is not.
        assert_eq!(number("evidence", &huge), None);
        assert_eq!(
            number("evidence", &format!("{{\"score\": 5{}}}", "0".repeat(308))),
            Some(3.0)
        );
        assert_eq!(
            number("property", &format!("{{\"score\": {}}}", "1".repeat(4301))),
            None
        );
        assert_eq!(
            number("property", &format!("{{\"a\": {}}}", "[".repeat(2000))),
            None
        );
    }

    #[test]
    fn truncated_claims_are_mended() {
        let cut = "{\"claims\": [{\"citations\": [{\"excerpts\": [\"e\"]}]}, {\"citations\": [{\"citation_text\": \"q\"";
        assert_eq!(shares(cut), (1.0, 1.0));
    }

    #[test]
    fn claims_of_a_wrong_shape_give_zero_and_zero() {
        for text in [
            "{\"claims\": null}",
            "{\"claims\": 1}",
            "{\"claims\": \"ab\"}",
            "{\"claims\": {\"a\": 1}}",
            "{\"x\": 1}",
            "{\"claims\": [1, 2]}",
            "{\"claims\": [[]]}",
            "{\"claims\": [{}]}",
            "{\"claims\": [{\"citations\": 0}]}",
            "{\"claims\": [{\"citations\": \"ab\"}]}",
            "{\"claims\": [{\"citations\": {\"a\": 1}}]}",
            "{\"claims\": [{\"citations\": [{}]}]}",
            "{\"claims\": [{\"citations\": [{\"excerpts\": [1]}]}, 3]}",
        ] {
            assert_eq!(shares(text), (0.0, 0.0), "{text}");
        }
    }

    #[test]
    fn empty_things_iterate_to_nothing_and_truth_is_pythons() {
        assert_eq!(shares("{\"claims\": \"\", \"x\": 1}"), (0.0, 0.0));
        // A cited claim beside one whose citations are an empty string or object: 1 of 3 claims, 1 of 1 citations.
        let text = r#"{"claims": [{"citations": ""}, {"citations": {}}, {"citations": [{"excerpts": "x"}]}]}"#;
        assert_eq!(shares(text), (1.0 / 3.0, 1.0));
        // Truthy excerpts: NaN, -1, true, {"a": 1}; not: 0, null, "", 0.0. 4 of 8.
        let excerpts = [
            "NaN",
            "-1",
            "true",
            "{\"a\": 1}",
            "0",
            "null",
            "\"\"",
            "0.0",
        ];
        let citations: Vec<String> = excerpts
            .iter()
            .map(|value| format!("{{\"excerpts\": {value}}}"))
            .collect();
        assert_eq!(
            shares(&format!(
                "{{\"claims\": [{{\"citations\": [{}]}}]}}",
                citations.join(",")
            )),
            (1.0, 0.5)
        );
    }
}
