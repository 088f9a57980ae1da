//! Progress on standard error: a bar on a terminal, elsewhere a line every half minute, and a closing line.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::terminal::{self, grouped};
use crate::domain::ScoredAnswer;
use crate::error::Result;
use crate::evaluation::{CallRecord, EventSink, PlanOutcome, RunEvent};
use crate::judge::meters::Meters;

/// Width of the bar; the counters get the rest of the line.
const BAR: usize = 12;
/// Redraw interval while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// Interval of lines without a terminal.
const LINES: Duration = Duration::from_secs(30);

/// Why a run may have to wait, if it does.
type Waiting = Box<dyn Fn() -> Option<String> + Send + Sync>;

/// Progress of a run, from its first call to [`Progress::finish`].
pub struct Progress {
    /// Also counts and estimates while hidden.
    bar: ProgressBar,
    counts: Arc<Counts>,
    /// Writes lines where no bar is drawn, until the sender is dropped.
    lines: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts with what the plan took from cached replies.
    pub fn start(planned: &PlanOutcome, meters: Arc<Meters>, waiting: Waiting) -> Self {
        let counts = Arc::new(Counts::new(planned, meters, waiting));
        let plan = &planned.plan;
        let bar = ProgressBar::with_draw_target(Some(plan.at_most + plan.cached), ProgressDrawTarget::stderr());
        bar.set_position(plan.cached - planned.pending_cached);
        // Only calls from here on count for the rate.
        bar.tick();
        bar.reset_eta();
        if bar.is_hidden() {
            let lines = Some(write_lines(&bar, &counts));
            return Self { bar, counts, lines };
        }
        let shown = Arc::clone(&counts);
        let style =
            ProgressStyle::with_template("{bar:12} {counters}").unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("counters", move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let room = usize::from(console::Term::stderr().size().1).saturating_sub(BAR + 2);
            let _ = out.write_str(&console::truncate_str(&shown.line(state), room, ".."));
        }));
        bar.enable_steady_tick(TICK);
        Self { bar, counts, lines: None }
    }

    /// Removes the display and writes the closing line.
    pub fn finish(self) {
        if let Some((stop, thread)) = self.lines {
            drop(stop);
            // The thread only sleeps and writes; a panic in it needs no handling.
            let _ = thread.join();
        }
        let (calls, elapsed) = (grouped(self.bar.position()), HumanDuration(self.bar.elapsed()));
        self.bar.finish_and_clear();
        terminal::note(&format!("{calls} calls in {elapsed:#}{}", self.counts.details()));
    }
}

fn write_lines(bar: &ProgressBar, counts: &Arc<Counts>) -> (Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = channel();
    let (bar, counts) = (bar.clone(), Arc::clone(counts));
    let thread = std::thread::spawn(move || {
        while stopped.recv_timeout(LINES) == Err(RecvTimeoutError::Timeout) {
            bar.update(|state| terminal::note(&counts.line(state)));
        }
    });
    (stop, thread)
}

impl EventSink for Progress {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Call(record) => {
                self.counts.call(record);
                // Repeats after unreadable replies are not in the plan.
                if record.attempt == 0 {
                    self.bar.inc(1);
                }
            }
            RunEvent::Scored(answer) => self.counts.scored(answer),
            // The error that ends the command gives the reason. A budget, a time limit or a lost judge needs no key.
            RunEvent::Stopping(reason) => {
                let is_signal = reason.starts_with("SIG") || reason == "Ctrl-C";
                let how = if is_signal { "; press Ctrl-C to leave at once" } else { "" };
                self.bar.suspend(|| terminal::note(&format!("stopping: calls in flight may finish{how}")));
            }
        }
        Ok(())
    }
}

/// Counters of a run. An event costs a few relaxed additions; no text of an answer or a reply is kept.
struct Counts {
    meters: Arc<Meters>,
    waiting: Waiting,
    /// Scores to compute.
    scores: u64,
    scored: AtomicU64,
    unscored: AtomicU64,
    cached: AtomicU64,
    asked_again: AtomicU64,
    failed_attempts: AtomicU64,
}

