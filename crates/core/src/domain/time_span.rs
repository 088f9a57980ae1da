//! Durations in text form (`90s`, `20m`, `1h30m`, `500ms`), and times.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The longest accepted duration, so that sums cannot overflow.
const LONGEST: Duration = Duration::from_secs(366 * 86_400);
/// The last second of the year 9999.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// The time as RFC 3339 in UTC. A clock that is before 1970 or after 9999 gives the nearest of these years.
pub fn timestamp(time: SystemTime) -> String {
    let since = time
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .min(LAST);
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}

/// A duration in options and files, written as a number with its unit (`90s`, `1h30m`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeSpan(pub Duration);

impl TimeSpan {
    /// A duration in seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl Deref for TimeSpan {
    type Target = Duration;

    fn deref(&self) -> &Duration {
        &self.0
    }
}

impl fmt::Display for TimeSpan {
    /// Without blanks, so that the output parses again: `1h30m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            &humantime::format_duration(self.0)
                .to_string()
                .replace(' ', ""),
        )
    }
}

impl FromStr for TimeSpan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let time = humantime::parse_duration(text.trim()).map_err(|error| {
            format!(
                "not a duration ({error}); write a number with its unit, such as 20m, 90s or 1h30m"
            )
        })?;
        if time > LONGEST {
            return Err("longer than a year; write a shorter one, such as 20m".to_owned());
        }
        Ok(Self(time))
    }
}

impl TryFrom<String> for TimeSpan {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TimeSpan> for String {
    fn from(time: TimeSpan) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_gives_a_time() {
        let year = Duration::from_secs(365 * 86_400);
        assert_eq!(
            timestamp(UNIX_EPOCH - year * 10),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            timestamp(UNIX_EPOCH + year + Duration::from_millis(1)),
            "1971-01-01T00:00:00.001Z"
        );
        assert_eq!(timestamp(UNIX_EPOCH + LAST), "9999-12-31T23:59:59.000Z");
        assert_eq!(
            timestamp(UNIX_EPOCH + year * 20_000),
            "9999-12-31T23:59:59.000Z"
        );
    }

    #[test]
    fn what_is_shown_can_be_typed() {
        for text in ["0s", "500ms", "90s", "20m", "1h30m", "3h50m", "2days"] {
            let time: TimeSpan = text.parse().unwrap();
            assert_eq!(time.to_string().parse(), Ok(time), "{text}");
        }
        assert_eq!(TimeSpan::from_secs(5400).to_string(), "1h30m");
    }

    #[test]
    fn a_bare_number_and_more_than_a_year_are_refused() {
        for text in ["20", "", "ten minutes", "-5s", "1000d"] {
            assert!(text.parse::<TimeSpan>().is_err(), "{text}");
        }
    }
}
