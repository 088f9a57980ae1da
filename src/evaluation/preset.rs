//! What a row of a benchmark adds to a run: the questions that every system has to answer.

use crate::dataset::{AskedQuestions, SystemAnswers, all, no_faults};
use crate::domain::SystemName;
use crate::error::{InputFault, Result};

/// A row of a benchmark.
pub struct Preset {
    /// Every question of its data.
    pub asked: AskedQuestions,
    /// Whether a system that did not answer every question is scored anyway, and flagged.
    pub allow_missing: bool,
    /// Its name, for the record.
    pub name: &'static str,
}

/// How many questions of a benchmark one system answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionCoverage {
    /// The system.
    pub system: SystemName,
    /// Questions that it answered.
    pub answered: usize,
    /// Whether its answers have sources. Without sources its citation columns are blank, not 0.
    pub has_sources: bool,
}

/// Systems compared with the questions.
#[derive(Default)]
pub(super) struct CheckedSystems {
    pub(super) systems: Vec<SystemAnswers>,
    pub(super) coverage: Vec<QuestionCoverage>,
    pub(super) warnings: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Preset {
    /// Keeps the answers of each system to the questions.
    ///
    /// # Errors
    /// [`Error::Input`] for every system with missing answers, unless allowed; for one without any; if `strict`, for
    /// predictions that answer no question, or one twice.
    pub(super) fn check(
        &self,
        systems: Vec<SystemAnswers>,
        strict: bool,
    ) -> Result<CheckedSystems> {
        let mut checked = CheckedSystems::default();
        checked.systems = all(systems.into_iter().map(|system| {
            let covered = self.asked.cover(system)?;
            let mut faults: Vec<InputFault> = Vec::new();
            match covered.missing {
                Some(fault) if !self.allow_missing => {
                    faults.push(
                        fault.hint("answer them, or score what is there with --allow-missing"),
                    );
                }
                // Allowed, but never in silence: the means are then over other questions than the
                // benchmark's.
                missing => checked
                    .warnings
                    .extend(missing.map(|fault| fault.to_string())),
            }
            if strict {
                faults.extend(covered.odd);
            } else {
                checked
                    .warnings
                    .extend(covered.odd.iter().map(ToString::to_string));
            }
            no_faults(faults)?;
            let (system, answered) = (covered.system.system.clone(), covered.answered);
            checked.coverage.push(QuestionCoverage {
                system,
                answered,
                has_sources: covered.has_sources,
            });
            Ok(covered.system)
        }))?;
        let ambiguous = self.asked.ambiguous();
        if ambiguous > 0 {
            let what =
                format!("{ambiguous} questions occur several times with different gold answers");
            let hint = "their predictions get them in the order of the two files";
            checked.notes.push(
                InputFault::new(&self.asked.path, what)
                    .hint(hint)
                    .to_string(),
            );
        }
        Ok(checked)
    }
}
