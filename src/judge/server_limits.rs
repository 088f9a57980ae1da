//! Limits that a server states in the headers of its responses.
//!
//! OpenAI's headers, which many gateways send too (platform.openai.com, "Rate limits in headers"):
//!
//! | header | meaning | form |
//! |---|---|---|
//! | `x-ratelimit-limit-requests`, `-tokens` | how many in all | a whole number |
//! | `x-ratelimit-reset-requests`, `-tokens` | time until all are available again | `1s`, `6m0s`, `20ms`, or seconds |
//! | `retry-after-ms`, `retry-after` | time to wait before the next call | milliseconds; seconds or a date |
//!
//! The length of the window is not stated. OpenAI's is a minute, and a quota of a minute is whole again after a minute: a
//! longer reset shows a quota of a day, which is no rate, and then nothing is learned but from 429s.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// Clocks differ: a reset up to here is still that of a minute.
const LONGEST_RESET_OF_A_MINUTE: Duration = Duration::from_secs(61);
/// A larger number of seconds can only be a date.
const LONGEST_RESET: Duration = Duration::from_secs(100 * 24 * 3600);

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Calls.
    Requests,
    /// Tokens of prompts and replies.
    Tokens,
}

/// The limits in the last responses of one server; shared between what reads responses and what holds calls back.
#[derive(Debug, Default)]
pub struct ServerLimits([Mutex<Stated>; 2]);

#[derive(Debug, Default)]
struct Stated {
    per_minute: Option<NonZeroU32>,
    /// A reset was longer than a minute: the quota is none of a minute, whatever later resets are.
    is_longer: bool,
}

impl ServerLimits {
    /// The quota per minute that the server stated last; `None` where it stated none.
    pub fn per_minute(&self, dimension: Dimension) -> Option<NonZeroU32> {
        self.with(dimension, |stated| stated.per_minute.filter(|_| !stated.is_longer))
    }

    /// Reads the headers of a response; what is missing or unreadable changes nothing.
    pub(in crate::judge) fn note(&self, headers: &HeaderMap) {
        for (dimension, name) in [(Dimension::Requests, "requests"), (Dimension::Tokens, "tokens")] {
            let value = |what: &str| text(headers, &format!("x-ratelimit-{what}-{name}"));
            let limit = value("limit").and_then(|text| text.parse::<u64>().ok()).filter(|limit| *limit > 0);
            let Some(limit) = limit else { continue };
            let reset = value("reset").and_then(duration);
            self.with(dimension, |stated| {
                stated.per_minute = u32::try_from(limit).ok().and_then(NonZeroU32::new);
                stated.is_longer |= reset.is_some_and(|reset| reset > LONGEST_RESET_OF_A_MINUTE);
            });
        }
    }

