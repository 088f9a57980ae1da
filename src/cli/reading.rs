//! Progress of reading files of works on standard error: bytes read and time left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::terminal;

/// Files of fewer bytes are read before anybody wonders.
const SMALL: u64 = 64 << 20;

/// Seconds between two lines where no bar is drawn.
const LINE_SECONDS: u64 = 30;

/// The line that shows how far the reading is. Cheap to clone; every clone is the same line.
#[derive(Clone)]
pub(crate) struct ReadingProgress {
    bar: ProgressBar,
    start: Instant,
    /// Seconds from the start at which the last line was written.
    last_line: Arc<AtomicU64>,
    quiet: bool,
}

impl ReadingProgress {
    /// A line that shows nothing yet.
    pub(crate) fn new(quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        Self {
            bar,
            start: Instant::now(),
            last_line: Arc::default(),
            quiet,
        }
    }

    /// Shows that `done` of `all` bytes are read.
    pub(crate) fn read(&self, done: u64, all: u64) {
        if self.quiet || all < SMALL {
            return;
        }
        if self.bar.length() != Some(all) {
            self.bar.set_length(all);
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            let template = "reading works: {bytes} of {total_bytes}, {eta} left";
            if let Ok(style) = ProgressStyle::with_template(template) {
                self.bar.set_style(style);
            }
        }
        self.bar.set_position(done);
        if done >= all {
            self.bar.finish_and_clear();
            return;
        }
        if self.bar.is_hidden() {
            self.write_line(done, all);
        }
    }

    /// Writes a line every half minute: a log file has no bar.
    fn write_line(&self, done: u64, all: u64) {
        let elapsed = self.start.elapsed().as_secs();
        let last = self.last_line.load(Ordering::Relaxed);
        if elapsed < last + LINE_SECONDS {
            return;
        }
        let was =
            self.last_line
                .compare_exchange(last, elapsed, Ordering::Relaxed, Ordering::Relaxed);
        // Another thread has written it.
        if was.is_err() {
            return;
        }
        terminal::note(&reading_line(done, all, self.start.elapsed()));
    }

    /// Removes the line.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn reading_line(done: u64, all: u64, elapsed: Duration) -> String {
    let mut line = format!("reading works: {} of {}", HumanBytes(done), HumanBytes(all));
    if done > 0 {
        let left = elapsed.as_secs_f64() * all.saturating_sub(done) as f64 / done as f64;
        let left = Duration::from_secs(left as u64);
        line.push_str(&format!(", {} left", humantime::format_duration(left)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_bytes_and_the_time_left() {
        let line = reading_line(1 << 30, 3 << 30, Duration::from_secs(60));
        assert_eq!(line, "reading works: 1.00 GiB of 3.00 GiB, 2m left");
        let none = reading_line(0, 3 << 30, Duration::from_secs(60));
        assert_eq!(none, "reading works: 0 B of 3.00 GiB");
    }
}
