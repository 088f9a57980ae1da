//! Progress on standard error: a bar on a terminal, a line now and then elsewhere, nothing with `--quiet`.
//!
//! [`Progress`] listens to [`RunEvent`]s and reads the run's [`Meters`]. An event costs a few additions; drawing happens
//! on a thread of its own, at most eight times a second, so that the display also lives while the run waits for a server.

mod counts;
mod line;

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

pub use line::{ProgressLine, grouped};

use super::scoring::endpoints::Endpoints;
use super::terminal;
use crate::domain::ScoredAnswer;
use crate::error::Result;
use crate::evaluation::{EventSink, Job, RunEvent};
use crate::judge::meters::Meters;
use counts::Counts;

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressMode {
    /// A bar that redraws itself.
    Bar,
    /// A line after ten seconds, then one every thirty, and a closing one.
    Lines,
    /// Nothing.
    Quiet,
}

impl ProgressMode {
    /// Quiet if asked for, else a bar on a terminal, lines elsewhere.
    pub fn choose(quiet: bool, is_terminal: bool) -> Self {
        match (quiet, is_terminal) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Bar,
            (false, false) => Self::Lines,
        }
    }
}

/// Columns of the bar; the counters get the rest of the line, and no more.
const BAR: usize = 12;
/// Draws a second are limited by this.
const DRAWS_PER_SECOND: u8 = 8;
/// The bar redraws this often while nothing happens.
const TICK: Duration = Duration::from_millis(500);
/// The first plain line comes after this.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// Further plain lines come after this.
const NEXT_LINE: Duration = Duration::from_secs(30);

/// Who writes a line; standard error, or a test.
type Teller = Arc<dyn Fn(&str) + Send + Sync>;

/// Shows how a run goes. Call [`Progress::finish`] at the end, or drop it.
pub struct Progress {
    mode: ProgressMode,
    counts: Arc<Counts>,
    teller: Teller,
    display: Display,
}

enum Display {
    None,
    Bar(ProgressBar),
    Lines { stop: Sender<()>, thread: JoinHandle<()> },
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("mode", &self.mode).field("done", &self.counts.done()).finish_non_exhaustive()
    }
}

impl Progress {
    /// Shows on standard error; nothing appears before the run has started.
    pub fn new(mode: ProgressMode, meters: Arc<Meters>) -> Self {
        Self::with_teller(mode, meters, Arc::new(terminal::note))
    }

    fn with_teller(mode: ProgressMode, meters: Arc<Meters>, teller: Teller) -> Self {
        Self { mode, counts: Arc::new(Counts::new(meters, Instant::now())), teller, display: Display::None }
    }

    /// Counts an answer as judged once all these jobs have scored it; call it before any is.
    pub fn judging(&self, jobs: &[Job]) {
        self.counts.judging(jobs);
    }

    /// Counts what paid replies have settled before the run asks: so many calls, and these answers.
    pub fn behind(&self, calls: u64, answers: &[Arc<ScoredAnswer>]) {
        self.counts.behind(calls, answers);
    }

    /// Writes a line beside the progress without tearing the bar; nothing in quiet mode.
    pub fn note(&self, text: &str) {
        match (&self.display, self.mode) {
            (_, ProgressMode::Quiet) => {}
            (Display::Bar(bar), _) => bar.suspend(|| (self.teller)(text)),
            _ => (self.teller)(text),
        }
    }

    /// Takes the display away and writes the closing line. A second call does nothing.
    pub fn finish(&mut self) {
        match std::mem::replace(&mut self.display, Display::None) {
            Display::None => return,
            Display::Bar(bar) => bar.finish_and_clear(),
            Display::Lines { stop, thread } => {
                drop(stop);
                // The thread only sleeps and writes; had it died there would be nothing to mend.
                let _ = thread.join();
            }
        }
        (self.teller)(&self.counts.closing(Instant::now()));
    }

    /// Also tells how many of these are down.
    pub(in crate::cli) fn watch(&self, endpoints: Endpoints) {
        self.counts.watch(endpoints);
    }

    fn start(&mut self) {
        if matches!(self.display, Display::None) {
            self.display = match self.mode {
                ProgressMode::Quiet => Display::None,
                ProgressMode::Bar => Display::Bar(self.bar()),
                ProgressMode::Lines => self.lines(Schedule { first: FIRST_LINE, next: NEXT_LINE }),
            };
        }
    }

