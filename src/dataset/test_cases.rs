//! Test cases: a JSON list (or JSON lines) of questions with their rubrics.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::{Criterion, Fingerprint, Mode, Rubric, TestCase};
use crate::error::{Error, InputFault, Result};

use super::fields::{Fields, Findings, Place};
use super::rubric_faults::rubric_faults;
use super::shape::Shape;
use super::text_file::{as_text, read_bytes};

/// The test cases of one file, in file order.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCases {
    /// The file they came from.
    pub path: PathBuf,
    /// blake3 of the file's bytes.
    pub blake3: Fingerprint,
    /// The cases; never empty, no two with one `case_id`.
    pub cases: Vec<Arc<TestCase>>,
    /// What is odd but usable (weights written as strings, ..).
    pub warnings: Vec<InputFault>,
}

/// Reads a file of test cases (`docs/formats.md`): a JSON list, or one JSON object after the other.
///
/// In [`Mode::Compat`] rubrics that the reference scores, or fails to score case by case, are warnings: weights that do
/// not sum to 1 or are negative, names that collide, length bounds in the wrong order, criteria without any part.
///
/// # Errors
/// [`Error::Input`] with every fault found, each with its line; [`Error::Io`] if the file cannot be read.
pub fn load_test_cases(path: &Path, mode: Mode) -> Result<TestCases> {
    let (bytes, blake3) = read_bytes(path)?;
    Ok(TestCases { blake3, ..parse_test_cases(as_text(&bytes, path, 1)?, path, mode)? })
}

/// Reads the text of a file of test cases; `path` stands in messages. See [`load_test_cases`].
///
/// # Errors
/// [`Error::Input`] with every fault found.
pub fn parse_test_cases(text: &str, path: &Path, mode: Mode) -> Result<TestCases> {
    read_test_cases(text, path, mode).map_err(|error| match Shape::of_text(text, path, Shape::TestCases) {
        Some(other) => other.fault(path, Shape::TestCases).into(),
        None => error,
    })
}

fn read_test_cases(text: &str, path: &Path, mode: Mode) -> Result<TestCases> {
    let mut found = Findings::default();
    let mut cases = Vec::new();
    let mut first_lines: HashMap<String, usize> = HashMap::new();
    let (mut line, mut counted) = (1, 0);
    for raw in elements(text, path)? {
        // An element is a slice of `text`: its address tells its line.
        let offset = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
        line += newlines(&text.as_bytes()[counted..offset]);
        counted = offset;
        let value: Value = match serde_json::from_str(raw.get()) {
            Ok(value) => value,
            Err(error) => {
                found.faults.push(invalid_json(path, line - 1, &error));
                continue;
            }
        };
        let case = read_case(&value, Place { path, line, case_id: None }, mode, &mut found);
        let Some(case) = case else { continue };
        if let Some(first) = first_lines.insert(case.case_id.to_string(), line) {
            let what = format!("duplicate case_id, first on line {first}");
            let fault = InputFault::new(path, what).at_line(line).of_case(case.case_id.as_str());
            found.faults.push(fault.hint("give each test case an id of its own"));
        }
        cases.push(Arc::new(case));
    }
    if cases.is_empty() && found.faults.is_empty() {
        let fault = InputFault::new(path, "no test cases in the file");
        found.faults.push(fault.hint("expected a JSON list of objects with initial_prompt, case_id and metric_config"));
    }
    if found.faults.is_empty() {
        let blake3 = blake3::hash(text.as_bytes()).into();
        Ok(TestCases { path: path.to_path_buf(), blake3, cases, warnings: found.warnings })
    } else {
        Err(Error::Input(found.faults))
    }
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// The elements of the list, or of the stream of objects, unread.
fn elements<'a>(text: &'a str, path: &Path) -> Result<Vec<&'a RawValue>> {
    let is_stream = text.trim_start().starts_with('{');
    let elements = if is_stream {
        serde_json::Deserializer::from_str(text).into_iter().collect()
    } else if text.trim().is_empty() {
        Ok(Vec::new())
    } else {
        serde_json::from_str(text)
    };
    elements.map_err(|error: serde_json::Error| invalid_json(path, 0, &error).into())
}

/// What serde_json says, at the file's own line (`lines_before` those that it did not see).
fn invalid_json(path: &Path, lines_before: usize, error: &serde_json::Error) -> InputFault {
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    InputFault::new(path, format!("invalid JSON at column {}: {message}", error.column()))
        .at_line(lines_before + error.line())
        .hint("expected a JSON list of test cases")
}

fn read_case(value: &Value, place: Place<'_>, mode: Mode, found: &mut Findings) -> Option<TestCase> {
    // The id first, so that every other fault can name it.
    let case_id = value.get("case_id").and_then(Value::as_str);
    let place = Place { case_id, ..place };
    let fields = Fields::of(value, "", place, found)?;
    let case_id = fields.string("case_id", found);
    let initial_prompt = fields.string("initial_prompt", found);
    let annotator = fields.string_or("annotator", "", found);
    let agreement = fields.flag("agreement", found);
    let config = fields.object("metric_config", found).and_then(|config| config.object("config", found));
    let rubric = config.and_then(|config| read_rubric(&config, place, found));
    if let Some(rubric) = &rubric {
        let faults = rubric_faults(rubric).into_iter().map(|(what, hint)| place.fault(what).hint(hint));
        match mode {
            Mode::Default => found.faults.extend(faults),
            Mode::Compat => found.warnings.extend(faults),
        }
    }
    if case_id == Some("") {
        found.faults.push(place.fault("case_id is empty"));
    }
    Some(TestCase {
        case_id: case_id?.into(),
        initial_prompt: initial_prompt?.to_owned(),
        annotator: annotator?.to_owned(),
        agreement: agreement?,
        rubric: rubric?,
    })
}

