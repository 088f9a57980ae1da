//! The line of progress: counters in, text out. It holds numbers only, never a text of an answer or a reply.

use std::fmt;
use std::time::Duration;

/// What is told about a run that is going on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ProgressLine {
    /// Calls with an outcome, cached ones included, repeats of one call not.
    pub done: u64,
    /// Calls if every gate opens.
    pub at_most: u64,
    /// Replies from the cache.
    pub cached: u64,
    /// Repeats after unreadable replies.
    pub asked_again: u64,
    /// Responses that said "too many requests" or "overloaded".
    pub throttled: u64,
    /// Requests sent once more after a failure in passing (429s among them).
    pub retried: u64,
    /// Calls that ended without a reply, or with one that could not be read, also when asked again.
    pub failed: u64,
    /// Attempts that did, those of calls among them that were answered later.
    pub failed_attempts: u64,
    /// Calls asked per second of late; what the cache held is none.
    pub calls_per_second: f64,
    /// Prompt and reply tokens paid.
    pub tokens: u64,
    /// Answers that are through.
    pub scored: u64,
    /// Those of them without a score.
    pub unscored: u64,
    /// Answers in all.
    pub answers: u64,
    /// At most this long to go; `None` while nobody knows.
    pub left: Option<Duration>,
    /// Endpoints of all judges.
    pub endpoints: usize,
    /// Those of them that are not asked because they fail.
    pub endpoints_down: usize,
}

impl ProgressLine {
    /// The same numbers once the run is over; `by` says who judged, with a blank before it.
    pub fn closing(&self, elapsed: Duration, by: &str) -> String {
        let unscored =
            if self.unscored > 0 { format!(", {} without a score", grouped(self.unscored)) } else { String::new() };
        format!(
            "{} calls in {} ({} answers of {} judged{by}{unscored}){}",
            grouped(self.done),
            coarse(elapsed),
            grouped(self.scored),
            grouped(self.answers),
            self.details()
        )
    }

    /// Counters that are 0 are left out, so that the line stays short where nothing went wrong.
    fn details(&self) -> String {
        let mut text = format!(", {} cached", grouped(self.cached));
        if self.asked_again > 0 {
            text.push_str(&format!(", {} asked again", grouped(self.asked_again)));
        }
        if self.throttled > 0 {
            text.push_str(&format!(", {} times 429", grouped(self.throttled)));
        }
        if self.retried > 0 {
            text.push_str(&format!(", {} retried", grouped(self.retried)));
        }
        if self.failed > 0 {
            text.push_str(&format!(", {} failed", grouped(self.failed)));
        } else if self.failed_attempts > 0 {
            let attempts = if self.failed_attempts == 1 { "attempt" } else { "attempts" };
            text.push_str(&format!(", {} failed {attempts}", grouped(self.failed_attempts)));
        }
        if self.endpoints_down > 0 && self.endpoints > 1 {
            text.push_str(&format!(", {} of {} endpoints down", self.endpoints_down, self.endpoints));
        }
        text.push_str(&format!(", {} calls/s, {} tokens", rate(self.calls_per_second), short(self.tokens)));
        text
    }
}

impl fmt::Display for ProgressLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} calls{}", grouped(self.done), grouped(self.at_most.max(self.done)), self.details())?;
        match self.left {
            Some(left) => write!(f, ", at most {} left", coarse(left)),
            None => Ok(()),
        }
    }
}

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `950`, `12.3k`, `1.4M`, `2.1G`.
fn short(number: u64) -> String {
    let scaled = |unit: f64, name: &str| format!("{:.1}{name}", number as f64 / unit);
    match number {
        0..=999 => number.to_string(),
        1_000..=999_949 => scaled(1e3, "k"),
        999_950..=999_949_999 => scaled(1e6, "M"),
        _ => scaled(1e9, "G"),
    }
}

fn rate(per_second: f64) -> String {
    if per_second < 9.95 { format!("{per_second:.1}") } else { format!("{per_second:.0}") }
}

/// A duration as people want it: `45s`, `12m`, `2h05m`.
fn coarse(duration: Duration) -> String {
    match duration.as_secs() {
        0 => format!("{:.1}s", duration.as_secs_f64()),
        seconds @ 1..=119 => format!("{seconds}s"),
        seconds @ 120..=7199 => format!("{}m", seconds / 60),
        seconds => format!("{}h{:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> ProgressLine {
        ProgressLine {
            done: 1_200,
            at_most: 5_205,
            cached: 40,
            asked_again: 2,
            throttled: 1,
            retried: 3,
            failed: 4,
            failed_attempts: 6,
            calls_per_second: 31.26,
            tokens: 1_400_000,
            scored: 90,
            unscored: 5,
            answers: 400,
            left: Some(Duration::from_secs(128)),
            endpoints: 3,
            endpoints_down: 1,
        }
    }

    #[test]
    fn a_line_tells_all_counters() {
        assert_eq!(
            line().to_string(),
            "1,200/5,205 calls, 40 cached, 2 asked again, 1 times 429, 3 retried, 4 failed, \
             1 of 3 endpoints down, 31 calls/s, 1.4M tokens, at most 2m left"
        );
    }

    #[test]
    fn counters_of_trouble_are_left_out_where_there_was_none() {
        let calm = ProgressLine {
            endpoints_down: 0,
            asked_again: 0,
            throttled: 0,
            retried: 0,
            failed: 0,
            failed_attempts: 0,
            left: None,
            ..line()
        };
        assert_eq!(calm.to_string(), "1,200/5,205 calls, 40 cached, 31 calls/s, 1.4M tokens");
    }

    #[test]
    fn what_was_answered_when_asked_again_has_not_failed() {
        let mended = ProgressLine { failed_attempts: 18, ..ProgressLine::default() };
        assert!(mended.to_string().contains(", 18 failed attempts,"), "{mended}");
    }

    #[test]
    fn more_calls_than_planned_never_show_more_than_all() {
        let more = ProgressLine { done: 7, at_most: 5, ..ProgressLine::default() };
        assert!(more.to_string().starts_with("7/7 calls"));
    }

    #[test]
    fn the_closing_line_says_how_long_it_took() {
        assert_eq!(
            line().closing(Duration::from_secs(7_500), " by rubric, overlap"), // 7,500 s = 2 h + 300 s
            "1,200 calls in 2h05m (90 answers of 400 judged by rubric, overlap, 5 without a score), 40 cached, 2 asked again, 1 times 429, \
             3 retried, 4 failed, 1 of 3 endpoints down, 31 calls/s, 1.4M tokens"
        );
    }

    #[test]
    fn numbers_are_grouped_and_shortened() {
        assert_eq!(
            (grouped(0), grouped(999), grouped(1_000), grouped(1_234_567)),
            ("0".to_owned(), "999".to_owned(), "1,000".to_owned(), "1,234,567".to_owned())
        );
        assert_eq!(
            (short(999), short(12_345), short(999_950)),
            ("999".to_owned(), "12.3k".to_owned(), "1.0M".to_owned())
        );
    }
}
