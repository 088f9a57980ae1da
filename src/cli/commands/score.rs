//! `scholareval score`: the main job, end to end.
//!
//! Settings become an evaluation, which is planned first; the run shows its progress, and the
//! reports are made from its record, so that `report` can make them again.

use std::path::Path;
use std::sync::Arc;

use super::estimate::{plan_line, show_plan};
use super::{CommandContext, runtime};
use crate::cli::ExitCode;
use crate::cli::origin::escape_controls;
use crate::cli::outcome::report_run;
use crate::cli::outputs::refuse_input;
use crate::cli::progress::Progress;
use crate::cli::reading::ReadingProgress;
use crate::cli::settings::Settings;
use crate::cli::signals::stop_on_signal;
use crate::cli::summary::conclude;
use crate::cli::terminal;
use crate::domain::{EndingModel, EndpointUse, Severity, SystemName, UnscoredKind, today};
use crate::error::Result;
use crate::evaluation::{Evaluation, Prepared, Run, Slice, StopHandle};
use crate::record::{AnsweredJudge, Manifest};
use crate::record::{NoEvents, decision_remedy, remedy};
use crate::report::{
    AnswerWorks, Bench, CitedWorksReport, RunReport, check_writable, write_items, write_results,
};
use crate::stats::FoundReferences;

/// Runs the command.
///
/// # Errors
/// Any error; no reply that was paid for is lost.
pub(super) fn run(settings: &Settings, context: &CommandContext<'_>) -> Result<ExitCode> {
    run_evaluation(evaluation(settings, context), settings, context)
}

/// Prepares the evaluation and scores its answers.
///
/// # Errors
/// As [`run`].
pub(super) fn run_evaluation(
    evaluation: Evaluation,
    settings: &Settings,
    context: &CommandContext<'_>,
) -> Result<ExitCode> {
    runtime()?.block_on(async {
        let prepared = evaluation.prepare().await?;
        score(prepared, settings, context, RunTable::default()).await
    })
}

/// What replaces the scorecard.
#[derive(Clone, Copy, Default)]
pub(super) struct RunTable<'a> {
    /// The table of a benchmark.
    pub bench: Option<&'a Bench>,
    /// Whether it is the table of cited works, if references were looked up.
    pub works: bool,
    /// How many of known real works the files of works hold.
    pub coverage: Option<FoundReferences>,
}

/// The works that the answers cite; `None` if no references were looked up.
fn cited_works(prepared: &Prepared, coverage: Option<FoundReferences>) -> Option<CitedWorksReport> {
    let mut answers = Vec::new();
    for item in prepared.inputs.plain.iter() {
        if let Some(works) = &item.answer.works {
            answers.push(AnswerWorks {
                system: item.answer.system.clone(),
                case_id: Some(item.case.case_id.clone()),
                works: Arc::clone(works),
            });
        }
    }
    let records = prepared.inputs.work_records.clone();
    (!answers.is_empty()).then(|| CitedWorksReport::new(answers, records, coverage))
}

/// The evaluation of these settings; its notes go to standard error.
pub(super) fn evaluation(settings: &Settings, context: &CommandContext<'_>) -> Evaluation {
    let quiet = context.global.quiet;
    let progress = ReadingProgress::new(quiet);
    let evaluation = Evaluation::from_options(settings.options.clone());
    let evaluation = evaluation.on_bytes(move |done, all| progress.read(done, all));
    evaluation.on_note(move |severity, text| {
        if !quiet {
            let kind = if severity == Severity::Warning {
                "warning"
            } else {
                "note"
            };
            terminal::note(&format!("{kind}: {}", escape_controls(text)));
        }
    })
}