/// `metric_config.config`; the defaults are the released files' values.
fn read_rubric(config: &Fields<'_>, place: Place<'_>, found: &mut Findings) -> Option<Rubric> {
    let question = config.string("question", found);
    let low_length = config.whole_or("low_length", 300, found);
    let high_length = config.whole_or("high_length", 600, found);
    let length_weight = config.weight("length_weight", Some(0.05), found);
    let expertise_weight = config.weight("expertise_weight", Some(0.05), found);
    let citations_weight = config.weight("citations_weight", Some(0.2), found);
    let excerpts_weight = config.weight("excerpts_weight", Some(0.1), found);
    let properties = config.list("other_properties", found);
    let mut criteria = Vec::new();
    let mut whole = true;
    for (index, property) in properties?.iter().enumerate() {
        let within = config.path_of(&format!("other_properties[{index}]"));
        let criterion = Fields::of(property, &within, place, found).and_then(|fields| read_criterion(&fields, found));
        whole &= criterion.is_some();
        criteria.extend(criterion);
    }
    // A rubric that lacks a criterion must not be checked as if it were whole.
    whole.then_some(())?;
    Some(Rubric {
        question: question?.into(),
        low_length: low_length?,
        high_length: high_length?,
        length_weight: length_weight?,
        expertise_weight: expertise_weight?,
        citations_weight: citations_weight?,
        excerpts_weight: excerpts_weight?,
        criteria,
    })
}

fn read_criterion(fields: &Fields<'_>, found: &mut Findings) -> Option<Criterion> {
    let name = fields.string("name", found);
    let criterion = fields.string("criterion", found);
    let weight = fields.weight("weight", None, found);
    let snippets = fields.strings("evidence", found);
    Some(Criterion { name: name?.to_owned(), criterion: criterion?.into(), weight: weight?, snippets: snippets? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert_eq!((&list.cases, &list.warnings), (&lines.cases, &lines.warnings));
        let rubric = &list.cases[1].rubric;
        assert_eq!((rubric.low_length, rubric.high_length, rubric.citations_weight), (300, 600, 0.2));
        assert_eq!((rubric.criteria[0].snippets.len(), rubric.criteria[1].snippets.len()), (1, 0));
        assert!(list.cases[0].agreement && list.warnings.is_empty());
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_case() {
        let mut wrong = case("2");
        wrong["metric_config"]["config"]["other_properties"][0]["weight"] = json!("heavy");
        wrong["initial_prompt"] = json!(null);
        let text = format!("[\n{},\n{wrong},\n{{\"case_id\": \"3\"}}\n, 7]", case("1"));
        assert_eq!(
            faults(&text),
            [
                "t.json:3 (case 2): initial_prompt: expected a string, found null",
                "t.json:3 (case 2): metric_config.config.other_properties[0].weight: expected a number, found the \
                 string \"heavy\"",
                "t.json:4 (case 3): initial_prompt is missing",
                "t.json:4 (case 3): metric_config is missing",
                "t.json:5: each element: expected an object, found the number 7",
            ]
        );
    }

    #[test]
    fn a_duplicate_case_id_is_an_error_naming_both_lines() {
        let text = format!("[{},\n\n{}]", case("1"), case("1"));
        assert_eq!(
            faults(&text),
            ["t.json:3 (case 1): duplicate case_id, first on line 1; give each test case an id of its own"]
        );
    }

    #[test]
    fn broken_json_is_told_with_line_and_column() {
        let fault = &faults("[\n {\"a\": 1,}\n]")[0];
        assert!(fault.starts_with("t.json:2: invalid JSON at column "), "{fault}");
        let fault = &faults("[\n\n{\"a\":\n\"\\ud800\"}]")[0];
        assert!(fault.starts_with("t.json:4: invalid JSON at column "), "{fault}");
        for empty in ["", " \n", "[]"] {
            assert!(faults(empty)[0].starts_with("t.json: no test cases in the file"), "{empty:?}");
        }
    }

    #[test]
    fn a_weight_written_as_a_string_is_read_with_a_warning() {
        let mut case = case("1");
        case["metric_config"]["config"]["other_properties"][0]["weight"] = json!("0.3");
        let cases = load(&json!([case]).to_string()).unwrap();
        assert_eq!(cases.cases[0].rubric.criteria[0].weight, 0.3);
        assert_eq!(cases.warnings.len(), 1);
    }

    #[test]
    fn rubric_faults_are_errors_by_default_and_warnings_in_compat() {
        let mut case = case("1");
        case["metric_config"]["config"]["other_properties"][0]["weight"] = json!(0.2);
        let text = json!([case]).to_string();
        assert_eq!(
            faults(&text),
            ["t.json:1 (case 1): weights sum to 0.9; make length_weight, expertise_weight, citations_weight, \
              excerpts_weight and the properties' weights sum to 1"]
        );
        let compat = parse_test_cases(&text, Path::new("t.json"), Mode::Compat).unwrap();
        assert_eq!((compat.cases.len(), compat.warnings.len()), (1, 1));
    }
}
