//! The public entry point: build an evaluation from options, prepare, plan and run it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;

use super::choice::{Choice, aspects_of};
use super::inputs::LoadedInputs;
use super::judges::{Endpoints, Judges};
use super::legibility::shortened;
use super::options::{EvaluationOptions, ScorerName};
use super::preset::Preset;
use super::scorers::ScorerSetup;
use super::slice::keep_slice;
use super::{Job, Options, Plan, PlanEstimate, PlanOutcome, RunOutcome, StopHandle};
use crate::analysis::{AggregateOptions, Summary, summarize};
use crate::dataset::InputFile;
use crate::domain::{
    BatchSize, CaseId, JudgeReply, Role, RubricProfile, ScoredAnswer, Severity, SystemName,
    UnscoredKind, UnscoredReason,
};
use crate::error::{Error, Result};
use crate::judge::answering::Answering;
use crate::judge::batch::{BatchLimits, BatchManifest, BatchWriter};
use crate::judge::kind::JudgeKind;
use crate::judge::meters::Meters;
use crate::judge::{Judge, JudgeBuilder, Notify};
use crate::prompt::PromptFamily;
use crate::record::{
    EventSink, Inputs, Manifest, NoEvents, PERTURBATIONS, PolicyEntry, RecordedReplies, RunDir,
    RunEvent, RunRecord, RunStatus, remedy,
};
use crate::scorer::Scorer;
use crate::scorer::criteria::CriteriaScorer;
use crate::text::perturbation::Perturbation;

/// An evaluation: answers, test cases, a judge, and any other option.
///
/// ```no_run
/// use scholareval::{Evaluation, JudgeBuilder};
///
/// # async fn score() -> scholareval::Result<()> {
/// let judge = JudgeBuilder::openai("gpt-4o").api_key("sk-..");
/// let run = Evaluation::builder().tests("tests.json").answers("answers").judge(judge).run("runs/mine").await?;
/// println!("{} scores in {}", run.scores().len(), run.dir().display());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Evaluation {
    options: EvaluationOptions,
    own_judge: Option<Arc<dyn Judge>>,
    own_scorers: Vec<Arc<dyn Scorer>>,
    preset: Option<Arc<Preset>>,
    perturbations: Vec<Perturbation>,
    notify: Arc<Notify>,
}

impl Evaluation {
    /// An evaluation with default options: nothing to read yet, and the lexical baseline as judge.
    pub fn builder() -> Self {
        Self::from_options(EvaluationOptions::default())
    }

    /// An evaluation with these options; everything that the command line can set is among them.
    pub fn from_options(options: EvaluationOptions) -> Self {
        let (own_scorers, perturbations) = (Vec::new(), Vec::new());
        Self {
            options,
            own_judge: None,
            own_scorers,
            preset: None,
            perturbations,
            notify: Arc::new(|_, _| ()),
        }
    }

    /// The test cases with their rubrics (JSON).
    #[must_use]
    pub fn tests(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.input.tests = Some(path.into());
        self
    }

    /// A JSONL file of answers, or a directory of such files; may be called several times.
    #[must_use]
    pub fn answers(mut self, path: impl Into<PathBuf>) -> Self {
        self.options.input.answers.push(path.into());
        self
    }

    /// The judge of all roles without a judge of their own, with its limits and its cache.
    #[must_use]
    pub fn judge(mut self, judge: JudgeBuilder) -> Self {
        let JudgeBuilder {
            options,
            limits,
            cache,
            own,
        } = judge;
        (self.options.judge, self.options.limits, self.options.cache) = (options, limits, cache);
        self.own_judge = own;
        self
    }

    /// A built-in scorer; may be called several times. Default: every scorer that the input supports.
    #[must_use]
    pub fn built_in(mut self, scorer: ScorerName) -> Self {
        self.options.scorers.scorers.push(scorer);
        self
    }

