//! Progress on standard error: a bar on a terminal, elsewhere a line every half minute, and a closing line.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tokio::time::Instant;

use super::problems::Problems;
use super::terminal::{self, about, dollars, grouped, of_day};
use crate::domain::ScoredAnswer;
use crate::error::Result;
use crate::evaluation::{CallRecord, EventSink, PlanOutcome, RunEvent};
use crate::judge::meters::{Activity, Meters};

/// Width of the bar; the counters get the rest of the line.
const BAR: usize = 8;
/// Redraw interval while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// Ticks between two lines without a terminal.
const TICKS_OF_LINE: u32 = 60;
/// Calls in flight for longer than this show their age.
const LONG: Duration = Duration::from_secs(10);
/// Begun seconds of a countdown count.
const ALMOST_SECOND: Duration = Duration::from_millis(999);
/// Earlier estimates of the time left jump.
const EARLIEST_ESTIMATE: Duration = Duration::from_secs(2);

/// Progress of a run, from its first call to [`Progress::finish`].
pub struct Progress {
    /// Also counts while hidden.
    bar: ProgressBar,
    counts: Arc<Counts>,
    /// The end has its own message: no more problems are reported.
    is_stopping: bool,
    /// Reports problems and, where no bar is drawn, writes lines, until the sender is dropped.
    watch: (Sender<()>, JoinHandle<()>),
}

impl Progress {
    /// Starts with what the plan took from cached replies. `prices_of` is the day of the price list, if it is used.
    pub fn start(
        planned: &PlanOutcome,
        prices_of: Option<String>,
        meters: Arc<Meters>,
        activity: impl Fn() -> Activity + Send + Sync + 'static,
    ) -> Self {
        let plan = &planned.plan;
        let before = plan.cached - planned.pending_cached;
        let seen = Mutex::new(Seen { cached: before, ..Seen::default() });
        let activity = Box::new(activity);
        let counts = Arc::new(Counts { meters, activity, prices_of, start: Instant::now(), before, seen });
        planned.scored.iter().for_each(|answer| counts.seen().scored(answer));
        let bar = ProgressBar::with_draw_target(Some(plan.at_most + plan.cached), ProgressDrawTarget::stderr());
        bar.set_position(before);
        if !bar.is_hidden() {
            let shown = Arc::clone(&counts);
            let style =
                ProgressStyle::with_template("{bar:8} {counters}").unwrap_or_else(|_| ProgressStyle::default_bar());
            bar.set_style(style.with_key("counters", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let room = usize::from(console::Term::stderr().size().1).saturating_sub(BAR + 2);
                let _ = out.write_str(&console::truncate_str(&shown.line(state), room, ".."));
            }));
            bar.enable_steady_tick(TICK);
        }
        let watch = watch(&bar, &counts);
        Self { bar, counts, is_stopping: false, watch }
    }

    /// Removes the display and writes the closing line.
    pub fn finish(self) {
        let (stop, thread) = self.watch;
        drop(stop);
        // The thread only sleeps and writes; a panic in it needs no handling.
        let _ = thread.join();
        let calls = self.bar.position();
        self.bar.finish_and_clear();
        if calls > 0 {
            terminal::note(&self.counts.closing_line(calls));
        }
    }
}

fn watch(bar: &ProgressBar, counts: &Arc<Counts>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let (bar, counts) = (bar.clone(), Arc::clone(counts));
    let thread = std::thread::spawn(move || {
        let mut ticks = 0;
        while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            ticks += 1;
            let problem = counts.seen().problems.attempts(&counts.meters.failing());
            print(&bar, problem);
            if bar.is_hidden() && ticks % TICKS_OF_LINE == 0 {
                bar.update(|state| terminal::note(&counts.line(state)));
            }
        }
    });
    (stop, thread)
}

/// Prints lines above the bar.
fn print(bar: &ProgressBar, lines: impl IntoIterator<Item = String>) {
    lines.into_iter().for_each(|line| bar.suspend(|| terminal::note(&line)));
}

