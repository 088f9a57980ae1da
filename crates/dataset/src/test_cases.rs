//! Reads test cases: questions with their rubrics.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;

use scholareval_core::domain::{Fingerprint, Mode, Rubric, TestCase};
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::read_text;

use super::files::FileKind;
use super::reader::{Id, all, elements, no_faults};
use super::rubric_faults::rubric_faults;

const EXAMPLE: &str =
    "{\"case_id\": .., \"initial_prompt\": .., \"metric_config\": {\"config\": {..}}}";

/// The test cases of one file, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCases {
    /// The source file.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// The cases; never empty, `case_id`s are distinct.
    pub cases: Vec<Arc<TestCase>>,
    /// Warnings (in compat mode).
    pub warnings: Vec<InputFault>,
}

/// Reads a file of test cases (`docs/formats.md`): a JSON list, `{"data": [..]}`, or JSON objects in sequence.
///
/// In [`Mode::Compat`] rubrics that the reference accepts, or fails on case by case, are warnings: weights that do not
/// sum to 1 or are negative, colliding names, swapped length bounds, criteria without text and snippets.
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every faulty case, each with its line; [`Error::Io`](scholareval_core::Error::Io) if the
/// file cannot be read.
pub fn load_test_cases(path: &Path, mode: Mode) -> Result<TestCases> {
    let (text, blake3) = read_text(path)?;
    Ok(TestCases {
        blake3,
        ..parse_test_cases(&text, path, mode)?
    })
}

/// Parses a file of test cases; `path` is for messages. See [`load_test_cases`].
///
/// # Errors
/// [`Error::Input`](scholareval_core::Error::Input) with every faulty case.
pub fn parse_test_cases(text: &str, path: &Path, mode: Mode) -> Result<TestCases> {
    let elements = elements(text, path)?;
    FileKind::TestCases.check(&elements, path)?;
    if elements.is_empty() {
        let fault = InputFault::new(path, "no test cases in the file");
        let hint = "expected a JSON list of objects with initial_prompt, case_id and metric_config";
        return Err(fault.refuse(hint));
    }
    let mut warnings = Vec::new();
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    let cases = all(elements.iter().map(|line| {
        let case: CaseLine = line.read(EXAMPLE)?;
        let mut faults = Vec::new();
        let Id(case_id) = &case.case_id;
        let fault = |what: String| line.fault(what).of_case(case_id);
        if case_id.is_empty() {
            faults.push(fault("case_id is empty".to_owned()));
        }
        if let Some(first) = first_lines.insert(case_id.clone(), line.number) {
            let what = format!("duplicate case_id, first on line {first}");
            faults.push(fault(what).hint("give each test case its own id"));
        }
        let of_rubric = rubric_faults(&case.metric_config.config)
            .into_iter()
            .map(fault);
        if mode == Mode::Compat {
            &mut warnings
        } else {
            &mut faults
        }
        .extend(of_rubric);
        no_faults(faults)?;
        Ok(Arc::new(TestCase::from(case)))
    }))?;
    Ok(TestCases {
        path: path.to_path_buf(),
        blake3: blake3::hash(text.as_bytes()).into(),
        cases,
        warnings,
    })
}

/// A test case in the file's schema.
#[derive(Deserialize)]
struct CaseLine {
    case_id: Id,
    initial_prompt: String,
    #[serde(default)]
    annotator: String,
    #[serde(default)]
    agreement: bool,
    metric_config: MetricConfig,
}

#[derive(Deserialize)]
struct MetricConfig {
    config: Rubric,
}