    fn bar(&self) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
        let counts = Arc::clone(&self.counts);
        let style =
            ProgressStyle::with_template("{bar:12} {counters}").unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("counters", move |_: &ProgressState, out: &mut dyn fmt::Write| {
            let room = usize::from(console::Term::stderr().size().1).saturating_sub(BAR + 2);
            let line = counts.line(Instant::now()).to_string();
            let _ = out.write_str(&console::truncate_str(&line, room, ".."));
        }));
        bar.enable_steady_tick(TICK);
        bar
    }

    fn lines(&self, schedule: Schedule) -> Display {
        let (stop, stopped) = channel();
        let (counts, teller) = (Arc::clone(&self.counts), Arc::clone(&self.teller));
        let thread = std::thread::spawn(move || {
            let mut wait = schedule.first;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                teller(&counts.line(Instant::now()).to_string());
                wait = schedule.next;
            }
        });
        Display::Lines { stop, thread }
    }
}

/// When plain lines come.
struct Schedule {
    first: Duration,
    next: Duration,
}

impl EventSink for Progress {
    fn on_event(&mut self, event: &RunEvent) -> Result<()> {
        match event {
            RunEvent::Started(plan) => {
                self.counts.plan(plan);
                self.start();
                if let Display::Bar(bar) = &self.display {
                    bar.set_length(plan.at_most);
                }
            }
            RunEvent::Call(record) => {
                self.counts.call(record);
                if let Display::Bar(bar) = &self.display {
                    bar.set_position(self.counts.done());
                }
            }
            RunEvent::Scored(answer) => self.counts.scored(answer),
            // Why is told once, by the error or the note that ends the command.
            RunEvent::Stopping(reason) => {
                let how = how_to_leave(reason).map_or(String::new(), |how| format!("; {how} to leave at once"));
                self.note(&format!("stopping: calls in flight may finish{how}"));
            }
        }
        Ok(())
    }
}

/// The first Ctrl-C asks for a clean stop, the one after a signal ends at once. Who pressed nothing, where a budget, a time
/// limit or a judge that is gone stopped the run, is not told of keys.
fn how_to_leave(reason: &str) -> Option<&'static str> {
    match reason {
        "SIGINT" | "Ctrl-C" => Some("press Ctrl-C again"),
        "SIGTERM" | "SIGHUP" | "SIGUSR1" => Some("press Ctrl-C"),
        _ => None,
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::Plan;
    use std::sync::Mutex;

    fn run(mode: ProgressMode) -> Vec<String> {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let teller: Teller = Arc::new(move |text: &str| sink.lock().unwrap().push(text.to_owned()));
        let mut progress = Progress::with_teller(mode, Arc::new(Meters::default()), teller);
        let plan = Plan { answers: 1, at_most: 2, ..Plan::default() };
        for event in [
            RunEvent::Started(plan),
            RunEvent::Call(Box::new(counts::tests::record(0, false))),
            RunEvent::Stopping("SIGINT".to_owned()),
        ] {
            progress.on_event(&event).unwrap();
        }
        progress.finish();
        progress.finish();
        drop(progress);
        told.lock().unwrap().clone()
    }

    #[test]
    fn quiet_tells_nothing() {
        assert_eq!(run(ProgressMode::Quiet), Vec::<String>::new());
    }

    #[test]
    fn one_closing_line_is_told_and_no_text_of_any_reply() {
        for mode in [ProgressMode::Lines, ProgressMode::Bar] {
            let lines = run(mode);
            assert_eq!(lines.len(), 2, "{lines:?}");
            assert_eq!(lines[0], "stopping: calls in flight may finish; press Ctrl-C again to leave at once");
            assert!(lines[1].starts_with("1 calls in ") && lines[1].contains("(0 answers of 1 judged"), "{lines:?}");
            assert!(lines.iter().all(|line| !line.contains("REPLY-TEXT") && !line.contains("SYSTEM-NAME")));
        }
    }

    #[test]
    fn how_to_leave_at_once_follows_from_what_stopped_the_run() {
        let reasons = ["SIGINT", "SIGTERM", "the time limit of 2s (--time-limit)"];
        assert_eq!(reasons.map(how_to_leave), [Some("press Ctrl-C again"), Some("press Ctrl-C"), None]);
    }

    #[test]
    fn plain_lines_come_while_nothing_else_happens() {
        let (sender, lines) = channel();
        let teller: Teller = Arc::new(move |text: &str| drop(sender.send(text.to_owned())));
        let mut progress = Progress::with_teller(ProgressMode::Lines, Arc::new(Meters::default()), teller);
        let soon = Duration::from_millis(1);
        progress.display = progress.lines(Schedule { first: soon, next: soon });
        for _ in 0..2 {
            assert!(lines.recv().unwrap().starts_with("0/0 calls"));
        }
        progress.finish();
    }

    #[test]
    fn the_mode_follows_quiet_and_the_terminal() {
        assert_eq!(ProgressMode::choose(true, true), ProgressMode::Quiet);
        assert_eq!(ProgressMode::choose(false, true), ProgressMode::Bar);
        assert_eq!(ProgressMode::choose(false, false), ProgressMode::Lines);
    }
}