    fn with<T>(&self, dimension: Dimension, act: impl FnOnce(&mut Stated) -> T) -> T {
        act(&mut self.0[dimension as usize].lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads `retry-after-ms` (milliseconds), else `Retry-After` (seconds, whole or not, or an HTTP date, RFC 9110 10.2.3).
///
/// A date is measured from the response's own `Date` where it has one, so that a wrong clock here does no harm; from
/// `now` otherwise. A time that has passed is zero. `None` for a missing or unreadable header.
pub(in crate::judge) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let number = |text: &str, unit: f64| {
        let seconds = text.parse::<f64>().ok()? * unit;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    };
    if let Some(wait) = text(headers, "retry-after-ms").and_then(|text| number(text, 1e-3)) {
        return Some(wait);
    }
    let value = text(headers, "retry-after")?;
    if let Some(wait) = number(value, 1.0) {
        return Some(wait);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let from = text(headers, "date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(from).unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// `1h2m3s`, `6m0s`, `1.5s`, `20ms`, or a bare number of seconds; `None` for anything else.
fn duration(text: &str) -> Option<Duration> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.or_else(|| humantime::parse_duration(text).ok()).filter(|duration| *duration < LONGEST_RESET)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn heard(responses: &[&[(&'static str, &str)]]) -> ServerLimits {
        let limits = ServerLimits::default();
        for headers in responses {
            let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            limits.note(&pairs.collect());
        }
        limits
    }

    const LIMIT: &str = "x-ratelimit-limit-requests";
    const LEFT: &str = "x-ratelimit-remaining-requests";
    const RESET: &str = "x-ratelimit-reset-requests";

    fn per_minute(limits: &ServerLimits) -> Option<u32> {
        limits.per_minute(Dimension::Requests).map(NonZeroU32::get)
    }

    #[test]
    fn each_form_of_a_reset_is_read() {
        let millis = |text| duration(text).map(|duration| duration.as_millis());
        assert_eq!(millis("1s"), Some(1000));
        assert_eq!(millis("6m0s"), Some(360_000));
        assert_eq!(millis("20ms"), Some(20));
        assert_eq!(millis("1h2m3.5s"), Some(3_723_500));
        assert_eq!(millis("2m59.56s"), Some(179_560));
        assert_eq!(millis("12"), Some(12_000));
        for riddle in ["", "soon", "1", "5x", "s", "1s?", "1763737066", "-1", "NaN"] {
            assert_eq!(millis(riddle), (riddle == "1").then_some(1000), "{riddle:?}");
        }
    }

    #[test]
    fn quotas_of_a_minute_are_learned_for_requests_and_tokens_apart() {
        let limits = heard(&[&[
            (LIMIT, "60"),
            (LEFT, "59"),
            (RESET, "1s"),
            ("x-ratelimit-limit-tokens", "150000"),
            ("x-ratelimit-remaining-tokens", "149984"),
            ("x-ratelimit-reset-tokens", "6ms"),
        ]]);
        assert_eq!(per_minute(&limits), Some(60));
        assert_eq!(limits.per_minute(Dimension::Tokens).map(NonZeroU32::get), Some(150_000));
        assert_eq!(per_minute(&heard(&[&[("content-type", "x")], &[(LIMIT, "many")], &[(LIMIT, "0")]])), None);
    }

    #[test]
    fn a_quota_of_a_day_is_no_rate() {
        // 14,400 a day and 30 of them used: 30 x 6 s = 3 min until it is whole
        let day = heard(&[&[(LIMIT, "14400"), (LEFT, "14370"), (RESET, "2m59.56s")]]);
        assert_eq!(per_minute(&day), None);
        let once_seen = heard(&[
            &[(LIMIT, "10000"), (LEFT, "9900"), (RESET, "14m24s")],
            &[(LIMIT, "10000"), (LEFT, "9999"), (RESET, "8.64s")],
        ]);
        assert_eq!(per_minute(&once_seen), None);
    }

    const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
    const LATER: &str = "Wed, 21 Oct 2015 07:28:30 GMT";

    fn wait_of(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        retry_after(&pairs.collect(), httpdate::parse_http_date(DATE).unwrap())
    }

    #[test]
    fn each_form_is_wait_of() {
        assert_eq!(wait_of(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait_of(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1500)));
        assert_eq!(wait_of(&[("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        assert_eq!(wait_of(&[("retry-after-ms", "250"), ("retry-after", "7")]), Some(Duration::from_millis(250)));
        assert_eq!(wait_of(&[("retry-after", LATER)]), Some(Duration::from_secs(30)));
    }

    #[test]
    fn a_date_is_measured_from_the_servers_own_clock() {
        assert_eq!(wait_of(&[("retry-after", LATER), ("date", LATER)]), Some(Duration::ZERO));
    }

    #[test]
    fn what_cannot_be_waited_for_is_no_wait() {
        assert_eq!(wait_of(&[]), None);
        assert_eq!(wait_of(&[("retry-after", "soon")]), None);
        assert_eq!(wait_of(&[("retry-after", "NaN")]), Some(Duration::ZERO));
        assert_eq!(wait_of(&[("retry-after", "inf")]), None);
        assert_eq!(wait_of(&[("retry-after", "-3")]), Some(Duration::ZERO));
    }
}