impl From<CaseLine> for TestCase {
    fn from(line: CaseLine) -> Self {
        let mut rubric = line.metric_config.config;
        // The released configuration repeats the question, which the reference shows to the judge;
        // hand-written cases leave it out.
        if rubric.question.is_empty() {
            rubric.question = line.initial_prompt.as_str().into();
        }
        Self {
            annotator: line.annotator,
            agreement: line.agreement,
            rubric,
            ..Self::without_rubric(line.case_id.0.into(), &line.initial_prompt)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scholareval_core::error::Error;
    use serde_json::{Value, json};

    fn case(id: &str) -> Value {
        json!({
            "initial_prompt": "Q?", "case_id": id, "annotator": "x", "agreement": true, "unknown": [1],
            "metric_config": {"name": "n", "config": {"question": "Q?", "other_properties": [
                {"name": "a", "criterion": "c", "weight": 0.3, "evidence": ["s"]},
                {"name": "b", "criterion": "d", "weight": 0.3},
            ]}},
        })
    }

    fn load(text: &str) -> Result<TestCases> {
        parse_test_cases(text, Path::new("t.json"), Mode::Default)
    }

    fn faults(text: &str) -> Vec<String> {
        match load(text) {
            Err(Error::Input(faults)) => faults.iter().map(ToString::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_list_and_json_lines_read_the_same_with_defaults_and_unknown_fields() {
        let list = load(&json!([case("1"), case("2")]).to_string()).unwrap();
        let lines = load(&format!("{}\n\n{}\n", case("1"), case("2"))).unwrap();
        assert_eq!(
            (&list.cases, &list.warnings),
            (&lines.cases, &lines.warnings)
        );
        let rubric = &list.cases[1].rubric;
        assert_eq!(
            (
                rubric.low_length,
                rubric.high_length,
                rubric.citations_weight
            ),
            (300, 600, 0.2)
        );
        assert_eq!(
            (
                rubric.criteria[0].snippets.len(),
                rubric.criteria[1].snippets.len()
            ),
            (1, 0)
        );
        assert!(list.cases[0].agreement && list.warnings.is_empty());
    }

    #[test]
    fn every_fault_is_reported_with_its_line_and_case() {
        let (mut wrong, mut heavy) = (case("2"), case("2b"));
        heavy["metric_config"]["config"]["other_properties"][0]["weight"] = json!("heavy");
        wrong["initial_prompt"] = json!(null);
        let text = format!(
            "[\n{},\n{wrong},\n{heavy},\n{{\"case_id\": \"3\"}}\n, 7]",
            case("1")
        );
        let faults = faults(&text);
        let whats: Vec<&str> = faults
            .iter()
            .filter_map(|fault| fault.split_once("; write one {").map(|it| it.0))
            .collect();
        assert_eq!(
            whats,
            [
                "t.json:3 (case 2): initial_prompt: invalid type: null, expected a string",
                "t.json:4 (case 2b): metric_config.config.other_properties[0].weight: expected a number, found a string",
                "t.json:5 (case 3): initial_prompt is missing; found case_id",
                "t.json:6: invalid type: integer `7`, expected struct CaseLine",
            ]
        );
    }

    #[test]
    fn a_duplicate_case_id_is_an_error_naming_both_lines() {
        let text = format!("[{},\n\n{}]", case("1"), case("1"));
        assert_eq!(
            faults(&text),
            [
                "t.json:3 (case 1): duplicate case_id, first on line 1; give each test case its own id"
            ]
        );
    }

    #[test]
    fn broken_json_is_reported_with_line_and_column() {
        let fault = &faults("[\n {\"a\": 1,}\n]")[0];
        assert!(
            fault.starts_with("t.json:2: invalid JSON at column "),
            "{fault}"
        );
        let fault = &faults("[\n\n{\"case_id\":\n\"\\ud800\"}]")[0];
        assert!(
            fault.starts_with("t.json:4: invalid JSON at column "),
            "{fault}"
        );
        for empty in ["", " \n", "[]"] {
            assert!(
                faults(empty)[0].starts_with("t.json: no test cases in the file"),
                "{empty:?}"
            );
        }
    }

    #[test]
    fn a_number_may_be_spelled_as_in_the_reference() {
        let mut case = case("1");
        case["metric_config"]["config"]["other_properties"][0]["weight"] = json!("0.3");
        case["metric_config"]["config"]["low_length"] = json!(300);
        let read = load(&json!([case]).to_string()).unwrap();
        assert_eq!(
            (
                read.cases[0].rubric.criteria[0].weight,
                read.cases[0].rubric.low_length
            ),
            (0.3, 300)
        );
        case["metric_config"]["config"]["low_length"] = json!(300.5);
        let fault = &faults(&json!([case]).to_string())[0];
        assert!(
            fault.contains("config.low_length: invalid type: floating point `300.5`, expected i64"),
            "{fault}"
        );
    }

    #[test]
    fn an_id_may_be_a_number() {
        let mut numbered = case("1");
        numbered["case_id"] = json!(17);
        assert_eq!(
            load(&json!([numbered]).to_string()).unwrap().cases[0]
                .case_id
                .as_str(),
            "17"
        );
    }

    #[test]
    fn numbers_that_are_none_are_faults_of_their_field() {
        let with = |weight: &str| {
            let text = json!([case("1")]).to_string();
            faults(&text.replacen("\"weight\":0.3", &format!("\"weight\":{weight}"), 1)).remove(0)
        };
        let field = "t.json:1 (case 1): metric_config.config.other_properties[0].weight: ";
        assert!(
            with("true").starts_with(&format!("{field}expected a number")),
            "{}",
            with("true")
        );
        assert!(
            with("NaN").starts_with("t.json:1: invalid JSON at column "),
            "{}",
            with("NaN")
        );
        assert!(
            with("1e999").contains("number out of range"),
            "{}",
            with("1e999")
        );
    }

    #[test]
    fn a_rubric_without_a_question_asks_that_of_its_case() {
        let mut case = case("1");
        case["metric_config"]["config"]
            .as_object_mut()
            .unwrap()
            .remove("question");
        assert_eq!(
            &*load(&json!([case]).to_string()).unwrap().cases[0]
                .rubric
                .question,
            "Q?"
        );
    }

    #[test]
    fn rubric_faults_are_errors_by_default_and_warnings_in_compat() {
        let mut case = case("1");
        case["metric_config"]["config"]["other_properties"][0]["weight"] = json!(0.2);
        let text = json!([case]).to_string();
        assert_eq!(
            faults(&text),
            [
                "t.json:1 (case 1): weights sum to 0.9; make length_weight, expertise_weight, citations_weight, \
              excerpts_weight and the properties' weights sum to 1"
            ]
        );
        let compat = parse_test_cases(&text, Path::new("t.json"), Mode::Compat).unwrap();
        assert_eq!((compat.cases.len(), compat.warnings.len()), (1, 1));
    }
}
