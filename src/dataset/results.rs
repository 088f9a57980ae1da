//! The reference script's results file: `{source: [{scores, case_id, annotator, agreement, question}]}`.
//!
//! `rubric_eval.py` of ScholarQABench writes it with Python's `json.dump`, so a bare `NaN` may stand in it;
//! `score --output` writes the same form with null for what is unscored.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::domain::python_json::{self, Fault, Value};
use crate::domain::{CaseId, Fingerprint, SystemName};
use crate::error::{Error, InputFault, Result};

use super::text_file::{as_text, read_bytes};

/// What a source is called in the file: the name of an answer file.
const SOURCE_EXTENSION: &str = ".jsonl";

/// What the baseline's two sums begin with.
const LEXICAL_PREFIX: &str = "lexical_";

const HINT: &str = "expected the results file of rubric_eval.py or of score --output: {\"gpt.jsonl\": [{\"scores\": {..}, \
                    \"case_id\": \"..\"}, ..]}";

/// A results file, system by system.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultsFile {
    /// The file.
    pub path: PathBuf,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
    /// The systems in file order, no two of one name.
    pub systems: Vec<SystemResults>,
}

/// What one system got.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemResults {
    /// The source without `.jsonl`.
    pub system: SystemName,
    /// Its answers in file order, no two of one case.
    pub answers: Vec<RecordedAnswer>,
}

/// The scores of one answer as they stand in the file. `None` is a null; a number may be NaN or lie outside 0..=1, as the
/// reference script lets it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedAnswer {
    /// Which case.
    pub case_id: CaseId,
    /// Who wrote the rubric, where the file says so.
    pub annotator: Option<String>,
    /// The question, where the file has it.
    pub question: Option<String>,
    /// True if the built-in baseline judged (`lexical_score` in place of `score`).
    pub lexical: bool,
    /// The weighted sum.
    pub score: Option<f64>,
    /// The same over annotated components.
    pub ann_score: Option<f64>,
    /// Every other number by name.
    pub components: Vec<(String, Option<f64>)>,
}

/// Reads a results file.
///
/// # Errors
/// [`Error::Input`] with every fault found, each with its source and case; [`Error::Io`] if the file cannot be read.
pub fn load_results(path: &Path) -> Result<ResultsFile> {
    let (bytes, blake3) = read_bytes(path)?;
    Ok(ResultsFile { path: path.to_path_buf(), blake3, systems: parse_results(as_text(&bytes, path, 1)?, path)? })
}

/// Reads the text of a results file; `path` stands in messages.
///
/// # Errors
/// [`Error::Input`] with every fault found.
///
/// ```
/// let text = r#"{"gpt.jsonl": [{"scores": {"score": 0.5, "ann_score": NaN, "length": 1}, "case_id": "c1"}]}"#;
/// let systems = scholareval::dataset::parse_results(text, std::path::Path::new("results.json"))?;
/// assert_eq!(systems[0].system.as_str(), "gpt");
/// assert_eq!(systems[0].answers[0].components, [("length".to_owned(), Some(1.0))]);
/// # Ok::<(), scholareval::Error>(())
/// ```
pub fn parse_results(text: &str, path: &Path) -> Result<Vec<SystemResults>> {
    let Value::Dict(sources) = python_json::parse(text).map_err(|fault| invalid_json(path, text, fault))? else {
        return Err(InputFault::new(path, "the file holds no object").hint(HINT).into());
    };
    let mut faults = Vec::new();
    let mut systems: Vec<SystemResults> = Vec::with_capacity(sources.len());
    for (source, answers) in &sources {
        let name = source.strip_suffix(SOURCE_EXTENSION).unwrap_or(source);
        let Value::List(answers) = answers else {
            let what = format!("{}: expected a list of answers, found {}", quoted(source), answers.kind());
            faults.push(InputFault::new(path, what).hint(HINT));
            continue;
        };
        if name.is_empty() || systems.iter().any(|other| other.system.as_str() == name) {
            let what = format!("{}: no name of a system, or that of another source", quoted(source));
            faults.push(InputFault::new(path, what).hint("name each source by its answer file"));
            continue;
        }
        let read = read_answers(answers, (source, path), &mut faults);
        systems.push(SystemResults { system: name.into(), answers: read });
    }
    if faults.is_empty() && systems.iter().all(|system| system.answers.is_empty()) {
        faults.push(InputFault::new(path, "no answers in the file").hint(HINT));
    }
    if faults.is_empty() { Ok(systems) } else { Err(Error::Input(faults)) }
}

