//! A run in its directory: it scores what cached replies suffice for, makes the calls that are left, and records both.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::judges::Endpoints;
use super::legibility::shortened;
use super::looks::{LookedRun, Stage};
use super::prepared::{Prepared, Work};
use super::{Job, PlanEstimate, PlanOutcome, RunOutcome, StopHandle};
use crate::analysis::comparison::RunLooks;
use crate::analysis::{AggregateOptions, Summary, summarize};
use crate::domain::{
    CaseId, EndingModel, Role, ScoredAnswer, Severity, SystemName, UnscoredKind, UnscoredReason,
};
use crate::error::{Error, Result};
use crate::judge::meters::Meters;
use crate::judge::refuse_ended;
use crate::record::{
    CallRecord, EventSink, Manifest, NoEvents, RecordedReplies, RunDir, RunEvent, RunRecord,
    RunStatus,
};
use crate::text::names::counted;

impl Prepared {
    /// Claims the directory, opens the record, and scores what cached replies suffice for. [`Run::ask`] does the rest.
    ///
    /// # Errors
    /// For a directory that holds another run or changed calls, or cannot be written.
    pub async fn start(self, path: &Path) -> Result<Run> {
        // Locked from here on: two processes in one directory would interleave their lines.
        let dir = RunDir::open(path)?.temporary(self.options.output.temporary);
        let meters = Arc::new(Meters::default());
        let Work {
            jobs,
            endpoints,
            recorded,
        } = self.jobs(&self.scorers, Some(path), &meters)?;
        // After the jobs are built, when nothing else can refuse the run: a refused command leaves
        // the directory as it was.
        let manifest = Manifest {
            until: self.until_setting(),
            ..self.manifest.clone()
        };
        dir.claim(&manifest, self.options.output.overwrite)?;
        let before = Manifest::of_run(path)?.with_identities_of(&self.manifest);
        let mut earlier_limits = before.reply_limits();
        if earlier_limits == self.manifest.reply_limits() {
            // Equal limits need no second look-up of each call.
            earlier_limits.clear();
        }
        let mut manifest = Manifest {
            earlier_limits,
            ..manifest
        };
        manifest.keep_ends(&before);
        // A run that is continued keeps its start and the servers it used, so that its record
        // describes all of it.
        manifest.started_at = before.started_at;
        manifest.endpoints = before.endpoints;
        let record = RunRecord::open(dir, manifest, !self.judges.is_cached())?;
        // Those of an earlier session are written again: they may be damaged.
        let inputs_path = path.join("inputs.jsonl");
        if !self.options.output.no_inputs || inputs_path.exists() {
            self.recorded_inputs().write(&inputs_path)?;
        }
        let looks = self.looked_run();
        let mut run = Run {
            prepared: self,
            looks,
            jobs,
            endpoints,
            meters,
            recorded,
            record,
            planned: PlanOutcome::default(),
            scored: Vec::new(),
            results: CallResults::default(),
            endings: BTreeMap::new(),
        };
        run.plan().await?;
        if run.prepared.settle(&run.jobs, &run.planned).await? {
            run.plan_again().await?;
        }
        run.prepared.note_models(&run.jobs);
        run.plan_looks()?;
        run.endings = run.prepared.endings(&run.planned).await?;
        run.record.note_ends(&run.endings);
        Ok(run)
    }
}

