//! How long a server asks to wait.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

/// Reads `retry-after-ms` (milliseconds), else `Retry-After` (seconds, whole or not, or an HTTP date, RFC 9110 10.2.3).
///
/// A date is measured from the response's own `Date` where it has one, so that a wrong clock here does no harm; from
/// `now` otherwise. A time that has passed is zero. `None` for a missing or unreadable header.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str, unit: f64| {
        let seconds = text.parse::<f64>().ok()? * unit;
        Duration::try_from_secs_f64(seconds.max(0.0)).ok()
    };
    if let Some(wait) = text("retry-after-ms").and_then(|text| number(text, 1e-3)) {
        return Some(wait);
    }
    let value = text("retry-after")?;
    if let Some(wait) = number(value, 1.0) {
        return Some(wait);
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let from = text("date").and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
    Some(until.duration_since(from).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const DATE: &str = "Wed, 21 Oct 2015 07:28:00 GMT";
    const LATER: &str = "Wed, 21 Oct 2015 07:28:30 GMT";

    fn read(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let pairs = headers.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
        retry_after(&pairs.collect(), httpdate::parse_http_date(DATE).unwrap())
    }

    #[test]
    fn each_form_is_read() {
        assert_eq!(read(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(read(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1500)));
        assert_eq!(read(&[("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        assert_eq!(read(&[("retry-after-ms", "250"), ("retry-after", "7")]), Some(Duration::from_millis(250)));
        assert_eq!(read(&[("retry-after", LATER)]), Some(Duration::from_secs(30)));
    }

    #[test]
    fn a_date_is_measured_from_the_servers_own_clock() {
        assert_eq!(read(&[("retry-after", LATER), ("date", LATER)]), Some(Duration::ZERO));
    }

    #[test]
    fn what_cannot_be_waited_for_is_no_wait() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("retry-after", "soon")]), None);
        assert_eq!(read(&[("retry-after", "NaN")]), Some(Duration::ZERO));
        assert_eq!(read(&[("retry-after", "inf")]), None);
        assert_eq!(read(&[("retry-after", "-3")]), Some(Duration::ZERO));
    }
}
