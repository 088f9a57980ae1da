//! The two passes over all answers: planning from what is already paid, then asking for the rest.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::{Abort, AnswerEnd, AnswerRun, Records, Teller, Told};
use super::event::{EventSink, Plan, RunEvent};
use super::lane::Lanes;
use super::legibility::Legibility;
use super::stop::StopHandle;
use super::tally::Tally;
use super::{Item, Job};
use crate::domain::ScoredAnswer;
use crate::error::{Error, Result};
use crate::judge::Judge;
use crate::judge::planner::Planner;

/// Calls in flight get this long to finish after the run is told to stop; then they are dropped.
const STOP_GRACE: Duration = Duration::from_secs(20);

/// A stopped run ends before that when nothing has been with the judge for so many looks, so far apart: what only
/// waits for a permit, a pause or a backoff is not waited for.
const QUIET_CHECKS: u32 = 5;
const QUIET_CHECK: Duration = Duration::from_millis(100);

/// Events that may wait for the sink before calls wait for it.
const EVENTS_QUEUED: usize = 1024;

/// What planning found.
#[derive(Debug, Default)]
pub struct PlanOutcome {
    /// What a run would ask.
    pub plan: Plan,
    /// Answers that could be scored from paid replies alone.
    pub scored: Vec<Arc<ScoredAnswer>>,
    /// Indices into [`Job::items`] of the others.
    pub pending: Vec<usize>,
    /// Calls of those others whose reply is already paid.
    pub pending_cached: u64,
}

/// What a run gave.
#[derive(Debug, Default)]
pub struct RunOutcome {
    /// Answers that have been scored by this pass.
    pub scored: Vec<Arc<ScoredAnswer>>,
    /// Answers that could not be finished, since the run was stopped or calls were deferred.
    pub unfinished: usize,
    /// Why the run stopped early.
    pub stopped: Option<String>,
}

/// Scores what paid replies can score, and counts what the rest would ask. Complete answers are told to `sink`
/// (their calls, then their score); nothing is asked.
///
/// # Errors
/// When the reply source cannot be read or the sink fails.
pub async fn plan(job: &Job, sink: &mut dyn EventSink) -> Result<PlanOutcome> {
    let mut outcome = PlanOutcome::default();
    outcome.plan.answers = job.items.len() as u64;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let tally = Arc::new(Tally::default());
    let mut tasks = JoinSet::new();
    let mut next = 0;
    while next < job.items.len() || !tasks.is_empty() {
        while next < job.items.len() && tasks.len() < 2 * workers {
            let (job, tally) = (job.clone(), Arc::clone(&tally));
            tasks.spawn(async move { (next, plan_one(&job, next, &tally).await) });
            next += 1;
        }
        let Some(joined) = tasks.join_next().await else { break };
        let (index, ended) = joined.map_err(task_error)?;
        let (end, records) = ended?;
        match end {
            AnswerEnd::Scored(scored, paid) => {
                outcome.plan.cached += paid;
                for record in records {
                    sink.on_event(&RunEvent::Call(Box::new(record)))?;
                }
                sink.on_event(&RunEvent::Scored(Arc::clone(&scored)))?;
                outcome.scored.push(scored);
            }
            AnswerEnd::Deferred(paid) => {
                outcome.plan.cached += paid;
                outcome.pending_cached += paid;
                outcome.pending.push(index);
            }
        }
    }
    tally.add_to(&mut outcome.plan);
    outcome.pending.sort_unstable();
    Ok(outcome)
}

type Planned = (AnswerEnd, Vec<super::CallRecord>);

async fn plan_one(job: &Job, index: usize, tally: &Tally) -> Result<Planned> {
    let planner = Planner::new(Arc::clone(&job.source));
    let records = Records::Kept(std::sync::Mutex::default());
    let run = AnswerRun {
        job,
        judge: &planner,
        item: &job.items[index],
        lanes: None,
        stop: StopHandle::new().signal(),
        records: &records,
        legibility: &Legibility::default(),
        tally: Some(tally),
    };
    let end = match run.score().await {
        Ok(end) => end,
        Err(Abort::Fatal(error)) => return Err(error),
        Err(Abort::Stopped) => return Err(Error::Internal("planning was stopped".into())),
    };
    let Records::Kept(records) = records else { return Err(Error::Internal("planning told events".into())) };
    Ok((end, records.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)))
}