impl Counts {
    fn new(planned: &PlanOutcome, meters: Arc<Meters>, waiting: Waiting) -> Self {
        let counts = Self {
            meters,
            waiting,
            scores: planned.plan.answer_scores,
            scored: AtomicU64::default(),
            unscored: AtomicU64::default(),
            cached: (planned.plan.cached - planned.pending_cached).into(),
            asked_again: AtomicU64::default(),
            failed_attempts: AtomicU64::default(),
        };
        planned.scored.iter().for_each(|answer| counts.scored(answer));
        counts
    }

    fn call(&self, record: &CallRecord) {
        match (record.attempt, record.reply.as_ref().is_some_and(|reply| reply.cached)) {
            (0, true) => Meters::add_one(&self.cached),
            (0, false) | (_, true) => {}
            (_, false) => Meters::add_one(&self.asked_again),
        }
        if record.verdict.is_err() {
            Meters::add_one(&self.failed_attempts);
        }
    }

    fn scored(&self, answer: &ScoredAnswer) {
        Meters::add_one(&self.scored);
        if !answer.score.is_complete() {
            Meters::add_one(&self.unscored);
        }
    }

    /// `1,200/5,205 calls, .., at most 2m left, 1 of 3 endpoints down`.
    fn line(&self, state: &ProgressState) -> String {
        let (done, left) = (state.pos(), state.eta());
        let all = state.len().unwrap_or_default().max(done);
        let mut line = format!("{}/{} calls{}", grouped(done), grouped(all), self.details());
        // Early estimates jump, and at a standstill there is none.
        if state.elapsed() >= Duration::from_secs(2) && !left.is_zero() {
            let _ = write!(line, ", {:.1}/s, at most {:#} left", state.per_sec(), HumanDuration(left));
        }
        line.extend((self.waiting)().map(|why| format!(", {why}")));
        line
    }

    /// Counters that are 0 are left out.
    fn details(&self) -> String {
        let tokens = Meters::read(&self.meters.prompt_tokens) + Meters::read(&self.meters.completion_tokens);
        let mut text = format!(", {} of {} scores", grouped(Meters::read(&self.scored)), grouped(self.scores));
        for (count, what) in [
            (Meters::read(&self.unscored), "unscored"),
            (Meters::read(&self.cached), "cached"),
            (Meters::read(&self.asked_again), "asked again"),
            (Meters::read(&self.failed_attempts), "failed attempts"),
            (Meters::read(&self.meters.throttled), "times rate-limited"),
            (Meters::read(&self.meters.retries), "retried"),
            (tokens, "tokens"),
        ] {
            if count > 0 {
                let _ = write!(text, ", {} {what}", grouped(count));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallKind, JudgeReply, Role, UnscoredKind, UnscoredReason, Verdict};
    use crate::evaluation::Plan;

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

    #[test]
    fn repeats_and_failures_are_counted_apart_and_no_text_is_shown() {
        let plan = Plan { answer_scores: 4, at_most: 1_100, cached: 5, ..Plan::default() };
        let planned = PlanOutcome { plan, pending_cached: 2, ..PlanOutcome::default() };
        let waiting: Waiting = Box::new(|| Some("1 of 3 endpoints down".to_owned()));
        let mut progress = Progress::start(&planned, Arc::new(Meters::default()), waiting);
        for (attempt, cached, is_read) in [(0, true, true), (0, false, false), (1, false, true), (1, true, true)] {
            progress.on_event(&record(attempt, cached, is_read)).unwrap();
        }
        let mut line = String::new();
        progress.bar.update(|state| line = progress.counts.line(state));
        // 5 - 2 calls were done before, 2 first attempts followed; one of the 2 was cached
        assert_eq!(
            line,
            "5/1,105 calls, 0 of 4 scores, 4 cached, 1 asked again, 1 failed attempts, 1 of 3 endpoints down"
        );
        progress.finish();
    }
}
