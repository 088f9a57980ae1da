//! The counters behind the line of progress, shared with the thread that draws it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::line::ProgressLine;
use crate::cli::scoring::endpoints::Endpoints;
use crate::domain::{CaseId, ScoredAnswer, SystemName};
use crate::evaluation::{CallRecord, Job, Plan};
use crate::judge::meters::Meters;

/// The rate is that of the last half minute: long enough to be calm, short enough to follow a server's mood.
const WINDOW: Duration = Duration::from_secs(30);

/// Samples of the rate are at least this far apart.
const SAMPLE: Duration = Duration::from_millis(500);

/// What has happened so far. An event costs a few relaxed additions.
#[derive(Debug)]
pub(super) struct Counts {
    meters: Arc<Meters>,
    started: Instant,
    at_most: AtomicU64,
    answers: AtomicU64,
    done: AtomicU64,
    cached: AtomicU64,
    asked_again: AtomicU64,
    /// Attempts that brought nothing.
    failed_attempts: AtomicU64,
    /// Calls of which the last attempt brought nothing.
    failing: Mutex<HashSet<u64>>,
    /// Of each answer how many scorers have yet to score it, and whether one of them could not.
    open: Mutex<HashMap<(SystemName, CaseId), (usize, bool)>>,
    /// Who judges, where several do.
    scorers: OnceLock<String>,
    scored: AtomicU64,
    unscored: AtomicU64,
    endpoints: OnceLock<Endpoints>,
    /// When how many calls were done, and how many of them asked.
    samples: Mutex<VecDeque<(Instant, [u64; 2])>>,
}

impl Counts {
    pub(super) fn new(meters: Arc<Meters>, started: Instant) -> Self {
        let zero = AtomicU64::default;
        Self {
            meters,
            started,
            at_most: zero(),
            answers: zero(),
            done: zero(),
            cached: zero(),
            asked_again: zero(),
            failed_attempts: zero(),
            failing: Mutex::default(),
            open: Mutex::default(),
            scorers: OnceLock::new(),
            scored: zero(),
            unscored: zero(),
            endpoints: OnceLock::new(),
            samples: Mutex::new(VecDeque::from([(started, [0; 2])])),
        }
    }

    pub(super) fn plan(&self, plan: &Plan) {
        self.at_most.store(plan.at_most, Ordering::Relaxed);
        self.answers.store(plan.answers, Ordering::Relaxed);
    }

