//! `scholareval convert`: predictions to answers that `score` reads.

use std::collections::{HashMap, HashSet};

use serde_json::json;

use crate::cli::ExitCode;
use crate::cli::args::{ConvertArgs, IndexBaseChoice, ReferencesBlock};
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{note, write_stdout};
use crate::dataset::{Predictions, TestCases, load_predictions, load_test_cases};
use crate::domain::{CaseId, Mode, Prediction};
use crate::error::{Error, InputFault, Result};
use crate::scorer::citation::IndexBase;
use crate::scorer::convert::references_block;

impl From<IndexBaseChoice> for IndexBase {
    fn from(choice: IndexBaseChoice) -> Self {
        match choice {
            IndexBaseChoice::Zero => Self::Zero,
            IndexBaseChoice::One => Self::One,
        }
    }
}

pub(super) fn run(args: &ConvertArgs) -> Result<ExitCode> {
    let mode = if args.compat { Mode::Compat } else { Mode::Default };
    let tests = load_test_cases(&args.tests, mode)?;
    let mut warnings = tests.warnings.clone();
    let (mut text, mut answers) = (String::new(), 0);
    for predictions in load_predictions(std::slice::from_ref(&args.file))? {
        warnings.extend(predictions.warnings.iter().cloned());
        for (case_id, answer_text) in converted(&predictions, &tests, args, mode, &mut warnings)? {
            text.push_str(&json!({"case_id": case_id.as_str(), "answer_text": answer_text}).to_string());
            text.push('\n');
            answers += 1;
        }
    }
    if answers == 0 {
        let fault = InputFault::new(&args.file, format!("no question of it is in {}", args.tests.display()));
        return Err(fault.hint("input must equal the initial_prompt of a test case").into());
    }
    std::fs::write(&args.out, text).map_err(Error::io(&args.out, "write"))?;
    if !args.quiet {
        for warning in &warnings {
            note(&format!("warning: {}", escape_controls(&warning.to_string())));
        }
    }
    let out = escape_controls(&args.out.display().to_string());
    write_stdout(format!("wrote {answers} answers to {out}\n").as_bytes())?;
    Ok(ExitCode::Ok)
}

/// Answers with their cases, in the order of the predictions.
fn converted(
    predictions: &Predictions,
    tests: &TestCases,
    args: &ConvertArgs,
    mode: Mode,
    warnings: &mut Vec<InputFault>,
) -> Result<Vec<(CaseId, String)>> {
    let cases = cases_by_question(tests, mode);
    let (mut answers, mut faults) = (Vec::new(), Vec::new());
    let mut answered: HashSet<&CaseId> = HashSet::new();
    for item in &predictions.items {
        let fault = |what: String| InputFault::new(&predictions.path, what).at_line(item.line).of_case(&*item.id);
        let Some(ids) = cases.get(item.input.trim()) else {
            let what = format!("no test case asks \"{}\"", item.input.chars().take(60).collect::<String>());
            warnings.push(fault(what).hint("left out"));
            continue;
        };
        match answer_text(item, args, mode) {
            Ok(text) => answers.extend(ids.iter().map(|id| (id.clone(), text.clone()))),
            Err(what) => faults.push(fault(what)),
        }
        if mode == Mode::Default && !ids.iter().all(|id| answered.insert(id)) {
            faults.push(fault("the question is answered twice".to_owned()).hint("keep one of the two"));
        }
    }
    if faults.is_empty() { Ok(answers) } else { Err(Error::Input(faults)) }
}

/// The cases of each question; in compat mode only the last.
fn cases_by_question(tests: &TestCases, mode: Mode) -> HashMap<&str, Vec<CaseId>> {
    let mut cases: HashMap<&str, Vec<CaseId>> = HashMap::new();
    for case in &tests.cases {
        let ids = cases.entry(case.initial_prompt.trim()).or_default();
        if mode == Mode::Compat {
            ids.clear();
        }
        ids.push(case.case_id.clone());
    }
    cases
}

fn answer_text(item: &Prediction, args: &ConvertArgs, mode: Mode) -> Result<String, String> {
    let Some(output) = &item.output else {
        return Err("output is missing".to_owned());
    };
    let block = match args.references_block {
        ReferencesBlock::None => String::new(),
        ReferencesBlock::Append => references_block(item, args.index_base.into(), mode)
            .map_err(|exception| format!("the reference script raises {exception} here"))?,
    };
    Ok(format!("{output}{block}"))
}