fn read_answers(answers: &[Value], (source, path): (&str, &Path), faults: &mut Vec<InputFault>) -> Vec<RecordedAnswer> {
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut read = Vec::with_capacity(answers.len());
    for (index, answer) in answers.iter().enumerate() {
        let place = index + 1;
        let fault = |what: String| InputFault::new(path, format!("{}, answer {place}: {what}", quoted(source)));
        match read_answer(answer) {
            Ok(recorded) => {
                if let Some(first) = places.insert(recorded.case_id.clone(), place) {
                    let again = fault(format!("duplicate case_id, first in answer {first}"));
                    faults.push(again.of_case(recorded.case_id.as_str()).hint("keep one of the two"));
                }
                read.push(recorded);
            }
            Err(what) => {
                let case_id = text_of(answer, "case_id").ok().flatten();
                let found = what.into_iter().map(fault).map(|fault| match &case_id {
                    Some(case_id) => fault.of_case(case_id.as_str()),
                    None => fault,
                });
                faults.extend(found);
            }
        }
    }
    read
}

/// One answer, or everything that is wrong with it.
fn read_answer(answer: &Value) -> Result<RecordedAnswer, Vec<String>> {
    let case_id = match text_of(answer, "case_id") {
        Ok(Some(case_id)) if !case_id.is_empty() => case_id,
        Ok(_) => return Err(vec!["case_id is missing or empty".to_owned()]),
        Err(what) => return Err(vec![what]),
    };
    let Some(Value::Dict(scores)) = answer.get("scores") else {
        return Err(vec!["scores are missing: expected an object of numbers by component".to_owned()]);
    };
    let mut wrong = Vec::new();
    let optional = |key: &str, wrong: &mut Vec<String>| {
        text_of(answer, key).unwrap_or_else(|what| {
            wrong.push(what);
            None
        })
    };
    let (annotator, question) = (optional("annotator", &mut wrong), optional("question", &mut wrong));
    let mut numbers: Vec<(String, Option<f64>)> = Vec::with_capacity(scores.len());
    for (name, value) in scores {
        match number(value) {
            Some(number) => numbers.push((name.clone(), number)),
            None => {
                wrong.push(format!("{}: expected a number or null, found {}", quoted(name), value.kind()));
            }
        }
    }
    let has = |name: &str| scores.iter().any(|(known, _)| known == name);
    let lexical = has(&format!("{LEXICAL_PREFIX}score")) && !has("score");
    let mut sum = |name: &str| {
        let name = if lexical { format!("{LEXICAL_PREFIX}{name}") } else { name.to_owned() };
        if !has(&name) {
            wrong.push(format!("{} is missing among the scores", quoted(&name)));
        }
        let at = numbers.iter().position(|(known, _)| *known == name)?;
        numbers.remove(at).1
    };
    let (score, ann_score) = (sum("score"), sum("ann_score"));
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(RecordedAnswer { case_id: case_id.into(), annotator, question, lexical, score, ann_score, components: numbers })
}

/// A number or a null; `None` for anything else.
fn number(value: &Value) -> Option<Option<f64>> {
    match value {
        Value::Null => Some(None),
        Value::Float(number) => Some(Some(*number)),
        Value::Int(digits) => digits.parse().ok().map(Some),
        Value::Bool(_) | Value::Str(_) | Value::List(_) | Value::Dict(_) => None,
    }
}