/// Asks what is not cached, writes the record and its tables, and shows the report.
///
/// # Errors
/// As [`run`].
pub(super) async fn score(
    prepared: Prepared,
    settings: &Settings,
    context: &CommandContext<'_>,
    shown: RunTable<'_>,
) -> Result<ExitCode> {
    if settings.dry_run {
        show_plan(&prepared, settings.format, context).await?;
        return Ok(ExitCode::Ok);
    }
    let results_file = settings.options.results.results_file.as_deref();
    if let Some(results) = results_file {
        // Paid calls whose result cannot be written would be found out about at the end.
        check_results_file(results, &prepared)?;
    }
    let is_lexical = prepared
        .judges
        .all()
        .all(|(_, named)| named.judge.is_lexical());
    let path = prepared.out_dir();
    let works = cited_works(&prepared, shown.coverage);
    let mut run = prepared.start(&path).await?;
    let estimate = run.cost();
    if !is_lexical {
        context.note(&plan_line(&estimate));
    }
    // Nothing of judges that are not asked: a run from the cache can be repeated for ever.
    let known: Vec<EndingModel> = run.endings.values().cloned().collect();
    note_ends(&known, context);
    let recorded = run.manifest().ending_models();
    let cache = settings.options.cache.path();
    let result = ask(&mut run, estimate.prices_of, cache, context).await;
    let name = run.name();
    let texts = context.csv_text();
    // Also of a run that stopped: its scores are in the record, and the error comes last.
    let written = write_items(run.record().dir(), &name, run.scores(), texts);
    // The error of the calls first: a full disk, say, then also explains the other one.
    result?;
    written?;
    if let Some(results) = results_file {
        write_results(results, run.scores())?;
    }
    let mut report = RunReport::new(run.manifest(), &name, run.scores(), shown.bench, texts)?;
    if let Some(works) = works {
        // It quotes what the answers cite.
        if !settings.options.output.no_inputs {
            works.write(&run.dir().join("works.jsonl"))?;
        }
        report = report.with_works(works, shown.works);
    }
    // Before anything is shown: what a person reads is also in the files.
    report.write(run.record().dir())?;
    let code = show_report(&report, &run, settings, context)?;
    let mut stated_by_replies = run.manifest().ending_models();
    stated_by_replies.retain(|ending| !known.contains(ending) && !recorded.contains(ending));
    note_ends(&stated_by_replies, context);
    context.note(&format!("record of the run: {}", path.display()));
    report_run(context.environment, &path);
    context.note(&match settings.options.bounds.slice {
        Some(slice) => next_after_slice(slice, cache, is_lexical),
        None => next_steps(&run, settings.has_page),
    });
    Ok(code)
}

/// Shows what services state about the end of the judges' models.
fn note_ends(endings: &[EndingModel], context: &CommandContext<'_>) {
    let today = today();
    for ending in endings {
        context.note(&escape_controls(&ending.sentence(today)));
    }
}

/// Checks before the first call that the results file can be written, and is none of the inputs.
fn check_results_file(results: &Path, prepared: &Prepared) -> Result<()> {
    let inputs = prepared.manifest.inputs.iter();
    let inputs = inputs.map(|input| Path::new(&input.path));
    refuse_input("--output", results, inputs)?;
    check_writable(results)
}

/// Shows the report unless nothing was judged, which is an error; gives the exit code.
fn show_report(
    report: &RunReport,
    run: &Run,
    settings: &Settings,
    context: &CommandContext<'_>,
) -> Result<ExitCode> {
    let unusable = run.nothing_judged();
    // Scores that need no judge are results all the same.
    let has_scores = run.scores().iter().any(|answer| answer.score.is_complete());
    let mut code = ExitCode::TooManyUnscored;
    if unusable.is_none() || has_scores {
        let style = context.style();
        let remedy: fn(UnscoredKind) -> Option<&'static str> =
            if run.manifest().asks_only_decision_models() {
                decision_remedy
            } else {
                remedy
            };
        code = conclude(report, run.manifest(), settings.format, &style, remedy)?;
    }
    if let Some(error) = unusable {
        return Err(error);
    }
    // After the report: who wants only the exit code has it, and the numbers are there to look at.
    if settings.options.input.strict && has_several_models(run.manifest()) {
        code = ExitCode::JudgeUnavailable;
    }
    Ok(code)
}

