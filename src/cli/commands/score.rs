//! `scholareval score`: the main job, end to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Context;
use super::per_item::file_of;
use crate::analysis::OnUnscored;
use crate::cli::ExitCode;
use crate::cli::origin::escape_controls;
use crate::cli::outputs::refuse_input;
use crate::cli::progress::Progress;
use crate::cli::scoring::choice::Choice;
use crate::cli::scoring::endpoints::{Endpoints, endpoint_line};
use crate::cli::scoring::inputs::LoadedInputs;
use crate::cli::scoring::jobs::ScorerPlan;
use crate::cli::scoring::outcome::{Presentation, answers_through, in_input_order, next_steps, run_name, stopped};
use crate::cli::scoring::preset::Preset;
use crate::cli::scoring::roles::{Judges, aspects_of, roles_of};
use crate::cli::scoring::setup::Identified;
use crate::cli::scoring::sinks::{Nobody, Sinks};
use crate::cli::scoring::words::{of_models, plan_line};
use crate::cli::scoring::{results_file, runtime};
use crate::cli::settings::Settings;
use crate::cli::signals::stop_on_signal;
use crate::cli::terminal::{self, grouped};
use crate::domain::{Mode, Role, ScoredAnswer};
use crate::error::{Error, Result};
use crate::evaluation::options::ScorerName;
use crate::evaluation::record::{Inputs, Manifest, PolicyEntry, RecordedReplies, RunDir, RunRecord, RunStatus};
use crate::evaluation::{self, Job, Options, PlanOutcome, StopHandle};
use crate::judge::meters::Meters;
use crate::prompt::{PromptFamily, PromptSet};
use crate::report::Bench;
use crate::scorer::citation::names_gold_sources;

/// Runs the command.
///
/// # Errors
/// Whatever stopped it; nothing that was paid for is lost.
pub(super) fn run(settings: &Settings, context: &Context<'_>) -> Result<ExitCode> {
    score_with(settings, context, None)
}

/// The same for a row of a benchmark, whose table is shown in place of the scorecard.
///
/// # Errors
/// The same, and where a system does not answer every question of the row.
pub(super) fn score_with(settings: &Settings, context: &Context<'_>, preset: Option<&Preset>) -> Result<ExitCode> {
    runtime()?.block_on(score(settings, context, preset))
}

/// Everything a run works with, before anything is asked or written.
pub(super) struct Prepared {
    pub(super) inputs: LoadedInputs,
    pub(super) plan: ScorerPlan,
    pub(super) judges: Judges,
    manifest: Manifest,
    bench: Option<Bench>,
}

impl Prepared {
    pub(super) async fn load(settings: &Settings, preset: Option<&Preset>) -> Result<Self> {
        let inputs = LoadedInputs::load_for(&settings.options, preset)?;
        let options = &settings.options;
        let choice = match (preset, options.scorers.scorers.as_slice()) {
            (None, _) | (_, []) => Choice::of(options, &inputs.support)?,
            (Some(_), wanted) => Choice::among(wanted, options, &inputs.support)?,
        };
        let bench = preset.map(|preset| preset.table_of(&inputs.coverage, &choice));
        if !settings.quiet {
            inputs.warnings.iter().for_each(|warning| terminal::note(&format!("warning: {warning}")));
            let notes = inputs.notes.iter().chain(&choice.note);
            notes.for_each(|note| terminal::note(&format!("note: {}", escape_controls(note))));
        }
        let aspects = if choice.has(ScorerName::Prometheus) { aspects_of(options)? } else { Vec::new() };
        let judges = Judges::identify(settings, &roles_of(&choice, &aspects), &prompts(settings)?).await?;
        if options.scoring.compat {
            judges.refuse_what_the_reference_cannot_merge()?;
        }
        let lexical = judges.rubric().is_some_and(Identified::is_lexical);
        let mut plan = ScorerPlan::of(options, &choice.scorers, aspects, lexical);
        let predictions = inputs.plain.iter().filter_map(|item| item.answer.prediction.as_deref());
        plan.gold_sources = plan.mode == Mode::Compat || predictions.into_iter().any(names_gold_sources);
        let mut manifest = manifest(settings, &inputs, &plan, &judges)?;
        manifest.settings.extend(bench.iter().map(|bench| ("bench".to_owned(), bench.name.into())));
        Ok(Self { inputs, plan, judges, manifest, bench })
    }

    /// The jobs of the run, and the endpoints that they ask.
    pub(super) fn jobs(
        &self,
        settings: &Settings,
        recorded: Option<RecordedReplies>,
        meters: &Arc<Meters>,
    ) -> Result<(Vec<Job>, Endpoints)> {
        let asking = self.judges.asking(settings, &self.inputs, recorded, meters)?;
        let options = Options {
            concurrency: 1,
            parse_retries: settings.options.scoring.parse_retries,
            retry_unscored: settings.options.cache.retry_unscored,
            mode: settings.options.scoring.mode(),
        };
        let items = (&self.inputs.rubric, &self.inputs.plain);
        let jobs = self.plan.jobs(items, &asking.panels, &options, |roles| asking.places(roles));
        Ok((jobs, asking.endpoints))
    }

