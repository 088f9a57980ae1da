//! The two passes over all answers: planning from cached replies, then making the remaining calls.
//!
//! Both passes are the same code with another judge: the first one only recalls, and what it cannot
//! settle is asked by the second.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::stream::{self, StreamExt as _};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::Job;
use super::Plan;
use super::answer::{Abort, AnswerEnd, AnswerRun, Pass};
use super::case_order::case_by_case;
use super::lane::Lanes;
use super::legibility::Legibility;
use super::sender::{Envelope, EventSender};
use super::stop::StopHandle;
use super::tally::{AnswerCalls, AnswerTally, Collect, PlanGroup, Tally};
use crate::dataset::with_text;
use crate::domain::ScoredAnswer;
use crate::error::{Error, Result};
use crate::judge::locked;
use crate::record::{EventSink, RunEvent};

/// Calls in flight get this long to finish after the run is stopped; then they are dropped.
// Most replies take less, and schedulers such as Slurm kill 30 s after they send a signal.
const STOP_GRACE: Duration = Duration::from_secs(20);

/// Grace ends early when this many checks, this far apart, find no call at the judge: calls that only wait for a
/// permit, a pause or a backoff are dropped.
// Half a second: between two calls of an answer there are moments without any call at the judge.
const QUIET_CHECKS: u32 = 5;
const QUIET_CHECK: Duration = Duration::from_millis(100);

/// Events that may be queued for the sink before calls wait for it.
// Enough that a slow disk does not stall calls; bounded, since each event holds a whole reply.
const EVENTS_QUEUED: usize = 1024;

/// The result of planning.
#[derive(Debug, Default)]
pub struct PlanOutcome {
    /// The calls of a run.
    pub plan: Plan,
    /// Answers that were scored from cached replies alone.
    pub scored: Vec<Arc<ScoredAnswer>>,
    /// For each job the indices into [`Job::items`] of the other answers: case by case, those with much text first.
    pub pending: Vec<Vec<usize>>,
    /// Cached calls of those other answers.
    pub pending_cached: u64,
    /// The calls of a run by role, kind and judge, in this order.
    pub groups: Vec<PlanGroup>,
}

impl PlanOutcome {
    /// True if no calls are left.
    pub fn is_done(&self) -> bool {
        self.pending.iter().all(Vec::is_empty)
    }
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// Answers that this pass scored.
    pub scored: Vec<Arc<ScoredAnswer>>,
    /// Answers that were not finished because the run was stopped or calls were deferred.
    pub unfinished: usize,
    /// Why the run stopped early.
    pub stopped: Option<String>,
}

/// Scores answers from cached replies, and counts the calls that the others need. Complete answers go to `sink` (their
/// calls, then their score). Makes no calls; it completes scorers that need no judge.
///
/// # Errors
/// When the reply source cannot be read or the sink fails.
pub async fn plan(jobs: &[Job], sink: &mut dyn EventSink) -> Result<PlanOutcome> {
    plan_collecting(jobs, sink, None).await
}

/// Like [`plan`]; also passes every call that can be made now to `collect`: once per fingerprint, case by case and answer
/// by answer, so that calls with the same prefix are adjacent. Calls without a body (judges that answer the task itself)
/// are only counted.
///
/// # Errors
/// As [`plan`], and when `collect` fails.
pub async fn plan_collecting(
    jobs: &[Job],
    sink: &mut dyn EventSink,
    mut collect: Option<&mut Collect<'_>>,
) -> Result<PlanOutcome> {
    let mut outcome = PlanOutcome {
        pending: vec![Vec::new(); jobs.len()],
        ..PlanOutcome::default()
    };
    let mut answers = HashSet::new();
    for item in jobs.iter().flat_map(|job| job.items.iter()) {
        answers.insert((item.system(), &item.case.case_id));
        outcome.plan.answer_scores += 1;
    }
    outcome.plan.answers = answers.len() as u64;
    // Planning renders and hashes prompts, which is work for the CPU and not for a server.
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = Arc::new(Tally::default());
    let keeps = collect.is_some();
    let begun = case_by_case(jobs).into_iter().map(|(at, index)| {
        let (job, tally) = (jobs[at].clone(), Arc::clone(&tally));
        let task = tokio::spawn(async move { plan_one(&job, index, &tally, keeps).await });
        async move { (at, index, task.await) }
    });
    // In order (not `buffer_unordered`), so that the record and a batch are the same each time; two
    // tasks a core keep the cores busy while one answer is slow.
    let mut planned = stream::iter(begun).buffered(2 * workers);
    let mut collected = HashSet::new();
    while let Some((at, index, joined)) = planned.next().await {
        let (end, AnswerCalls { recalled, deferred }) = joined.map_err(task_error)??;
        if let Some(collect) = &mut collect {
            for call in deferred {
                // Identical calls of several answers are one call of the batch: services refuse an
                // id that repeats.
                if collected.insert(call.call.custom_id) {
                    collect(call)?;
                }
            }
        }
        match end {
            AnswerEnd::Scored(scored, paid) => {
                outcome.plan.cached += paid;
                for record in recalled {
                    sink.on_event(&RunEvent::Call(Box::new(record)))?;
                }
                sink.on_event(&RunEvent::Scored(Arc::clone(&scored)))?;
                outcome.scored.push(scored);
            }
            AnswerEnd::Deferred(paid) => {
                outcome.plan.cached += paid;
                outcome.pending_cached += paid;
                outcome.pending[at].push(index);
            }
        }
    }
    outcome.groups = tally.groups(&mut outcome.plan);
    Ok(outcome)
}

