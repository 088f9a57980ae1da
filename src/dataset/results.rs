//! The reference script's results file: `{source: [{scores, case_id, annotator, agreement, question}]}`.
//!
//! `rubric_eval.py` of ScholarQABench writes it with Python's `json.dump`, so it may contain a bare `NaN`; `score
//! --output` writes the same form with null for unscored values.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::domain::{CaseId, Fingerprint, SystemName};
use crate::error::{Error, InputFault, Result};

use super::reader::{JsonLine, expected, is_nan, read_text, typed, without_bare_nan};

/// The name of a source in the file: that of an answer file.
const SOURCE_EXTENSION: &str = ".jsonl";

/// Prefix of the baseline's two sums.
const LEXICAL_PREFIX: &str = "lexical_";

const HINT: &str = "expected the results file of rubric_eval.py or of score --output: {\"gpt.jsonl\": [{\"scores\": {..}, \
                    \"case_id\": \"..\"}, ..]}";

/// A results file, by system.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultsFile {
    /// The file.
    pub path: PathBuf,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
    /// The systems in file order; names are distinct.
    pub systems: Vec<SystemResults>,
}

/// Results of one system.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemResults {
    /// The source without `.jsonl`.
    pub system: SystemName,
    /// Its answers in file order; cases are distinct.
    pub answers: Vec<RecordedAnswer>,
}

/// The scores of one answer as in the file. `None` is a null; a number may be NaN or outside 0..=1, since the reference
/// script allows it.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedAnswer {
    /// The test case.
    pub case_id: CaseId,
    /// The rubric's author, if given.
    pub annotator: Option<String>,
    /// The question, if given.
    pub question: Option<String>,
    /// Whether the built-in baseline judged (`lexical_score` in place of `score`).
    pub lexical: bool,
    /// The weighted sum.
    pub score: Option<f64>,
    /// The same over the annotated components.
    pub ann_score: Option<f64>,
    /// Every other number by name.
    pub components: Vec<(String, Option<f64>)>,
}

/// Reads a results file.
///
/// # Errors
/// [`Error::Input`] with every fault found, each with its source and case; [`Error::Io`] if the file cannot be read.
pub fn load_results(path: &Path) -> Result<ResultsFile> {
    let (text, blake3) = read_text(path)?;
    Ok(ResultsFile { path: path.to_path_buf(), blake3, systems: parse_results(&text, path)? })
}

/// Parses a results file; `path` is for messages.
///
/// # Errors
/// [`Error::Input`] with every faulty answer.
///
/// ```
/// let text = r#"{"gpt.jsonl": [{"scores": {"score": 0.5, "ann_score": NaN, "length": 1}, "case_id": "c1"}]}"#;
/// let systems = scholareval::dataset::parse_results(text, std::path::Path::new("results.json"))?;
/// assert_eq!(systems[0].system.as_str(), "gpt");
/// assert_eq!(systems[0].answers[0].components, [("length".to_owned(), Some(1.0))]);
/// # Ok::<(), scholareval::Error>(())
/// ```
pub fn parse_results(text: &str, path: &Path) -> Result<Vec<SystemResults>> {
    let (text, _) = without_bare_nan(text);
    let whole = JsonLine { path, number: 1, index: 0, text: &text };
    let Value::Object(sources) = serde_json::from_str(&text).map_err(|error| whole.invalid_json(&error, HINT))? else {
        return Err(InputFault::new(path, "the file holds no object").hint(HINT).into());
    };
    let mut faults = Vec::new();
    let mut systems: Vec<SystemResults> = Vec::with_capacity(sources.len());
    for (source, answers) in sources {
        let name = source.strip_suffix(SOURCE_EXTENSION).unwrap_or(&source);
        let Value::Array(answers) = answers else {
            let what = format!("{}: {}", quoted(&source), expected("a list of answers", &answers));
            faults.push(InputFault::new(path, what).hint(HINT));
            continue;
        };
        if name.is_empty() || systems.iter().any(|other| other.system.as_str() == name) {
            let what = format!("{}: no name of a system, or that of another source", quoted(&source));
            faults.push(InputFault::new(path, what).hint("name each source by its answer file"));
            continue;
        }
        let system = SystemName::from(name);
        systems.push(SystemResults { system, answers: read_answers(answers, &source, path, &mut faults) });
    }
    if faults.is_empty() && systems.iter().all(|system| system.answers.is_empty()) {
        faults.push(InputFault::new(path, "no answers in the file").hint(HINT));
    }
    if faults.is_empty() { Ok(systems) } else { Err(Error::Input(faults)) }
}

