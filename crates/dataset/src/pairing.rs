//! Joins answers to test cases.
//!
//! Several annotators may have written a rubric for one question (`initial_prompt`). Of their test cases the first in
//! the file is kept, for all systems alike; the reference keeps the first that each system answered
//! ([`PairOptions::compat`]); annotator agreement keeps all ([`PairOptions::agreement`]). Cases without such a rubric (with a
//! list of criteria, or with a question alone) are all kept.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use scholareval_core::domain::{Answer, CaseId, Item, SystemName, TestCase};
use scholareval_core::error::{Error, InputFault, Result};
use scholareval_core::text::names::{list, suggest};

use super::{SystemAnswers, TestCases};

/// Maximum number of unpaired answers to list per file; the rest are counted.
const STRAYS_SHOWN: usize = 5;

/// Options of pairing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairOptions {
    /// Keep every annotator's test case of a question.
    pub agreement: bool,
    /// Of several test cases with one question, keep the first that the system answered.
    pub compat: bool,
    /// Only these test cases; `None` for all.
    pub cases: Option<Vec<String>>,
    /// Maximum number of questions, the first ones.
    pub limit: Option<usize>,
    /// Treat warnings as errors.
    pub strict: bool,
}

/// The pairs, and what is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Pairing {
    /// By system, each in the order of the test cases.
    pub items: Vec<Item>,
    /// Answers to the other annotators' cases of the same questions, whose rubrics are not asked.
    pub other_items: Vec<Item>,
    /// Test cases in use, in file order (in compat mode: those of any system).
    pub kept_cases: Vec<CaseId>,
    /// Test cases without an answer, by system.
    pub missing: Vec<(SystemName, CaseId)>,
    /// Warnings about test cases, systems' files and pairing, in this order.
    pub warnings: Vec<String>,
    /// How many test cases count, where some are further annotators' cases of a question.
    pub second_cases: Option<String>,
}

/// Joins answers to test cases.
///
/// # Errors
/// [`Error::Settings`] for unknown cases, with suggestions; [`Error::Input`] if no answer of any system has
/// a test case, and, if strict, for every warning.
pub fn pair(
    tests: &TestCases,
    systems: &[SystemAnswers],
    options: &PairOptions,
) -> Result<Pairing> {
    let questions = questions(tests, options)?;
    // Position in the file, by id.
    let known: HashMap<&CaseId, usize> = tests
        .cases
        .iter()
        .enumerate()
        .map(|(i, case)| (&case.case_id, i))
        .collect();
    let mut warnings: Vec<InputFault> = tests.warnings.clone();
    let mut items = Vec::new();
    let mut other_items = Vec::new();
    let mut missing = Vec::new();
    for system in systems {
        warnings.extend(system.warnings.iter().cloned());
        strays(system, &known, &tests.path, &mut warnings);
        let answers: HashMap<&CaseId, &Answer> =
            system.answers.iter().map(|a| (&a.case_id, a)).collect();
        let ([mut paired, others], unanswered) = answered(&questions, &answers, options);
        // In compat mode a later annotation may replace the first.
        paired.sort_by_key(|item| known.get(&item.case.case_id));
        items.append(&mut paired);
        other_items.extend(others);
        if !unanswered.is_empty() {
            let (count, total) = (unanswered.len(), questions.len());
            let names = list(unanswered.iter().map(CaseId::as_str), STRAYS_SHOWN);
            let what = format!("{count} of {total} test cases have no answer: {names}");
            warnings.push(InputFault::new(&system.path, what));
        }
        missing.extend(
            unanswered
                .into_iter()
                .map(|case_id| (system.system.clone(), case_id)),
        );
    }
    // No pair at all is always a mistake (ids of another release); a table without rows would not
    // say so.
    if items.is_empty() {
        return Err(nothing_paired(tests, systems).into());
    }
    if options.strict && !warnings.is_empty() {
        return Err(Error::Input(warnings));
    }
    Ok(Pairing {
        kept_cases: kept_cases(tests, &questions, &items),
        second_cases: second_cases(&questions),
        items,
        other_items,
        missing,
        warnings: warnings.iter().map(ToString::to_string).collect(),
    })
}

/// The answers to the case of each question that counts, which is the first one, in compat mode the first one that is answered;
/// those to other annotators' cases; the cases without an answer.
fn answered(
    questions: &[Vec<&Arc<TestCase>>],
    answers: &HashMap<&CaseId, &Answer>,
    options: &PairOptions,
) -> ([Vec<Item>; 2], Vec<CaseId>) {
    let [mut paired, mut others] = [Vec::new(), Vec::new()];
    let mut unanswered = Vec::new();
    for cases in questions {
        let mut is_paired = false;
        for (place, case) in cases.iter().enumerate() {
            let Some(answer) = answers.get(&case.case_id) else {
                continue;
            };
            let item = Item::new(Arc::clone(case), (*answer).clone());
            if !is_paired && (place == 0 || options.compat) {
                is_paired = true;
                paired.push(item);
            } else {
                others.push(item);
            }
        }
        if let Some(first) = cases.first().filter(|_| !is_paired) {
            // A question is missing once, by the case that all systems share, however many annotators
            // it has.
            unanswered.push(first.case_id.clone());
        }
    }
    ([paired, others], unanswered)
}