async fn plan_one(
    job: &Job,
    index: usize,
    tally: &Tally,
    keeps: bool,
) -> Result<(AnswerEnd, AnswerCalls)> {
    // The calls of one answer are kept together and in order until it is planned, whatever the
    // others do.
    let tally = AnswerTally {
        tally,
        keeps,
        calls: Mutex::default(),
    };
    let stop = StopHandle::new();
    let run = AnswerRun {
        job,
        item: &with_text(&job.items[index])?,
        // Nothing is asked, so that a single slot never makes anything wait.
        lanes: &Lanes::new(1, 1),
        stop: &stop,
        legibility: &Legibility::default(),
        pass: Pass::Plan(&tally),
    };
    let end = match run.score().await {
        Ok(end) => end,
        Err(Abort::Fatal(error)) => return Err(error),
        Err(Abort::Stopped) => return Err(Error::Internal("planning was stopped".into())),
    };
    Ok((end, std::mem::take(&mut *locked(&tally.calls))))
}

/// Makes the calls that `pending` answers (a list for each job) still need; the jobs are concurrent. Answers start in the
/// order of their list; results are in the order of completion. No answer is begun any more once another model answers than
/// the one whose cached replies were used.
///
/// # Errors
/// When no more calls are possible (wrong key, spent quota, full disk), after calls in flight had time to finish.
pub async fn run(
    jobs: &[Job],
    pending: &[Vec<usize>],
    sink: &mut dyn EventSink,
    stop: &StopHandle,
) -> Result<RunOutcome> {
    let (sender, mut events) = mpsc::channel(EVENTS_QUEUED);
    let sender = EventSender(sender);
    let mut passes: Vec<Running<'_>> = jobs
        .iter()
        .zip(pending)
        .map(|(job, pending)| Running::new(job, pending, sender.clone(), stop))
        .collect();
    // The channel closes when the last answer ends; a sender kept here would keep it open.
    drop(sender);
    let mut tasks: Tasks = JoinSet::new();
    let mut outcome = RunOutcome::default();
    let mut failure: Option<Error> = None;
    let mut deadline: Option<Instant> = None;
    let mut quiet = 0;
    for (at, pass) in passes.iter_mut().enumerate() {
        pass.fill(at, &mut tasks);
    }
    while !tasks.is_empty() {
        tokio::select! {
            // Events before ends: the calls of an answer are in the record before its score is.
            biased;
            Some(envelope) = events.recv() => {
                if let Err(error) = deliver(envelope, sink) {
                    failure.get_or_insert(error);
                    // A reply that cannot be recorded is lost: each further call would be paid for
                    // in vain.
                    stop.stop("the record of the run cannot be written");
                }
            }
            Some(joined) = tasks.join_next() => {
                let (at, end) = joined.unwrap_or_else(|error| (None, Err(ended_early(error))));
                if let Err(error) = outcome.add(end) {
                    stop.stop(&error.to_string());
                    failure.get_or_insert(error);
                }
                if let Some((at, pass)) = at.and_then(|at| Some((at, passes.get_mut(at)?))) {
                    pass.in_flight -= 1;
                    pass.fill(at, &mut tasks);
                }
            }
            // Once: afterwards the branch would be ready at every turn of the loop.
            reason = stop.stopped(), if deadline.is_none() => {
                deadline = Some(Instant::now() + STOP_GRACE);
                failure = failure.or(sink.on_event(&RunEvent::Stopping(reason)).err());
            }
            () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                tasks.abort_all();
            }
            () = tokio::time::sleep(QUIET_CHECK), if deadline.is_some() => {
                quiet = if nobody_is_asked(jobs) { quiet + 1 } else { 0 };
                if quiet >= QUIET_CHECKS {
                    tasks.abort_all();
                }
            }
        }
    }
    // Answers that never began are missing from the run just as those that were interrupted.
    outcome.unfinished += passes.iter().map(|pass| pass.order.len()).sum::<usize>();
    drop(passes);
    // Replies that arrived during the grace period are paid for and still queued.
    while let Some(envelope) = events.recv().await {
        failure = failure.or(deliver(envelope, sink).err());
    }
    outcome.stopped = stop.reason();
    failure.map_or(Ok(outcome), Err)
}

