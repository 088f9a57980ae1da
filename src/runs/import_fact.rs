//! Imports finished runs of FACT (DeepResearch Bench, 214741e) as a run: the verdicts in `validated.jsonl`, counted as its
//! `stat.py` does or by our rules.
//!
//! A directory holds the files of one system. A report that an earlier file has and the last one has not was lost on the
//! way: it is unscored. No judge is asked, so that by our rules a page without exactly one label for each of its statements
//! is open.

mod counts;
mod files;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value, json};

use self::files::{FactReport, FactRun, read_runs};
use super::import::{ImportOptions, ImportedRun};
use crate::dataset::{InputFile, no_faults};
use crate::domain::{
    Answer, CaseId, Item, Mode, ScoredAnswer, TestCase, UnscoredKind, UnscoredReason,
};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::ScoringOptions;
use crate::prompt::injection;
use crate::record::{
    IMPORTED, Inputs, JudgeEntry, Manifest, RoleEntry, RunDir, RunRecord, RunStatus, scorer_key,
};
use crate::scorer::pages::{FACT_REFERENCE, PAGES, left_out_score, score_of_pages, unscored_pages};

const MODE_UNKNOWN: &str = "counted as the reference script does (compat); --mode default for ours";

/// Imports runs of FACT; `None` if the first path is not one.
///
/// # Errors
/// Every fault of the files; when the run cannot be written.
pub(super) fn import_fact(options: &ImportOptions) -> Result<Option<ImportedRun>> {
    if !files::is_fact_run(&options.files[0])? {
        return Ok(None);
    }
    if options.tests.is_some() || !options.answers.is_empty() {
        let what = "a run of FACT holds its questions and reports: leave out --tests and --answers";
        return Err(Error::Usage(what.to_owned()));
    }
    let mode = options.mode.unwrap_or(Mode::Compat);
    let runs = read_runs(&options.files)?;
    let cases = cases_of(&runs);
    let scored = scored_answers(&runs, &cases, mode)?;
    let mut manifest = manifest(options, &runs, mode);
    manifest.answers = scored.len() as u64;
    manifest.missing = missing(&runs, &cases);
    manifest.kept_cases = cases.iter().map(|case| case.case_id.to_string()).collect();
    manifest.warnings = warnings(options, &runs, mode);
    let dir = RunDir::open(&options.out)?;
    dir.claim(&manifest, options.overwrite)?;
    let mut inputs = Inputs::new(items_of(&runs, &cases));
    inputs.cases = cases;
    inputs.write(&dir.path().join("inputs.jsonl"))?;
    // Nothing is lost without flushing each line: an import can be repeated from its files.
    let mut record = RunRecord::open(dir, manifest, false)?;
    record.finish(RunStatus::Complete, &scored)?;
    Ok(Some(ImportedRun { record, scored }))
}

fn manifest(options: &ImportOptions, runs: &[FactRun], mode: Mode) -> Manifest {
    let mut inputs: Vec<InputFile> = Vec::new();
    for file in runs.iter().flat_map(|run| &run.files) {
        inputs.push(InputFile::new("results", &file.path, file.blake3));
    }
    let reference = json!({"reference": FACT_REFERENCE});
    let settings = BTreeMap::from([
        ("score.compat".to_owned(), Value::from(mode == Mode::Compat)),
        (IMPORTED.to_owned(), true.into()),
        (scorer_key(PAGES.name), reference),
    ]);
    Manifest {
        label: options.run_label.clone(),
        settings,
        inputs,
        roles: roles(options, runs),
        scorers: vec![PAGES.name.to_owned()],
        seed: ScoringOptions::default().seed,
        ..Manifest::begin(mode)
    }
    .with_reference()
}

/// The judge of the pages: the files do not name theirs, so that other files have another judge unless the user names one.
fn roles(options: &ImportOptions, runs: &[FactRun]) -> BTreeMap<String, RoleEntry> {
    let mut hasher = blake3::Hasher::new();
    for file in runs.iter().flat_map(|run| &run.files) {
        hasher.update(file.blake3.as_bytes());
    }
    // 64 bits distinguish the files of any project, and fit in a table.
    let hash: String = hasher.finalize().to_hex().chars().take(16).collect();
    let name = options.judge.clone().unwrap_or(hash);
    let judge = JudgeEntry {
        // The prefix keeps it apart from a model that is really called so.
        id: format!("imported:{name}"),
        samples: 1,
        ..JudgeEntry::default()
    };
    let role = RoleEntry {
        judges: vec![judge],
        ..RoleEntry::default()
    };
    BTreeMap::from([("page".to_owned(), role)])
}

