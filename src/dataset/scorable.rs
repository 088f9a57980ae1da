//! The items of a run: what was written, with all that scorers look at.
//!
//! Some scorers need a rubric, others do not. So there are two lists: answers paired with the test cases whose rubric
//! they are judged by, and every answer once. An answer that is in both is the same in both.

use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{Answer, CaseId, Fingerprint, Gold, Source, SystemName, TestCase};
use crate::error::{Error, InputFault, Result};

use super::pairing::chosen_systems;
use super::plain::{Plain, plain_items};
use super::prepared::{Prepared, ScorableOptions, prepare};
use super::{PairedAnswer, References, SystemAnswers, SystemFile, TestCases, pair};

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// `tests`, `references`, or the system.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// blake3 of its bytes.
    pub blake3: Fingerprint,
}

/// What can be scored.
#[derive(Debug, Clone, PartialEq)]
pub struct Scorable {
    /// Answers with the test case whose rubric they are judged by: system by system, each in the order of the test cases.
    /// Empty without test cases.
    pub rubric: Vec<PairedAnswer>,
    /// Every answer once, for scorers that need no rubric; no two of a system with one case id. The case is the test case
    /// that the answer is paired with first, else one without a rubric, called as the prediction is; equal questions of
    /// several systems have one case.
    pub plain: Vec<PairedAnswer>,
    /// The systems taken part, in order.
    pub systems: Vec<SystemName>,
    /// Test cases that answers are judged by, in file order; empty without test cases.
    pub kept_cases: Vec<CaseId>,
    /// Which of them a system did not answer.
    pub missing: Vec<(SystemName, CaseId)>,
    /// The cases of `plain`, in order of appearance.
    pub plain_cases: Vec<CaseId>,
    /// Which of them a system did not answer.
    pub plain_missing: Vec<(SystemName, CaseId)>,
    /// The files that items came from: test cases, systems with any item, references.
    pub files: Vec<ReadFile>,
    /// Everything odd.
    pub warnings: Vec<String>,
    /// What was joined, and how.
    pub notes: Vec<String>,
}

/// Makes the items of a run.
///
/// Predictions become answers (see [`convert`](super::convert())) and are then paired as answers of `{case_id, answer_text}`
/// are; so a file of predictions scores as it would after converting. Those are given their question as a prediction of
/// their own. References give golds (by equal question, in place of own ones) and reference answers.
///
/// # Errors
/// [`Error::Settings`] for unknown systems or cases; [`Error::Input`] for predictions without output, for a question
/// that is answered twice where test cases ask it, for reference answers that cannot be joined, if nothing can be scored
/// or, with test cases, nothing is asked by any; if strict, for every warning.
pub fn scorable(
    tests: Option<&TestCases>,
    systems: &[SystemFile],
    references: Option<&References>,
    options: &ScorableOptions<'_>,
) -> Result<Scorable> {
    let prepared = prepare(tests, systems, references, options)?;
    let answers: Vec<SystemAnswers> = prepared.iter().map(|system| system.answers.clone()).collect();
    let mut warnings: Vec<InputFault> = references.iter().flat_map(|references| references.warnings.clone()).collect();
    warnings.extend(references.and_then(nothing_to_compare));
    if options.pairing.strict && !warnings.is_empty() {
        return Err(Error::Input(warnings));
    }
    let mut made = Scorable {
        rubric: Vec::new(),
        plain: Vec::new(),
        systems: Vec::new(),
        kept_cases: Vec::new(),
        missing: Vec::new(),
        plain_cases: Vec::new(),
        plain_missing: Vec::new(),
        files: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
    };
    match tests {
        Some(tests) => {
            asked_at_all(tests, &prepared)?;
            let pairing = pair(tests, &answers, &options.pairing)?;
            made.warnings = warnings.iter().map(ToString::to_string).chain(pairing.warnings).collect();
            (made.rubric, made.systems) = (pairing.items, pairing.systems);
            (made.kept_cases, made.missing) = (pairing.kept_cases, pairing.missing);
        }
        None => {
            let chosen = chosen_systems(&answers, options.pairing.systems.as_deref())?;
            made.systems = chosen.iter().map(|system| system.system.clone()).collect();
            warnings.extend(chosen.iter().flat_map(|system| system.warnings.clone()));
        }
    }
    let chosen: Vec<&Prepared<'_>> =
        made.systems.iter().filter_map(|name| prepared.iter().find(|of| &of.answers.system == name)).collect();
    let Plain { items, cases, missing, warnings: more } = plain_items(&chosen, &made.rubric, tests, options)?;
    if tests.is_none() {
        warnings.extend(more);
        if options.pairing.strict && !warnings.is_empty() {
            return Err(Error::Input(warnings));
        }
        made.warnings = warnings.iter().map(ToString::to_string).collect();
    }
    (made.plain, made.plain_cases, made.plain_missing) = (items, cases, missing);
    made.notes = chosen.iter().flat_map(|system| system.notes.clone()).collect();
    made.files = files(tests, &chosen, references, &made);
    Ok(made)
}

