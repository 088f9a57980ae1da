//! `scholareval report`: recorded runs as one HTML file.

mod answers;
mod facts;
mod file;
mod replies;

use crate::analysis::comparison::{ComparisonOptions, compare, observe};
use crate::analysis::{AggregateOptions, OnUnscored, Scorecard, scorecard};
use crate::cli::ExitCode;
use crate::cli::args::ReportArgs;
use crate::cli::comparing::{answers_of, comparable, load_runs};
use crate::cli::origin::escape_controls;
use crate::cli::terminal::{counted, note, write_stdout};
use crate::domain::{CaseId, SystemName};
use crate::error::Result;
use crate::evaluation::record::RecordedRun;
use crate::report::html::{HtmlReport, HtmlRun, render_html};

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let runs = load_runs(&args.runs)?;
    file::check(&args.out, args.overwrite, &runs)?;
    let marks = comparable(&runs, args.anyway)?;
    let observed = observe(&answers_of(&runs));
    let mut comparison = compare(&observed, &ComparisonOptions::seeded(args.seed));
    comparison.runs = runs.iter().map(|run| run.name.clone()).collect();
    comparison.marks = marks.differences;
    let pages = runs.iter().map(|run| page_of(run, args)).collect::<Result<Vec<_>>>()?;
    let report = HtmlReport {
        title: comparison.runs.join(", "),
        comparison: &comparison,
        unfinished: &marks.unfinished,
        observed: &observed,
        runs: pages,
        metric: args.metric.as_deref(),
    };
    let page = render_html(&report)?;
    file::write(&args.out, &page)?;
    if !args.quiet {
        for run in runs.iter().filter(|run| run.items.is_empty() && !args.no_answers) {
            note(&format!("note: {} was made with --no-inputs: the page has no answers of it", run.name));
        }
    }
    let cases = observed.iter().map(|observed| observed.cases.len()).max().unwrap_or(0);
    let out = escape_controls(&args.out.display().to_string());
    let (systems, cases) = (counted(comparison.systems.len(), "system"), counted(cases, "case"));
    write_stdout(format!("wrote {out}: {systems}, {cases}, {}\n", size(page.len())).as_bytes())?;
    Ok(ExitCode::Ok)
}

/// What the page shows of a run.
fn page_of<'a>(run: &'a RecordedRun, args: &ReportArgs) -> Result<HtmlRun<'a>> {
    let card = card_of(run);
    Ok(HtmlRun {
        name: run.name.clone(),
        facts: facts::facts(&run.manifest),
        scored: &run.scored,
        answers: if args.no_answers { Vec::new() } else { answers::answers(run) },
        replies: if args.no_replies { Vec::new() } else { replies::load_replies(&run.path)? },
        panels: card.panels.clone(),
        draws: card.noise.clone(),
        scorecard: Some(card),
    })
}

/// The scorecard that `score` gave: by the run's own arithmetic, policy and seed.
fn card_of(run: &RecordedRun) -> Scorecard {
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
    scorecard(&run.scored, if manifest.judge.is_some() { &missing } else { &[] }, options)
}

fn size(bytes: usize) -> String {
    match bytes {
        0..100_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