    /// A custom scorer; may be called several times. Built-in ones run beside it only if they are named.
    #[must_use]
    pub fn scorer(mut self, scorer: impl Scorer + 'static) -> Self {
        self.own_scorers.push(Arc::new(scorer));
        self
    }

    /// Receives messages for the user: warnings about the input, servers that are still loading.
    #[must_use]
    pub fn on_note(mut self, notify: impl Fn(Severity, &str) + Send + Sync + 'static) -> Self {
        self.notify = Arc::new(notify);
        self
    }

    /// The questions of a benchmark; every system must answer them.
    #[must_use]
    pub fn preset(mut self, preset: Preset) -> Self {
        self.preset = Some(Arc::new(preset));
        self
    }

    /// Scores every answer also with each of these perturbations that changes it, as an answer of the system `NAME + padded`
    /// (and so on). [`probe`](crate::analysis::probe) compares them.
    #[must_use]
    pub fn perturbed(mut self, perturbations: &[Perturbation]) -> Self {
        self.perturbations = perturbations.to_vec();
        self
    }

    /// Reads all input, chooses the scorers and asks every server which model it serves. Nothing is paid
    /// or written.
    ///
    /// # Errors
    /// For options and input that cannot be used; for a judge that is unreachable and unknown from earlier runs.
    pub async fn prepare(self) -> Result<Prepared> {
        let Self {
            mut options,
            own_judge,
            own_scorers,
            preset,
            perturbations,
            notify,
        } = self;
        options.check()?;
        let mut inputs = LoadedInputs::load(&options, preset.as_deref())?;
        if options.scoring.compat {
            let repeats = inputs.profile.repeats_in_compat();
            options.scoring.parse_retries = options.scoring.parse_retries.max(repeats);
        }
        let choice = match options.scorers.scorers.is_empty() && !own_scorers.is_empty() {
            true => Choice::default(),
            false => Choice::of(&options, &inputs.support, preset.is_some())?,
        };
        inputs
            .warnings
            .iter()
            .for_each(|warning| notify(Severity::Warning, warning));
        inputs
            .notes
            .iter()
            .chain(&choice.note())
            .for_each(|note| notify(Severity::Info, note));
        let aspects = if choice.scorers.contains(&ScorerName::Prometheus) {
            aspects_of(&options)?
        } else {
            Vec::new()
        };
        let (parts, mode) = (options.scoring.parts(), options.scoring.mode());
        // Of all slices, so that each runs the same scorers with the same settings.
        let all_items = Arc::clone(&inputs.plain);
        let (scorer_options, aspects, items) = (&options.scorers, &aspects[..], &all_items[..]);
        let made = |profile: &RubricProfile, is_lexical: bool| {
            let setup = ScorerSetup {
                options: scorer_options,
                profile,
                parts,
                mode,
                aspects,
                items,
                is_lexical,
            };
            let built_in = choice.scorers.iter().map(|name| name.make(&setup));
            built_in
                .chain(own_scorers.iter().cloned())
                .collect::<Vec<_>>()
        };
        let roles: BTreeSet<Role> = made(&inputs.profile, false)
            .iter()
            .flat_map(|scorer| scorer.roles())
            .collect();
        let roles: Vec<Role> = roles.into_iter().collect();
        let judges = Judges::identify(&options, own_judge.as_ref(), &roles, &*notify).await?;
        let of_reports = judges.prompt_set().filter(|_| inputs.profile.report);
        inputs.profile.title_marker = of_reports
            .map(|set| set.title_marker().to_owned())
            .unwrap_or_default();
        let scorers = made(
            &inputs.profile,
            judges
                .rubric()
                .is_some_and(|named| named.judge.is_lexical()),
        );
        if let Some(slice) = options.input.slice {
            keep_slice(&mut inputs, slice, &scorers, &judges)?;
        }
        inputs.add_perturbed(&perturbations)?;
        let mut manifest = manifest(&options, &inputs, &scorers, &judges)?;
        manifest.settings.extend(inputs.settings.clone());
        let label = of_reports.map(|set| set.family_of(PromptFamily::Cs2).label());
        manifest
            .settings
            .extend(label.map(|label| ("scorer.criteria.prompts".to_owned(), label.into())));
        manifest.settings.extend(
            preset
                .iter()
                .map(|preset| ("bench".to_owned(), preset.name.into())),
        );
        if !perturbations.is_empty() {
            manifest
                .settings
                .insert(PERTURBATIONS.to_owned(), json!(perturbations));
        }
        Ok(Prepared {
            options,
            inputs,
            choice,
            judges,
            manifest,
            scorers,
            notify,
        })
    }