fn read_answers(answers: Vec<Value>, source: &str, path: &Path, faults: &mut Vec<InputFault>) -> Vec<RecordedAnswer> {
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    let mut read = Vec::with_capacity(answers.len());
    for (index, answer) in answers.into_iter().enumerate() {
        let place = index + 1;
        let case_id = answer.get("case_id").and_then(Value::as_str).map(str::to_owned);
        let fault = |what: String| {
            let fault = InputFault::new(path, format!("{}, answer {place}: {what}", quoted(source)));
            case_id.iter().fold(fault, |fault, case_id| fault.of_case(case_id))
        };
        match read_answer(answer) {
            Ok(recorded) => {
                if let Some(first) = places.insert(recorded.case_id.clone(), place) {
                    let what = format!("duplicate case_id, first in answer {first}");
                    faults.push(fault(what).hint("keep one of the two"));
                }
                read.push(recorded);
            }
            Err(what) => faults.push(fault(what).hint(HINT)),
        }
    }
    read
}

/// An answer in the file's schema.
#[derive(Deserialize)]
struct AnswerLine {
    case_id: String,
    annotator: Option<String>,
    question: Option<String>,
    scores: Map<String, Value>,
}

fn read_answer(answer: Value) -> Result<RecordedAnswer, String> {
    if !answer.is_object() {
        return Err(expected("an object with case_id and scores", &answer));
    }
    let AnswerLine { case_id, annotator, question, scores } = typed(answer)?;
    if case_id.is_empty() {
        return Err("case_id is empty".to_owned());
    }
    let mut components = Vec::with_capacity(scores.len());
    for (name, value) in scores {
        let number = number(&value).map_err(|what| format!("{}: {what}", quoted(&name)))?;
        components.push((name, number));
    }
    let has = |name: &str| components.iter().any(|(known, _)| known == name);
    let lexical = has("lexical_score") && !has("score");
    let mut sum = |name: &str| {
        let name = if lexical { format!("{LEXICAL_PREFIX}{name}") } else { name.to_owned() };
        let at = components.iter().position(|(known, _)| *known == name);
        let at = at.ok_or_else(|| format!("{} is missing among the scores", quoted(&name)))?;
        Ok::<_, String>(components.remove(at).1)
    };
    let (score, ann_score) = (sum("score")?, sum("ann_score")?);
    Ok(RecordedAnswer { case_id: case_id.into(), annotator, question, lexical, score, ann_score, components })
}

/// A number, NaN or a null.
fn number(value: &Value) -> Result<Option<f64>, String> {
    match value {
        Value::Null => Ok(None),
        value if is_nan(value) => Ok(Some(f64::NAN)),
        value => value.as_f64().map(Some).ok_or_else(|| expected("a number or null", value)),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.escape_debug())
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
    fn scores_of_the_baseline_are_recognized_by_their_names() {
        let text = r#"{"a": [{"scores": {"lexical_score": 0.25, "lexical_ann_score": null, "x": 0}, "case_id": "c"}]}"#;
        let answer = parse(text).expect("systems").remove(0).answers.remove(0);
        assert!(answer.lexical);
        assert_eq!((answer.score, answer.ann_score, answer.components.len()), (Some(0.25), None, 1));
    }

    #[test]
    fn every_faulty_answer_is_reported_with_source_and_case() {
        let message = faults(
            r#"{"a": [{"scores": {"score": true, "ann_score": "x"}, "case_id": "c1"}, {"scores": {}, "case_id": "c2"},
                {"case_id": "c3"}, {"scores": {}}, 7], "b": {}}"#,
        );
        for part in [
            "r.json (case c1): \"a\", answer 1: \"score\": expected a number or null, found true",
            "(case c2): \"a\", answer 2: \"score\" is missing among the scores",
            "(case c3): \"a\", answer 3: scores is missing",
            "answer 4: case_id is missing",
            "answer 5: expected an object with case_id and scores, found 7",
            "\"b\": expected a list of answers, found an object",
        ] {
            assert!(message.contains(part), "{part}\n{message}");
        }
    }

    #[test]
    fn a_case_that_stands_twice_and_a_system_that_stands_twice_are_errors() {
        let answer = r#"{"scores": {"score": 1, "ann_score": 1}, "case_id": "c"}"#;
        let message = faults(&format!(r#"{{"a": [{answer}, {answer}]}}"#));
        assert!(message.contains("(case c): \"a\", answer 2: duplicate case_id, first in answer 1"), "{message}");
        let message = faults(&format!(r#"{{"a": [{answer}], "a.jsonl": [{answer}]}}"#));
        assert!(message.contains("\"a.jsonl\": no name of a system, or that of another source"), "{message}");
    }

    #[test]
    fn broken_json_is_reported_with_its_line_and_an_empty_file_with_what_was_expected() {
        assert!(faults("{\"a\":\n [}").starts_with("r.json:2: invalid JSON at column"));
        assert!(faults("{}").contains("no answers in the file"));
        assert!(faults("[]").contains("holds no object"));
    }
}
