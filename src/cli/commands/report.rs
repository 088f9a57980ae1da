//! `scholareval report`: recorded runs as one HTML file.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::prompts::prompt_set;
use super::{CommandContext, runtime};
use crate::analysis::comparison::{
    ComparisonDepth, ComparisonOptions, MOST_PAIRS, RunFactor, SEED, pair_count,
};
use crate::analysis::criteria_grid;
use crate::cli::args::{Across, ReportArgs};
use crate::cli::outputs::refuse_input;
use crate::cli::terminal::{grouped, path_text, write_stdout};
use crate::error::{Error, InputFault, Result};
use crate::files::write_bytes;
use crate::judge::options::defaults;
use crate::record::CallRecord;
use crate::record::{FILES, RecordedRun, for_each_call};
use crate::report::html::{self, HtmlReport};
use crate::report::{FigureOptions, FigureRequest, FigureStyle, judges_figure};
use crate::runs::{RunLabels, RunPrompts, RunSet, criteria_and_people};
use crate::text::names::counted;

/// The width of the figure of several judges in points, 6 inches.
const FIGURE_WIDTH: f64 = 432.0;
/// A page of more answers has their scores only: with texts and replies it has some 10 kB per answer, and browsers fail.
const MOST_ANSWERS_WITH_TEXTS: u64 = 20_000;

/// Runs the command.
///
/// # Errors
/// When a run cannot be read, runs are not comparable, or the page cannot be written.
pub(super) fn run(args: &ReportArgs, context: &CommandContext<'_>) -> Result<()> {
    match args.across {
        None => {}
        Some(Across::Judges) => return judges(args, RunFactor::Judges, context),
        Some(Across::Prompts) => return judges(args, RunFactor::Prompts, context),
        Some(Across::Runs) => {
            let message = "--across runs is for compare; a page shows runs of one judge without it";
            return Err(Error::Usage(message.to_owned()));
        }
    }
    let set = RunSet::open(&context.runs(&args.runs)?.0, args.anyway)?;
    check_output(&args.out, &set.runs)?;
    let answers = set.runs.iter().map(|run| run.manifest.answers).sum();
    let with_answers = !args.no_answers && answers <= MOST_ANSWERS_WITH_TEXTS;
    let labels = RunLabels::load(&args.labels, &set.runs)?;
    let observations = set.observe()?;
    let mut options = ComparisonOptions::seeded(SEED);
    let pairs = pair_count(observations.systems.len(), false);
    if pairs > MOST_PAIRS {
        options.depth = ComparisonDepth::Means;
    }
    let comparison = set.compare(&observations, &options);
    let (calls, call_count) = calls_of_runs(&set.runs, with_answers)?;
    let left_out = left_out(&set.runs, answers, args.no_answers, pairs);
    if !args.no_answers {
        for text in &left_out {
            context.note(&format!("note: {text}"));
        }
    }
    let scored: Vec<_> = set.runs.iter().map(|run| run.scored.as_slice()).collect();
    let prompt_set = Arc::new(prompt_set(args.prompts.as_deref())?);
    let mut prompts = Vec::new();
    for run in set.runs.iter().filter(|_| with_answers) {
        let set = Arc::clone(&prompt_set);
        let rebuilt = RunPrompts::rebuild(&run.path, &run.manifest, set, |_| true);
        prompts.push(runtime()?.block_on(rebuilt));
    }
    let page = html::page(&HtmlReport {
        comparison: &comparison,
        labels: Some(&labels).filter(|_| !args.labels.is_empty()),
        criteria: &criteria_and_people(&set, &labels),
        grid: &criteria_grid(&scored, &comparison.systems),
        observations: &observations,
        runs: &set.runs,
        calls,
        prompts,
        call_count,
        with_answers,
        left_out,
    })?;
    write_bytes(&args.out, &page)?;
    let line = format!(
        "wrote {}: {}, {}, {:.1} MB\n",
        path_text(&args.out),
        counted(comparison.systems.len(), "system"),
        counted(observations.cases.len(), "case"),
        page.len() as f64 / 1e6
    );
    write_stdout(line.as_bytes())
}

/// Writes the page of runs of the same answers that differ in this.
fn judges(args: &ReportArgs, factor: RunFactor, context: &CommandContext<'_>) -> Result<()> {
    let directories = context.runs(&args.runs)?.0;
    let set = RunSet::open_across(&directories, factor, args.anyway)?;
    check_output(&args.out, &set.runs)?;
    let mut observations = set.observe()?;
    let headline = observations.headline();
    observations.metrics = headline
        .iter()
        .map(|at| observations.metrics[*at].clone())
        .collect();
    let options = ComparisonOptions::seeded(SEED);
    let preferences = set.self_preferences(&observations, &[], &options)?;
    let mut comparison = set.compare_judges(observations, &options)?;
    comparison.self_preference = preferences;
    let request = FigureRequest {
        runs: &directories,
        options: &FigureOptions {
            anyway: args.anyway,
            ..FigureOptions::default()
        },
        style: &FigureStyle {
            width: FIGURE_WIDTH,
            ..defaults()
        },
    };
    let drawn = request.draw(&judges_figure(factor))?;
    let page = html::judges_page(&comparison, &drawn.figure);
    write_bytes(&args.out, &page)?;
    let line = format!(
        "wrote {}: {}, {:.1} MB\n",
        path_text(&args.out),
        counted(set.runs.len(), factor.noun()),
        page.len() as f64 / 1e6
    );
    write_stdout(line.as_bytes())
}