    /// Counts the calls of a run, without making any.
    ///
    /// # Errors
    /// As [`Evaluation::prepare`].
    pub async fn plan(self) -> Result<Plan> {
        Ok(self.prepare().await?.plan().await?.plan)
    }

    /// Runs the evaluation and records it in the directory `dir`. The same call again continues where it stopped.
    ///
    /// # Errors
    /// As [`Evaluation::prepare`]; for a directory that holds another run; when the judge becomes unusable.
    pub async fn run(self, dir: impl AsRef<Path>) -> Result<Run> {
        let mut run = self.prepare().await?.start(dir.as_ref()).await?;
        run.ask(&mut NoEvents, &StopHandle::new()).await?;
        Ok(run)
    }
}

/// An evaluation that is ready to run.
pub struct Prepared {
    /// Its options.
    pub options: EvaluationOptions,
    /// Its input.
    pub inputs: LoadedInputs,
    /// The built-in scorers that run, and why others do not.
    pub choice: Choice,
    /// Its judges.
    pub judges: Judges,
    /// The manifest of the record.
    pub manifest: Manifest,
    scorers: Vec<Arc<dyn Scorer>>,
    notify: Arc<Notify>,
}

impl Prepared {
    /// The output directory of the options, else `runs/<hash>`: the same options give the same directory.
    pub fn out_dir(&self) -> PathBuf {
        let by_hash = || PathBuf::from("runs").join(self.manifest.identity().short(12));
        self.options.output.out.clone().unwrap_or_else(by_hash)
    }

    /// The jobs of the run. `dir` may hold replies of an earlier session, which are used even if the cache is lost.
    fn jobs(
        &self,
        scorers: &[Arc<dyn Scorer>],
        dir: Option<&Path>,
        meters: &Arc<Meters>,
    ) -> Result<Work> {
        let recorded = match dir {
            None => None,
            Some(dir) if self.options.output.overwrite => Some(RecordedReplies::of_new_run(dir)),
            Some(dir) => Some(RecordedReplies::to_resume(dir)?),
        };
        let again = self.options.cache.retry_unscored;
        let recorded = recorded.map(|replies| Arc::new(replies.asking_refused_again(again)));
        let continued = dir.filter(|_| !self.options.output.overwrite);
        let earlier = continued.map(Manifest::load).transpose()?.flatten();
        let (panels, endpoints) = self.judges.build(
            &self.options,
            &self.inputs.all_cases,
            recorded.clone(),
            earlier.map(|run| run.reply_limits()).unwrap_or_default(),
            meters,
        )?;
        let job = |scorer: &Arc<dyn Scorer>| Job {
            items: Arc::clone(self.inputs.items(&**scorer)),
            scorer: Arc::clone(scorer),
            panels: Arc::clone(&panels),
            options: Arc::new(Options {
                concurrency: self.judges.concurrency(&scorer.roles()),
                parse_retries: self.options.scoring.parse_retries,
                retry_unscored: self.options.cache.retry_unscored,
                mode: self.options.scoring.mode(),
            }),
        };
        Ok(Work {
            jobs: scorers.iter().map(job).collect(),
            endpoints,
            recorded,
        })
    }