impl EventSink for Progress {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Call(record) => {
                let lines = self.counts.seen().call(record);
                // Repeats after unreadable replies are not in the plan.
                if record.attempt == 0 {
                    self.bar.inc(1);
                }
                print(&self.bar, lines.into_iter().filter(|_| !self.is_stopping));
            }
            RunEvent::Scored(answer) => self.counts.seen().scored(answer),
            // The error that ends the command gives the reason. A budget, a time limit or a lost judge needs no key;
            // before the first outcome there is nothing to wait for.
            RunEvent::Stopping(reason) => {
                self.is_stopping = true;
                let is_signal = reason.starts_with("SIG") || reason == "Ctrl-C";
                let how = if is_signal { "; press Ctrl-C to leave at once" } else { "" };
                if is_signal || self.bar.position() > self.counts.before {
                    print(&self.bar, [format!("stopping: calls in flight may finish{how}")]);
                }
            }
        }
        Ok(())
    }
}

/// A run as the display and its thread see it.
struct Counts {
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
    cached: u64,
    repeats: u64,
    /// Calls whose last attempt has no verdict.
    failed: u64,
    problems: Problems,
}

impl Seen {
    /// Counts a call; gives the lines to print.
    fn call(&mut self, record: &CallRecord) -> Vec<String> {
        let is_cached = record.reply.as_ref().is_some_and(|reply| reply.cached);
        match record.attempt {
            0 => self.cached += u64::from(is_cached),
            // The attempt before it had no verdict.
            _ => {
                self.repeats += u64::from(!is_cached);
                self.failed = self.failed.saturating_sub(1);
            }
        }
        self.failed += u64::from(record.verdict.is_err());
        self.problems.call(record)
    }

    fn scored(&mut self, answer: &ScoredAnswer) {
        self.scored += 1;
        self.unscored += u64::from(!answer.score.is_complete());
    }
}

impl Counts {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tokens(&self) -> u64 {
        Meters::read(&self.meters.prompt_tokens) + Meters::read(&self.meters.completion_tokens)
    }

    fn line(&self, state: &ProgressState) -> String {
        let (done, now) = (state.pos(), Instant::now());
        let Activity { in_flight, oldest, pause, servers, down } = (self.activity)();
        Moment {
            done,
            total: state.len().unwrap_or_default().max(done),
            asked: done.saturating_sub(self.before),
            elapsed: now.duration_since(self.start),
            in_flight,
            oldest: oldest.map(|sent| now.duration_since(sent)).unwrap_or_default(),
            pause: pause.map(|(until, reason)| (until.duration_since(now), reason)),
            servers,
            down,
            usd: self.meters.usd(),
            tokens: self.tokens(),
            unscored: self.seen().unscored,
        }
        .line()
    }

