//! `scholareval score`: the main job, end to end.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::Context;
use crate::cli::ExitCode;
use crate::cli::progress::{Progress, ProgressMode, grouped};
use crate::cli::scoring::inputs::LoadedInputs;
use crate::cli::scoring::outcome::{Presentation, in_input_order, run_name, stopped};
use crate::cli::scoring::setup::{Identified, Judging};
use crate::cli::scoring::sinks::{Nobody, Sinks};
use crate::cli::scoring::words::plan_line;
use crate::cli::scoring::{results_file, runtime, scorers};
use crate::cli::settings::Settings;
use crate::cli::signals::Signals;
use crate::cli::terminal;
use crate::domain::{Mode, Role, ScoredAnswer};
use crate::error::{Error, Result};
use crate::judge::meters::Meters;
use crate::pipeline::record::{Manifest, RecordedReplies, RunDir, RunRecord, RunStatus, SCHEMA_VERSION, write_inputs};
use crate::pipeline::{
    self, EventSink, Job, Member, Merge, Options, Panel, Panels, Plan, PlanOutcome, RunEvent, StopHandle,
};

/// What compat mode reproduces.
pub(super) const REFERENCE: &str = "ScholarQABench 95e6fc52b0a8a0ce0a74956029991e3bb00c38b9";

/// Runs the command.
///
/// # Errors
/// Whatever stopped it; nothing that was paid for is lost.
pub(super) fn run(settings: &Settings, context: &Context<'_>) -> Result<ExitCode> {
    runtime()?.block_on(score(settings, context))
}

async fn score(settings: &Settings, context: &Context<'_>) -> Result<ExitCode> {
    let inputs = LoadedInputs::load(settings)?;
    let quiet = settings.output.quiet;
    if !quiet {
        inputs.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}")));
    }
    let identified = Identified::identify(settings).await?;
    let manifest = manifest(settings, &inputs, &identified);
    let meters = Arc::new(Meters::default());
    let path = out_dir(settings, &manifest);
    let recorded = || match identified.is_cached() {
        true => Ok(None),
        false => RecordedReplies::open(&path.join("calls.jsonl")),
    };
    if settings.score.dry_run {
        let judging = judging(settings, &inputs, &identified, recorded()?, &meters)?;
        let planned = pipeline::plan(&[job(settings, &inputs, &judging, &manifest)], &mut Nobody).await?;
        return dry_run(&planned, &identified);
    }
    if let Some(results) = &settings.output.results_file {
        results_file::check_writable(results)?;
    }
    let dir = RunDir::open(&path)?;
    let resumed = dir.claim(&manifest, settings.output.overwrite)?;
    let inputs_path = path.join("inputs.jsonl");
    if settings.output.inputs && !(resumed && inputs_path.exists()) {
        write_inputs(&inputs_path, &inputs.items)?;
    }
    let judging = judging(settings, &inputs, &identified, recorded()?, &meters)?;
    let name = settings.output.label.clone().unwrap_or_else(|| run_name(&path));
    let record = RunRecord::open(dir, manifest.clone(), !identified.is_cached())?;
    let mut sinks = Sinks::open(record, &name)?;
    let job = job(settings, &inputs, &judging, &manifest);
    let planned = pipeline::plan(std::slice::from_ref(&job), &mut sinks).await?;
    if !quiet && !manifest.is_lexical() {
        terminal::note(&plan_line(&planned.plan));
    }
    let scored = ask(settings, &identified, &job, planned, &mut sinks, &meters).await?;
    sinks.finish(RunStatus::Complete, &scored)?;
    if let Some(results) = &settings.output.results_file {
        results_file::write(results, &scored)?;
    }
    let presentation = Presentation {
        manifest: &manifest,
        run: name,
        on_unscored: settings.score.on_unscored,
        max_unscored: settings.score.max_unscored,
        seed: settings.score.seed,
        agreement: settings.score.agreement,
        mode: settings.score.mode,
        format: settings.output.format,
        color: context.color,
    };
    let code = presentation.conclude(&scored, Some(sinks.record().dir()))?;
    if !quiet {
        terminal::note(&format!("record of the run: {}", path.display()));
    }
    Ok(code)
}