/// A warning where a file of references holds nothing that anything could be compared with.
fn nothing_to_compare(references: &References) -> Option<InputFault> {
    (!references.has_answers() && !references.has_golds()).then(|| {
        InputFault::new(references.path(), "no reference in the file")
            .hint("give output for reference answers; answer, qa_pairs, annotations or gold_ctxs for golds")
    })
}

/// With nothing but predictions, none of which is asked, the ids that pairing would name say nothing.
fn asked_at_all(tests: &TestCases, prepared: &[Prepared<'_>]) -> Result<()> {
    let hopeless = prepared.iter().all(|system| system.is_predictions() && system.answers.answers.is_empty());
    let Some(first) = prepared.first().filter(|_| hopeless) else { return Ok(()) };
    let fault = InputFault::new(&first.answers.path, format!("no question of it is in {}", tests.path.display()));
    let hint = "input must equal the initial_prompt of a test case; without test cases all but the rubric is scored";
    Err(fault.hint(hint).into())
}

fn files(
    tests: Option<&TestCases>,
    chosen: &[&Prepared<'_>],
    references: Option<&References>,
    made: &Scorable,
) -> Vec<ReadFile> {
    let has_items = |system: &&&Prepared<'_>| {
        let mut items = made.rubric.iter().chain(&made.plain);
        items.any(|item| item.answer.system == system.answers.system)
    };
    let tests =
        tests.map(|tests| ReadFile { name: "tests".to_owned(), path: tests.path.clone(), blake3: tests.blake3 });
    let systems = chosen.iter().filter(has_items).map(|system| ReadFile {
        name: system.answers.system.to_string(),
        path: system.answers.path.clone(),
        blake3: system.answers.blake3,
    });
    let references = references.map(|references| ReadFile {
        name: "references".to_owned(),
        path: references.path().to_path_buf(),
        blake3: references.blake3(),
    });
    tests.into_iter().chain(systems).chain(references).collect()
}

/// How many items have what a scorer needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Support {
    /// Items with a rubric (of [`Scorable::rubric`]); the other counts are of [`Scorable::plain`].
    pub rubric: usize,
    /// All items of `plain`.
    pub answers: usize,
    /// With a question.
    pub questions: usize,
    /// With a gold answer.
    pub gold_answer: usize,
    /// With short answers.
    pub short_answers: usize,
    /// With long reference answers.
    pub long_answers: usize,
    /// With sources that can be cited, at least one of them with a text.
    pub sources: usize,
    /// With ids of gold sources.
    pub gold_sources: usize,
    /// With texts of gold documents.
    pub gold_texts: usize,
    /// With a reference answer for aspects.
    pub references: usize,
}

/// Counts what the items support, so that scorers can be chosen, and it can be told what is left out and why.
pub fn supports(scorable: &Scorable) -> Support {
    let plain = |holds: &dyn Fn(&PairedAnswer) -> bool| scorable.plain.iter().filter(|item| holds(item)).count();
    let gold = |holds: &dyn Fn(&Gold) -> bool| {
        plain(&|item| item.answer.prediction.as_ref().is_some_and(|prediction| holds(&prediction.gold)))
    };
    let cites = |answer: &Answer| {
        answer.prediction.as_ref().is_some_and(|made| made.sources.iter().any(|source: &Source| source.text.is_some()))
    };
    let has_rubric = |case: &Arc<TestCase>| !case.rubric.is_none();
    Support {
        rubric: scorable.rubric.iter().filter(|item| has_rubric(&item.case)).count(),
        answers: scorable.plain.len(),
        questions: plain(&|item| !item.case.rubric.question.trim().is_empty()),
        gold_answer: gold(&|gold| gold.answer.is_some()),
        short_answers: gold(&|gold| !gold.short_answers.is_empty()),
        long_answers: gold(&|gold| !gold.long_answers.is_empty()),
        sources: plain(&|item| cites(&item.answer)),
        gold_sources: gold(&|gold| gold.gold_ctxs.is_some()),
        gold_texts: gold(&|gold| !gold.gold_texts.is_empty()),
        references: plain(&|item| item.answer.reference_answer.is_some()),
    }
}

#[cfg(test)]
mod tests;