/// The questions of all reports, in the order of the files.
fn cases_of(runs: &[FactRun]) -> Vec<Arc<TestCase>> {
    let mut seen: HashSet<&CaseId> = HashSet::new();
    let mut cases = Vec::new();
    for report in runs.iter().flat_map(|run| &run.reports) {
        if seen.insert(&report.case_id) {
            let case = TestCase::without_rubric(report.case_id.clone(), &report.question);
            cases.push(Arc::new(case));
        }
    }
    cases
}

fn by_id(cases: &[Arc<TestCase>]) -> HashMap<&CaseId, &Arc<TestCase>> {
    cases.iter().map(|case| (&case.case_id, case)).collect()
}

/// The systems without a report on a case that another system has.
fn missing(runs: &[FactRun], cases: &[Arc<TestCase>]) -> Vec<(String, String)> {
    let mut missing = Vec::new();
    for run in runs {
        let own: HashSet<&CaseId> = run.reports.iter().map(|report| &report.case_id).collect();
        for case in cases.iter().filter(|case| !own.contains(&case.case_id)) {
            missing.push((run.system.to_string(), case.case_id.to_string()));
        }
    }
    missing
}

/// The reports with their texts, where the files have them.
fn items_of(runs: &[FactRun], cases: &[Arc<TestCase>]) -> Vec<Item> {
    let cases = by_id(cases);
    let mut items = Vec::new();
    for run in runs {
        for report in run
            .reports
            .iter()
            .filter(|report| !report.article.is_empty())
        {
            let Some(case) = cases.get(&report.case_id) else {
                continue;
            };
            let article = Arc::clone(&report.article);
            let answer = Answer::new(run.system.clone(), report.case_id.clone(), article);
            items.push(Item::new(Arc::clone(case), answer));
        }
    }
    items
}

/// The scores of all reports, systems in name order, cases in the order of the files.
///
/// # Errors
/// In compat mode, where the reference script ends with an exception.
fn scored_answers(
    runs: &[FactRun],
    cases: &[Arc<TestCase>],
    mode: Mode,
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let mut faults: Vec<InputFault> = Vec::new();
    let mut scored = Vec::new();
    for run in runs {
        let reports: HashMap<&CaseId, &FactReport> = run
            .reports
            .iter()
            .map(|report| (&report.case_id, report))
            .collect();
        for case in cases {
            let Some(report) = reports.get(&case.case_id) else {
                continue;
            };
            match scored_answer(run, report, case, mode) {
                Ok(answer) => scored.push(Arc::new(answer)),
                Err(fault) => faults.push(fault),
            }
        }
    }
    no_faults(faults).map(|()| scored)
}

fn scored_answer(
    run: &FactRun,
    report: &FactReport,
    case: &Arc<TestCase>,
    mode: Mode,
) -> Result<ScoredAnswer, InputFault> {
    let score = match &report.validated {
        Err(lost) => {
            let reason = UnscoredReason::new(UnscoredKind::Unreadable, lost.clone());
            unscored_pages(false, &reason)
        }
        Ok(validated) if mode == Mode::Compat => {
            let pages = counts::reference_pages(validated).map_err(|raised| {
                let what = format!("the reference script ends with {raised}");
                InputFault::new(&report.path, what)
                    .at_line(report.line)
                    .of_case(report.case_id.as_str())
                    .hint("mend the line, or add --mode default, which reads it as open")
            })?;
            match pages {
                Some(pages) => score_of_pages(false, mode, pages),
                None => left_out_score(false),
            }
        }
        Ok(validated) => score_of_pages(false, mode, counts::own_pages(validated)),
    };
    let mut answer = ScoredAnswer::new(run.system.clone(), Arc::clone(case), score);
    answer.injection = injection::signs(&report.article);
    Ok(answer)
}

/// What a reader of the numbers must know.
fn warnings(options: &ImportOptions, runs: &[FactRun], mode: Mode) -> Vec<String> {
    let mut warnings = Vec::new();
    for run in runs {
        let lost = run
            .reports
            .iter()
            .filter(|report| report.validated.is_err());
        let lost = lost.count();
        if lost > 0 {
            warnings.push(format!(
                "{}: {lost} of {} reports were lost before validated.jsonl and are unscored",
                run.system,
                run.reports.len()
            ));
        }
        if mode == Mode::Compat
            && let Err(raised) = counts::stat(&run.reports)
        {
            warnings.push(format!(
                "{}: the reference script ends with {raised} and gives no numbers",
                run.system
            ));
        }
    }
    if options.mode.is_none() {
        warnings.push(MODE_UNKNOWN.to_owned());
    }
    warnings
}

#[cfg(test)]
mod pipeline_tests;
#[cfg(test)]
mod tests;
