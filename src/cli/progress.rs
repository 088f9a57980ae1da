//! Progress on standard error: a bar on a terminal, elsewhere a line every half minute, and a closing line.
//!
//! Events of the run and the counters of its layers (`Meters`, `Activity`) become one line, which
//! the bar draws at every tick. A thread reports what has no event: failed attempts, and calls
//! that wait for another process.

use std::collections::HashSet;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tokio::time::Instant;

use super::problems::Problems;
use super::terminal::{self, about, dollars, grouped, of_day};
use crate::domain::{CaseId, Role, ScoredAnswer, SystemName};
use crate::error::Result;
use crate::evaluation::PlanOutcome;
use crate::judge::meters::{Activity, CallInFlight, Meters};
use crate::question::Kind;
use crate::record::{CallRecord, EventSink, RunEvent};
use crate::report::table::short_names;
use crate::text::names::counted;

/// Width of the bar; the counters get the rest of the line.
const BAR: usize = 8;
/// Redraw interval while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// Ticks between two lines without a terminal.
// 60 ticks of half a second: a log file of a night has a thousand lines, not a million.
const TICKS_OF_LINE: u32 = 60;
/// Calls in flight for longer than this show their age.
const LONG: Duration = Duration::from_secs(10);
/// Calls in flight for longer than this are named.
const VERY_LONG: Duration = Duration::from_secs(60);
/// Begun seconds of a countdown count.
const ALMOST_SECOND: Duration = Duration::from_millis(999);
/// Earlier estimates of the time left jump.
const EARLIEST_ESTIMATE: Duration = Duration::from_secs(2);
/// Calls that must have ended before the time left is estimated.
const FEWEST_CALLS: u64 = 5;

/// Progress of a run, from its first call to [`Progress::finish`].
pub(crate) struct Progress {
    /// Also counts while hidden.
    bar: ProgressBar,
    counts: Arc<ProgressCounts>,
    /// The end has a separate message: no more problems are reported.
    is_stopping: bool,
    watch: Watch,
}

/// The thread that reports problems and, where no bar is drawn, writes lines, until the sender is dropped.
struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Starts with what the plan took from cached replies. `prices_of` is the day of the price list, if it is used.
    pub(crate) fn start(
        planned: &PlanOutcome,
        prices_of: Option<String>,
        meters: Arc<Meters>,
        activity: impl Fn() -> Activity + Send + Sync + 'static,
    ) -> Self {
        let plan = &planned.plan;
        // Cached replies of answers that are finished; those of the others come as events.
        let before = plan.cached - planned.pending_cached;
        let seen = Mutex::new(Seen {
            cached: before,
            ..Seen::default()
        });
        let counts = Arc::new(ProgressCounts {
            meters,
            activity: Box::new(activity),
            prices_of,
            start: Instant::now(),
            before,
            seen,
        });
        for answer in &planned.scored {
            counts.seen().scored(answer);
        }
        let bar = ProgressBar::with_draw_target(
            // The most there can be: a bar that reaches its end early is better than one that moves
            // backward.
            Some(plan.at_most + plan.cached),
            ProgressDrawTarget::stderr(),
        );
        bar.set_position(before);
        if !bar.is_hidden() {
            bar.set_style(bar_style(&counts));
            bar.enable_steady_tick(TICK);
        }
        let watch = watch(&bar, &counts);
        Self {
            bar,
            counts,
            is_stopping: false,
            watch,
        }
    }

    /// What happens after the stop; the error that ends the command gives its reason. A budget, a time limit or a lost judge needs
    /// no key; before the first outcome there is nothing to wait for.
    fn stopping_line(&self, reason: &str) -> Option<String> {
        if reason.starts_with("SIG") || reason == "Ctrl-C" {
            let line = "stopping: calls in flight may finish; press Ctrl-C to leave at once";
            return Some(line.to_owned());
        }
        let has_outcome = self.bar.position() > self.counts.before;
        has_outcome.then(|| "stopping: calls in flight may finish".to_owned())
    }

    /// Removes the display and writes the closing line.
    pub(crate) fn finish(self) {
        drop(self.watch.stop);
        // The thread only sleeps and writes; a panic in it needs no handling.
        let _ = self.watch.thread.join();
        let calls = self.bar.position();
        self.bar.finish_and_clear();
        if calls > 0 {
            terminal::note(&self.counts.closing_line());
        }
    }
}