/// True if every judge counts its calls and has none.
fn nobody_is_asked(jobs: &[Job]) -> bool {
    jobs.iter()
        .flat_map(|job| job.panels.values().flat_map(|panel| &panel.members))
        .all(|member| member.in_flight.as_ref().is_some_and(|calls| calls() == 0))
}

/// Passes an event to the sink and notifies its sender.
fn deliver((event, taken): Envelope, sink: &mut dyn EventSink) -> Result<()> {
    sink.on_event(&event)?;
    // The receiver may have been dropped at the end of the grace period.
    let _ = taken.send(());
    Ok(())
}

fn task_error(error: tokio::task::JoinError) -> Error {
    Error::Internal(format!("a scoring task ended: {error}"))
}

/// A task that was dropped after the grace period is not a failure; one that panicked is.
fn ended_early(error: tokio::task::JoinError) -> Abort {
    if error.is_cancelled() {
        Abort::Stopped
    } else {
        Abort::Fatal(task_error(error))
    }
}

/// Answers in progress, each with its job.
type Tasks = JoinSet<(Option<usize>, std::result::Result<AnswerEnd, Abort>)>;

/// The answers of one job, as many in flight as it has slots.
struct Running<'a> {
    lanes: Arc<Lanes>,
    /// The answers that have not started.
    order: std::slice::Iter<'a, usize>,
    in_flight: usize,
    job: &'a Job,
    sender: EventSender,
    stop: StopHandle,
    legibility: Arc<Legibility>,
}

impl<'a> Running<'a> {
    /// The pass, which sends its events there.
    fn new(job: &'a Job, pending: &'a [usize], sender: EventSender, stop: &StopHandle) -> Self {
        let cases = pending.iter().map(|&index| &job.items[index].case.case_id);
        let cases: HashSet<_> = cases.collect();
        Self {
            lanes: Arc::new(Lanes::new(job.options.concurrency, pending.len())),
            order: pending.iter(),
            in_flight: 0,
            job,
            sender,
            stop: stop.clone(),
            legibility: Arc::new(Legibility::over(cases.len())),
        }
    }

    fn fill(&mut self, at: usize, tasks: &mut Tasks) {
        while self.in_flight < self.job.options.concurrency.max(1)
            && !self.stop.is_set()
            // Answers begun now would mix two models; the session plans anew first.
            && !self.job.is_contradicted()
        {
            let Some(&index) = self.order.next() else {
                return;
            };
            let (job, sender, lanes) = (
                self.job.clone(),
                self.sender.clone(),
                Arc::clone(&self.lanes),
            );
            let (stop, legibility) = (self.stop.clone(), Arc::clone(&self.legibility));
            self.in_flight += 1;
            tasks.spawn(async move {
                (
                    Some(at),
                    score_one(&job, index, &lanes, (&stop, &legibility), sender).await,
                )
            });
        }
    }
}

async fn score_one(
    job: &Job,
    index: usize,
    lanes: &Lanes,
    (stop, legibility): (&StopHandle, &Legibility),
    sender: EventSender,
) -> std::result::Result<AnswerEnd, Abort> {
    // Before the text is read: only answers in progress hold theirs in memory.
    let _own = lanes.begin().await;
    let item = &with_text(&job.items[index])?;
    let run = AnswerRun {
        job,
        item,
        lanes,
        stop,
        legibility,
        pass: Pass::Run(&sender),
    };
    let end = run.score().await?;
    if let AnswerEnd::Scored(scored, _) = &end {
        sender.send(RunEvent::Scored(Arc::clone(scored))).await;
    }
    Ok(end)
}

impl RunOutcome {
    /// Counts an answer's end.
    ///
    /// # Errors
    /// The error that ends the run.
    fn add(&mut self, end: std::result::Result<AnswerEnd, Abort>) -> Result<()> {
        match end {
            Ok(AnswerEnd::Scored(scored, _)) => self.scored.push(scored),
            Ok(AnswerEnd::Deferred(_)) | Err(Abort::Stopped) => self.unfinished += 1,
            Err(Abort::Fatal(error)) => {
                self.unfinished += 1;
                return Err(error);
            }
        }
        Ok(())
    }
}