/// What the page does not have, in sentences.
fn left_out(runs: &[RecordedRun], answers: u64, no_answers: bool, pairs: usize) -> Vec<String> {
    let mut left_out = Vec::from_iter(without_texts(answers, no_answers));
    if left_out.is_empty() {
        for run in runs.iter().filter(|run| run.items.is_empty()) {
            left_out.push(format!(
                "{} was made with --no-inputs: the page has no answers of it.",
                run.name
            ));
        }
    }
    if pairs > MOST_PAIRS {
        left_out.push(format!(
            "{} pairs of systems: the page has means without tests; compare --baseline SYSTEM tests the pairs of one system.",
            grouped(pairs as u64)
        ));
    }
    left_out
}

/// Why the page has no texts, if it has none.
fn without_texts(answers: u64, no_answers: bool) -> Option<String> {
    if no_answers {
        let text = "Made with --no-answers: the page has scores only, without answers and replies.";
        return Some(text.to_owned());
    }
    if answers <= MOST_ANSWERS_WITH_TEXTS {
        return None;
    }
    Some(format!(
        "{} answers: the page has their scores only; up to {} it has texts and replies, too.",
        grouped(answers),
        grouped(MOST_ANSWERS_WITH_TEXTS)
    ))
}

/// The judges' calls of each run, if they are kept, and the number of all.
fn calls_of_runs(runs: &[RecordedRun], keeps: bool) -> Result<(Vec<Vec<CallRecord>>, usize)> {
    let mut calls = Vec::new();
    let mut all = 0;
    for run in runs {
        // Read even when they are not kept: the page shows their number, and reading to the end
        // checks the file against the manifest.
        let (of_run, count) = calls_of(run, keeps)?;
        calls.push(of_run);
        all += count;
    }
    Ok((calls, all))
}

/// The judges' calls, if they are kept, and their number; none if a run does not record them.
fn calls_of(run: &RecordedRun, keeps: bool) -> Result<(Vec<CallRecord>, usize)> {
    let mut calls = Vec::new();
    let mut count = 0;
    if run.path.join("calls.jsonl").is_file() {
        for_each_call(&run.path, &run.manifest, |call| {
            count += 1;
            if keeps {
                calls.push(call);
            }
            Ok(())
        })?;
    }
    Ok((calls, count))
}

/// Checks the output file before the work: it must not be a file of a run, and an existing one must be a report.
///
/// # Errors
/// When it is a file of a run, or exists and is not a report.
fn check_output(out: &Path, runs: &[RecordedRun]) -> Result<()> {
    let inputs: Vec<PathBuf> = runs
        .iter()
        .flat_map(|run| FILES.map(|file| run.path.join(file)))
        .collect();
    refuse_input("--out", out, inputs.iter().map(PathBuf::as_path))?;
    if out.exists() && !is_report(out)? {
        let fault = InputFault::new(out, "exists and is not a report");
        return Err(fault.refuse("name another file with --out"));
    }
    Ok(())
}

/// Whether a file is a page of `scholareval report`.
fn is_report(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(4096).read_to_end(&mut head));
    read.map_err(Error::io(path, "read"))?;
    let text = String::from_utf8_lossy(&head);
    // Only a page of ours is replaced: `--out thesis.html` must not destroy a thesis.
    Ok(text.starts_with("<!DOCTYPE html>")
        && text.contains("<meta name=\"generator\" content=\"scholareval "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_very_many_answers_has_scores_only_and_says_so() {
        assert_eq!(without_texts(20_000, false), None);
        let text = without_texts(20_001, false).unwrap();
        assert_eq!(
            text,
            "20,001 answers: the page has their scores only; up to 20,000 it has texts and replies, too."
        );
    }

    #[test]
    fn only_a_report_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("page.html");
        check_output(&out, &[]).unwrap();
        std::fs::write(
            &out,
            b"<!DOCTYPE html><meta name=\"generator\" content=\"scholareval 1\">",
        )
        .unwrap();
        check_output(&out, &[]).unwrap();
        std::fs::write(&out, b"<!DOCTYPE html><p>mine").unwrap();
        let error = check_output(&out, &[]).unwrap_err().to_string();
        assert!(
            error.contains("is not a report") && error.contains("--out"),
            "{error}"
        );
        assert!(check_output(dir.path(), &[]).is_err());
    }
}
