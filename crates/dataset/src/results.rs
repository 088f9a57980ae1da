//! The reference script's results file: `{source: [{scores, case_id, annotator, agreement, question}]}`.
//!
//! `rubric_eval.py` of ScholarQABench writes it with Python's `json.dump`, so it may contain a bare `NaN`; `score
//! --output` writes the same form with null for unscored values.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use scholareval_core::domain::{CaseId, Fingerprint, SystemName};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;

use super::reader::{Id, JsonLine, Number, all, typed, without_bare_nan};

/// The name of a source in the file: that of an answer file.
const SOURCE_EXTENSION: &str = ".jsonl";

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
    /// The question, if given.
    pub question: Option<String>,
    /// Whether the built-in baseline judged (`lexical_score` in place of `score`).
    pub lexical: bool,
    /// The weighted sum.
    pub score: Option<f64>,
    /// The same over the annotated components.
    pub ann_score: Option<f64>,
    /// Every other number by name.
    pub components: BTreeMap<String, Option<f64>>,
}

/// Reads a results file.
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every fault found, each with its source and case; [`Error::Io`](scholareval_core::Error::Io) if the file cannot be read.
pub fn load_results(path: &Path) -> Result<ResultsFile> {
    let (text, blake3) = read_text(path)?;
    Ok(ResultsFile {
        path: path.to_path_buf(),
        blake3,
        systems: parse_results(&text, path)?,
    })
}

/// Parses a results file; `path` is for messages.
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every faulty answer.
///
/// ```
/// let text = r#"{"gpt.jsonl": [{"scores": {"score": 0.5, "ann_score": NaN, "length": 1}, "case_id": "c1"}]}"#;
/// let systems = scholareval_dataset::parse_results(text, std::path::Path::new("results.json"))?;
/// assert_eq!(systems[0].system.as_str(), "gpt");
/// assert_eq!(systems[0].answers[0].components["length"], Some(1.0));
/// # Ok::<(), scholareval_core::Error>(())
/// ```
pub fn parse_results(text: &str, path: &Path) -> Result<Vec<SystemResults>> {
    let (text, _) = without_bare_nan(text);
    let whole = JsonLine {
        path,
        number: 1,
        index: 0,
        text: &text,
    };
    let sources: Map<String, Value> = whole.read("").map_err(|fault| fault.hint(HINT))?;
    let mut names = HashSet::new();
    let systems = all(sources.into_iter().map(|(source, answers)| {
        let fault = |what: &str| InputFault::new(path, format!("{source:?}: {what}"));
        let name = source.strip_suffix(SOURCE_EXTENSION).unwrap_or(&source);
        if name.is_empty() || !names.insert(name.to_owned()) {
            let fault = fault("no name of a system, or that of another source");
            return Err(fault.refuse("name each source by its answer file"));
        }
        let lines: Vec<ScoresLine> = typed(answers).map_err(|what| fault(&what).hint(HINT))?;
        let mut ids = HashSet::new();
        let answers = all(lines.into_iter().map(|line| {
            let Id(case_id) = line.case_id.clone();
            let fault = |what: String| fault(&what).of_case(&case_id);
            if case_id.is_empty() || !ids.insert(case_id.clone()) {
                let fault = fault("an empty case_id, or that of an earlier answer".to_owned());
                return Err(fault.refuse("keep one answer to each case"));
            }
            let missing = |name| fault(format!("{name:?} is missing among the scores")).hint(HINT);
            line.recorded().map_err(|name| missing(name).into())
        }))?;
        Ok(SystemResults {
            system: name.into(),
            answers,
        })
    }))?;
    if systems.iter().all(|system| system.answers.is_empty()) {
        return Err(InputFault::new(path, "no answers in the file").refuse(HINT));
    }
    Ok(systems)
}

/// An answer in the file's schema.
#[derive(Deserialize)]
#[serde(expecting = "an object with case_id and scores")]
struct ScoresLine {
    case_id: Id,
    question: Option<String>,
    scores: BTreeMap<String, Number>,
}