/// Asks what `pending` answers lack. Long answers start first; the order of results is that of finishing.
///
/// # Errors
/// When nothing more can be asked (wrong key, spent quota, full disk), after calls in flight had time to finish.
pub async fn run(
    job: &Job,
    judge: Arc<dyn Judge>,
    pending: &[usize],
    sink: &mut dyn EventSink,
    stop: &StopHandle,
) -> Result<RunOutcome> {
    let (mut pass, mut told) = Pass::new(job, judge, pending, stop);
    let mut outcome = RunOutcome::default();
    let mut failure: Option<Error> = None;
    let mut deadline: Option<Instant> = None;
    let mut signal = stop.signal();
    let mut quiet = 0;
    pass.fill();
    while !pass.tasks.is_empty() {
        tokio::select! {
            biased;
            Some(told) = told.recv() => {
                if let Err(error) = take(told, sink) {
                    failure.get_or_insert(error);
                    stop.stop("the record of the run cannot be written");
                }
            }
            Some(joined) = pass.tasks.join_next() => {
                if let Some(error) = outcome.take(joined.unwrap_or_else(|error| Err(ended_early(error)))) {
                    stop.stop(&error.to_string());
                    failure.get_or_insert(error);
                }
                pass.fill();
            }
            reason = signal.wait(), if deadline.is_none() => {
                deadline = Some(Instant::now() + STOP_GRACE);
                sink.on_event(&RunEvent::Stopping(reason)).or_else(|error| keep_first(&mut failure, error))?;
            }
            () = sleep_until(deadline) => pass.tasks.abort_all(),
            () = tokio::time::sleep(QUIET_CHECK), if deadline.is_some() => {
                quiet = if pass.judge.asking() == Some(0) { quiet + 1 } else { 0 };
                if quiet >= QUIET_CHECKS {
                    pass.tasks.abort_all();
                }
            }
        }
    }
    outcome.unfinished += pass.order.len();
    pass.teller = None;
    while let Some(told) = told.recv().await {
        take(told, sink).or_else(|error| keep_first(&mut failure, error))?;
    }
    outcome.stopped = stop.signal().reason();
    match failure {
        Some(error) => Err(error),
        None => Ok(outcome),
    }
}

impl RunOutcome {
    /// Counts the end of one answer; gives the error that must stop the run.
    fn take(&mut self, end: std::result::Result<AnswerEnd, Abort>) -> Option<Error> {
        match end {
            Ok(AnswerEnd::Scored(scored, _)) => self.scored.push(scored),
            Ok(AnswerEnd::Deferred(_)) | Err(Abort::Stopped) => self.unfinished += 1,
            Err(Abort::Fatal(error)) => {
                self.unfinished += 1;
                return Some(error);
            }
        }
        None
    }
}

/// Hands an event to the sink, and says so to who waits for it.
fn take(told: Told, sink: &mut dyn EventSink) -> Result<()> {
    sink.on_event(&told.event)?;
    if let Some(taken) = told.taken {
        // Who waited may have been dropped at the end of the grace.
        let _ = taken.send(());
    }
    Ok(())
}

fn keep_first(failure: &mut Option<Error>, error: Error) -> Result<()> {
    failure.get_or_insert(error);
    Ok(())
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

fn task_error(error: tokio::task::JoinError) -> Error {
    Error::Internal(format!("a scoring task ended: {error}"))
}

/// A task that was dropped after the grace period is no failure; one that panicked is.
fn ended_early(error: tokio::task::JoinError) -> Abort {
    if error.is_cancelled() { Abort::Stopped } else { Abort::Fatal(task_error(error)) }
}

/// The answers of one pass, as many in flight as there are places.
struct Pass<'a> {
    lanes: Arc<Lanes>,
    order: std::vec::IntoIter<usize>,
    tasks: JoinSet<std::result::Result<AnswerEnd, Abort>>,
    job: &'a Job,
    judge: Arc<dyn Judge>,
    teller: Option<Teller>,
    stop: StopHandle,
    legibility: Arc<Legibility>,
}

impl<'a> Pass<'a> {
    /// The pass and where its events arrive; long answers come first.
    fn new(job: &'a Job, judge: Arc<dyn Judge>, pending: &[usize], stop: &StopHandle) -> (Self, mpsc::Receiver<Told>) {
        let mut order = pending.to_vec();
        order.sort_by_key(|&index| std::cmp::Reverse(job.items[index].answer.answer_text.len()));
        let (events, told) = mpsc::channel(EVENTS_QUEUED);
        let pass = Self {
            lanes: Arc::new(Lanes::new(job.options.concurrency, order.len())),
            order: order.into_iter(),
            tasks: JoinSet::new(),
            job,
            judge,
            teller: Some(Teller { events, acknowledged: job.options.acknowledge }),
            stop: stop.clone(),
            legibility: Arc::default(),
        };
        (pass, told)
    }

    fn fill(&mut self) {
        while self.tasks.len() < self.job.options.concurrency.max(1) && !self.stop.signal().is_set() {
            let (Some(index), Some(teller)) = (self.order.next(), self.teller.clone()) else { return };
            let (job, judge, lanes) = (self.job.clone(), Arc::clone(&self.judge), Arc::clone(&self.lanes));
            let (stop, legibility) = (self.stop.clone(), Arc::clone(&self.legibility));
            self.tasks.spawn(async move {
                let item = &job.items[index];
                score_one(&job, &*judge, item, &lanes, (&stop, &legibility), teller).await
            });
        }
    }
}

async fn score_one(
    job: &Job,
    judge: &dyn Judge,
    item: &Item,
    lanes: &Lanes,
    (stop, legibility): (&StopHandle, &Legibility),
    teller: Teller,
) -> std::result::Result<AnswerEnd, Abort> {
    let _place = lanes.begin().await;
    let records = Records::Told(teller.clone());
    let run = AnswerRun {
        job,
        judge,
        item,
        lanes: Some(lanes),
        stop: stop.signal(),
        records: &records,
        legibility,
        tally: None,
    };
    let end = run.score().await?;
    if let AnswerEnd::Scored(scored, _) = &end {
        teller.tell(RunEvent::Scored(Arc::clone(scored))).await;
    }
    Ok(end)
}
