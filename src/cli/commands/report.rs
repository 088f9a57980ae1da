//! `scholareval report`: recorded runs as one HTML file.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::analysis::comparison::ComparisonOptions;
use crate::analysis::{AggregateOptions, OnUnscored, Summary, summarize};
use crate::cli::ExitCode;
use crate::cli::args::ReportArgs;
use crate::cli::origin::escape_controls;
use crate::cli::outputs::refuse_input;
use crate::cli::scoring::jobs::ScorerPlan;
use crate::cli::terminal::{counted, note, write_stdout};
use crate::domain::{CaseId, RubricParts, SystemName};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::RunSet;
use crate::evaluation::record::{RecordedRun, for_each_call};
use crate::report::html::{self, HtmlReport, HtmlRun};

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let set = RunSet::open(&args.runs, args.anyway)?;
    let runs = &set.runs;
    check_output(&args.out, args.overwrite, runs)?;
    let observations = set.observe();
    let comparison = set.compare(&observations, &ComparisonOptions::seeded(args.seed));
    let report = HtmlReport {
        comparison: &comparison,
        observations: &observations,
        runs: runs.iter().map(|run| html_run(run, args)).collect::<Result<Vec<_>>>()?,
        metric: args.metric.as_deref(),
    };
    let page = html::page(&report)?;
    write_page(&args.out, &page)?;
    if !args.quiet {
        for run in runs.iter().filter(|run| run.items.is_empty() && !args.no_answers) {
            note(&format!("note: {} was made with --no-inputs: the page has no answers of it", run.name));
        }
    }
    let out = escape_controls(&args.out.display().to_string());
    let (systems, cases) = (counted(comparison.systems.len(), "system"), counted(observations.cases.len(), "case"));
    write_stdout(format!("wrote {out}: {systems}, {cases}, {}\n", size(page.len())).as_bytes())?;
    Ok(ExitCode::Ok)
}

fn html_run<'a>(run: &'a RecordedRun, args: &ReportArgs) -> Result<HtmlRun<'a>> {
    let manifest = &run.manifest;
    let parts = (manifest.mode, RubricParts::BOTH, manifest.is_lexical());
    let plan = ScorerPlan::from_settings(&manifest.scorers, &manifest.settings, parts);
    let (path, mut calls) = (run.path.join("calls.jsonl"), Vec::new());
    if !args.no_replies && path.is_file() {
        for_each_call(&path, |call| {
            calls.push(call);
            Ok(())
        })?;
    }
    Ok(HtmlRun {
        name: run.name.clone(),
        facts: html::facts(manifest),
        scored: &run.scored,
        items: if args.no_answers { &[] } else { &run.items },
        index_base: u8::from(plan.index_base).into(),
        calls,
        summary: Some(summary_of(run)),
    })
}

/// The summary that `score` gave: by the run's own arithmetic, policy and seed.
fn summary_of(run: &RecordedRun) -> Summary {
    let manifest = &run.manifest;
    let as_zero = manifest.policy.is_some_and(|policy| policy.unscored_as_zero);
    let options = AggregateOptions {
        mode: manifest.mode,
        on_unscored: if as_zero { OnUnscored::Zero } else { OnUnscored::Exclude },
        seed: manifest.seed,
        lexical: manifest.is_lexical(),
    };
    let missing: Vec<(SystemName, CaseId)> =
        manifest.missing.iter().map(|(system, case)| (system.as_str().into(), case.as_str().into())).collect();
    // Without a judge the rubric was not asked, and nothing is missing of it.
    summarize(&run.scored, if manifest.judge.is_some() { &missing } else { &[] }, options)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..100_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// Bytes of a file that are searched for the name of its generator.
const HEAD: u64 = 4096;

/// Checks the output file before the work: it is no file of a run; if it exists, it is an earlier report; it can be written.
///
/// # Errors
/// When one of these does not hold.
fn check_output(out: &Path, overwrite: bool, runs: &[RecordedRun]) -> Result<()> {
    let files =
        ["manifest.json", "inputs.jsonl", "calls.jsonl", "scores.jsonl", "summary.json", "summary.csv", "items.csv"];
    let inputs: Vec<PathBuf> = runs.iter().flat_map(|run| files.map(|file| run.path.join(file))).collect();
    refuse_input("--out", out, inputs.iter().map(PathBuf::as_path))?;
    if out.is_dir() {
        let hint = format!("name a file, such as {}", out.join("report.html").display());
        return Err(InputFault::new(out, "--out is a directory").hint(hint).into());
    }
    if out.exists() && !overwrite && !is_report(out)? {
        let fault = InputFault::new(out, "exists and is no report");
        return Err(fault.hint("name another file with --out, or add --overwrite").into());
    }
    let partial = partial(out);
    File::create(&partial).and_then(|_| std::fs::remove_file(&partial)).map_err(Error::io(out, "create"))
}

/// Whether a file is a page of `scholareval report`.
fn is_report(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "read"))?;
    file.take(HEAD).read_to_end(&mut head).map_err(Error::io(path, "read"))?;
    let text = String::from_utf8_lossy(&head);
    Ok(text.starts_with("<!DOCTYPE html>") && text.contains("<meta name=\"generator\" content=\"scholareval "))
}

/// Writes the page beside its place, then moves it there.
///
/// # Errors
/// When it cannot be written; then nothing is left behind, and an earlier page stays as it was.
fn write_page(out: &Path, page: &[u8]) -> Result<()> {
    let partial = partial(out);
    let written = File::create(&partial).and_then(|mut file| file.write_all(page).and_then(|()| file.sync_all()));
    written.and_then(|()| std::fs::rename(&partial, out)).map_err(|error| {
        let _ = std::fs::remove_file(&partial);
        Error::io(out, "write")(error)
    })
}

fn partial(out: &Path) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    out.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_report_is_replaced_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("page.html");
        check_output(&out, false, &[]).unwrap();
        write_page(&out, b"<!DOCTYPE html><meta name=\"generator\" content=\"scholareval 1\">").unwrap();
        check_output(&out, false, &[]).unwrap();
        write_page(&out, b"<!DOCTYPE html><p>mine").unwrap();
        let error = check_output(&out, false, &[]).unwrap_err().to_string();
        assert!(error.contains("is no report") && error.contains("--overwrite"), "{error}");
        check_output(&out, true, &[]).unwrap();
        // Nothing of the work is left beside the page.
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_directory_and_a_place_that_is_not_there_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(check_output(dir.path(), true, &[]).unwrap_err().to_string().contains("report.html"));
        assert!(check_output(&dir.path().join("no/such/page.html"), false, &[]).is_err());
    }
}