    /// The calls of the plan and those beyond it, what they cost, and what they gave; counters that are 0 are left out.
    fn closing_line(&self, calls: u64) -> String {
        let (seen, usd) = (self.seen(), self.meters.usd());
        let some = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", grouped(count)));
        let of_calls = [some(seen.cached, "cached"), some(seen.failed, "without a verdict")];
        let of_calls: Vec<String> = of_calls.into_iter().flatten().collect();
        let of_calls = if of_calls.is_empty() { String::new() } else { format!(" ({})", of_calls.join(", ")) };
        let parts = [
            Some(format!("{} calls{of_calls} in {}", grouped(calls), span(self.start.elapsed()))),
            some(seen.repeats, "repeated after an unreadable reply"),
            some(Meters::read(&self.meters.retries), "retried after a failed request"),
            some(self.tokens(), "tokens"),
            (usd > 0.0).then(|| dollars(usd) + &of_day(self.prices_of.as_deref())),
            some(seen.unscored, &format!("of {} scores unscored", grouped(seen.scored))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// A run at one moment, as a progress line shows it.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    done: u64,
    total: u64,
    /// Of `done` those of this session, which determine the speed.
    asked: u64,
    elapsed: Duration,
    in_flight: usize,
    /// Age of the oldest call in flight.
    oldest: Duration,
    /// How long no call is sent, and why.
    pause: Option<(Duration, &'static str)>,
    servers: usize,
    down: usize,
    usd: f64,
    tokens: u64,
    unscored: u64,
}

impl Moment {
    /// `1,204/5,205 calls, 12 min left, 32 in flight (oldest 45 s), $0.42, 3 min elapsed`: the least important last,
    /// where a narrow terminal cuts; nothing that is 0.
    fn line(&self) -> String {
        let left = self.elapsed.mul_f64((self.total - self.done) as f64 / self.asked.max(1) as f64);
        let has_left = self.asked > 0 && self.elapsed >= EARLIEST_ESTIMATE && !left.is_zero();
        let money = if self.usd > 0.0 { dollars(self.usd) } else { format!("{} tokens", about(self.tokens as f64)) };
        let oldest = if self.oldest > LONG { format!(" (oldest {})", span(self.oldest)) } else { String::new() };
        let pause = self.pause.map(|(rest, why)| match rest > ALMOST_SECOND {
            true => format!("{why}, resuming in {}", span(rest + ALMOST_SECOND)),
            false => why.to_owned(),
        });
        let parts = [
            has_left.then(|| format!("{} left", span(left))),
            pause,
            (self.servers > 1 && self.down > 0).then(|| format!("{} of {} endpoints down", self.down, self.servers)),
            (self.in_flight > 0).then(|| format!("{} in flight{oldest}", self.in_flight)),
            (self.usd > 0.0 || self.tokens > 0).then_some(money),
            (self.unscored > 0).then(|| format!("{} unscored", grouped(self.unscored))),
            (self.elapsed >= EARLIEST_ESTIMATE).then(|| format!("{} elapsed", span(self.elapsed))),
        ];
        let line = format!("{}/{} calls", grouped(self.done), grouped(self.total));
        parts.into_iter().flatten().fold(line, |line, part| format!("{line}, {part}"))
    }
}

/// `12 s`, `3 min`, `2 h 5 min`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds, (seconds + 30) / 60) {
        (0..90, _) => format!("{seconds} s"),
        (_, minutes @ 0..60) => format!("{minutes} min"),
        (_, minutes) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::domain::{CallKind, JudgeReply, Role, UnscoredKind, UnscoredReason, Verdict};
    use crate::evaluation::Plan;
    use crate::judge::layers::rate_limited::RateLimited;
    use crate::judge::options::LimitOptions;
    use crate::judge::{AskError, AskFuture, Judge, JudgeRequest, Outcome};

    fn record(attempt: u32, cached: bool, is_read: bool) -> RunEvent {
        RunEvent::Call(Box::new(CallRecord {
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
            verdict: match is_read {
                true => Ok(Verdict::Points(7.0)),
                false => Err(UnscoredReason::new(UnscoredKind::Unreadable, "REPLY-TEXT")),
            },
        }))
    }

    fn line_of(progress: &Progress) -> String {
        let mut line = String::new();
        progress.bar.update(|state| line = progress.counts.line(state));
        line
    }

    #[test]
    fn repeats_and_failures_are_counted_apart_and_no_text_is_shown() {
        let plan = Plan { answer_scores: 4, at_most: 1_100, cached: 5, ..Plan::default() };
        let planned = PlanOutcome { plan, pending_cached: 2, ..PlanOutcome::default() };
        let activity = || Activity { servers: 3, down: 1, ..Activity::default() };
        let mut progress = Progress::start(&planned, None, Arc::new(Meters::default()), activity);
        for (attempt, cached, is_read) in [(0, true, true), (0, false, false), (1, false, true), (1, true, true)] {
            progress.on_event(&record(attempt, cached, is_read)).unwrap();
        }
        // 5 - 2 calls were done before, 2 first attempts followed; one of the 2 was cached
        assert!(line_of(&progress).starts_with("5/1,105 calls, "));
        assert!(line_of(&progress).contains(", 1 of 3 endpoints down"));
        // the call that could not be read has a verdict by its repeats
        assert_eq!(progress.counts.closing_line(5), "5 calls (4 cached) in 0 s, 1 repeated after an unreadable reply");
        progress.on_event(&record(0, false, false)).unwrap();
        progress.on_event(&record(1, false, false)).unwrap();
        progress.counts.meters.add_usd(0.42);
        assert_eq!(
            progress.counts.closing_line(6),
            "6 calls (4 cached, 1 without a verdict) in 0 s, 2 repeated after an unreadable reply, $0.42"
        );
        progress.finish();
    }

    #[test]
    fn a_line_has_what_matters_most_first_and_nothing_that_is_zero() {
        let seconds = Duration::from_secs;
        let start = Moment { total: 5205, ..Moment::default() };
        assert_eq!(start.line(), "0/5,205 calls");
        let all = Moment {
            done: 1204,
            asked: 1000,
            elapsed: seconds(180),
            in_flight: 32,
            oldest: seconds(45),
            usd: 0.42,
            tokens: 520_000,
            unscored: 3,
            ..start
        };
        // 180 s * (5205 - 1204) / 1000 = 720.18 s
        let line = "1,204/5,205 calls, 12 min left, 32 in flight (oldest 45 s), $0.42, 3 unscored, 3 min elapsed";
        assert_eq!(all.line(), line);
        let shown = console::truncate_str(line, 80 - BAR - 2, "..");
        assert!(shown.contains("12 min left, 32 in flight (oldest 45 s), $0.42"), "{shown}");
        let paused = Moment { pause: Some((seconds(12), "rate limited")), oldest: seconds(10), usd: 0.0, ..all };
        let line = "1,204/5,205 calls, 12 min left, rate limited, resuming in 12 s, 32 in flight, 520,000 tokens";
        assert!(paused.line().starts_with(line), "{}", paused.line());
        assert_eq!(
            [0, 89, 90, 3540, 3570, 7500].map(|time| span(seconds(time))).join(", "),
            "0 s, 89 s, 2 min, 59 min, 1 h 0 min, 2 h 5 min"
        );
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
                Err(AskError::Transient { message: "slow down".into(), status: Some(429), retry_after })
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_counts_down_and_an_old_call_shows_its_age() {
        let judge = Arc::new(RateLimited::new(Slow(AtomicU64::default()), &LimitOptions::default()));
        let plan = Plan { at_most: 4, ..Plan::default() };
        let watched = Arc::clone(&judge);
        let planned = PlanOutcome { plan, ..PlanOutcome::default() };
        let progress = Progress::start(&planned, None, Arc::default(), move || watched.activity());
        let task = crate::domain::JudgeTask::Expertise { question: "q".into(), answer: "a".into() };
        let call = crate::domain::JudgeCall { item: "expertise".into(), role: Role::Rubric, task, draw: 0, member: 0 };
        let request = JudgeRequest { call, system: "s".into(), case_id: "c".into(), attempt: 0, rendered: None };
        let (slow, again) = (Arc::clone(&judge), request.clone());
        let first = tokio::spawn(async move { slow.ask(&again).await.is_ok() });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(line_of(&progress), "0/4 calls, 1 in flight");
        assert!(judge.ask(&request).await.is_err());
        assert_eq!(line_of(&progress), "0/4 calls, rate limited, resuming in 12 s, 1 in flight");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(line_of(&progress), "0/4 calls, rate limited, resuming in 7 s, 1 in flight, 6 s elapsed");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(line_of(&progress), "0/4 calls, 1 in flight (oldest 26 s), 26 s elapsed");
        assert!(first.await.unwrap());
        assert_eq!(line_of(&progress), "0/4 calls, 60 s elapsed");
        progress.finish();
    }
}