    /// Decides which cached replies count where this plan did not use some because they are by another model; true if the
    /// plan must be made again.
    ///
    /// As they are they count for a judge that then has no call to make, if they are by one model, or if it cannot be
    /// asked: whose most recent live reply was by another model is no reason to pay for all of them again.
    async fn settle(&self, jobs: &[Job], planned: &PlanOutcome) -> Result<bool> {
        let doubtful = doubtful(jobs);
        if planned.is_done() || doubtful.is_empty() {
            return Ok(false);
        }
        for answering in &doubtful {
            answering.count_as_they_are();
        }
        let other = super::plan(jobs, &mut NoEvents).await?;
        for answering in &doubtful {
            let judge = answering.judge();
            let is_asked = other.groups.iter().any(|group| *group.judge == *judge);
            let is_whole = answering.used_one_model() || self.judges.is_out_of_reach(judge);
            if is_asked || !is_whole {
                answering.count_latest();
            }
        }
        jobs.iter()
            .flat_map(Job::answering)
            .for_each(|answering| answering.begin_again());
        Ok(true)
    }

    /// Tells the user which cached replies do not count.
    fn note_models(&self, jobs: &[Job]) {
        let mut notes: Vec<String> = Vec::new();
        for note in jobs
            .iter()
            .flat_map(Job::answering)
            .filter_map(|own| own.note())
        {
            if !notes.contains(&note) {
                (self.notify)(Severity::Warning, &note);
                notes.push(note);
            }
        }
    }

    /// Counts the calls that a run into its directory would make, without making any.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn plan(&self) -> Result<PlanOutcome> {
        let Work { jobs, .. } = self.jobs(&self.scorers, Some(&self.out_dir()), &Arc::default())?;
        let mut planned = super::plan(&jobs, &mut NoEvents).await?;
        if self.settle(&jobs, &planned).await? {
            planned = super::plan(&jobs, &mut NoEvents).await?;
        }
        self.note_models(&jobs);
        Ok(planned)
    }

    /// The cost of the criteria with 1, 8 and all of a case in a call; empty if no criteria are asked, or the reference
    /// decides (compat).
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn batch_costs(&self) -> Result<Vec<(BatchSize, PlanEstimate)>> {
        let mut costs = Vec::new();
        if !self.choice.scorers.contains(&ScorerName::Criteria) || self.options.scoring.compat {
            return Ok(costs);
        }
        for size in [1, 8, 0] {
            let profile = RubricProfile {
                batch: size,
                ..self.inputs.profile.clone()
            };
            let scorer = CriteriaScorer {
                profile,
                mode: self.options.scoring.mode(),
                lexical: false,
            };
            let Work { jobs, .. } =
                self.jobs(&[Arc::new(scorer)], Some(&self.out_dir()), &Arc::default())?;
            costs.push((
                BatchSize(size),
                self.cost(&super::plan(&jobs, &mut NoEvents).await?),
            ));
        }
        Ok(costs)
    }

    /// The cost of planned calls.
    pub fn cost(&self, planned: &PlanOutcome) -> PlanEstimate {
        PlanEstimate::of(planned, &self.judges.terms(), self.judges.prices_of.clone())
    }

    /// Writes the calls that can be made now as request files of a batch below `dir`; no manifest if there are none.
    ///
    /// # Errors
    /// When the cache cannot be read or a file not be written; for a route that the limits refuse.
    pub async fn export_batch(
        &self,
        dir: PathBuf,
        limits: BatchLimits,
    ) -> Result<(PlanOutcome, Option<BatchManifest>)> {
        let Work { jobs, .. } = self.jobs(&self.scorers, None, &Arc::default())?;
        let planned = super::plan(&jobs, &mut NoEvents).await?;
        self.settle(&jobs, &planned).await?;
        let mut writer = BatchWriter::new(dir, limits);
        let planned = super::plan_collecting(&jobs, &mut NoEvents, &mut |call| {
            let route = call
                .route
                .ok_or_else(|| Error::Internal("a call was rendered for no route".into()))?;
            if route == JudgeKind::Anthropic {
                let what =
                    "a judge of kind anthropic has no request files for a batch; score without one";
                return Err(Error::Usage(what.to_owned()));
            }
            writer.add(&call.call, route, &call.body, call.prompt_tokens)
        })
        .await?;
        let address = |id: &str| {
            let (_, named) = self
                .judges
                .all()
                .find(|(_, named)| named.judge.judge_id() == id)?;
            named.judge.server()?.servers.first_url()
        };
        Ok((planned, writer.finish(address)?))
    }

    /// Claims the directory, opens the record, and scores what cached replies suffice for. [`Run::ask`] does the rest.
    ///
    /// # Errors
    /// For a directory that holds another run or changed calls, or cannot be written.
    pub async fn start(self, path: &Path) -> Result<Run> {
        let dir = RunDir::open(path)?;
        let meters = Arc::new(Meters::default());
        let Work {
            jobs,
            endpoints,
            recorded,
        } = self.jobs(&self.scorers, Some(path), &meters)?;
        dir.claim(&self.manifest, self.options.output.overwrite)?;
        let before = Manifest::of_run(path)?;
        let manifest = Manifest {
            started_at: before.started_at,
            endpoints: before.endpoints,
            ..self.manifest.clone()
        };
        let record = RunRecord::open(dir, manifest, !self.judges.is_cached())?;
        // Those of an earlier session are written again: they may be damaged.
        let inputs_path = path.join("inputs.jsonl");
        if !self.options.output.no_inputs || inputs_path.exists() {
            self.recorded_inputs().write(&inputs_path)?;
        }
        let mut run = Run {
            prepared: self,
            jobs,
            endpoints,
            meters,
            recorded,
            record,
            planned: PlanOutcome::default(),
            scored: Vec::new(),
            judged: Judged::default(),
        };
        run.plan().await?;
        if run.prepared.settle(&run.jobs, &run.planned).await? {
            run.plan_again().await?;
        }
        run.prepared.note_models(&run.jobs);
        Ok(run)
    }

    /// The answers to score.
    fn recorded_inputs(&self) -> Inputs {
        let (rubric, plain) = (self.inputs.rubric.to_vec(), &self.inputs.plain);
        let with_rubric = self.scorers.iter().any(|scorer| needs_rubric(&**scorer));
        match self.scorers.iter().all(|scorer| needs_rubric(&**scorer)) {
            true if self.inputs.has_tests() => Inputs::new(rubric),
            _ => Inputs::of_lists(if with_rubric { &rubric } else { &[] }, plain),
        }
    }
}

