//! An evaluation that is ready: its input is read, its scorers are chosen, its judges are known.
//!
//! From here the same jobs are planned, written as a batch, or [started](Prepared::start) as a [`Run`](super::Run).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::choice::Choice;
use super::inputs::LoadedInputs;
use super::judges::{Endpoints, Judges};
use super::looks::{LookedRun, assumed_observations};
use super::options::EvaluationOptions;
use super::pairs::{ChosenPairs, PairOrders};
use super::scorers::needs_rubric;
use super::{Job, Options, PlanEstimate, PlanOutcome};
use crate::analysis::comparison::{Look, ScoreRule};
use crate::domain::{BatchSize, EndingModel, RubricProfile, Severity, SubjectKind, today};
use crate::error::{Error, Result};
use crate::judge::answering::Answering;
use crate::judge::batch::{BatchLimits, BatchManifest, BatchWriter};
use crate::judge::meters::Meters;
use crate::judge::refusals::ReplyLimits;
use crate::judge::{Notify, refuse_ended};
use crate::record::{Inputs, Manifest, NoEvents, RecordedReplies};
use crate::scorer::Scorer;
use crate::scorer::criteria::{CRITERIA, CriteriaScorer};

/// An evaluation that is ready to run.
///
/// ```
/// use scholareval::{Evaluation, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers");
/// let prepared = evaluation.prepare().await?;
/// assert_eq!(prepared.inputs.kept_cases.len(), prepared.inputs.all_cases.len());
///
/// // Counts the calls of a run; none is made.
/// let planned = prepared.plan().await?;
/// assert!(planned.plan.askable_now > 0 && !planned.is_done());
/// # Ok(())
/// # }
/// ```
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
    pub(super) scorers: Vec<Arc<dyn Scorer>>,
    /// What the run is to decide; `None` for one that asks everything.
    pub(super) rule: Option<ScoreRule>,
    pub(super) notify: Arc<Notify>,
}

impl Prepared {
    /// The output directory of the options, else `runs/<hash>`: the same options give the same directory.
    pub fn out_dir(&self) -> PathBuf {
        match &self.options.output.out {
            Some(dir) => dir.clone(),
            // 12 hex digits, 48 bits: no collision among the runs of one directory, and short
            // enough to type.
            None => {
                let runs = Path::new("runs");
                // A run that an earlier version began is continued there.
                let earlier = runs.join(self.manifest.earlier_identity().short(12));
                if earlier.is_dir() {
                    return earlier;
                }
                runs.join(self.manifest.identity().short(12))
            }
        }
    }

    /// The looks at the run.
    pub(super) fn looked_run(&self) -> Option<LookedRun> {
        let rule = self.rule.clone()?;
        let seed = self.options.scoring.seed;
        let one_order_first = ChosenPairs::orders_of(&self.manifest) == Some(PairOrders::Auto);
        Some(LookedRun::new(rule, &self.inputs, seed, one_order_first))
    }

    /// What ends the run early, with all that decides which questions are asked before a look.
    pub(super) fn until_setting(&self) -> Option<String> {
        let mut until = self.rule.as_ref()?.until().to_owned();
        if let Some(baseline) = &self.options.bounds.baseline {
            until += &format!(" {baseline}");
        }
        Some(format!("{until} with seed {}", self.options.scoring.seed))
    }

    /// Checks the metric and the margin of a condition of `--until`, which a run would else meet at its first look, when that is
    /// paid for.
    ///
    /// # Errors
    /// For a metric that the run does not have, and what a condition cannot be about.
    pub(super) fn check_until(&self) -> Result<()> {
        let until = self.options.bounds.until.as_deref();
        let Some(condition) = until.filter(|until| ScoreRule::is_condition(until)) else {
            return Ok(());
        };
        let row = self.manifest.row();
        let assumed = assumed_observations(&self.inputs, &self.scorers, row)?;
        ScoreRule::check_metric(condition, &assumed)
    }