/// The text under `key`; `None` where it is missing or null.
fn text_of(object: &Value, key: &str) -> Result<Option<String>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("{key}: expected a string, found {}", other.kind())),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.escape_debug())
}

fn invalid_json(path: &Path, text: &str, fault: Fault) -> InputFault {
    let told = InputFault::new(path, fault.to_string()).hint(HINT);
    match fault {
        Fault::Decode(at) => {
            let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
            told.at_line(1 + before.iter().filter(|byte| **byte == b'\n').count())
        }
        Fault::TooManyDigits | Fault::TooDeep => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<SystemResults>> {
        parse_results(text, Path::new("r.json"))
    }

    fn faults(text: &str) -> String {
        parse(text).expect_err("faults").to_string()
    }

    #[test]
    fn a_file_as_python_writes_it_is_read_with_nan_nulls_and_every_component() {
        let text = r#"{"gpt.jsonl": [{"scores": {"score": NaN, "ann_score": 0.5, "length": 1, "p": null}, "case_id": "c1",
            "annotator": "A", "agreement": true, "question": "why?"}], "b": []}"#;
        let systems = parse(text).expect("systems");
        assert_eq!(systems.iter().map(|system| system.system.as_str()).collect::<Vec<_>>(), ["gpt", "b"]);
        let answer = &systems[0].answers[0];
        assert!(answer.score.is_some_and(f64::is_nan) && !answer.lexical);
        assert_eq!(answer.ann_score, Some(0.5));
        assert_eq!(answer.components, [("length".to_owned(), Some(1.0)), ("p".to_owned(), None)]);
        assert_eq!((answer.annotator.as_deref(), answer.question.as_deref()), (Some("A"), Some("why?")));
    }

    #[test]
    fn scores_of_the_baseline_are_told_by_their_names() {
        let text = r#"{"a": [{"scores": {"lexical_score": 0.25, "lexical_ann_score": null, "x": 0}, "case_id": "c"}]}"#;
        let answer = parse(text).expect("systems").remove(0).answers.remove(0);
        assert!(answer.lexical);
        assert_eq!((answer.score, answer.ann_score, answer.components.len()), (Some(0.25), None, 1));
    }

    #[test]
    fn every_faulty_answer_is_told_with_source_and_case() {
        let told = faults(
            r#"{"a": [{"scores": {"score": true, "ann_score": "x"}, "case_id": "c1"}, {"scores": {}, "case_id": "c2"},
                {"case_id": "c3"}, {"scores": {}}, 7], "b": {}}"#,
        );
        for part in [
            "r.json (case c1): \"a\", answer 1: \"score\": expected a number or null, found a boolean",
            "\"ann_score\": expected a number or null, found a string",
            "(case c2): \"a\", answer 2: \"score\" is missing among the scores",
            "(case c3): \"a\", answer 3: scores are missing",
            "answer 4: case_id is missing or empty",
            "answer 5: case_id is missing or empty",
            "\"b\": expected a list of answers, found an object",
        ] {
            assert!(told.contains(part), "{part}\n{told}");
        }
    }

    #[test]
    fn a_case_that_stands_twice_and_a_system_that_stands_twice_are_errors() {
        let answer = r#"{"scores": {"score": 1, "ann_score": 1}, "case_id": "c"}"#;
        let told = faults(&format!(r#"{{"a": [{answer}, {answer}]}}"#));
        assert!(told.contains("(case c): \"a\", answer 2: duplicate case_id, first in answer 1"), "{told}");
        let told = faults(&format!(r#"{{"a": [{answer}], "a.jsonl": [{answer}]}}"#));
        assert!(told.contains("\"a.jsonl\": no name of a system, or that of another source"), "{told}");
    }

    #[test]
    fn broken_json_is_told_with_its_line_and_an_empty_file_with_what_was_expected() {
        assert!(faults("{\"a\":\n [}").starts_with("r.json:2: invalid JSON at byte"));
        assert!(faults("{}").contains("no answers in the file"));
        assert!(faults("[]").contains("holds no object"));
    }
}