/// Whether any scorer needs the rubrics: those of rubrics and of criteria, and custom ones.
pub(crate) fn needs_rubric(scorer: &dyn Scorer) -> bool {
    ScorerName::of(scorer.name())
        .is_none_or(|name| matches!(name, ScorerName::Rubric | ScorerName::Criteria))
}

/// What a run consists of before it starts.
struct Work {
    jobs: Vec<Job>,
    endpoints: Endpoints,
    /// Replies of earlier sessions; `None` without a directory.
    recorded: Option<Arc<RecordedReplies>>,
}

/// The judges of which cached replies were not used because they are by another model.
fn doubtful(jobs: &[Job]) -> Vec<Arc<Answering>> {
    let mut doubtful: Vec<Arc<Answering>> = Vec::new();
    for answering in jobs.iter().flat_map(Job::answering) {
        let is_known = doubtful.iter().any(|known| Arc::ptr_eq(known, answering));
        if answering.has_passed_over() && !is_known {
            doubtful.push(Arc::clone(answering));
        }
    }
    doubtful
}

/// A run with its record.
pub struct Run {
    prepared: Prepared,
    jobs: Vec<Job>,
    /// The servers of its judges.
    pub endpoints: Endpoints,
    /// Its counters.
    pub meters: Arc<Meters>,
    recorded: Option<Arc<RecordedReplies>>,
    pub(crate) record: RunRecord,
    /// Cached calls, and calls to make.
    pub planned: PlanOutcome,
    pub(crate) scored: Vec<Arc<ScoredAnswer>>,
    judged: Judged,
}