    /// What is asked at most until each look at the run, with what is cached already; empty for a run that asks everything.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn look_costs(&self) -> Result<Vec<(Look, PlanEstimate)>> {
        let mut costs = Vec::new();
        let Some(looked) = self.looked_run() else {
            return Ok(costs);
        };
        for (at, look) in looked.schedule.looks.iter().enumerate() {
            let stage = looked.stage(at, None);
            let out = self.out_dir();
            let mut work = self.jobs(&self.scorers, Some(&out), &Arc::default())?;
            for job in &mut work.jobs {
                let items = job.items.iter();
                let of_stage = items.filter(|item| stage.has(&item.system(), &item.case.case_id));
                job.items = of_stage.cloned().collect();
            }
            let planned = super::plan(&work.jobs, &mut NoEvents).await?;
            costs.push((*look, self.cost(&planned)));
        }
        Ok(costs)
    }

    /// The jobs of the run. `dir` may hold replies of an earlier session, which are used even if the cache is lost.
    pub(super) fn jobs(
        &self,
        scorers: &[Arc<dyn Scorer>],
        dir: Option<&Path>,
        meters: &Arc<Meters>,
    ) -> Result<Work> {
        let (recorded, earlier_limits) = match dir {
            None => (None, BTreeMap::new()),
            Some(dir) => {
                let (replies, limits) = self.earlier_session(dir)?;
                (Some(Arc::new(replies)), limits)
            }
        };
        let (panels, endpoints) = self.judges.build(
            &self.options,
            &self.inputs.all_cases,
            recorded.clone(),
            earlier_limits,
            meters,
        )?;
        let reasoning_tags = &self.options.input.reasoning_tags;
        let mut jobs = Vec::new();
        for scorer in scorers {
            jobs.push(Job {
                items: Arc::clone(self.inputs.items(&**scorer)),
                scorer: Arc::clone(scorer),
                panels: Arc::clone(&panels),
                options: Arc::new(Options {
                    concurrency: self.judges.concurrency(&scorer.roles()),
                    parse_retries: self.options.asking.parse_retries,
                    retry_unscored: self.options.cache.retry_unscored,
                    mode: self.options.scoring.mode(),
                    reasoning_tags: reasoning_tags.clone().unwrap_or_default(),
                    at_once: self.options.asking.at_once,
                    selected_items: Arc::clone(&self.inputs.selected_items),
                }),
            });
        }
        Ok(Work {
            jobs,
            endpoints,
            recorded,
        })
    }

    /// The replies that an earlier session recorded in `dir`, and the reply limits under which it asked, by judge; none
    /// of both if the record there is replaced.
    fn earlier_session(
        &self,
        dir: &Path,
    ) -> Result<(RecordedReplies, BTreeMap<String, ReplyLimits>)> {
        let asks_refused_again = self.options.cache.retry_unscored;
        // The replies stay usable until the new record is begun: `--overwrite` discards scores, not
        // what was paid.
        if self.options.output.overwrite {
            let replies = RecordedReplies::of_new_run(dir);
            return Ok((
                replies.asking_refused_again(asks_refused_again),
                BTreeMap::new(),
            ));
        }
        let replies = RecordedReplies::to_resume(dir)?.asking_refused_again(asks_refused_again);
        let limits = match Manifest::load(dir)? {
            Some(earlier) => earlier.with_identities_of(&self.manifest).reply_limits(),
            None => BTreeMap::new(),
        };
        Ok((replies, limits))
    }

    /// Decides which cached replies count where this plan did not use some because they are by another model; true if the
    /// plan must be made again.
    ///
    /// As they are they count for a judge that then has no call to make, if they are by one model, or if it cannot be
    /// asked: a most recent live reply by another model alone does not justify paying for all of them again.
    pub(super) async fn settle(&self, jobs: &[Job], planned: &PlanOutcome) -> Result<bool> {
        let doubtful = doubtful(jobs);
        // A plan that is done with the counting replies is the best there is.
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
        for answering in jobs.iter().flat_map(Job::answering) {
            // The plans above marked replies as used; the plan that follows must count from zero.
            answering.begin_again();
        }
        Ok(true)
    }

    /// Shows which cached replies do not count, each note once.
    pub(super) fn note_models(&self, jobs: &[Job]) {
        let mut notes: Vec<String> = Vec::new();
        for answering in jobs.iter().flat_map(Job::answering) {
            let Some(note) = answering.note() else {
                continue;
            };
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

    /// The cost of the criteria with 1, 8 and all of a case in a call; of decision models that of one question a request, and of as
    /// many as the run asks. Empty if no criteria are asked of other judges, or the reference decides (compat).
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub async fn batch_costs(&self) -> Result<Vec<(BatchSize, PlanEstimate)>> {
        let mut costs = Vec::new();
        let deciders = self.judges.all_deciders();
        let most = deciders
            .map(|(_, decider)| decider.bounds().questions)
            .max();
        if let Some(most) = most {
            for size in BTreeSet::from([1, most]) {
                let mut work = self.jobs(&self.scorers, Some(&self.out_dir()), &Arc::default())?;
                work.jobs.iter_mut().for_each(|job| job.cut_requests(size));
                let planned = super::plan(&work.jobs, &mut NoEvents).await?;
                costs.push((BatchSize(size), self.cost(&planned)));
            }
            return Ok(costs);
        }
        if !self.choice.scorers.contains(&&CRITERIA) || self.options.scoring.compat {
            return Ok(costs);
        }
        // 1 is what most references ask, 8 what that of ResearchQA does, and 0 is the whole case.
        for size in [1, 8, 0] {
            let profile = RubricProfile {
                batch: size,
                ..self.inputs.profile.clone()
            };
            let scorer = CriteriaScorer {
                profile,
                mode: self.options.scoring.mode(),
                is_baseline: false,
            };
            let out = self.out_dir();
            let work = self.jobs(&[Arc::new(scorer)], Some(&out), &Arc::default())?;
            let planned = super::plan(&work.jobs, &mut NoEvents).await?;
            costs.push((BatchSize(size), self.cost(&planned)));
        }
        Ok(costs)
    }

    /// What services state about the end of the models that the plan asks, by the judge's identity. A service at its
    /// official address is asked by one short request; none if nothing is left to ask.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] for a reasoning effort that a model is known not to take.
    pub async fn endings(&self, planned: &PlanOutcome) -> Result<BTreeMap<String, EndingModel>> {
        if planned.is_done() {
            return Ok(BTreeMap::new());
        }
        let groups = planned.groups.iter();
        let with_calls = groups.filter(|group| group.at_most.calls > 0);
        let judges = with_calls.map(|group| &*group.judge).collect();
        self.judges.endings(&judges).await
    }

    /// The cost of planned calls.
    pub fn cost(&self, planned: &PlanOutcome) -> PlanEstimate {
        PlanEstimate::of(planned, &self.judges.terms(), self.judges.prices_of.clone())
    }

    /// Writes the calls that can be made now as request files of a batch below `dir`, in files within `limits` and those of
    /// the services; no manifest if there are none.
    ///
    /// # Errors
    /// When the cache cannot be read or a file not be written; for a route that the limits refuse;
    /// [`Error::JudgeUnavailable`] for a model that has ended.
    pub async fn export_batch(
        &self,
        dir: PathBuf,
        limits: BatchLimits,
    ) -> Result<(PlanOutcome, Option<BatchManifest>)> {
        if self.rule.is_some() {
            let message = "--until does not fit a batch, which asks everything at once";
            return Err(Error::Usage(message.to_owned()));
        }
        if let Some((judge, _)) = self.judges.all_deciders().next() {
            let message = format!(
                "batch services do not ask decision models ({judge} is one); run score, which asks many questions a request"
            );
            return Err(Error::Usage(message));
        }
        // Without a directory: the results of a batch go into the cache, where every run finds
        // them.
        let Work { jobs, .. } = self.jobs(&self.scorers, None, &Arc::default())?;
        let planned = super::plan(&jobs, &mut NoEvents).await?;
        for ending in self.endings(&planned).await?.values() {
            refuse_ended(ending)?;
            // A batch may take a day.
            (self.notify)(Severity::Info, &ending.sentence(today()));
        }
        // A batch must not ask for replies that the run would then take from the cache.
        self.settle(&jobs, &planned).await?;
        // Where replies are cached, they have shown what room the judge needs.
        if planned.plan.cached == 0 {
            for renderer in jobs.iter().flat_map(Job::renderers) {
                renderer.room().begin_batch()?;
            }
        }
        let mut writer = BatchWriter::new(dir, limits);
        let planned = super::plan_collecting(
            &jobs,
            &mut NoEvents,
            Some(&mut |call| {
                let (kind, url) = call
                    .route
                    .ok_or_else(|| Error::Internal("a call was rendered for no route".into()))?;
                writer.add(&call.call, kind, &url, &call.body, call.prompt_tokens)
            }),
        )
        .await?;
        // Absolute: the import may run in another directory.
        let cache = self.options.cache.path();
        let cache = cache.and_then(|path| std::path::absolute(path).ok());
        let manifest = writer.finish(cache, |judge_id| self.judges.first_url(judge_id))?;
        Ok((planned, manifest))
    }

    /// The answers to score.
    pub(super) fn recorded_inputs(&self) -> Inputs {
        match self.inputs.subject {
            SubjectKind::Answer => self.recorded_answers(),
            SubjectKind::Pair => Inputs::of_pairs(&self.inputs.plain),
        }
    }

    fn recorded_answers(&self) -> Inputs {
        let rubric = &self.inputs.rubric;
        let plain = &self.inputs.plain;
        let mut scorers = self.scorers.iter();
        if self.inputs.has_tests() && scorers.clone().all(|scorer| needs_rubric(&**scorer)) {
            return Inputs::new(rubric.to_vec());
        }
        if scorers.any(|scorer| needs_rubric(&**scorer)) {
            Inputs::of_lists(rubric, plain)
        } else {
            Inputs::of_lists(&[], plain)
        }
    }
}

/// What a run consists of before it starts.
pub(super) struct Work {
    pub(super) jobs: Vec<Job>,
    pub(super) endpoints: Endpoints,
    /// Replies of earlier sessions; `None` without a directory.
    pub(super) recorded: Option<Arc<RecordedReplies>>,
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
