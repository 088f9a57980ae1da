//! Replies as the reference script reads them, its faults included (`Mode::Compat`).
//!
//! Source: what `run_utils.extract_json_from_response` and the `_score_*` methods of `scholarqacs_rubric.py`
//! (ScholarQABench 95e6fc5) give. Python's rules of truth, iteration and arithmetic are followed value by value: `true`
//! is 1, a string is iterated by characters, an object by keys. Where the script would raise, the exception's name
//! becomes the reason.

use super::python_json::{self, Fault, Value};
use super::reading::{Tally, shares_of};
use super::{ClaimShares, JudgeTask, Unreadable, UnscoredKind, Verdict};

/// A Python exception, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Raised(&'static str);

const KEY_ERROR: Raised = Raised("KeyError");
const TYPE_ERROR: Raised = Raised("TypeError");
const OVERFLOW_ERROR: Raised = Raised("OverflowError");

/// Reads a reply to `task` as the reference does.
///
/// # Errors
/// The exception the reference dies with; asking again would not be what it does.
pub(super) fn read(task: &JudgeTask, text: &str) -> Result<Verdict, Unreadable> {
    let object = extract_json(text);
    let verdict = match task {
        JudgeTask::Expertise { .. } | JudgeTask::Property { .. } => object.and_then(points).map(Verdict::Points),
        JudgeTask::Evidence { snippets, .. } => {
            object.and_then(|object| count(object, snippets.len())).map(Verdict::Count)
        }
        JudgeTask::Citations { .. } | JudgeTask::Aspect { .. } | JudgeTask::Attribution { .. } => {
            object.map(|object| Verdict::Claims(claim_shares(object.as_ref())))
        }
    };
    verdict.map_err(|Raised(name)| Unreadable {
        what: name.to_owned(),
        ask_again: false,
        kind: UnscoredKind::Exception,
    })
}

/// The object from the first `{` to the last `}`, mended with `]}` if need be. `None` if there is none, or an empty
/// one: the callers treat both alike.
fn extract_json(text: &str) -> Result<Option<Value>, Raised> {
    let Some(start) = text.find('{') else { return Ok(None) };
    // Without a `}`, or with the last one before the first `{`, the slice is empty.
    let slice = text.rfind('}').filter(|end| *end > start).map_or("", |end| &text[start..=end]);
    let read = match python_json::parse(slice) {
        Err(Fault::Decode(_)) => python_json::parse(&format!("{slice}]}}")),
        read => read,
    };
    match read {
        Ok(value) => Ok(Some(value).filter(Value::is_truthy)),
        Err(Fault::Decode(_)) => Ok(None),
        Err(Fault::TooManyDigits) => Err(Raised("ValueError")),
        Err(Fault::TooDeep) => Err(Raised("RecursionError")),
    }
}

/// The operand of a division: Python's numbers, `bool` among them.
fn score_of(object: &Value) -> Result<&Value, Raised> {
    match object.get("score").ok_or(KEY_ERROR)? {
        score @ (Value::Bool(_) | Value::Int(_) | Value::Float(_)) => Ok(score),
        _ => Err(TYPE_ERROR),
    }
}

fn points(object: Option<Value>) -> Result<f64, Raised> {
    let Some(object) = object else { return Ok(0.0) };
    match score_of(&object)? {
        Value::Float(value) => Ok(*value),
        Value::Int(digits) => {
            // Divided by the float 10.0, an integer is first made a float, which fails beyond its range.
            let value: f64 = digits.parse().map_err(|_| TYPE_ERROR)?;
            if value.is_finite() { Ok(value) } else { Err(OVERFLOW_ERROR) }
        }
        score => Ok(f64::from(u8::from(score.is_truthy()))),
    }
}

fn count(object: Option<Value>, snippets: usize) -> Result<f64, Raised> {
    let Some(object) = object else { return Ok(0.0) };
    match score_of(&object)? {
        Value::Float(value) => Ok(*value),
        Value::Int(digits) => {
            let value: f64 = digits.parse().map_err(|_| TYPE_ERROR)?;
            if value.is_finite() {
                return Ok(value);
            }
            // Divided by an integer, it is the quotient that must fit. Compared a factor of 1e20 lower, where both
            // do; a count that large is stood in for by the largest float, since it is capped anyway.
            let scaled: f64 = format!("{digits}e-20").parse().map_err(|_| TYPE_ERROR)?;
            if (scaled / snippets as f64).abs() > f64::MAX / 1e20 {
                return Err(OVERFLOW_ERROR);
            }
            Ok(f64::MAX.copysign(value))
        }
        score => Ok(f64::from(u8::from(score.is_truthy()))),
    }
}

fn claim_shares(object: Option<&Value>) -> ClaimShares {
    let nothing = Tally { claims: 0, cited: 0, citations: 0, quoted: 0 };
    // A KeyError or TypeError anywhere gives 0 and 0, and so does a reply without an object.
    let tally = object.map_or(Ok(nothing), tally_of);
    shares_of(tally.unwrap_or(nothing))
}