impl Run {
    /// The directory of the record.
    pub fn dir(&self) -> &Path {
        self.record.dir().path()
    }

    /// Its label, else the name of its directory.
    pub fn name(&self) -> String {
        self.manifest().run_name(self.dir())
    }

    /// The record.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The cost of its planned calls.
    pub fn cost(&self) -> PlanEstimate {
        self.prepared.cost(&self.planned)
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        self.record.manifest()
    }

    /// Every answer with its score: scorer by scorer, systems in name order, cases in file order.
    pub fn scores(&self) -> &[Arc<ScoredAnswer>] {
        &self.scored
    }

    /// Means with intervals and ranks of the scores.
    pub fn summary(&self) -> Summary {
        summary(self.manifest(), &self.scored)
    }

    /// Makes the planned calls until all are done or `stop` is set. The record holds what was scored until then, also
    /// on error.
    ///
    /// # Errors
    /// [`Error::Stopped`] if it was stopped; [`Error::JudgeUnavailable`] if the judge cannot be used.
    pub async fn ask(&mut self, events: &mut dyn EventSink, stop: &StopHandle) -> Result<()> {
        self.check_judges()?;
        let mut asked = match self.planned.is_done() {
            true => Ok(RunOutcome::default()),
            false => self.ask_pending(events, stop).await,
        };
        while self.jobs.iter().any(Job::is_contradicted) {
            self.prepared.note_models(&self.jobs);
            self.plan_again().await?;
            let Ok(outcome) = &mut asked else { break };
            if outcome.stopped.is_some() {
                outcome.unfinished = self.planned.pending.iter().map(Vec::len).sum();
                break;
            }
            if !self.planned.is_done() {
                asked = self.ask_pending(events, stop).await;
            }
        }
        in_input_order(&mut self.scored, &self.jobs);
        // A signal after the last reply stopped nothing.
        let ended =
            asked.and_then(
                |outcome| match outcome.stopped.filter(|_| outcome.unfinished > 0) {
                    Some(reason) => Err(self.stopped(&reason)),
                    None => Ok(()),
                },
            );
        let status = if ended.is_ok() {
            RunStatus::Complete
        } else {
            RunStatus::Stopped
        };
        self.record.finish(status, &self.scored)?;
        ended
    }

    /// Scores what cached replies suffice for.
    async fn plan(&mut self) -> Result<()> {
        let mut sink = Recording {
            record: &mut self.record,
            events: &mut NoEvents,
            scored: &mut self.scored,
            judged: &mut self.judged,
        };
        self.planned = super::plan(&self.jobs, &mut sink).await?;
        let cached = self.planned.plan.cached;
        self.meters.cache_hits.store(cached, Ordering::Relaxed);
        Ok(())
    }

    /// Plans anew, because other cached replies count now: what was scored is scored again. The live replies of this
    /// session are in its record.
    async fn plan_again(&mut self) -> Result<()> {
        self.record.begin_again()?;
        if let Some(recorded) = &self.recorded {
            recorded.reload()?;
        }
        for answering in self.jobs.iter().flat_map(Job::answering) {
            answering.begin_again();
        }
        self.scored.clear();
        self.judged = Judged::default();
        self.plan().await
    }

    async fn ask_pending(
        &mut self,
        events: &mut dyn EventSink,
        stop: &StopHandle,
    ) -> Result<RunOutcome> {
        self.prepared.judges.spending.bound(stop);
        self.meters
            .cases_asked
            .store(self.cases_asked(), Ordering::Relaxed);
        let (record, scored, judged) = (&mut self.record, &mut self.scored, &mut self.judged);
        let mut sink = Recording {
            record,
            events,
            scored,
            judged,
        };
        let ran = super::run(&self.jobs, &self.planned.pending, &mut sink, stop).await;
        self.record.note_endpoints(self.endpoints.stats());
        ran
    }