/// Asks what the plan left open, and gives all scored answers in the order of the input.
async fn ask(
    settings: &Settings,
    identified: &Identified,
    job: &Job,
    mut planned: PlanOutcome,
    sinks: &mut Sinks,
    meters: &Arc<Meters>,
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let mut scored = std::mem::take(&mut planned.scored);
    if let (Identified::Chat(chat), false) = (identified, planned.is_done())
        && let Some(why) = chat.cannot_be_asked()
    {
        let lacking = grouped(planned.plan.askable_now);
        return Err(Error::JudgeUnavailable(format!("{why}; {lacking} calls or more are not in the cache")));
    }
    if !planned.is_done() {
        let stop = StopHandle::new();
        let listener = stop.clone();
        let signals = Signals::listen()?;
        let watch = tokio::spawn(async move { listener.stop(signals.first().await) });
        let settled = planned.plan.cached - planned.pending_cached;
        let whole = Plan { at_most: planned.plan.at_most + planned.plan.cached, ..planned.plan };
        let progress = Progress::new(
            ProgressMode::choose(settings.output.quiet, terminal::stderr_is_terminal()),
            Arc::clone(meters),
        );
        progress.behind(settled, &scored);
        sinks.progress = Some(progress);
        sinks.on_event(&RunEvent::Started(whole))?;
        let ran = pipeline::run(std::slice::from_ref(job), &planned.pending, sinks, &stop).await;
        watch.abort();
        if let Some(mut progress) = sinks.progress.take() {
            progress.finish();
        }
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => {
                let mut scored = std::mem::take(&mut sinks.scored);
                in_input_order(&mut scored, &job.items);
                sinks.finish(RunStatus::Stopped, &scored)?;
                return Err(error);
            }
        };
        scored.extend(outcome.scored);
        in_input_order(&mut scored, &job.items);
        // A signal that came when the last call was back has stopped nothing.
        if let Some(reason) = outcome.stopped.filter(|_| outcome.unfinished > 0) {
            sinks.finish(RunStatus::Stopped, &scored)?;
            return Err(stopped(&reason, scored.len(), job.items.len(), identified.is_cached()));
        }
    }
    in_input_order(&mut scored, &job.items);
    Ok(scored)
}

fn dry_run(planned: &PlanOutcome, identified: &Identified) -> Result<ExitCode> {
    let line = match identified {
        Identified::Lexical => format!(
            "plan: {} calls at most to the built-in lexical judge; nothing is paid\n",
            grouped(planned.plan.at_most)
        ),
        Identified::Chat(_) => format!("{}\n", plan_line(&planned.plan)),
    };
    terminal::write_stdout(line.as_bytes())?;
    Ok(ExitCode::Ok)
}

pub(super) fn manifest(settings: &Settings, inputs: &LoadedInputs, identified: &Identified) -> Manifest {
    let mode = settings.score.mode;
    let mut in_force = settings.run_fingerprint_inputs();
    in_force.extend(identified.reply_limits().map(|limits| ("judge.max_tokens".to_owned(), limits)));
    Manifest {
        schema_version: SCHEMA_VERSION,
        scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
        status: RunStatus::Running,
        label: settings.output.label.clone(),
        started_at: jiff::Timestamp::now().to_string(),
        finished_at: None,
        mode,
        reference: (mode == Mode::Compat).then(|| REFERENCE.to_owned()),
        settings: in_force,
        inputs: inputs.files.clone(),
        prompts: identified.prompts_entry(),
        judge: Some(identified.entry()),
        scorers: vec!["rubric".to_owned()],
        roles: BTreeMap::new(),
        seed: settings.score.seed,
        answers: inputs.items.len() as u64,
        missing: inputs.missing.iter().map(|(system, case)| (system.to_string(), case.to_string())).collect(),
        kept_cases: inputs.kept_cases.iter().map(ToString::to_string).collect(),
        pairing_differences: inputs.pairing_differences.clone(),
        warnings: inputs.warnings.clone(),
    }
}

/// `--out`, else `runs/<hash>`: the same command finds the same directory.
fn out_dir(settings: &Settings, manifest: &Manifest) -> PathBuf {
    settings.output.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(manifest.identity().short(12)))
}

fn judging(
    settings: &Settings,
    inputs: &LoadedInputs,
    identified: &Identified,
    recorded: Option<RecordedReplies>,
    meters: &Arc<Meters>,
) -> Result<Judging> {
    identified.judging(&settings.limits, settings.judge.retries, &inputs.all_cases, recorded, meters)
}

fn job(settings: &Settings, inputs: &LoadedInputs, judging: &Judging, manifest: &Manifest) -> Job {
    let score = &settings.score;
    let (scorer, reference) = scorers(score.parts, score.mode, manifest.is_lexical());
    let member = Member {
        judge: Arc::clone(&judging.judge),
        renderer: Arc::clone(&judging.renderer),
        source: Arc::clone(&judging.source),
        judge_id: manifest.judge_id().into(),
        samples: score.samples,
        merge: Merge::Mean,
        expected: false,
    };
    Job {
        items: Arc::clone(&inputs.items),
        scorer,
        reference,
        panels: Arc::new(Panels::none().with(Role::Rubric, Panel::of_one(member))),
        options: Arc::new(Options {
            concurrency: settings.limits.concurrency.get(),
            parse_retries: score.parse_retries,
            retry_unscored: settings.cache.retry_unscored,
            acknowledge: settings.cache.path.is_none(),
            mode: score.mode,
        }),
    }
}