fn tally_of(object: &Value) -> Result<Tally, Raised> {
    let claims = items(object.get("claims").ok_or(KEY_ERROR)?)?;
    let mut tally = Tally { claims: claims.len(), cited: 0, citations: 0, quoted: 0 };
    for claim in &claims {
        let citations = subscript(claim, "citations")?;
        tally.cited += usize::from(citations.is_truthy());
        let citations = items(citations)?;
        tally.citations += citations.len();
        for citation in &citations {
            tally.quoted += usize::from(subscript(citation, "excerpts")?.is_truthy());
        }
    }
    Ok(tally)
}

/// What Python's `for` gives over a value. Characters and keys are strings, and all that is done with an item is to
/// look up a key in it, which fails for every string alike: `None` stands for them.
fn items(value: &Value) -> Result<Vec<Option<&Value>>, Raised> {
    match value {
        Value::List(values) => Ok(values.iter().map(Some).collect()),
        Value::Dict(pairs) => Ok(vec![None; pairs.len()]),
        Value::Str(text) => Ok(vec![None; text.chars().count()]),
        _ => Err(TYPE_ERROR),
    }
}

fn subscript<'a>(item: &Option<&'a Value>, key: &str) -> Result<&'a Value, Raised> {
    match item {
        Some(object @ Value::Dict(_)) => object.get(key).ok_or(KEY_ERROR),
        _ => Err(TYPE_ERROR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{JudgeReply, Mode};

    fn task(kind: &str) -> JudgeTask {
        let (question, answer) = ("q".into(), "a".into());
        match kind {
            "property" => JudgeTask::Property { question, answer, criterion: "c".into() },
            "evidence" => JudgeTask::Evidence { question, answer, snippets: vec!["s".to_owned(); 3].into() },
            _ => JudgeTask::Citations { question, answer },
        }
    }

    fn number(kind: &str, text: &str) -> Result<f64, String> {
        match task(kind).parse(&JudgeReply::of_text(text), Mode::Compat) {
            Ok((Verdict::Points(value) | Verdict::Count(value), None)) => Ok(value),
            Ok(other) => panic!("{other:?}"),
            Err(unreadable) => {
                assert!(!unreadable.ask_again && unreadable.kind == UnscoredKind::Exception);
                Err(unreadable.what)
            }
        }
    }

    fn shares(text: &str) -> (f64, f64) {
        match task("citations").parse(&JudgeReply::of_text(text), Mode::Compat) {
            Ok((Verdict::Claims(shares), None)) => (shares.citations, shares.excerpts),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_has_no_object_or_an_empty_one_is_zero() {
        for text in ["", "7", "[]", "{}", "} {", "{\"score\": 7", "{\"score\": 7} {\"score\": 8}", "{\"score\": 7,}"] {
            assert_eq!(number("property", text), Ok(0.0), "{text}");
            assert_eq!(number("evidence", text), Ok(0.0), "{text}");
            assert_eq!(shares(text), (0.0, 0.0), "{text}");
        }
    }

    #[test]
    fn numbers_are_taken_as_they_are() {
        for (text, value) in
            [("11", 11.0), ("-3", -3.0), ("true", 1.0), ("false", 0.0), ("-0.0", 0.0), ("1e400", f64::INFINITY)]
        {
            assert_eq!(number("property", &format!("{{\"score\": {text}}}")), Ok(value), "{text}");
        }
        assert!(number("evidence", "{\"score\": NaN}").unwrap().is_nan());
    }

    #[test]
    fn what_python_cannot_divide_raises_its_exception() {
        let huge = format!("{{\"score\": 1{}}}", "0".repeat(309));
        for (text, name) in [
            ("{\"score\": \"7\"}", "TypeError"),
            ("{\"score\": null}", "TypeError"),
            ("{\"score\": [7]}", "TypeError"),
            ("{\"rating\": 7}", "KeyError"),
            (huge.as_str(), "OverflowError"),
        ] {
            assert_eq!(number("property", text), Err(name.to_owned()), "{text}");
        }
        // 10^309 / 3 is still beyond the largest float 1.8e308; 10^308 * 5 / 3 = 1.67e308 is not.
        assert_eq!(number("evidence", &huge), Err("OverflowError".into()));
        assert_eq!(number("evidence", &format!("{{\"score\": 5{}}}", "0".repeat(308))), Ok(3.0));
        assert_eq!(number("property", &format!("{{\"score\": {}}}", "1".repeat(4301))), Err("ValueError".into()));
        assert_eq!(number("property", &format!("{{\"a\": {}}}", "[".repeat(2000))), Err("RecursionError".into()));
    }

    #[test]
    fn truncated_claims_are_mended() {
        let cut =
            "{\"claims\": [{\"citations\": [{\"excerpts\": [\"e\"]}]}, {\"citations\": [{\"citation_text\": \"q\"";
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
        let excerpts = ["NaN", "-1", "true", "{\"a\": 1}", "0", "null", "\"\"", "0.0"];
        let citations: Vec<String> = excerpts.iter().map(|value| format!("{{\"excerpts\": {value}}}")).collect();
        assert_eq!(shares(&format!("{{\"claims\": [{{\"citations\": [{}]}}]}}", citations.join(","))), (1.0, 0.5));
    }
}