/// A bar and the counters, cut to the width of the terminal at each drawing.
fn bar_style(counts: &Arc<ProgressCounts>) -> ProgressStyle {
    let counts = Arc::clone(counts);
    ProgressStyle::with_template("{bar:8} {counters}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key(
            "counters",
            move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let width = usize::from(console::Term::stderr().size().1);
                let room = width.saturating_sub(BAR + 2);
                let line = counts.line(state);
                let _ = out.write_str(&console::truncate_str(&line, room, ".."));
            },
        )
}

/// Starts the thread: failing and waiting attempts are not among the events of a run.
fn watch(bar: &ProgressBar, counts: &Arc<ProgressCounts>) -> Watch {
    let (stop, stopped) = channel();
    let bar = bar.clone();
    let counts = Arc::clone(counts);
    let thread = std::thread::spawn(move || {
        let mut ticks = 0;
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            ticks += 1;
            let problem = counts.seen().problems.attempts(&counts.meters.failing());
            print(&bar, problem);
            let time_outs = counts.meters.time_outs();
            let time_outs = counts.seen().problems.time_outs(time_outs);
            print(&bar, time_outs);
            let wait = counts.seen().problems.waiting(&counts.meters.waiting());
            print(&bar, wait);
            if bar.is_hidden() && ticks % TICKS_OF_LINE == 0 {
                bar.update(|state| terminal::note(&counts.line(state)));
            }
        }
    });
    Watch { stop, thread }
}

/// Prints lines above the bar.
fn print(bar: &ProgressBar, lines: impl IntoIterator<Item = String>) {
    for line in lines {
        // Else the bar would be drawn into the line.
        bar.suspend(|| terminal::note(&line));
    }
}

impl EventSink for Progress {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Call(record) => {
                let line = self.counts.seen().call(record);
                // Repeats after unreadable replies are not in the plan.
                if record.attempt == 0 {
                    self.bar.inc(1);
                }
                print(&self.bar, line.filter(|_| !self.is_stopping));
            }
            RunEvent::Scored(answer) => self.counts.seen().scored(answer),
            RunEvent::Stopping(reason) => {
                self.is_stopping = true;
                print(&self.bar, self.stopping_line(reason));
            }
        }
        Ok(())
    }
}

/// A run as the display and its thread see it.
struct ProgressCounts {
    meters: Arc<Meters>,
    activity: Box<dyn Fn() -> Activity + Send + Sync>,
    prices_of: Option<String>,
    start: Instant,
    /// Calls whose replies the plan found.
    before: u64,
    seen: Mutex<Seen>,
}

/// What the events of a run were; no text of an answer or a reply is kept.
#[derive(Default)]
struct Seen {
    scored: u64,
    unscored: u64,
    /// Calls whose first attempt was a cached reply.
    cached: u64,
    /// Attempts that were made now, with or without a reply.
    calls: u64,
    /// Those of them that repeat an unreadable reply.
    repeats: u64,
    /// Calls whose last attempt has no verdict, but those that other calls ask again.
    failed: HashSet<CallKey>,
    problems: Problems,
}

/// A call: its system, case, item and kind, the role and the judge that it asks, and the index of its sample.
type CallKey = (SystemName, CaseId, Arc<str>, Kind, Role, Arc<str>, u32);

fn key_of(record: &CallRecord) -> CallKey {
    (
        record.system.clone(),
        record.case_id.clone(),
        Arc::clone(&record.item),
        record.kind.clone(),
        record.role.clone(),
        Arc::clone(&record.judge),
        record.sample,
    )
}