impl ScoresLine {
    /// # Errors
    /// The name of a sum that is missing.
    fn recorded(self) -> Result<RecordedAnswer, &'static str> {
        let Self {
            case_id: Id(case_id),
            question,
            scores,
        } = self;
        let mut components: BTreeMap<String, Option<f64>> = scores
            .into_iter()
            .map(|(name, Number(value))| (name, value))
            .collect();
        // The baseline's sums have different names, so that nobody takes them for a judge's.
        let lexical = components.contains_key("lexical_score") && !components.contains_key("score");
        let names = if lexical {
            ["lexical_score", "lexical_ann_score"]
        } else {
            ["score", "ann_score"]
        };
        let [score, ann_score] = names.map(|name| components.remove(name).ok_or(name));
        let (score, ann_score) = (score?, ann_score?);
        Ok(RecordedAnswer {
            case_id: case_id.into(),
            question,
            lexical,
            score,
            ann_score,
            components,
        })
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
        assert_eq!(
            systems
                .iter()
                .map(|system| system.system.as_str())
                .collect::<Vec<_>>(),
            ["gpt", "b"]
        );
        let answer = &systems[0].answers[0];
        assert!(answer.score.is_some_and(f64::is_nan) && !answer.lexical);
        assert_eq!(answer.ann_score, Some(0.5));
        assert_eq!(
            answer.components,
            BTreeMap::from([("length".to_owned(), Some(1.0)), ("p".to_owned(), None)])
        );
        assert_eq!(answer.question.as_deref(), Some("why?"));
    }

    #[test]
    fn scores_of_the_baseline_are_recognized_by_their_names() {
        let text = r#"{"a": [{"scores": {"lexical_score": 0.25, "lexical_ann_score": null, "x": 0}, "case_id": "c"}]}"#;
        let answer = parse(text).expect("systems").remove(0).answers.remove(0);
        assert!(answer.lexical);
        assert_eq!(
            (answer.score, answer.ann_score, answer.components.len()),
            (Some(0.25), None, 1)
        );
    }

    #[test]
    fn every_faulty_source_is_reported_with_the_answer_and_the_case() {
        let message = faults(
            r#"{"a": [{"scores": {"score": 1, "ann_score": true}, "case_id": "c1"}], "b": [{"scores": {}, "case_id": "c2"}],
                "c": [{"case_id": "c3"}], "d": [7], "e": {}, "": []}"#,
        );
        for part in [
            "r.json: \"a\": [0].scores.ann_score: expected a number, found true; expected the results file of",
            "r.json (case c2): \"b\": \"score\" is missing among the scores; expected",
            "r.json: \"c\": [0].scores is missing; expected",
            "r.json: \"d\": [0]: invalid type: integer `7`, expected an object with case_id and scores; expected",
            "r.json: \"e\": invalid type: map, expected a sequence; expected",
            "r.json: \"\": no name of a system, or that of another source; name each source by its answer file",
        ] {
            assert!(message.contains(part), "{part}\n{message}");
        }
    }

    #[test]
    fn a_case_that_stands_twice_and_a_system_that_stands_twice_are_errors() {
        let answer = r#"{"scores": {"score": 1, "ann_score": 1}, "case_id": "c"}"#;
        let message = faults(&format!(r#"{{"a": [{answer}, {answer}]}}"#));
        assert!(
            message.contains(
                "(case c): \"a\": an empty case_id, or that of an earlier answer; keep one"
            ),
            "{message}"
        );
        let message = faults(&format!(r#"{{"a": [{answer}], "a.jsonl": [{answer}]}}"#));
        assert!(
            message.contains("\"a.jsonl\": no name of a system, or that of another source"),
            "{message}"
        );
    }

    #[test]
    fn broken_json_is_reported_with_its_line_and_an_empty_file_with_what_was_expected() {
        assert!(faults("{\"a\":\n [}").starts_with("r.json:2: invalid JSON at column"));
        assert!(faults("{}").contains("no answers in the file"));
        assert!(
            faults("[]").contains("expected an object, found a list; expected the results file of")
        );
    }
}