    /// The number of cases with calls to make.
    fn cases_asked(&self) -> u64 {
        let pending = self.jobs.iter().zip(&self.planned.pending);
        let cases: HashSet<&CaseId> = pending
            .flat_map(|(job, pending)| pending.iter().map(|&index| &job.items[index].case.case_id))
            .collect();
        cases.len() as u64
    }

    /// Checks that the judges are available for the planned calls.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] when a judge has no reachable server, or its key is missing.
    pub fn check_judges(&self) -> Result<()> {
        let open = self
            .jobs
            .iter()
            .zip(&self.planned.pending)
            .filter(|(_, pending)| !pending.is_empty());
        let roles: Vec<Role> = open.flat_map(|(job, _)| job.scorer.roles()).collect();
        match self.prepared.judges.cannot_be_asked(&roles) {
            Some(why) => {
                let calls = self.planned.plan.askable_now;
                Err(Error::JudgeUnavailable(format!(
                    "{why}; {calls} calls or more are not in the cache"
                )))
            }
            None => Ok(()),
        }
    }

    /// Why nothing could be judged, if calls were made and none has a verdict: [`Error::JudgeUnavailable`] without any
    /// reply, else [`Error::Unreadable`].
    pub fn nothing_judged(&self) -> Option<Error> {
        let reason = self
            .judged
            .failure
            .as_ref()
            .filter(|_| self.judged.verdicts == 0)?;
        let remedy = remedy(reason.kind).unwrap_or_default();
        Some(match self.judged.replies {
            0 => Error::JudgeUnavailable(format!(
                "no call got a usable reply (the last one: {reason}); {remedy}"
            )),
            replies => Error::Unreadable(format!(
                "none of {replies} replies can be read; the first one is \"{}\" ({reason}); {remedy}",
                self.judged.first_reply.as_deref().unwrap_or_default()
            )),
        })
    }

    fn stopped(&self, reason: &str) -> Error {
        let (scored, all) = (self.scored.len(), self.planned.plan.answer_scores);
        let kept = if self.prepared.judges.is_cached() {
            "in the cache"
        } else {
            "recorded"
        };
        Error::Stopped(format!(
            "stopped: {reason}; {scored} of {all} scores are done, every reply that arrived is {kept}; the same \
             command continues from there, and rescore with the run's directory shows what is scored so far"
        ))
    }
}

/// What came of the calls of a run.
#[derive(Default)]
struct Judged {
    verdicts: u64,
    replies: u64,
    /// The last failure; of replies that cannot be read the first.
    failure: Option<UnscoredReason>,
    /// The beginning of the first reply that cannot be read.
    first_reply: Option<String>,
}

impl Judged {
    fn add_failure(&mut self, reason: &UnscoredReason, reply: Option<&JudgeReply>) {
        match reply {
            Some(_) if self.first_reply.is_some() => return,
            Some(reply) => self.first_reply = Some(shortened(&reply.content)),
            None => {}
        }
        self.failure = Some(reason.clone());
    }
}

/// Writes the record, collects the scores, and forwards every event.
struct Recording<'a> {
    record: &'a mut RunRecord,
    events: &'a mut dyn EventSink,
    scored: &'a mut Vec<Arc<ScoredAnswer>>,
    judged: &'a mut Judged,
}

impl EventSink for Recording<'_> {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        self.record.on_event(event)?;
        match event {
            RunEvent::Scored(scored) => self.scored.push(Arc::clone(scored)),
            RunEvent::Call(call) => {
                self.judged.replies += u64::from(call.reply.is_some());
                match &call.verdict {
                    Ok(_) => self.judged.verdicts += 1,
                    // What a server refuses of one answer says nothing about the judge.
                    Err(reason) if reason.kind == UnscoredKind::Moderated => {}
                    Err(reason) => self.judged.add_failure(reason, call.reply.as_ref()),
                }
            }
            RunEvent::Stopping(_) => {}
        }
        self.events.on_event(event)
    }
}