/// A run with its record.
///
/// ```
/// use scholareval::{Evaluation, Result};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// # let dir = std::env::temp_dir().join(format!("scholareval-session-{}", std::process::id()));
/// let evaluation = Evaluation::builder().tests("data/test_cases.json").answers("data/answers");
/// let run = evaluation.run(dir.join("run")).await?;
/// for scored in run.scores() {
///     println!("{} {}: {:?}", scored.system, scored.case.case_id, scored.score.value);
/// }
/// assert!(run.dir().join("calls.jsonl").exists());
/// # std::fs::remove_dir_all(dir).ok();
/// # Ok(())
/// # }
/// ```
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
    results: CallResults,
    /// The looks at it; `None` for a run that asks everything.
    looks: Option<LookedRun>,
    /// What services state about the end of the models that are asked, by the judge's identity.
    pub(crate) endings: BTreeMap<String, EndingModel>,
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
        // Before any call, although each call would say the same: one error, and no answer that
        // looks unreachable.
        self.check_judges()?;
        let ended = match self.looks.take() {
            None => self.ask_stage(None, events, stop).await,
            Some(looks) => {
                let ended = self.ask_until_decided(&looks, events, stop).await;
                self.looks = Some(looks);
                ended
            }
        };
        in_input_order(&mut self.scored, &self.jobs);
        let status = if ended.is_ok() {
            RunStatus::Complete
        } else {
            RunStatus::Stopped
        };
        // Also after an error, so that what was scored until then can be read, rescored and
        // continued.
        self.record.finish(status, &self.scored)?;
        ended
    }

    /// Asks stage by stage and looks after each, until every pair is decided or futile, or all is asked.
    async fn ask_until_decided(
        &mut self,
        looked: &LookedRun,
        events: &mut dyn EventSink,
        stop: &StopHandle,
    ) -> Result<()> {
        let count = looked.schedule.looks.len();
        let mut before: Option<RunLooks> = None;
        for at in 0..count {
            let stage = looked.stage(at, before.as_ref());
            self.ask_stage(Some(&stage), events, stop).await?;
            if !self.pending_in(Some(&stage)).iter().all(Vec::is_empty) {
                // Without these answers, a pair could be decided by those that happen to be there.
                return Err(
                    self.stopped("a question before this look has an answer without a reply")
                );
            }
            let is_last = at + 1 == count;
            let manifest = self.record.manifest();
            let looks = looked.look(at, &stage, before.as_ref(), manifest, &self.scored)?;
            self.note_look(&looks);
            if is_last || looks.decided_at.is_some() {
                self.end_at(looks, &stage);
                break;
            }
            before = Some(looks);
            // A stop after the last reply of a stage: more is to be asked, and must not be.
            if let Some(reason) = stop.reason() {
                return Err(self.stopped(&reason));
            }
        }
        Ok(())
    }

    /// Ends the run at this look: later answers that are scored from the cache are no part of it.
    fn end_at(&mut self, looks: RunLooks, stage: &Stage) {
        self.scored
            .retain(|answer| stage.has(&answer.system, &answer.case.case_id));
        self.record.note_looks(looks);
    }

    /// Shows what a look says.
    fn note_look(&self, looks: &RunLooks) {
        let [asked, all] = looks.questions();
        let settled = looks.pairs.iter().filter(|pair| pair.is_settled()).count();
        let pairs = looks.pairs.len();
        let orders = if looks.is_in_one_order() {
            ", in one order"
        } else {
            ""
        };
        let next = if looks.decided_at.is_some() || !looks.is_early() {
            ""
        } else {
            "; asking on"
        };
        let text = format!(
            "look {} of {} ({asked} of {all} questions{orders}): {} of {pairs} decided or futile{next}",
            looks.look,
            looks.schedule.looks.len(),
            counted(settled, "pair"),
        );
        (self.prepared.notify)(Severity::Info, &text);
    }

    /// Leaves nothing to ask if cached replies suffice for a look that decides: it needs no judge.
    fn plan_looks(&mut self) -> Result<()> {
        let Some(looked) = &self.looks else {
            return Ok(());
        };
        let count = looked.schedule.looks.len();
        let mut before: Option<RunLooks> = None;
        for at in 0..count {
            let stage = looked.stage(at, before.as_ref());
            if !self.pending_in(Some(&stage)).iter().all(Vec::is_empty) {
                return Ok(());
            }
            let manifest = self.record.manifest();
            let looks = looked.look(at, &stage, before.as_ref(), manifest, &self.scored)?;
            // After the last look there may be orders left that cannot matter.
            if looks.decided_at.is_some() || at + 1 == count {
                self.planned.pending = vec![Vec::new(); self.jobs.len()];
                self.planned.groups.clear();
                self.planned.plan.askable_now = 0;
                self.planned.plan.at_most = 0;
                return Ok(());
            }
            before = Some(looks);
        }
        Ok(())
    }

    /// The answers of this stage (all without one) that are not scored yet, for each job.
    fn pending_in(&self, stage: Option<&Stage>) -> Vec<Vec<usize>> {
        let mut pending = self.planned.pending.clone();
        let Some(stage) = stage else { return pending };
        let scored: HashSet<ScoredPlace<'_>> =
            self.scored.iter().map(|answer| place_of(answer)).collect();
        for (job, indices) in self.jobs.iter().zip(&mut pending) {
            indices.retain(|index| {
                let item = &job.items[*index];
                let case = &item.case.case_id;
                let place = (job.scorer.name(), item.system(), case);
                stage.has(&place.1, case) && !scored.contains(&place)
            });
        }
        pending
    }

    /// Makes the planned calls of this stage (all without one), again if another model answers than before.
    async fn ask_stage(
        &mut self,
        stage: Option<&Stage>,
        events: &mut dyn EventSink,
        stop: &StopHandle,
    ) -> Result<()> {
        let mut result = Ok(RunOutcome::default());
        if !self.planned.is_done() {
            result = self.ask_pending(stage, events, stop).await;
        }
        // Ends, because a session accepts every model that has answered in it; only a new one
        // contradicts again.
        while self.jobs.iter().any(Job::is_contradicted) {
            self.prepared.note_models(&self.jobs);
            self.plan_again().await?;
            let Ok(outcome) = &mut result else { break };
            if outcome.stopped.is_some() {
                // The plan from before counted other answers as done than this one does.
                outcome.unfinished = self.pending_in(stage).iter().map(Vec::len).sum();
                break;
            }
            if !self.planned.is_done() {
                result = self.ask_pending(stage, events, stop).await;
            }
        }
        match result {
            Ok(RunOutcome {
                stopped: Some(reason),
                unfinished,
                ..
            }) if unfinished > 0 => Err(self.stopped(&reason)),
            // A signal after the last reply stopped nothing.
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Scores what cached replies suffice for.
    async fn plan(&mut self) -> Result<()> {
        let mut sink = Recording {
            record: &mut self.record,
            events: &mut NoEvents,
            scored: &mut self.scored,
            results: &mut self.results,
        };
        self.planned = super::plan(&self.jobs, &mut sink).await?;
        let cached = self.planned.plan.cached;
        // Stored, not added: a second plan replaces the first one.
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
        self.results = CallResults::default();
        self.plan().await
    }

    async fn ask_pending(
        &mut self,
        stage: Option<&Stage>,
        events: &mut dyn EventSink,
        stop: &StopHandle,
    ) -> Result<RunOutcome> {
        // Only here: a run from cache has neither a budget to spend nor a clock to mind.
        let pending = self.pending_in(stage);
        if pending.iter().all(Vec::is_empty) {
            return Ok(RunOutcome::default());
        }
        self.prepared.judges.spending.bound(stop);
        self.meters
            .cases_asked
            .store(self.cases_asked(&pending), Ordering::Relaxed);
        let mut sink = Recording {
            record: &mut self.record,
            events,
            scored: &mut self.scored,
            results: &mut self.results,
        };
        let ran = super::run(&self.jobs, &pending, &mut sink, stop).await;
        self.record.note_endpoints(self.endpoints.stats());
        ran
    }

    /// The number of cases with calls to make.
    fn cases_asked(&self, pending: &[Vec<usize>]) -> u64 {
        let mut cases: HashSet<&CaseId> = HashSet::new();
        for (job, pending) in self.jobs.iter().zip(pending) {
            for index in pending {
                cases.insert(&job.items[*index].case.case_id);
            }
        }
        cases.len() as u64
    }

    /// Checks that the judges are available for the planned calls.
    ///
    /// # Errors
    /// [`Error::JudgeUnavailable`] when a judge has no reachable server, its key is missing, or its service states that
    /// the model is retired.
    pub fn check_judges(&self) -> Result<()> {
        for ending in self.endings.values() {
            refuse_ended(ending)?;
        }
        let mut roles: Vec<Role> = Vec::new();
        for (job, pending) in self.jobs.iter().zip(&self.planned.pending) {
            if !pending.is_empty() {
                roles.extend(job.scorer.roles());
            }
        }
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
        let results = &self.results;
        if results.verdicts > 0 {
            return None;
        }
        let reason = results.failure.as_ref()?;
        let remedy = results.remedy.unwrap_or_default();
        Some(match results.replies {
            0 => Error::JudgeUnavailable(format!(
                "no call got a usable reply (the last one: {reason}); {remedy}"
            )),
            replies => Error::Unreadable(format!(
                "none of {replies} replies can be read; the first one is \"{}\" ({reason}); {remedy}",
                results.first_reply.as_deref().unwrap_or_default()
            )),
        })
    }

    fn stopped(&self, reason: &str) -> Error {
        let scored = self.scored.len();
        let all = self.planned.plan.answer_scores;
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
struct CallResults {
    verdicts: u64,
    replies: u64,
    /// The last failure; of replies that cannot be read the first.
    failure: Option<UnscoredReason>,
    /// What may help against it.
    remedy: Option<&'static str>,
    /// The beginning of the first reply that cannot be read.
    first_reply: Option<String>,
}

impl CallResults {
    fn add_failure(&mut self, reason: &UnscoredReason, call: &CallRecord) {
        match &call.reply {
            // An example of the judge's text helps more than the newest of many failures.
            Some(_) if self.first_reply.is_some() => return,
            Some(reply) => self.first_reply = Some(shortened(&reply.content)),
            None => {}
        }
        self.failure = Some(reason.clone());
        self.remedy = call.remedy(reason.kind);
    }
}

/// Writes the record, collects the scores, and forwards every event.
struct Recording<'a> {
    record: &'a mut RunRecord,
    events: &'a mut dyn EventSink,
    scored: &'a mut Vec<Arc<ScoredAnswer>>,
    results: &'a mut CallResults,
}

impl EventSink for Recording<'_> {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        self.record.on_event(event)?;
        match event {
            RunEvent::Scored(scored) => self.scored.push(Arc::clone(scored)),
            RunEvent::Call(call) => {
                self.results.replies += u64::from(call.reply.is_some());
                match call.failure() {
                    None if call.is_replaced => {}
                    None => self.results.verdicts += 1,
                    // What a server refuses of one answer says nothing about the judge.
                    Some(reason) if reason.kind == UnscoredKind::Moderated => {}
                    Some(reason) => self.results.add_failure(reason, call),
                }
            }
            RunEvent::Stopping(_) => {}
        }
        self.events.on_event(event)
    }
}

