//! Reads a recorded run back as scored answers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::inputs::Inputs;
use super::lines::LineReader;
use super::manifest::{IMPORTED, Manifest, RunStatus};
use crate::analysis::distinct;
use crate::dataset::with_text;
use crate::domain::{
    CaseId, Component, Item, Mode, Score, ScoredAnswer, ScorerId, SystemName, TestCase,
    UnscoredKind, UnscoredReason,
};
use crate::error::{InputFault, Result};
use crate::prompt::injection;
use crate::scorer::{Scorer, scorer_named};

/// A recorded run, with all that comparisons and reports need.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Its directory.
    pub path: PathBuf,
    /// Its label, else the name of its directory.
    pub name: String,
    /// Its manifest.
    pub manifest: Manifest,
    /// The answers with their cases, each once; empty for a run with `--no-inputs`. Imported answers without a text are
    /// left out.
    pub items: Vec<Item>,
    /// One entry for each answer and scorer, in the order of the file (scorer by scorer, systems and cases in input
    /// order). A case that is not in `items` has only its id. Missing answers of an unfinished run are added as
    /// unscored, unless the run keeps no inputs.
    pub scored: Vec<Arc<ScoredAnswer>>,
}

impl RecordedRun {
    /// The systems in order of their first answer.
    pub fn systems(&self) -> Vec<SystemName> {
        distinct(self.scored.iter().map(|answer| answer.system.clone()))
    }

    /// The scorers in order of their first answer (`rubric`, `lexical_rubric`, `prometheus`, ..).
    pub fn scorers(&self) -> Vec<&ScorerId> {
        distinct(self.scored.iter().map(|answer| &answer.score.scorer))
    }
}

const RESUME: &str = "run score once more to finish the run, its replies are kept";

/// Reads a run directory: manifest, inputs (if recorded) and scores.
///
/// # Errors
/// When the directory is not a run, contains no scores, or a file cannot be read or is not as the finished run left it; the
/// error names the file, what is wrong with it, and the command that repairs it.
///
/// ```
/// let nothing = scholareval::record::load_run(std::path::Path::new("/no/such/run"));
/// assert!(nothing.unwrap_err().to_string().contains("no such directory"));
/// ```
pub fn load_run(dir: &Path) -> Result<RecordedRun> {
    let mut manifest = Manifest::of_run(dir)?;
    // A run that was killed has replies but no count of them: without one, several models would
    // pass unnoticed.
    if manifest.misses_answers() {
        manifest.count_answers(dir)?;
    }
    let mut inputs = Inputs::load(dir, &manifest)?.unwrap_or_default();
    if let Some(looks) = manifest.ending_looks() {
        inputs.keep_asked(looks);
    }
    let mut scored = load_scores(dir, &manifest, &inputs.cases)?;
    let is_finished = manifest.status == RunStatus::Complete;
    if scored.is_empty() {
        let hint = if is_finished {
            "score some answers first"
        } else {
            RESUME
        };
        return Err(InputFault::new(
            dir.join("scores.jsonl"),
            "no scores: nothing of the run has been scored",
        )
        .refuse(hint));
    }
    if !is_finished && !inputs.items.is_empty() {
        scored = with_missing_answers(&manifest, &inputs, &scored)?;
    }
    let name = manifest.run_name(dir);
    Ok(RecordedRun {
        path: dir.to_path_buf(),
        name,
        manifest,
        items: inputs.items,
        scored,
    })
}

/// Reads `scores.jsonl`; `cases` provide questions and rubrics.
fn load_scores(
    dir: &Path,
    manifest: &Manifest,
    cases: &[Arc<TestCase>],
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let missing = || {
        InputFault::new(
            dir.join("scores.jsonl"),
            "the scores of the run are not there",
        )
        .hint(RESUME)
    };
    let mut lines = LineReader::of_run(dir, "scores.jsonl", manifest)?.ok_or_else(missing)?;
    // The reference's arithmetic can leave the ranges, and imported numbers are taken as they are.
    let has_ranges = manifest.mode == Mode::Default && !manifest.is_set(IMPORTED);
    let mut cases: HashMap<CaseId, Arc<TestCase>> = cases
        .iter()
        .map(|case| (case.case_id.clone(), Arc::clone(case)))
        .collect();
    let mut scored = Vec::new();
    while let Some((_, mut answer)) = lines.read::<ScoredAnswer>()? {
        if let Some(message) = answer.score.out_of_range().filter(|_| has_ranges) {
            return Err(lines
                .fault(message)
                .of_case(answer.case.case_id.as_str())
                .into());
        }
        let case = cases
            // One case for all its answers: each line would otherwise hold a copy of its rubric.
            .entry(answer.case.case_id.clone())
            .or_insert_with(|| Arc::clone(&answer.case));
        answer.case = Arc::clone(case);
        scored.push(Arc::new(answer));
    }
    Ok(scored)
}