impl Seen {
    /// Counts a call; gives the line to print.
    fn call(&mut self, record: &CallRecord) -> Option<String> {
        let is_cached = record.reply.as_ref().is_some_and(|reply| reply.cached);
        if !is_cached {
            self.calls += 1;
        }
        if record.attempt == 0 {
            self.cached += u64::from(is_cached);
        } else {
            self.repeats += u64::from(!is_cached);
        }
        if record.failure().is_some() {
            self.failed.insert(key_of(record));
        } else if !self.failed.is_empty() {
            self.failed.remove(&key_of(record));
        }
        self.problems.call(record)
    }

    fn scored(&mut self, answer: &ScoredAnswer) {
        self.scored += 1;
        self.unscored += u64::from(!answer.score.is_complete());
    }
}

impl ProgressCounts {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> u64 {
        Meters::read(&self.meters.prompt_tokens) + Meters::read(&self.meters.completion_tokens)
    }

    /// `1,204/5,205 calls, 12 min left, 32 in flight (oldest 45 s), $0.42, 3 min elapsed`: the least important last,
    /// where a narrow terminal cuts; nothing that is 0.
    fn line(&self, state: &ProgressState) -> String {
        let now = Instant::now();
        let done = state.pos();
        // A batch of criteria that cannot be read is asked one by one, which no plan foresees: the
        // count must not exceed its total.
        let total = state.len().unwrap_or_default().max(done);
        let elapsed = now.duration_since(self.start);
        let activity = (self.activity)();
        let mut parts = vec![format!("{}/{} calls", grouped(done), grouped(total))];
        if let Some(left) = self.time_left(done, total, &activity) {
            parts.push(format!("~{} left", span(left)));
        }
        if let Some((until, why)) = activity.pause {
            parts.push(pause_text(why, until.duration_since(now)));
        }
        if activity.servers > 1 && activity.down > 0 {
            let down = activity.down;
            parts.push(format!("{down} of {} endpoints down", activity.servers));
        }
        if activity.in_flight > 0 {
            let oldest = activity.oldest.map(|call| oldest_text(&call, now));
            let oldest = oldest.unwrap_or_default();
            parts.push(format!("{} in flight{oldest}", activity.in_flight));
        }
        let waiting = self.meters.waiting().calls;
        if waiting > 0 {
            parts.push(format!("{waiting} asked by another process"));
        }
        parts.extend(self.spent());
        let unscored = self.seen().unscored;
        if unscored > 0 {
            parts.push(format!("{} unscored", grouped(unscored)));
        }
        if elapsed >= EARLIEST_ESTIMATE {
            parts.push(format!("{} elapsed", span(elapsed)));
        }
        parts.join(", ")
    }

    /// The time that the other calls take at the speed of this session; cached replies took none. Not before as many calls
    /// have ended as are in flight, since short ones end first, and not while one takes longer than that already.
    fn time_left(&self, done: u64, total: u64, activity: &Activity) -> Option<Duration> {
        let (ended, elapsed) = (done.saturating_sub(self.before), self.start.elapsed());
        if ended < FEWEST_CALLS.max(activity.in_flight as u64) || elapsed < EARLIEST_ESTIMATE {
            return None;
        }
        let left = elapsed.mul_f64((total - done) as f64 / ended as f64);
        let oldest = activity.oldest.as_ref().map(|call| call.sent.elapsed());
        (!left.is_zero() && oldest.unwrap_or_default() <= left).then_some(left)
    }

    /// The cost so far; without prices, the tokens.
    fn spent(&self) -> Option<String> {
        let usd = self.meters.usd();
        if usd > 0.0 {
            return Some(dollars(usd));
        }
        let tokens = self.tokens();
        (tokens > 0).then(|| format!("{} tokens", about(tokens as f64)))
    }

