//! The texts behind imported scores.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use super::scores::Imported;
use crate::dataset::{self, PairOptions, PairedAnswer, ScorableOptions, TestCases};
use crate::domain::{Answer, CaseId, Mode, Prediction, SystemName};
use crate::error::{InputFault, Result};
use crate::evaluation::Item;
use crate::evaluation::record::InputFile;
use crate::prompt::injection;
use crate::scorer::citation::IndexBase;
use crate::scorer::convert::references_block;

/// The answers that were found.
#[derive(Default)]
pub(super) struct Texts {
    /// In the order of the scores.
    pub(super) items: Vec<Item>,
    /// Their files.
    pub(super) files: Vec<InputFile>,
}

/// Finds the texts of the scored answers and flags those with injection signs; what has no counterpart is a warning.
///
/// # Errors
/// Faults of the answer files, see [`dataset::load_answers`].
pub(super) fn with_texts(paths: &[PathBuf], tests: &TestCases, imported: &mut Imported, mode: Mode) -> Result<Texts> {
    let systems = dataset::load_answers(paths, mode)?;
    let block = |prediction: &Prediction| references_block(prediction, IndexBase::Zero, mode);
    let options = ScorableOptions {
        // Every annotator's case is wanted: the scores say which count.
        pairing: PairOptions { agreement: true, ..PairOptions::default() },
        block: Some(&block as dataset::ReferencesBlock<'_>),
    };
    let made = dataset::scorable(Some(tests), &systems, None, &options)?;
    let known: BTreeSet<&SystemName> = imported.scored.iter().map(|answer| &answer.system).collect();
    let mut warnings = Vec::new();
    for system in systems.iter().filter(|system| !known.contains(&system.system)) {
        warnings
            .push(InputFault::new(&system.path, "no scores of this system in the results; its answers are left out"));
    }
    let named = |file: &&dataset::ReadFile| known.iter().any(|system| system.as_str() == file.name);
    let files = made.files.iter().filter(named).map(|file| InputFile {
        name: file.name.clone(),
        path: file.path.display().to_string(),
        blake3: file.blake3,
    });
    let files: Vec<InputFile> = files.collect();
    let mut answers: HashMap<(SystemName, CaseId), Answer> = made
        .rubric
        .into_iter()
        .map(|PairedAnswer { case, answer }| ((answer.system.clone(), case.case_id.clone()), answer))
        .collect();
    let (mut items, mut without) = (Vec::new(), 0_usize);
    for scored in &mut imported.scored {
        let key = (scored.system.clone(), scored.case.case_id.clone());
        let Some(answer) = answers.remove(&key) else {
            without += 1;
            continue;
        };
        let signs = injection::signs(&answer.answer_text);
        let case = Arc::clone(&scored.case);
        Arc::make_mut(scored).steering.clone_from(&signs);
        items.push(Item { case, answer, steering: signs });
    }
    if without > 0 {
        let what = format!("{without} of {} scored answers have no text here", imported.scored.len());
        warnings.push(InputFault::new(paths.first().cloned().unwrap_or_default(), what));
    }
    imported.warnings.extend(warnings);
    Ok(Texts { items, files })
}
