//! What a server says of its limits in the headers of its responses.
//!
//! OpenAI's headers, which many gateways send too (platform.openai.com, "Rate limits in headers"):
//!
//! | header | meaning | form |
//! |---|---|---|
//! | `x-ratelimit-limit-requests`, `-tokens` | how many in all | a whole number |
//! | `x-ratelimit-remaining-requests`, `-tokens` | how many are left | a whole number |
//! | `x-ratelimit-reset-requests`, `-tokens` | time until all are there again | `1s`, `6m0s`, `20ms`, or seconds |
//!
//! The window is not told. OpenAI's is a minute, and a quota of a minute is whole again after a minute: a longer reset shows
//! a quota of a day, which is no rate, and then nothing is learned but from 429s.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::HeaderMap;

const MINUTE: Duration = Duration::from_secs(60);
/// Clocks differ: a reset up to here is still that of a minute.
const LONGEST_RESET_OF_A_MINUTE: Duration = Duration::from_secs(61);
/// An empty quota that refills evenly says that it is whole again after a full minute. One that says less ends with the
/// window, and until then nothing is left.
const EVEN_RESET: Duration = Duration::from_secs(54);

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dimension {
    /// Calls.
    Requests,
    /// Tokens of prompts and replies.
    Tokens,
}

impl Dimension {
    /// The headers of limit, remaining and reset.
    fn headers(self) -> [&'static str; 3] {
        match self {
            Self::Requests => {
                ["x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"]
            }
            Self::Tokens => ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"],
        }
    }
}

/// What the last responses of one server said of its limits; shared between who reads responses and who holds calls back.
#[derive(Debug, Default)]
pub struct ServerLimits {
    requests: Mutex<Said>,
    tokens: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    per_minute: Option<NonZeroU32>,
    /// A reset was longer than a minute: the quota is none of a minute, whatever later resets say.
    is_longer: bool,
    /// Nothing is left for so long.
    exhausted: Option<Duration>,
}

impl ServerLimits {
    /// The quota per minute that the server last told; `None` where it told none.
    pub fn per_minute(&self, dimension: Dimension) -> Option<NonZeroU32> {
        self.said(dimension, |said| said.per_minute.filter(|_| !said.is_longer))
    }

    /// How long nothing is left, once for each time it was told.
    pub fn take_exhausted(&self, dimension: Dimension) -> Option<Duration> {
        self.said(dimension, |said| said.exhausted.take())
    }

    /// Reads the headers of a response; what is missing or unreadable changes nothing.
    pub(in crate::judge) fn note(&self, headers: &HeaderMap) {
        for dimension in [Dimension::Requests, Dimension::Tokens] {
            let [limit, remaining, reset] =
                dimension.headers().map(|name| headers.get(name)?.to_str().ok().map(str::trim));
            let Some(limit) = limit.and_then(|text| text.parse::<u64>().ok()).filter(|limit| *limit > 0) else {
                continue;
            };
            let remaining = remaining.and_then(|text| text.parse::<u64>().ok());
            let reset = reset.and_then(duration);
            self.said(dimension, |said| {
                said.per_minute = u32::try_from(limit).ok().and_then(NonZeroU32::new);
                said.is_longer |= reset.is_some_and(|reset| reset > LONGEST_RESET_OF_A_MINUTE);
                if let (Some(0), Some(reset)) = (remaining, reset)
                    && reset < EVEN_RESET
                {
                    said.exhausted = Some(reset);
                }
            });
        }
    }

    fn said<T>(&self, dimension: Dimension, act: impl FnOnce(&mut Said) -> T) -> T {
        let said = match dimension {
            Dimension::Requests => &self.requests,
            Dimension::Tokens => &self.tokens,
        };
        act(&mut said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `1h2m3s`, `6m0s`, `1.5s`, `20ms`, or a bare number of seconds; `None` for anything else, and for numbers of seconds
/// that can only be a date.
fn duration(text: &str) -> Option<Duration> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => sum_of_parts(text)?,
    };
    let most = 100.0 * 24.0 * 3600.0;
    (0.0..most).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

fn sum_of_parts(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..number_end].parse().ok()?;
        let unit_end = rest[number_end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| number_end + at);
        seconds += number
            * match &rest[number_end..unit_end] {
                "d" => 86_400.0,
                "h" => 3_600.0,
                "m" => MINUTE.as_secs_f64(),
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "\u{b5}s" => 1e-6,
                _ => return None,
            };
        rest = &rest[unit_end..];
    }
    (!text.is_empty()).then_some(seconds)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(limits.take_exhausted(Dimension::Requests), None);
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

    #[test]
    fn an_empty_window_is_told_once_and_an_empty_bucket_is_no_window() {
        let window = heard(&[&[(LIMIT, "60"), (LEFT, "0"), (RESET, "20s")]]);
        assert_eq!(window.take_exhausted(Dimension::Requests), Some(Duration::from_secs(20)));
        assert_eq!(window.take_exhausted(Dimension::Requests), None);
        // refills evenly: the next call is there after a second
        let bucket = heard(&[&[(LIMIT, "60"), (LEFT, "0"), (RESET, "60s")]]);
        assert_eq!(bucket.take_exhausted(Dimension::Requests), None);
    }
}