    /// The calls that were made and the replies that were cached, apart; what they cost, and what they gave. Other counters
    /// that are 0 are left out.
    fn closing_line(&self) -> String {
        let seen = self.seen();
        let mut calls = counted(seen.calls as usize, "call") + " made";
        if seen.repeats > 0 {
            let repeats = grouped(seen.repeats);
            calls += &format!(" ({repeats} of them after an unreadable reply)");
        }
        let mut parts = vec![calls];
        push_count(&mut parts, seen.cached, "cached");
        push_count(&mut parts, seen.failed.len() as u64, "without a verdict");
        parts.push(format!("in {}", span(self.start.elapsed())));
        let retries = Meters::read(&self.meters.retries);
        push_count(&mut parts, retries, "retried after a failed request");
        let time_outs = self.meters.time_outs();
        let time_outs = time_outs.values().map(|(count, _)| count).sum();
        push_count(&mut parts, time_outs, "timed out");
        push_count(&mut parts, self.tokens(), "tokens");
        let usd = self.meters.usd();
        if usd > 0.0 {
            parts.push(dollars(usd) + &of_day(self.prices_of.as_deref()));
        }
        let of_scores = format!("of {} scores unscored", grouped(seen.scored));
        push_count(&mut parts, seen.unscored, &of_scores);
        parts.join(", ")
    }
}

/// Adds a counter, unless it is 0.
fn push_count(parts: &mut Vec<String>, count: u64, label: &str) {
    if count > 0 {
        parts.push(format!("{} {label}", grouped(count)));
    }
}

/// `rate limited, resuming in 12 s`
fn pause_text(why: &str, rest: Duration) -> String {
    if rest > ALMOST_SECOND {
        format!("{why}, resuming in {}", span(rest + ALMOST_SECOND))
    } else {
        why.to_owned()
    }
}

/// The age of the oldest call in flight, once it is long; and once it is very long, which call it is.
fn oldest_text(call: &CallInFlight, now: Instant) -> String {
    let age = now.duration_since(call.sent);
    if age <= LONG {
        return String::new();
    }
    if age <= VERY_LONG {
        return format!(" (oldest {})", span(age));
    }
    let names = [call.system.as_str(), call.case_id.as_str(), &call.item];
    let names = short_names(names.into_iter());
    let kind = call.kind.as_str();
    // The only question of its kind has the kind's name.
    let question = if *call.item == *kind {
        kind.to_owned()
    } else {
        format!("{kind} {}", names[2])
    };
    format!(
        " (oldest {}: {}, case {}, {question})",
        span(age),
        names[0],
        names[1]
    )
}