/// Puts scores into the order of the input: job by job, systems in name order, cases in file order.
pub(crate) fn in_input_order(scored: &mut [Arc<ScoredAnswer>], jobs: &[Job]) {
    let mut order: HashMap<(&str, &SystemName, &CaseId), usize> =
        HashMap::with_capacity(scored.len());
    for job in jobs {
        for item in job.items.iter() {
            let place = order.len();
            order
                .entry((job.scorer.name(), &item.answer.system, &item.case.case_id))
                .or_insert(place);
        }
    }
    let place = |answer: &ScoredAnswer| {
        order
            .get(&(answer.score.scorer, &answer.system, &answer.case.case_id))
            .copied()
    };
    scored.sort_by_key(|answer| place(answer).unwrap_or(usize::MAX));
}

/// Means with intervals and ranks of the scores of a run, by its own mode, policy and seed.
pub fn summary(manifest: &Manifest, scored: &[Arc<ScoredAnswer>]) -> Summary {
    let on_unscored = manifest.policy.on_unscored;
    let clip =
        crate::record::criteria_scorer(manifest).is_ok_and(|scorer| scorer.profile.clip_in_compat);
    let options = AggregateOptions {
        mode: manifest.mode,
        on_unscored,
        seed: manifest.seed,
        clip,
    };
    // Without a judge the rubric was not scored, so nothing is missing of it.
    let is_of_tests = ["rubric", "criteria"]
        .iter()
        .any(|role| manifest.roles.contains_key(*role));
    let missing = manifest.missing.iter().filter(|_| is_of_tests);
    let missing: Vec<(SystemName, CaseId)> = missing
        .map(|(system, case)| (system.as_str().into(), case.as_str().into()))
        .collect();
    summarize(scored, &missing, options)
}

/// The manifest of the run.
fn manifest(
    options: &EvaluationOptions,
    inputs: &LoadedInputs,
    scorers: &[Arc<dyn Scorer>],
    judges: &Judges,
) -> Result<Manifest> {
    let mut settings = options.run_settings();
    let name = |scorer: &Arc<dyn Scorer>| scorer.name().trim_start_matches("lexical_").to_owned();
    let of_scorer =
        |scorer: &Arc<dyn Scorer>| (format!("scorer.{}", name(scorer)), scorer.settings());
    settings.extend(
        scorers
            .iter()
            .map(of_scorer)
            .filter(|(_, settings)| !settings.is_null()),
    );
    let mut files = inputs.files.clone();
    if let Some(aspects) = &options.scorers.aspect_rubrics {
        let bytes = std::fs::read(aspects).map_err(Error::io(aspects, "read"))?;
        files.push(InputFile::new(
            "aspects",
            aspects,
            blake3::hash(&bytes).into(),
        ));
    }
    let with_rubric =
        scorers.iter().any(|scorer| needs_rubric(&**scorer)) && !inputs.all_cases.is_empty();
    let (items, missing) = match with_rubric {
        true => (&inputs.rubric, inputs.missing.as_slice()),
        false => (&inputs.plain, [].as_slice()),
    };
    let manifest = Manifest {
        label: options.output.label.clone(),
        settings,
        inputs: files,
        scorers: scorers.iter().map(name).collect(),
        roles: judges.entries(),
        seed: options.scoring.seed,
        answers: items.len() as u64,
        missing: missing
            .iter()
            .map(|(system, case)| (system.to_string(), case.to_string()))
            .collect(),
        kept_cases: inputs.kept_cases.iter().map(ToString::to_string).collect(),
        warnings: inputs.warnings.clone(),
        policy: PolicyEntry {
            on_unscored: options.scoring.on_unscored,
            max_unscored: options.scoring.max_unscored,
        },
        ..Manifest::begin(options.scoring.mode())
    };
    Ok(manifest.with_reference())
}
