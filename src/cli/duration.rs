//! Durations as people type them: `90s`, `20m`, `1h30m`, `500ms`.

use std::time::Duration;

/// Units in milliseconds, the longer name first so that `ms` is not read as `m`.
const UNITS: [(&str, u64); 5] = [("ms", 1), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];

/// The longest duration that is taken: a year. More is a slip of the finger, and sums stay far from overflow.
const LONGEST_MS: u64 = 366 * 86_400_000;

/// Reads `90s`, `20m`, `1h30m`, `2d`, `500ms`. Each number needs a unit, and whole numbers only: `90` alone could be
/// seconds or minutes.
///
/// # Errors
/// A fragment that says what a duration looks like.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || "not a duration; write numbers with units d, h, m, s or ms, such as 20m, 90s or 1h30m".to_owned();
    let mut rest = text.trim();
    let mut total_ms: u64 = 0;
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let (unit, ms) = UNITS.into_iter().find(|(unit, _)| after.starts_with(unit)).ok_or_else(wrong)?;
        total_ms = number.checked_mul(ms).and_then(|part| total_ms.checked_add(part)).ok_or_else(wrong)?;
        rest = &after[unit.len()..];
    }
    if total_ms > LONGEST_MS {
        return Err("longer than a year; write a shorter one, such as 20m".to_owned());
    }
    Ok(Duration::from_millis(total_ms))
}

/// Writes a duration so that [`parse_duration`] reads it back; parts under a millisecond are dropped.
pub fn format_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let mut text = String::new();
    for (unit, ms) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if rest >= ms {
            text.push_str(&format!("{}{unit}", rest / ms));
            rest %= ms;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units_add_up() {
        assert_eq!(parse_duration("20m"), Ok(Duration::from_secs(20 * 60)));
        assert_eq!(parse_duration("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(3600 + 30 * 60)));
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_an_example() {
        for text in ["90", "", "m", "1.5h", "-3s", "10 m", "5x", "99999999999999999999s", "٣s"] {
            let message = parse_duration(text).unwrap_err();
            assert!(message.contains("such as 20m"), "{text}: {message}");
        }
        assert!(parse_duration("9999d").unwrap_err().contains("longer than a year"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ms in 0..=LONGEST_MS) {
            let duration = Duration::from_millis(ms);
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