/// `12 s`, `3 min`, `2 h 5 min`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 90 {
        return format!("{seconds} s");
    }
    let minutes = (seconds + 30) / 60;
    if minutes < 60 {
        return format!("{minutes} min");
    }
    format!("{} h {} min", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::domain::{JudgeReply, Role, UnscoredKind, UnscoredReason, Verdict};
    use crate::evaluation::Plan;
    use crate::judge::layers::rate_limited::RateLimited;
    use crate::judge::options::LimitOptions;
    use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};
    use crate::question::{EXPERTISE, Expertise, PROPERTY};

    fn record(attempt: u32, cached: bool, is_read: bool) -> RunEvent {
        RunEvent::Call(Box::new(CallRecord {
            call_id: [0; 16].into(),
            system: "SYSTEM-NAME".into(),
            case_id: "c".into(),
            item: "expertise".into(),
            kind: EXPERTISE.kind(),
            role: Role::Rubric,
            judge: "judge".into(),
            sample: 0,
            attempt,
            fingerprint: None,
            prompt: None,
            room: 0,
            reply: Some(JudgeReply {
                cached,
                ..JudgeReply::of_text("REPLY-TEXT")
            }),
            is_decision: false,
            is_replaced: false,
            verdict: if is_read {
                Ok(Verdict::Points(7.0))
            } else {
                Err(UnscoredReason::new(UnscoredKind::Unreadable, "REPLY-TEXT"))
            },
        }))
    }

    fn line_of(progress: &Progress) -> String {
        let mut line = String::new();
        progress
            .bar
            .update(|state| line = progress.counts.line(state));
        line
    }

    #[test]
    fn repeats_and_failures_are_counted_apart_and_no_text_is_shown() {
        let plan = Plan {
            answer_scores: 4,
            at_most: 1_100,
            cached: 5,
            ..Plan::default()
        };
        let planned = PlanOutcome {
            plan,
            pending_cached: 2,
            ..PlanOutcome::default()
        };
        let activity = || Activity {
            servers: 3,
            down: 1,
            ..Activity::default()
        };
        let mut progress = Progress::start(&planned, None, Arc::new(Meters::default()), activity);
        for (attempt, cached, is_read) in [
            (0, true, true),
            (0, false, false),
            (1, false, true),
            (1, true, true),
        ] {
            progress
                .on_event(&record(attempt, cached, is_read))
                .unwrap();
        }
        // 5 - 2 calls were done before, 2 first attempts followed; one of the 2 was cached
        assert!(line_of(&progress).starts_with("5/1,105 calls, "));
        assert!(line_of(&progress).contains(", 1 of 3 endpoints down"));
        // the call that could not be read has a verdict by its repeats
        assert_eq!(
            progress.counts.closing_line(),
            "2 calls made (1 of them after an unreadable reply), 4 cached, in 0 s"
        );
        progress.on_event(&record(0, false, false)).unwrap();
        progress.on_event(&record(1, false, false)).unwrap();
        progress.counts.meters.add_usd(0.42);
        assert_eq!(
            progress.counts.closing_line(),
            "4 calls made (2 of them after an unreadable reply), 4 cached, 1 without a verdict, in 0 s, $0.42"
        );
        progress.finish();
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_has_what_matters_most_first_and_nothing_that_is_zero() {
        let seconds = Duration::from_secs;
        let plan = Plan {
            at_most: 5001,
            cached: 204,
            ..Plan::default()
        };
        let planned = PlanOutcome {
            plan,
            ..PlanOutcome::default()
        };
        let oldest = CallInFlight {
            sent: Instant::now() + seconds(135),
            system: "s".into(),
            case_id: "c".into(),
            kind: PROPERTY.kind(),
            item: "p0".into(),
        };
        let activity = move || Activity {
            in_flight: 32,
            oldest: Some(oldest.clone()),
            ..Activity::default()
        };
        let progress = Progress::start(&planned, None, Arc::default(), activity);
        tokio::time::sleep(seconds(180)).await;
        progress.bar.set_position(1204);
        progress
            .counts
            .meters
            .prompt_tokens
            .fetch_add(520_000, std::sync::atomic::Ordering::Relaxed);
        // 180 s * (5205 - 1204) / 1000 = 720.18 s
        let line = "1,204/5,205 calls, ~12 min left, 32 in flight (oldest 45 s), 520,000 tokens, 3 min elapsed";
        assert_eq!(line_of(&progress), line);
        progress.counts.meters.add_usd(0.42);
        progress.counts.seen().unscored = 3;
        let line = "1,204/5,205 calls, ~12 min left, 32 in flight (oldest 45 s), $0.42, 3 unscored, 3 min elapsed";
        assert_eq!(line_of(&progress), line);
        let shown = console::truncate_str(line, 80 - BAR - 2, "..");
        assert!(
            shown.contains("~12 min left, 32 in flight (oldest 45 s), $0.42"),
            "{shown}"
        );
        assert_eq!(
            [0, 89, 90, 3540, 3570, 7500]
                .map(|time| span(seconds(time)))
                .join(", "),
            "0 s, 89 s, 2 min, 59 min, 1 h 0 min, 2 h 5 min"
        );
        progress.finish();
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_more_than_a_minute_is_named() {
        let sent = Instant::now();
        let call = |kind, item: &str| CallInFlight {
            sent,
            system: "gpt\u{1b}".into(),
            case_id: "a_very_long_case_id_with_numbers_0001".into(),
            kind,
            item: item.into(),
        };
        let property = call(PROPERTY.kind(), "p3");
        let text = |call: &CallInFlight| oldest_text(call, Instant::now());
        assert_eq!(text(&property), "");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(text(&property), " (oldest 60 s)");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let named = " (oldest 2 min: gpt\\u{1b}, case a_very_long…numbers_0001, property p3)";
        assert_eq!(text(&property), named);
        let expertise = text(&call(EXPERTISE.kind(), "expertise"));
        assert!(expertise.ends_with(", expertise)"), "{expertise}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_left_is_estimated_from_enough_calls_that_are_like_the_others() {
        let plan = Plan {
            at_most: 100,
            ..Plan::default()
        };
        let planned = PlanOutcome {
            plan,
            ..PlanOutcome::default()
        };
        let progress = Progress::start(&planned, None, Arc::default(), Activity::default);
        tokio::time::sleep(Duration::from_secs(50)).await;
        let left = |done, in_flight, age| {
            let oldest = CallInFlight {
                sent: Instant::now() - Duration::from_secs(age),
                system: "s".into(),
                case_id: "c".into(),
                kind: PROPERTY.kind(),
                item: "p0".into(),
            };
            let activity = Activity {
                in_flight,
                oldest: Some(oldest),
                ..Activity::default()
            };
            progress.counts.time_left(done, 100, &activity)
        };
        assert_eq!(left(4, 1, 1), None, "four calls show little");
        // 50 s * (100 - 5) / 5, 50 s * (100 - 10) / 10, 50 s * (100 - 50) / 50
        assert_eq!(left(5, 5, 1), Some(Duration::from_secs(950)));
        assert_eq!(left(9, 10, 1), None, "more are in flight than have ended");
        assert_eq!(left(10, 10, 1), Some(Duration::from_secs(450)));
        assert_eq!(left(50, 10, 50), Some(Duration::from_secs(50)));
        // 50 s * (100 - 80) / 80 = 12.5 s
        assert_eq!(left(80, 10, 13), None, "one call takes longer than that");
        assert_eq!(left(100, 0, 0), None);
        progress.finish();
    }

    /// Replies to the first call after a minute, and refuses the others for 12 s.
    struct Slow(AtomicU64);

    impl Judge for Slow {
        fn ask<'a>(&'a self, _: &'a JudgeRequest) -> AskFuture<'a> {
            let is_first = Meters::read(&self.0) == 0;
            Meters::add_one(&self.0);
            Box::pin(async move {
                if is_first {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                    return Ok(Outcome::Reply(JudgeReply::of_text("7")));
                }
                let retry_after = Some(Duration::from_secs(12));
                Err(AskError::Transient {
                    message: "slow down".into(),
                    status: Some(429),
                    retry_after,
                })
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_counts_down_and_an_old_call_shows_its_age() {
        let judge = Arc::new(RateLimited::new(
            Slow(AtomicU64::default()),
            &LimitOptions::default(),
        ));
        let plan = Plan {
            at_most: 4,
            ..Plan::default()
        };
        let watched = Arc::clone(&judge);
        let planned = PlanOutcome {
            plan,
            ..PlanOutcome::default()
        };
        let progress = Progress::start(&planned, None, Arc::default(), move || watched.activity());
        let task = Expertise {
            question: "q".into(),
            answer: "a".into(),
        };
        let call = crate::question::JudgeCall::new("expertise", Role::Rubric, task);
        let request = JudgeRequest {
            call,
            system: "s".into(),
            case_id: "c".into(),
            attempt: 0,
            rendered: None,
        };
        let (slow, again) = (Arc::clone(&judge), request.clone());
        let first = tokio::spawn(async move { slow.ask(&again).await.is_ok() });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(line_of(&progress), "0/4 calls, 1 in flight");
        assert!(judge.ask(&request).await.is_err());
        assert_eq!(
            line_of(&progress),
            "0/4 calls, rate limited, resuming in 12 s, 1 in flight"
        );
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(
            line_of(&progress),
            "0/4 calls, rate limited, resuming in 7 s, 1 in flight, 6 s elapsed"
        );
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(
            line_of(&progress),
            "0/4 calls, 1 in flight (oldest 26 s), 26 s elapsed"
        );
        assert!(first.await.unwrap());
        assert_eq!(line_of(&progress), "0/4 calls, 60 s elapsed");
        progress.finish();
    }
}
