//! When a service ends a model, as the service itself states it.
//!
//! Lists of models and replies carry the day; every protocol finds it in other members
//! (`Protocol`), and here it becomes a day in UTC. No day is known to the program: services move them.

use std::time::SystemTime;

use chrono::{DateTime, NaiveDate, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::names::counted;

/// Characters of a day: `2027-01-14`.
const DAY_LENGTH: usize = 10;

/// How far a service is with ending a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndStage {
    /// It still answers, and is going to be ended.
    Deprecated,
    /// It does not answer any more.
    Retired,
}

/// A service's statement that it ends a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelEnd {
    /// The day in UTC; `None` if the service states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<NaiveDate>,
    /// The stage, if the service states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<EndStage>,
}

impl ModelEnd {
    /// The statement in these members of a list or a reply: a day or a time (RFC 3339), and the name of a stage. `None` if
    /// neither states an end; what cannot be read states nothing.
    pub fn stated(date: &Value, stage: &Value) -> Option<Self> {
        let stated = Self {
            date: date.as_str().and_then(day_in_utc),
            stage: stage.as_str().and_then(stage_named),
        };
        Some(stated).filter(|stated| stated.date.is_some() || stated.stage.is_some())
    }

    /// Whether the service states that the model is retired.
    pub fn is_retired(&self) -> bool {
        self.stage == Some(EndStage::Retired)
    }

    /// Whether the model has ended by `today`: it is retired, or its last day is over.
    pub fn is_over(&self, today: NaiveDate) -> bool {
        // On the day itself it may still answer: services state no hour, or one in the service's time zone.
        self.is_retired() || self.date.is_some_and(|date| date < today)
    }

    /// `gpt-4o ends on 2027-01-14, in 49 days`
    pub fn sentence(&self, model: &str, today: NaiveDate) -> String {
        let Some(date) = self.date else {
            return if self.is_retired() {
                format!("{model} is retired")
            } else {
                format!("{model} is deprecated, without a stated end date")
            };
        };
        let days = (date - today).num_days();
        let span = counted(days.unsigned_abs() as usize, "day");
        if days < 0 {
            let verb = if self.is_retired() {
                "was retired"
            } else {
                "ended"
            };
            return format!("{model} {verb} on {date}, {span} ago");
        }
        if self.is_retired() {
            return format!("{model} is retired");
        }
        if days == 0 {
            return format!("{model} ends today, on {date}");
        }
        format!("{model} ends on {date}, in {span}")
    }
}

/// A model with what its service states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndingModel {
    /// The requested model.
    pub model: String,
    /// The statement.
    #[serde(flatten)]
    pub end: ModelEnd,
}

impl EndingModel {
    /// As [`ModelEnd::sentence`].
    pub fn sentence(&self, today: NaiveDate) -> String {
        self.end.sentence(&self.model, today)
    }
}

/// The day in UTC.
pub fn today() -> NaiveDate {
    DateTime::<Utc>::from(SystemTime::now()).date_naive()
}

/// The day of `2027-01-14` and of `2027-01-14T00:00:00Z`; a time with another offset may be on another day in UTC. `None`
/// for other texts.
fn day_in_utc(text: &str) -> Option<NaiveDate> {
    let text = text.trim();
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.with_timezone(&Utc).date_naive());
    }
    // A time without an offset: its day is all that can be known.
    let day = text.get(..DAY_LENGTH)?;
    let is_day = matches!(text.as_bytes().get(DAY_LENGTH), None | Some(b'T' | b' '));
    let date = NaiveDate::parse_from_str(day, "%Y-%m-%d").ok()?;
    // Unlike the parser, written with all zeros: `2027-1-014` is a mistake.
    (is_day && date.to_string() == day).then_some(date)
}

/// The stage by any service's name for it; others, such as `active`, `STABLE` and `LEGACY`, state no end.
fn stage_named(name: &str) -> Option<EndStage> {
    match name.to_ascii_lowercase().as_str() {
        "deprecated" => Some(EndStage::Deprecated),
        "retired" => Some(EndStage::Retired),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn end(date: &str, stage: &str) -> ModelEnd {
        ModelEnd::stated(&json!(date), &json!(stage)).unwrap()
    }

    #[test]
    fn a_time_is_a_day_in_utc() {
        for (text, utc) in [
            ("2027-01-14", "2027-01-14"),
            ("2027-01-14T00:00:00Z", "2027-01-14"),
            ("2027-01-14T00:00:00.123456Z", "2027-01-14"),
            // 23:30 in California is 07:30 of the next day in UTC
            ("2027-01-14T23:30:00-08:00", "2027-01-15"),
            // 08:00 in Tokyo is 23:00 of the day before
            ("2027-01-14T08:00:00+09:00", "2027-01-13"),
            ("2027-01-14T09:00:00", "2027-01-14"),
            ("2027-01-14 09:00:00", "2027-01-14"),
        ] {
            assert_eq!(day_in_utc(text), Some(day(utc)), "{text}");
        }
    }

    #[test]
    fn a_malformed_date_states_nothing() {
        for text in [
            "",
            "soon",
            "2027-02-30",
            "2027-13-01",
            "14.01.2027",
            "2027-1-14",
            "2027-01-144",
            "+12027-01-14",
            "2027-01-14-08:00",
            "2027-01-1\u{664}",
        ] {
            let stated = ModelEnd::stated(&json!(text), &Value::Null);
            assert_eq!(stated, None, "{text}");
        }
        for value in [
            Value::Null,
            json!(1_799_884_800),
            json!({"date": "2027-01-14"}),
        ] {
            assert_eq!(ModelEnd::stated(&value, &json!("active")), None, "{value}");
        }
    }

    #[test]
    fn the_sentence_counts_days_to_the_end_and_from_it() {
        // from 26 November: 4 days of November, 31 of December, 14 of January
        let today = day("2026-11-26");
        for (date, stage, sentence) in [
            ("2027-01-14", "", "m ends on 2027-01-14, in 49 days"),
            ("2026-11-27", "deprecated", "m ends on 2026-11-27, in 1 day"),
            ("2026-11-26", "", "m ends today, on 2026-11-26"),
            ("2026-11-25", "", "m ended on 2026-11-25, 1 day ago"),
            (
                "2026-10-23",
                "retired",
                "m was retired on 2026-10-23, 34 days ago",
            ),
            ("2026-12-01", "RETIRED", "m is retired"),
            ("", "retired", "m is retired"),
            (
                "",
                "DEPRECATED",
                "m is deprecated, without a stated end date",
            ),
        ] {
            assert_eq!(end(date, stage).sentence("m", today), sentence);
        }
    }

    #[test]
    fn a_model_is_over_when_it_is_retired_and_after_its_last_day() {
        let today = day("2026-11-26");
        assert!(end("2026-11-25", "").is_over(today));
        assert!(!end("2026-11-26", "deprecated").is_over(today));
        assert!(end("2027-01-14", "retired").is_over(today));
    }

    #[test]
    fn the_record_keeps_what_is_stated() {
        let stated = end("2027-01-14T00:00:00Z", "deprecated");
        let json = serde_json::to_value(stated).unwrap();
        assert_eq!(json, json!({"date": "2027-01-14", "stage": "deprecated"}));
        assert_eq!(serde_json::from_value::<ModelEnd>(json).unwrap(), stated);
    }
}