    /// Who scores what: an answer is through once all its scorers are.
    pub(super) fn judging(&self, jobs: &[Job]) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for item in jobs.iter().flat_map(|job| job.items.iter()) {
            open.entry((item.answer.system.clone(), item.case.case_id.clone())).or_default().0 += 1;
        }
        if jobs.len() > 1 {
            let names: Vec<&str> = jobs.iter().map(|job| job.scorer.name()).collect();
            let _ = self.scorers.set(names.join(", "));
        }
    }

    /// Calls and answers that paid replies have settled before the run asks.
    pub(super) fn behind(&self, calls: u64, answers: &[Arc<ScoredAnswer>]) {
        self.done.fetch_add(calls, Ordering::Relaxed);
        self.cached.fetch_add(calls, Ordering::Relaxed);
        answers.iter().for_each(|answer| self.scored(answer));
        if let Some(first) = self.samples.lock().unwrap_or_else(PoisonError::into_inner).front_mut() {
            first.1[0] = calls;
        }
    }

    /// The first attempt of a call moves the bar; further attempts are not in the plan, and those already paid are not
    /// asked again.
    pub(super) fn call(&self, record: &CallRecord) {
        match (record.attempt, record.reply.as_ref().is_some_and(|reply| reply.cached)) {
            (0, is_cached) => {
                Meters::add_one(&self.done);
                if is_cached {
                    Meters::add_one(&self.cached);
                }
            }
            (_, false) => Meters::add_one(&self.asked_again),
            (_, true) => {}
        }
        let mut failing = self.failing.lock().unwrap_or_else(PoisonError::into_inner);
        if record.verdict.is_err() {
            Meters::add_one(&self.failed_attempts);
            failing.insert(call_of(record));
        } else if !failing.is_empty() {
            failing.remove(&call_of(record));
        }
    }

    pub(super) fn scored(&self, answer: &ScoredAnswer) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lacks = !answer.score.is_complete();
        if let Some((left, lacking)) = open.get_mut(&(answer.system.clone(), answer.case.case_id.clone())) {
            *left = left.saturating_sub(1);
            *lacking |= lacks;
            if *left > 0 {
                return;
            }
            lacks = *lacking;
        }
        Meters::add_one(&self.scored);
        if lacks {
            Meters::add_one(&self.unscored);
        }
    }

    pub(super) fn done(&self) -> u64 {
        Meters::read(&self.done)
    }

    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }

    /// The line at a moment; also takes a sample for the rate.
    pub(super) fn line(&self, now: Instant) -> ProgressLine {
        let (done, at_most) = (self.done(), Meters::read(&self.at_most));
        let [done_per_second, calls_per_second] = self.recent_rates(now, [done, self.asked()]);
        let remaining = at_most.saturating_sub(done);
        // Early guesses jump about; and at a standstill (a pause the server asked for) nobody knows.
        let known = done_per_second > 0.0 && self.elapsed(now) >= Duration::from_secs(2);
        ProgressLine {
            left: known.then(|| seconds(remaining as f64 / done_per_second)),
            calls_per_second,
            ..self.totals()
        }
    }

    /// The line at the end: the rate is that of the whole run.
    pub(super) fn closing(&self, now: Instant) -> String {
        let elapsed = self.elapsed(now);
        let calls_per_second = self.asked() as f64 / elapsed.as_secs_f64().max(1e-3);
        let by = self.scorers.get().map_or_else(String::new, |names| format!(" by {names}"));
        ProgressLine { calls_per_second, ..self.totals() }.closing(elapsed, &by)
    }

    /// Whose state the line tells, too; the first that are given.
    pub(super) fn watch(&self, endpoints: Endpoints) {
        let _ = self.endpoints.set(endpoints);
    }

    fn totals(&self) -> ProgressLine {
        let (endpoints, endpoints_down) = self.endpoints.get().map_or((0, 0), Endpoints::down);
        ProgressLine {
            done: self.done(),
            at_most: Meters::read(&self.at_most),
            cached: Meters::read(&self.cached),
            asked_again: Meters::read(&self.asked_again),
            retried: Meters::read(&self.meters.retries),
            failed: self.failing.lock().unwrap_or_else(PoisonError::into_inner).len() as u64,
            failed_attempts: Meters::read(&self.failed_attempts),
            unscored: Meters::read(&self.unscored),
            throttled: Meters::read(&self.meters.throttled),
            calls_per_second: 0.0,
            tokens: Meters::read(&self.meters.prompt_tokens) + Meters::read(&self.meters.completion_tokens),
            scored: Meters::read(&self.scored),
            answers: Meters::read(&self.answers),
            left: None,
            endpoints,
            endpoints_down,
        }
    }

    /// Calls that went to a judge: what the cache held is no work of this run.
    fn asked(&self) -> u64 {
        self.done().saturating_sub(Meters::read(&self.cached)) + Meters::read(&self.asked_again)
    }

    /// The rates of two counts, which are so far now.
    fn recent_rates(&self, now: Instant, so_far: [u64; 2]) -> [f64; 2] {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        // One sample older than the window stays: it is where the window begins.
        while samples.get(1).is_some_and(|(at, _)| now.saturating_duration_since(*at) >= WINDOW) {
            samples.pop_front();
        }
        let (from, before) = samples.front().copied().unwrap_or((self.started, [0; 2]));
        if samples.back().is_none_or(|(at, _)| now.saturating_duration_since(*at) >= SAMPLE) {
            samples.push_back((now, so_far));
        }
        let span = now.saturating_duration_since(from).as_secs_f64();
        let rate = |at: usize| if span > 0.0 { so_far[at].saturating_sub(before[at]) as f64 / span } else { 0.0 };
        [rate(0), rate(1)]
    }
}

