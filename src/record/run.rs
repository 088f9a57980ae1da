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
    CaseId, Component, Item, LEXICAL, Mode, RubricParts, Score, ScoredAnswer, SystemName, TestCase,
    UnscoredKind, UnscoredReason, scores_test_cases,
};
use crate::error::{InputFault, Result};
use crate::prompt::injection;
use crate::scorer::criteria::{CRITERIA, CriteriaScorer, LEXICAL_CRITERIA};
use crate::scorer::rubric::RubricScorer;

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
    pub fn scorers(&self) -> Vec<&'static str> {
        distinct(self.scored.iter().map(|answer| answer.score.scorer))
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
/// assert!(nothing.unwrap_err().to_string().contains("manifest.json"));
/// ```
pub fn load_run(dir: &Path) -> Result<RecordedRun> {
    let mut manifest = Manifest::of_run(dir)?;
    if manifest.misses_answers() {
        manifest.count_answers(dir)?;
    }
    let inputs = Inputs::load(dir, &manifest)?.unwrap_or_default();
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
        .hint(hint)
        .into());
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
        if let Some(what) = answer.score.out_of_range().filter(|_| has_ranges) {
            return Err(lines
                .fault(what)
                .of_case(answer.case.case_id.as_str())
                .into());
        }
        let case = cases
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
    let key = |answer: &ScoredAnswer| {
        (
            answer.score.scorer,
            answer.system.clone(),
            answer.case.case_id.clone(),
        )
    };
    let mut recorded: HashMap<(&str, SystemName, CaseId), &Arc<ScoredAnswer>> =
        scored.iter().map(|answer| (key(answer), answer)).collect();
    let mut entries: Vec<Arc<ScoredAnswer>> = Vec::new();
    for name in &manifest.scorers {
        let is_of_tests = scores_test_cases(name);
        let scorer = match name.as_str() {
            "rubric" if manifest.is_lexical() => LEXICAL,
            CRITERIA if manifest.is_lexical() => LEXICAL_CRITERIA,
            other => other,
        };
        let template = score_template(
            scored
                .iter()
                .map(|answer| &answer.score)
                .filter(|score| score.scorer == scorer),
        );
        let items: Vec<&Item> = if is_of_tests {
            inputs.rubric().collect()
        } else {
            inputs.plain().collect()
        };
        for item in items {
            let found = recorded.remove(&(
                scorer,
                item.answer.system.clone(),
                item.case.case_id.clone(),
            ));
            let score = || {
                if is_of_tests {
                    unjudged(name, manifest, &item.case).map(Some)
                } else {
                    Ok(template.clone())
                }
            };
            entries.extend(match found {
                Some(found) => Some(Arc::clone(found)),
                None => score()?
                    .map(|score| unscored_entry(item, score))
                    .transpose()?
                    .map(Arc::new),
            });
        }
    }
    entries.extend(
        scored
            .iter()
            .filter(|answer| recorded.contains_key(&key(answer)))
            .map(Arc::clone),
    );
    Ok(entries)
}

/// The components of a case without values.
fn unjudged(name: &str, manifest: &Manifest, case: &TestCase) -> Result<Score> {
    match name {
        "rubric" => Ok(rubric_scorer(manifest).unjudged(case)),
        _ => Ok(criteria_scorer(manifest)?.unjudged(case)),
    }
}

/// The scorer of criteria of a run.
///
/// # Errors
/// For invalid settings.
pub(crate) fn criteria_scorer(manifest: &Manifest) -> Result<CriteriaScorer> {
    let scorer: CriteriaScorer = manifest.settings_of(CRITERIA)?;
    Ok(CriteriaScorer {
        mode: manifest.mode,
        lexical: manifest.is_lexical(),
        ..scorer
    })
}

/// The scorer of rubrics of a run.
pub(crate) fn rubric_scorer(manifest: &Manifest) -> RubricScorer {
    let setting = |name: &str| {
        manifest
            .settings
            .get(name)
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(true)
    };
    let parts = RubricParts {
        rubrics: setting("score.rubrics"),
        snippets: setting("score.snippets"),
    };
    RubricScorer::new(parts, manifest.mode).lexical(manifest.is_lexical())
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
        ..score
    };
    let mut answer = ScoredAnswer::new(item.answer.system.clone(), Arc::clone(&item.case), score);
    answer.injection = injection::signs(&with_text(item)?.answer.answer_text);
    Ok(answer)
}