/// The name of a scorer, a system and a case.
type ScoredPlace<'a> = (&'a str, SystemName, &'a CaseId);

fn place_of(answer: &ScoredAnswer) -> ScoredPlace<'_> {
    (
        answer.score.scorer.name(),
        answer.system.clone(),
        &answer.case.case_id,
    )
}

/// Puts scores into the order of the input: job by job, systems in name order, cases in file order.
pub(crate) fn in_input_order(scored: &mut [Arc<ScoredAnswer>], jobs: &[Job]) {
    let mut order: HashMap<ScoredPlace<'_>, usize> = HashMap::with_capacity(scored.len());
    for job in jobs {
        for item in job.items.iter() {
            let place = order.len();
            order
                .entry((job.scorer.name(), item.system(), &item.case.case_id))
                .or_insert(place);
        }
    }
    scored.sort_by_key(|answer| order.get(&place_of(answer)).copied().unwrap_or(usize::MAX));
}

/// Means with intervals and ranks of the scores of a run, with the mode, policy and seed of its manifest.
pub fn summary(manifest: &Manifest, scored: &[Arc<ScoredAnswer>]) -> Summary {
    let criteria = manifest.criteria_profile();
    let options = AggregateOptions {
        mode: manifest.mode,
        on_unscored: manifest.policy.on_unscored,
        seed: manifest.seed,
        clip: criteria.is_some_and(|profile| profile.clip_in_compat),
    };
    // Without a judge the rubric was not scored, so nothing is missing of it.
    let is_of_tests = ["rubric", "criteria"]
        .iter()
        .any(|role| manifest.roles.contains_key(*role));
    let mut missing: Vec<(SystemName, CaseId)> = Vec::new();
    if is_of_tests {
        for (system, case) in manifest.missing_asked() {
            missing.push((system.as_str().into(), case.as_str().into()));
        }
    }
    summarize(scored, &missing, options)
}