/// The reason for answers that were never started.
const NOT_REACHED: &str = "the run did not get to it";

/// The scores of an unfinished run, in the order of the inputs, with an unscored entry for each answer without a score.
/// If these were left out, a run that happened to stop after good answers would pass every threshold.
///
/// The components of a rubric score come from the case, those of other scorers from the scores of other answers.
/// Nothing is added for a scorer without any score.
fn with_missing_answers(
    manifest: &Manifest,
    inputs: &Inputs,
    scored: &[Arc<ScoredAnswer>],
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let mut recorded: HashMap<ScoreKey, &Arc<ScoredAnswer>> =
        scored.iter().map(|answer| (key(answer), answer)).collect();
    let mut entries: Vec<Arc<ScoredAnswer>> = Vec::new();
    for name in &manifest.scorers {
        let scorer = scorer_of_test_cases(name, manifest)?;
        // A scorer without test cases has no list of its components: what other answers have is the
        // best there is.
        let template = score_template(
            scored
                .iter()
                .map(|answer| &answer.score)
                .filter(|score| score.scorer.name() == name),
        );
        for item in &inputs.of_scorer(scorer.is_some()) {
            let key = (name.clone(), item.system(), item.case.case_id.clone());
            if let Some(recorded_answer) = recorded.remove(&key) {
                entries.push(Arc::clone(recorded_answer));
                continue;
            }
            let score = match &scorer {
                Some(scorer) => scorer.template(&item.case),
                None => template.clone(),
            };
            if let Some(score) = score {
                entries.push(Arc::new(unscored_entry(item, score)?));
            }
        }
    }
    for answer in scored {
        if recorded.contains_key(&key(answer)) {
            entries.push(Arc::clone(answer));
        }
    }
    Ok(entries)
}

/// The name of a scorer, a system and a case.
type ScoreKey = (String, SystemName, CaseId);

/// A run has one score of each answer by each scorer, so that its name suffices, whoever judged.
fn key(answer: &ScoredAnswer) -> ScoreKey {
    (
        answer.score.scorer.name().to_owned(),
        answer.system.clone(),
        answer.case.case_id.clone(),
    )
}

/// The scorer of this name, if it scores by what test cases hold: the case then says which components a score has.
fn scorer_of_test_cases(name: &str, manifest: &Manifest) -> Result<Option<Arc<dyn Scorer>>> {
    match scorer_named(name) {
        Some(info) if info.scores_test_cases() => manifest.scorer(info).map(Some),
        _ => Ok(None),
    }
}

/// The first score, with the components that only other scores have.
fn score_template<'a>(mut scores: impl Iterator<Item = &'a Score>) -> Option<Score> {
    let mut all = scores.next()?.clone();
    for component in scores.flat_map(|score| &score.components) {
        if all.component(&component.name).is_none() {
            all.components.push(component.clone());
        }
    }
    Some(all)
}

/// An unscored entry for this answer, with the components of `score`.
fn unscored_entry(item: &Item, score: Score) -> Result<ScoredAnswer> {
    let without_value = |component: Component| Component {
        value: None,
        reason: Some(UnscoredReason::new(UnscoredKind::NotAsked, NOT_REACHED).into()),
        feedback: None,
        ..component
    };
    let components = score.components.into_iter().map(without_value).collect();
    let score = Score {
        value: None,
        ann_score: None,
        components,
        claims: Vec::new(),
        pages: Vec::new(),
        addresses: Vec::new(),
        ..score
    };
    let mut answer = ScoredAnswer::of_item(item, score);
    // Flagged although unscored: a text with such signs may be why nothing came of it.
    answer.injection = injection::signs_of(&with_text(item)?);
    Ok(answer)
}