    /// What the scorers look at, as the record keeps it.
    fn write_inputs(&self, path: &Path) -> Result<()> {
        let needs_plain = self.plan.scorers.iter().any(|scorer| *scorer != ScorerName::Rubric);
        let rubric =
            if self.plan.scorers.contains(&ScorerName::Rubric) { self.inputs.rubric.to_vec() } else { Vec::new() };
        let inputs = if needs_plain { Inputs::of_lists(&rubric, &self.inputs.plain) } else { Inputs::new(rubric) };
        inputs.write(path)
    }

    /// Why a run must not begin that asks what the plan left open.
    fn cannot_be_asked(&self, planned: &PlanOutcome) -> Option<Error> {
        let open = self.plan.scorers.iter().zip(&planned.pending).filter(|(_, pending)| !pending.is_empty());
        let roles: Vec<Role> = open.flat_map(|(scorer, _)| self.plan.roles(*scorer)).collect();
        let why = self.judges.cannot_be_asked(&roles)?;
        let lacking = grouped(planned.plan.askable_now);
        Some(Error::JudgeUnavailable(format!("{why}; {lacking} calls or more are not in the cache")))
    }
}

/// The prompt set of a run.
pub(super) fn prompts(settings: &Settings) -> Result<Arc<PromptSet>> {
    Ok(Arc::new(match &settings.options.scoring.prompts {
        Some(dir) => PromptSet::load(dir)?,
        None => PromptSet::builtin(),
    }))
}

async fn score(settings: &Settings, context: &Context<'_>, preset: Option<&Preset>) -> Result<ExitCode> {
    let prepared = Prepared::load(settings, preset).await?;
    let Prepared { judges, manifest, .. } = &prepared;
    let (options, quiet) = (&settings.options, settings.quiet);
    let meters = Arc::new(Meters::default());
    let path = out_dir(settings, manifest);
    let recorded = || match judges.is_cached() {
        true => Ok(None),
        false => RecordedReplies::open(&path.join("calls.jsonl")),
    };
    if options.scoring.dry_run {
        let (jobs, _) = prepared.jobs(settings, recorded()?, &meters)?;
        let planned = evaluation::plan(&jobs, &mut Nobody).await?;
        return dry_run(&planned, judges);
    }
    if let Some(results) = &options.output.results_file {
        let inputs = manifest.inputs.iter().map(|input| Path::new(&input.path));
        refuse_input("--output", results, inputs)?;
        results_file::check_writable(results)?;
    }
    let dir = RunDir::open(&path)?;
    let resumed = dir.claim(manifest, options.output.overwrite)?;
    let inputs_path = path.join("inputs.jsonl");
    let has_inputs = resumed && inputs_path.exists();
    if !options.output.no_inputs && !has_inputs {
        prepared.write_inputs(&inputs_path)?;
    }
    let (jobs, endpoints) = prepared.jobs(settings, recorded()?, &meters)?;
    let asked = Asked { jobs: &jobs, endpoints: &endpoints, meters: &meters };
    let name = options.output.label.clone().unwrap_or_else(|| run_name(&path));
    let before = if resumed { Manifest::load(&path)? } else { None };
    let manifest = Manifest { endpoints: before.map(|run| run.endpoints).unwrap_or_default(), ..manifest.clone() };
    let record = RunRecord::open(dir, manifest, !judges.is_cached())?;
    let mut sinks = Sinks::new(record, &name);
    let planned = evaluation::plan(&jobs, &mut sinks).await?;
    if !quiet && judges.all().any(|(_, judge)| !judge.is_lexical()) {
        terminal::note(&plan_line(&of_models(&planned)));
    }
    let scored = ask(settings, &prepared, &asked, planned, &mut sinks).await?;
    sinks.finish(RunStatus::Complete, &scored)?;
    write_results(settings, &scored)?;
    let presentation = Presentation {
        manifest: sinks.record().manifest(),
        run: name,
        on_unscored: options.scoring.on_unscored,
        max_unscored: options.scoring.max_unscored,
        seed: options.scoring.seed,
        agreement: options.scoring.agreement,
        mode: options.scoring.mode(),
        format: settings.format,
        color: context.color,
        bench: prepared.bench.clone(),
        remarks: Vec::new(),
    };
    let code = presentation.conclude(&scored, Some(sinks.record().dir()))?;
    if !quiet {
        terminal::note(&format!("record of the run: {}", path.display()));
        terminal::note(&next_steps(&path, &scored));
    }
    Ok(code)
}

/// The reference's results file, if it is wanted.
fn write_results(settings: &Settings, scored: &[Arc<ScoredAnswer>]) -> Result<()> {
    let Some(results) = &settings.options.output.results_file else { return Ok(()) };
    let rubric: Vec<_> = scored.iter().filter(|answer| answer.score.is_weighted_sum()).cloned().collect();
    results_file::write(results, &rubric)
}