/// The call of which a record is one attempt.
fn call_of(record: &CallRecord) -> u64 {
    let mut hasher = DefaultHasher::new();
    (&record.system, &record.case_id, &record.item, &record.judge, record.draw).hash(&mut hasher);
    record.role.name().hash(&mut hasher);
    hasher.finish()
}

/// Seconds as a duration; what is too long to be one becomes the longest that is shown sensibly.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(999 * 3600))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::domain::{CallKind, JudgeReply, Role, Verdict};

    pub(crate) fn record(attempt: u32, cached: bool) -> CallRecord {
        CallRecord {
            call_id: [0; 16].into(),
            system: "SYSTEM-NAME".into(),
            case_id: "c".into(),
            item: "expertise".into(),
            kind: CallKind::Expertise,
            role: Role::Rubric,
            judge: "judge".into(),
            draw: 0,
            attempt,
            fingerprint: None,
            reply: Some(JudgeReply { cached, ..JudgeReply::of_text("REPLY-TEXT") }),
            verdict: Ok(Verdict::Points(7.0)),
        }
    }

    fn counts(start: Instant) -> Counts {
        let counts = Counts::new(Arc::new(Meters::default()), start);
        counts.plan(&Plan { answers: 4, at_most: 100, ..Plan::default() });
        counts
    }

    #[test]
    fn a_repeat_after_an_unreadable_reply_does_not_move_the_bar() {
        let start = Instant::now();
        let counts = counts(start);
        for (attempt, cached) in [(0, true), (0, false), (1, false), (1, true)] {
            counts.call(&record(attempt, cached));
        }
        let line = counts.line(start);
        assert_eq!((line.done, line.cached, line.asked_again), (2, 1, 1));
    }

    #[test]
    fn time_left_is_the_rest_at_the_recent_rate() {
        let start = Instant::now();
        let counts = counts(start);
        for _ in 0..20 {
            counts.call(&record(0, false));
        }
        let line = counts.line(start + Duration::from_secs(10));
        // 20 calls in 10 s are 2 a second; the other 80 take 80 / 2 = 40 s
        assert_eq!((line.calls_per_second, line.left), (2.0, Some(Duration::from_secs(40))));
    }

    #[test]
    fn replies_from_the_cache_are_no_calls_per_second() {
        let start = Instant::now();
        let counts = counts(start);
        counts.behind(10, &[]);
        for at in 0..40 {
            counts.call(&record(0, at < 20));
        }
        let line = counts.line(start + Duration::from_secs(10));
        // 20 of 40 were asked in 10 s; the rest of 100 - 50 goes on at 4 a second, cached ones as before
        assert_eq!((line.calls_per_second, line.left), (2.0, Some(Duration::from_millis(12_500))));
        let closing = counts.closing(start + Duration::from_secs(10));
        assert!(closing.contains("2.0 calls/s"), "{closing}");
    }

    #[test]
    fn the_rate_forgets_what_is_older_than_the_window() {
        let start = Instant::now();
        let counts = counts(start);
        for _ in 0..20 {
            counts.call(&record(0, false));
        }
        for second in 1..=60 {
            counts.line(start + Duration::from_secs(second));
        }
        let line = counts.line(start + Duration::from_secs(61));
        assert_eq!((line.calls_per_second, line.left), (0.0, None));
    }

    #[test]
    fn nothing_is_promised_in_the_first_two_seconds() {
        let start = Instant::now();
        let counts = counts(start);
        counts.call(&record(0, false));
        assert_eq!(counts.line(start + Duration::from_secs(1)).left, None);
    }
}