/// Makes the calls that are not cached, with progress, until all are done or a signal stops the run.
async fn ask(
    run: &mut Run,
    prices_of: Option<String>,
    cache: Option<&Path>,
    context: &CommandContext<'_>,
) -> Result<()> {
    let stop = StopHandle::new();
    if run.planned.is_done() {
        return run.ask(&mut NoEvents, &stop).await;
    }
    run.check_judges()?;
    // Only around paid calls: elsewhere Ctrl-C may end the process as usual.
    stop_on_signal(stop.clone(), cache.map(Path::to_path_buf))?;
    if context.global.quiet {
        return run.ask(&mut NoEvents, &stop).await;
    }
    let endpoints = run.endpoints.clone();
    let mut progress = Progress::start(
        &run.planned,
        prices_of,
        Arc::clone(&run.meters),
        move || endpoints.activity(),
    );
    let result = run.ask(&mut progress, &stop).await;
    progress.finish();
    let endpoints = run.endpoints.stats();
    // What stops a run on one server is the error.
    if result.is_ok() || endpoints.len() > 1 {
        for endpoint in endpoints.iter().filter(|endpoint| endpoint.stats.is_down) {
            terminal::note(&down_line(endpoint));
        }
    }
    result
}

/// Whether several models answered for a judge of the run, which `--strict` does not accept; each is an error line.
fn has_several_models(manifest: &Manifest) -> bool {
    let judges = manifest.answered_judges();
    let mixed = judges.iter().filter(|judge| judge.is_mixed());
    let errors: Vec<String> = mixed.filter_map(AnsweredJudge::warning).collect();
    for error in &errors {
        terminal::note(&escape_controls(&format!("error: --strict: {error}")));
    }
    !errors.is_empty()
}

/// An endpoint that is down at the end of a run; statistics of all are in summary.json.
fn down_line(endpoint: &EndpointUse) -> String {
    let stats = &endpoint.stats;
    let why = stats.last_failure.as_deref().unwrap_or("it fails");
    let judge = &endpoint.judge;
    escape_controls(&format!(
        "warning: endpoint {} of {judge} is down at the end: {why}",
        stats.name
    ))
}

/// Suggested next commands: compare the systems, write the report unless the command itself does.
fn next_steps(run: &Run, has_page: bool) -> String {
    let path = shell_text(run.dir());
    let mut systems = run.scores().iter().map(|answer| &answer.system);
    let first: Option<&SystemName> = systems.next();
    let has_several = systems.any(|system| Some(system) != first);
    let mut commands = Vec::new();
    if has_several {
        commands.push(format!("scholareval compare {path}"));
    }
    if !has_page {
        commands.push(format!("scholareval report {path} --out report.html"));
    }
    format!("next: {}", commands.join("; "))
}

/// How the slices become one run: a comparison of a part's systems may have no shared case.
fn next_after_slice(slice: Slice, cache: Option<&Path>, is_lexical: bool) -> String {
    if is_lexical {
        return "next: the same command without --slice scores all answers".to_owned();
    }
    let Some(cache) = cache else {
        return "next: the replies of slices without a cache cannot be joined; give each slice its --cache FILE"
            .to_owned();
    };
    format!(
        "next: when all {} slices are done, scholareval cache merge {} OTHER_CACHES.. --into all.sqlite; then the same \
         command with --cache all.sqlite and without --slice (slices that share a cache need no merge)",
        slice.of,
        shell_text(cache)
    )
}

/// The path as a word of a shell command.
pub(super) fn shell_text(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_plain = shown
        .chars()
        .all(|character| character.is_alphanumeric() || "/._-".contains(character));
    if is_plain {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}