/// Who asks what in a run.
struct Asked<'a> {
    jobs: &'a [Job],
    endpoints: &'a Endpoints,
    meters: &'a Arc<Meters>,
}

/// Asks what the plan left open, and gives all scored answers in the order of the input.
async fn ask(
    settings: &Settings,
    prepared: &Prepared,
    asked: &Asked<'_>,
    planned: PlanOutcome,
    sinks: &mut Sinks,
) -> Result<Vec<Arc<ScoredAnswer>>> {
    let jobs = asked.jobs;
    let mut scored = planned.scored.clone();
    if !planned.is_done() {
        if let Some(error) = prepared.cannot_be_asked(&planned) {
            return Err(error);
        }
        let stop = StopHandle::new();
        prepared.judges.spending().bound(&stop);
        stop_on_signal(stop.clone())?;
        if !settings.quiet {
            let endpoints = asked.endpoints.clone();
            let waiting = move || match endpoints.down() {
                (all, down) if all > 1 && down > 0 => Some(format!("{down} of {all} endpoints down")),
                _ => None,
            };
            sinks.progress = Some(Progress::start(&planned, Arc::clone(asked.meters), Box::new(waiting)));
        }
        let ran = evaluation::run(jobs, &planned.pending, sinks, &stop).await;
        if let Some(progress) = sinks.progress.take() {
            progress.finish();
        }
        let used = asked.endpoints.stats();
        if !settings.quiet {
            used.iter().for_each(|endpoint| terminal::note(&endpoint_line(endpoint)));
        }
        sinks.note_endpoints(used);
        let outcome = match ran {
            Ok(outcome) => outcome,
            Err(error) => {
                let mut scored = std::mem::take(&mut sinks.scored);
                in_input_order(&mut scored, jobs);
                sinks.finish(RunStatus::Stopped, &scored)?;
                return Err(error);
            }
        };
        scored.extend(outcome.scored);
        in_input_order(&mut scored, jobs);
        // A signal that came when the last call was back has stopped nothing.
        if let Some(reason) = outcome.stopped.filter(|_| outcome.unfinished > 0) {
            sinks.finish(RunStatus::Stopped, &scored)?;
            return Err(stopped(&reason, answers_through(&scored, jobs), prepared.judges.is_cached()));
        }
    }
    in_input_order(&mut scored, jobs);
    Ok(scored)
}

fn dry_run(planned: &PlanOutcome, judges: &Judges) -> Result<ExitCode> {
    let line = match judges.all().all(|(_, judge)| judge.is_lexical()) {
        true => format!(
            "plan: {} calls at most to the built-in lexical judge; nothing is paid\n",
            grouped(planned.plan.at_most)
        ),
        false => format!("{}\n", plan_line(&of_models(planned))),
    };
    terminal::write_stdout(line.as_bytes())?;
    Ok(ExitCode::Ok)
}

fn manifest(settings: &Settings, inputs: &LoadedInputs, plan: &ScorerPlan, judges: &Judges) -> Result<Manifest> {
    let (options, mode) = (&settings.options, settings.options.scoring.mode());
    let rubric = judges.rubric();
    let mut in_force = options.run_settings();
    let limits = rubric.and_then(Identified::reply_limits);
    in_force.extend(limits.map(|limits| ("judge.max_tokens".to_owned(), limits)));
    in_force.extend(plan.to_settings());
    let mut files = inputs.files.clone();
    files.extend(
        options.scorers.aspect_rubrics.iter().map(|path| file_of("aspects", path)).collect::<Result<Vec<_>>>()?,
    );
    let with_rubric = plan.scorers.contains(&ScorerName::Rubric);
    let items = if with_rubric { &inputs.rubric } else { &inputs.plain };
    let missing = if with_rubric { inputs.missing.as_slice() } else { &[] };
    Ok(Manifest {
        label: options.output.label.clone(),
        settings: in_force,
        inputs: files,
        prompts: rubric.and_then(|judge| judge.prompts_entry(PromptFamily::Rubric)),
        judge: rubric.map(Identified::entry),
        scorers: plan.scorers.iter().map(|scorer| scorer.as_str().to_owned()).collect(),
        roles: judges.entries(),
        seed: options.scoring.seed,
        answers: items.len() as u64,
        missing: missing.iter().map(|(system, case)| (system.to_string(), case.to_string())).collect(),
        kept_cases: inputs.kept_cases.iter().map(ToString::to_string).collect(),
        warnings: inputs.warnings.clone(),
        policy: Some(PolicyEntry {
            unscored_as_zero: options.scoring.on_unscored == OnUnscored::Zero,
            max_unscored: options.scoring.max_unscored,
        }),
        ..Manifest::begin(mode)
    })
}

/// `--out`, else `runs/<hash>`: the same command finds the same directory.
fn out_dir(settings: &Settings, manifest: &Manifest) -> PathBuf {
    settings.options.output.out.clone().unwrap_or_else(|| PathBuf::from("runs").join(manifest.identity().short(12)))
}