/// `110 read, 100 counted`, for questions with several annotators' cases.
fn second_cases(questions: &[Vec<&Arc<TestCase>>]) -> Option<String> {
    let read: usize = questions.iter().map(Vec::len).sum();
    let several = questions.iter().filter(|cases| cases.len() > 1).count();
    let has = match several {
        0 => return None,
        1 => "1 question has".to_owned(),
        _ => format!("{several} questions have"),
    };
    Some(format!(
        "Test cases: {read} read, {} counted: {has} a second annotator's case (--agreement)",
        questions.len()
    ))
}

/// The selected test cases, grouped by question.
fn questions<'a>(
    tests: &'a TestCases,
    options: &PairOptions,
) -> Result<Vec<Vec<&'a Arc<TestCase>>>> {
    if let Some(names) = &options.cases {
        let known: Vec<&str> = tests
            .cases
            .iter()
            .map(|case| case.case_id.as_str())
            .collect();
        check_cases(names, &known, &format!("in {}", tests.path.display()))?;
    }
    let is_wanted = |case: &TestCase| {
        options
            .cases
            .as_ref()
            .is_none_or(|names| names.iter().any(|name| name == case.case_id.as_str()))
    };
    let mut questions: Vec<Vec<&Arc<TestCase>>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for case in tests.cases.iter().filter(|case| is_wanted(case)) {
        // Only a rubric for a whole question can be written again by another annotator.
        let stands_alone = options.agreement || !case.criteria.is_empty() || case.rubric.is_none();
        let place = if stands_alone {
            None
        } else {
            places.get(case.initial_prompt.as_str())
        };
        match place.and_then(|place| questions.get_mut(*place)) {
            Some(cases) => cases.push(case),
            None => {
                places.insert(&case.initial_prompt, questions.len());
                questions.push(vec![case]);
            }
        }
    }
    questions.truncate(options.limit.unwrap_or(usize::MAX));
    if questions.is_empty() {
        return Err(Error::Settings(
            "no test case is left to score; raise the limit or name other cases".to_owned(),
        ));
    }
    Ok(questions)
}

/// Checks a selection of cases.
///
/// # Errors
/// [`Error::Settings`] for every unknown name, with suggestions.
pub(super) fn check_cases(names: &[String], known: &[&str], place: &str) -> Result<()> {
    let unknown = names.iter().filter(|name| !known.contains(&name.as_str()));
    let unknown = unknown.map(|name| {
        let hint = suggest(name, known.iter().copied());
        format!("unknown case \"{}\" {place}; {hint}", name.escape_debug())
    });
    let unknown: Vec<String> = unknown.collect();
    if unknown.is_empty() {
        Ok(())
    } else {
        Err(Error::Settings(unknown.join("\n")))
    }
}

/// Answers whose id is not in the test cases.
fn strays(
    system: &SystemAnswers,
    known: &HashMap<&CaseId, usize>,
    tests: &Path,
    warnings: &mut Vec<InputFault>,
) {
    let strays: Vec<&Answer> = system
        .answers
        .iter()
        .filter(|answer| !known.contains_key(&answer.case_id))
        .collect();
    for answer in strays.iter().take(STRAYS_SHOWN) {
        let what = format!(
            "no test case in {} has this case_id; the answer is not scored",
            tests.display()
        );
        let fault = InputFault::new(&system.path, what).at_line(answer.line);
        warnings.push(fault.of_case(answer.case_id.as_str()));
    }
    if strays.len() > STRAYS_SHOWN {
        let what = format!(
            "{} more answers have no test case and are not scored",
            strays.len() - STRAYS_SHOWN
        );
        warnings.push(InputFault::new(&system.path, what));
    }
}

fn nothing_paired(tests: &TestCases, systems: &[SystemAnswers]) -> InputFault {
    let path = systems.first().map_or(&tests.path, |system| &system.path);
    let Some(answer) = systems.iter().flat_map(|system| &system.answers).next() else {
        let hint = "write one {\"case_id\": .., \"answer_text\": ..} per line";
        return InputFault::new(path, "no answers in the file").hint(hint);
    };
    let expected = tests.cases.first().map_or("", |case| case.case_id.as_str());
    let answered = answer.case_id.as_str();
    let what = format!(
        "no answer of any system has a test case (test cases are {expected:?}, .., answers {answered:?}, ..)"
    );
    InputFault::new(path, what).hint(format!(
        "give answers the case_id of their test case in {}",
        tests.path.display()
    ))
}

fn kept_cases(tests: &TestCases, questions: &[Vec<&Arc<TestCase>>], items: &[Item]) -> Vec<CaseId> {
    let mut kept: HashSet<&CaseId> = items.iter().map(|item| &item.case.case_id).collect();
    for candidates in questions {
        // A question without any answer counts as missing for every system.
        if !candidates.iter().any(|case| kept.contains(&case.case_id)) {
            kept.extend(candidates.first().map(|case| &case.case_id));
        }
    }
    tests
        .cases
        .iter()
        .map(|case| &case.case_id)
        .filter(|case_id| kept.contains(case_id))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;
