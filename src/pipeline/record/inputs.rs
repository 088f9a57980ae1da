//! `inputs.jsonl`: the cases and answers as they were scored.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::SCHEMA_VERSION;
use crate::domain::{Answer, CaseId, Criterion, Rubric, SystemName, TestCase};
use crate::error::{Error, InputFault, Result};
use crate::pipeline::Item;

/// A line: either a case or an answer to one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum InputLine {
    Case { v: u32, case_id: CaseId, initial_prompt: String, annotator: String, agreement: bool, config: ConfigLine },
    Answer { v: u32, system: SystemName, case_id: CaseId, line: usize, answer_text: Arc<str>, steering: Vec<String> },
}

/// The rubric, under the names of the released test cases.
#[derive(Debug, Serialize, Deserialize)]
struct ConfigLine {
    question: Arc<str>,
    low_length: i64,
    high_length: i64,
    length_weight: f64,
    expertise_weight: f64,
    citations_weight: f64,
    excerpts_weight: f64,
    other_properties: Vec<PropertyLine>,
}

#[derive(Debug, Serialize, Deserialize)]
struct PropertyLine {
    name: String,
    criterion: Arc<str>,
    weight: f64,
    evidence: Arc<[String]>,
}

/// Writes the file of these items: every case once, before its first answer.
///
/// # Errors
/// When the file cannot be written.
pub fn write_inputs(path: &Path, items: &[Item]) -> Result<()> {
    let partial = path.with_extension("jsonl.partial");
    let mut out = BufWriter::new(File::create(&partial).map_err(Error::io(&partial, "create"))?);
    let mut seen = std::collections::HashSet::new();
    for item in items {
        if seen.insert(item.case.case_id.clone()) {
            write_line(&mut out, &partial, &case_line(&item.case))?;
        }
        let answer = InputLine::Answer {
            v: SCHEMA_VERSION,
            system: item.answer.system.clone(),
            case_id: item.answer.case_id.clone(),
            line: item.answer.line,
            answer_text: Arc::clone(&item.answer.answer_text),
            steering: item.steering.clone(),
        };
        write_line(&mut out, &partial, &answer)?;
    }
    out.flush().map_err(Error::io(&partial, "write"))?;
    std::fs::rename(&partial, path).map_err(Error::io(path, "create"))
}

fn write_line(out: &mut impl Write, path: &Path, line: &InputLine) -> Result<()> {
    serde_json::to_writer(&mut *out, line).map_err(|error| Error::io(path, "write")(error.into()))?;
    out.write_all(b"\n").map_err(Error::io(path, "write"))
}

fn case_line(case: &TestCase) -> InputLine {
    let rubric = &case.rubric;
    InputLine::Case {
        v: SCHEMA_VERSION,
        case_id: case.case_id.clone(),
        initial_prompt: case.initial_prompt.clone(),
        annotator: case.annotator.clone(),
        agreement: case.agreement,
        config: ConfigLine {
            question: Arc::clone(&rubric.question),
            low_length: rubric.low_length,
            high_length: rubric.high_length,
            length_weight: rubric.length_weight,
            expertise_weight: rubric.expertise_weight,
            citations_weight: rubric.citations_weight,
            excerpts_weight: rubric.excerpts_weight,
            other_properties: rubric.criteria.iter().map(property_line).collect(),
        },
    }
}

fn property_line(criterion: &Criterion) -> PropertyLine {
    PropertyLine {
        name: criterion.name.clone(),
        criterion: Arc::clone(&criterion.criterion),
        weight: criterion.weight,
        evidence: Arc::clone(&criterion.snippets),
    }
}

/// Reads the file back.
///
/// # Errors
/// When the file is missing (the run was made with `--no-inputs`), a line is broken, or an answer has no case.
pub fn load_inputs(path: &Path) -> Result<Vec<Item>> {
    let file = File::open(path).map_err(|error| {
        InputFault::new(path, format!("cannot read the inputs of the run: {error}"))
            .hint("a run made with --no-inputs cannot be scored again; run score once more, its replies are cached")
    })?;
    let mut cases: HashMap<CaseId, Arc<TestCase>> = HashMap::new();
    let mut items = Vec::new();
    for (index, line) in BufReader::new(file).lines().enumerate() {
        let line = line.map_err(Error::io(path, "read"))?;
        let fault = |what: String| InputFault::new(path, what).at_line(index + 1);
        match serde_json::from_str(&line).map_err(|error| fault(format!("no line of a run record: {error}")))? {
            InputLine::Case { case_id, initial_prompt, annotator, agreement, config, .. } => {
                let rubric = rubric_of(config);
                let case = TestCase { case_id: case_id.clone(), initial_prompt, annotator, agreement, rubric };
                cases.insert(case_id, Arc::new(case));
            }
            InputLine::Answer { system, case_id, line, answer_text, steering, .. } => {
                let case = cases
                    .get(&case_id)
                    .ok_or_else(|| fault("an answer stands before its case".into()).of_case(case_id.as_str()))?;
                let answer = Answer { line, ..Answer::new(system, case_id, answer_text) };
                items.push(Item { case: Arc::clone(case), answer, steering });
            }
        }
    }
    Ok(items)
}

fn rubric_of(config: ConfigLine) -> Rubric {
    Rubric {
        question: config.question,
        low_length: config.low_length,
        high_length: config.high_length,
        length_weight: config.length_weight,
        expertise_weight: config.expertise_weight,
        citations_weight: config.citations_weight,
        excerpts_weight: config.excerpts_weight,
        criteria: config
            .other_properties
            .into_iter()
            .map(|property| Criterion {
                name: property.name,
                criterion: property.criterion,
                weight: property.weight,
                snippets: property.evidence,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_survive_their_file() {
        let case = Arc::new(TestCase {
            case_id: "c1".into(),
            initial_prompt: "why?".into(),
            annotator: "A".into(),
            agreement: true,
            rubric: Rubric {
                question: "why?".into(),
                low_length: 300,
                high_length: 600,
                length_weight: 0.05,
                expertise_weight: 0.05,
                citations_weight: 0.2,
                excerpts_weight: 0.1,
                criteria: vec![Criterion {
                    name: "p".into(),
                    criterion: "say why".into(),
                    weight: 0.1 + 0.5,
                    snippets: Arc::from(vec!["because\n\u{2028}".to_owned()]),
                }],
            },
        });
        let item = |system: &str| Item {
            case: Arc::clone(&case),
            answer: Answer { line: 3, ..Answer::new(system.into(), "c1".into(), "so \u{0} \"it\" is") },
            steering: vec![],
        };
        let items = vec![item("a"), item("b")];
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("inputs.jsonl");
        write_inputs(&path, &items).expect("written");
        assert_eq!(load_inputs(&path).expect("read"), items);
        assert_eq!(std::fs::read_to_string(&path).expect("text").lines().count(), 3, "one case, two answers");
    }
}
