//! Input files to the items of a run.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use crate::cli::settings::Settings;
use crate::dataset::{self, PairOptions, Pairing};
use crate::domain::{CaseId, Fingerprint, Mode, SystemName, TestCase};
use crate::error::Result;
use crate::pipeline::Item;
use crate::pipeline::record::InputFile;
use crate::prompt::steering;

/// Everything that was read.
pub(in crate::cli) struct LoadedInputs {
    /// Answers with their cases, systems in name order, cases in file order.
    pub(in crate::cli) items: Arc<[Item]>,
    /// Every test case of the file: the lexical judge's corpus.
    pub(in crate::cli) all_cases: Vec<Arc<TestCase>>,
    /// Case ids that count, in file order.
    pub(in crate::cli) kept_cases: Vec<CaseId>,
    /// Systems and cases without an answer.
    pub(in crate::cli) missing: Vec<(SystemName, CaseId)>,
    /// Files with hashes.
    pub(in crate::cli) files: Vec<InputFile>,
    /// Where the reference script would have paired other answers.
    pub(in crate::cli) pairing_differences: Vec<String>,
    /// What the user should know.
    pub(in crate::cli) warnings: Vec<String>,
}

impl LoadedInputs {
    /// Reads, checks and pairs all input files.
    ///
    /// # Errors
    /// Every fault of every file at once where they can be found independently; see `dataset`.
    pub(in crate::cli) fn load(settings: &Settings) -> Result<Self> {
        let paths = settings.inputs()?;
        let score = &settings.score;
        let Some(tests_path) = paths.tests else { return Err(Settings::no_tests()) };
        let tests = dataset::load_test_cases(tests_path, score.mode)?;
        let systems = dataset::load_answers(paths.answers, score.mode)?;
        let options = PairOptions {
            agreement: score.agreement,
            compat: score.mode == Mode::Compat,
            systems: score.systems.clone(),
            cases: score.cases.clone(),
            limit: score.limit,
            strict: score.strict,
        };
        let pairing = dataset::pair(&tests, &systems, &options)?;
        let pairing_differences = match score.mode {
            Mode::Default => pairing_differences(&pairing, &dataset::pair(&tests, &systems, &compat(options))?),
            Mode::Compat => Vec::new(),
        };
        let mut files = vec![input_file("tests", tests_path, tests.blake3)];
        for system in &systems {
            if pairing.items.iter().any(|paired| paired.answer.system == system.system) {
                files.push(input_file(system.system.as_str(), &system.path, system.blake3));
            }
        }
        let items: Vec<Item> = pairing
            .items
            .into_par_iter()
            .map(|paired| Item {
                steering: steering::signs(&paired.answer.answer_text),
                case: paired.case,
                answer: paired.answer,
            })
            .collect();
        Ok(Self {
            items: items.into(),
            all_cases: tests.cases,
            kept_cases: pairing.kept_cases,
            missing: pairing.missing,
            files,
            pairing_differences,
            warnings: pairing.warnings,
        })
    }
}

fn compat(options: PairOptions) -> PairOptions {
    PairOptions { compat: true, strict: false, ..options }
}

/// The reference keeps, of several annotators' test cases, the first that a system answered; we keep the first of the
/// file for all. Replies to the cases it would have kept instead do not exist here.
fn pairing_differences(ours: &Pairing, theirs: &Pairing) -> Vec<String> {
    let pairs = |pairing: &Pairing| -> HashSet<(SystemName, CaseId)> {
        pairing.items.iter().map(|item| (item.answer.system.clone(), item.case.case_id.clone())).collect()
    };
    let (here, there) = (pairs(ours), pairs(theirs));
    let differences = |system: &SystemName| {
        let more = there.difference(&here).filter(|(of, _)| of == system).count();
        (more > 0).then(|| {
            format!(
                "{system}: the reference script would also score {more} of its answers under another annotator's rubric; \
                 this run did not ask for them, --compat does"
            )
        })
    };
    theirs.systems.iter().filter_map(differences).collect()
}

fn input_file(name: &str, path: &Path, blake3: Fingerprint) -> InputFile {
    InputFile { name: name.to_owned(), path: path.display().to_string(), blake3 }
}
