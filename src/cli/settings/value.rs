//! How one setting is read from text (flags, environment) and from the config file.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};

use super::{OPENAI_BASE_URL, ScorerName};
use crate::cli::duration::{format_duration, parse_duration};
use crate::cli::masking::masked_url;
use crate::cli::suggest::nearest;

/// A value that can be set by flag, environment or file. The messages are fragments that say what to type.
pub trait SettingValue: Sized {
    /// Reads what was typed.
    ///
    /// # Errors
    /// A fragment with an example of what to type.
    fn parse(text: &str) -> Result<Self, String>;

    /// Reads a value of the config file; by default a string of the same form as a flag's.
    ///
    /// # Errors
    /// A fragment with an example of what to write.
    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::String(text) => Self::parse(text).map_err(|what| format!("{text:?} is {what}")),
            other => Err(format!("expected a string, found {}", type_name(other))),
        }
    }

    /// The value as `config` shows it.
    fn to_json(&self) -> Value;
}

/// What a config value is, for messages: `the number 3`, `a table`.
pub fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {text:?}"),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "a table".to_owned(),
    }
}

impl SettingValue for String {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() { Err("empty; leave it out or give a value".to_owned()) } else { Ok(text.to_owned()) }
    }

    fn to_json(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl SettingValue for PathBuf {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("empty; give a path".to_owned()) } else { Ok(Self::from(text)) }
    }

    fn to_json(&self) -> Value {
        Value::from(self.display().to_string())
    }
}

impl SettingValue for bool {
    fn parse(text: &str) -> Result<Self, String> {
        match text.trim() {
            "true" | "1" | "yes" => Ok(true),
            "false" | "0" | "no" => Ok(false),
            _ => Err("neither true nor false".to_owned()),
        }
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| format!("expected true or false, found {}", type_name(value)))
    }

    fn to_json(&self) -> Value {
        Value::from(*self)
    }
}

macro_rules! whole_number {
    ($($type:ty, $what:literal, $get:expr;)*) => {$(
        impl SettingValue for $type {
            fn parse(text: &str) -> Result<Self, String> {
                text.trim().replace('_', "").parse().map_err(|_| concat!("not ", $what).to_owned())
            }

            fn from_json(value: &Value) -> Result<Self, String> {
                let number = value.as_number().map(ToString::to_string);
                number
                    .and_then(|digits| digits.parse().ok())
                    .ok_or_else(|| format!(concat!("expected ", $what, ", found {}"), type_name(value)))
            }

            fn to_json(&self) -> Value {
                let get: fn(Self) -> _ = $get;
                Value::from(get(*self))
            }
        }
    )*};
}

whole_number! {
    u32, "a whole number of 0 or more, such as 2", |n| n;
    u64, "a whole number of 0 or more, such as 7", |n| n;
    i64, "a whole number, such as 7", |n| n;
    usize, "a whole number of 0 or more, such as 10", |n| n;
    NonZeroU32, "a whole number of at least 1, such as 500", NonZeroU32::get;
    NonZeroU64, "a whole number of at least 1, such as 200000", NonZeroU64::get;
    NonZeroUsize, "a whole number of at least 1, such as 32", NonZeroUsize::get;
}

/// A share, 0..=1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl SettingValue for Share {
    fn parse(text: &str) -> Result<Self, String> {
        let share: Option<f64> = text.trim().parse().ok();
        share.filter(|share| (0.0..=1.0).contains(share)).map(Self).ok_or_else(|| {
            "not a share between 0 and 1; write 0.01 for one in a hundred, 1 to tolerate everything".to_owned()
        })
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => Self::parse(&number.to_string()).map_err(|what| format!("{number} is {what}")),
            other => Err(format!("expected a number between 0 and 1, such as 0.01, found {}", type_name(other))),
        }
    }

    fn to_json(&self) -> Value {
        Value::from(self.0)
    }
}

/// A sampling temperature, 0..=2, or `none`: then the field is not sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Temperature(pub Option<f64>);

impl SettingValue for Temperature {
    fn parse(text: &str) -> Result<Self, String> {
        if text.trim() == "none" {
            return Ok(Self(None));
        }
        let temperature: Option<f64> = text.trim().parse().ok();
        temperature
            .filter(|t| (0.0..=2.0).contains(t))
            .map(|t| Self(Some(t)))
            .ok_or_else(|| "not a temperature; write a number from 0 to 2, such as 0.7, or none".to_owned())
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => Self::parse(&number.to_string()).map_err(|what| format!("{number} is {what}")),
            Value::String(text) => Self::parse(text).map_err(|what| format!("{text:?} is {what}")),
            other => {
                Err(format!("expected a number from 0 to 2, such as 0.7, or \"none\", found {}", type_name(other)))
            }
        }
    }

    fn to_json(&self) -> Value {
        self.0.map_or_else(|| Value::from("none"), Value::from)
    }
}

/// A share of the probability that sampling keeps, above 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TopP(pub f64);

impl SettingValue for TopP {
    fn parse(text: &str) -> Result<Self, String> {
        let share: Option<f64> = text.trim().parse().ok();
        share
            .filter(|share| *share > 0.0 && *share <= 1.0)
            .map(Self)
            .ok_or_else(|| "not a share above 0 and up to 1, such as 0.95".to_owned())
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::Number(number) => Self::parse(&number.to_string()).map_err(|what| format!("{number} is {what}")),
            other => Err(format!("expected a number above 0 and up to 1, such as 0.95, found {}", type_name(other))),
        }
    }

    fn to_json(&self) -> Value {
        Value::from(self.0)
    }
}

macro_rules! bounded_number {
    ($(#[$doc:meta])* $name:ident($type:ty), $min:literal ..= $max:literal, $what:literal;) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name(pub $type);

        impl SettingValue for $name {
            fn parse(text: &str) -> Result<Self, String> {
                let number: Option<$type> = text.trim().parse().ok();
                let inside = number.filter(|number| ($min..=$max).contains(number));
                inside.map(Self).ok_or_else(|| concat!("not ", $what).to_owned())
            }

            fn from_json(value: &Value) -> Result<Self, String> {
                let digits = value.as_number().map(ToString::to_string);
                digits
                    .and_then(|digits| Self::parse(&digits).ok())
                    .ok_or_else(|| format!(concat!("expected ", $what, ", found {}"), type_name(value)))
            }

            fn to_json(&self) -> Value {
                Value::from(self.0)
            }
        }
    };
}

bounded_number! {
    /// How many alternatives of each token are asked for, 1..=20 (what servers give).
    Logprobs(u32), 1 ..= 20, "a whole number from 1 to 20, such as 5";
}

bounded_number! {
    /// The number that means the first source.
    FirstIndex(u8), 0 ..= 1, "0 or 1, the number that means the first source";
}

/// A text that may be empty, and keeps what surrounds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(pub String);

impl SettingValue for Text {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self(text.to_owned()))
    }

    fn to_json(&self) -> Value {
        Value::from(self.0.as_str())
    }
}

/// Scorers, each once, in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScorerNames(pub Vec<ScorerName>);

impl ScorerNames {
    fn from_names(Names(names): Names) -> Result<Self, String> {
        let mut scorers = Vec::new();
        for name in &names {
            let scorer = ScorerName::parse(&name.replace('-', "_")).map_err(|known| {
                let near = nearest(name, ScorerName::ALL.iter().map(|scorer| scorer.as_str()));
                let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
                format!("{name:?} is no scorer: {known}{near}")
            })?;
            if !scorers.contains(&scorer) {
                scorers.push(scorer);
            }
        }
        Ok(Self(scorers))
    }
}

impl SettingValue for ScorerNames {
    fn parse(text: &str) -> Result<Self, String> {
        Self::from_names(Names::parse(text)?)
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        Self::from_names(Names::from_json(value)?)
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|scorer| scorer.as_str()).collect()
    }
}

impl SettingValue for Duration {
    fn parse(text: &str) -> Result<Self, String> {
        parse_duration(text)
    }

    fn to_json(&self) -> Value {
        Value::from(format_duration(*self))
    }
}

/// A list of names: commas between them in text, an array (or one string) in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl SettingValue for Names {
    fn parse(text: &str) -> Result<Self, String> {
        let names: Vec<String> =
            text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if names.is_empty() { Err("no name; write names with commas, such as a,b".to_owned()) } else { Ok(Self(names)) }
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        let wrong =
            |found: &Value| format!("expected an array of strings, such as [\"a\", \"b\"], found {}", type_name(found));
        match value {
            // A string is one name here: an array can say several, and a path may hold a comma.
            Value::String(text) => String::parse(text).map(|name| Self(vec![name])),
            Value::Array(items) => {
                let names = items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| wrong(item)));
                let names: Vec<String> = names.collect::<Result<_, _>>()?;
                if names.is_empty() { Err("empty; leave it out for all".to_owned()) } else { Ok(Self(names)) }
            }
            other => Err(wrong(other)),
        }
    }

    fn to_json(&self) -> Value {
        Value::from(self.0.clone())
    }
}

/// Addresses of servers: commas between them in text, a string of that form or an array in the file. No message repeats
/// them: they may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrls(pub Vec<String>);

impl BaseUrls {
    /// The parts of a text, blank ones left out; a blank text stays as it is, to be refused as an address.
    pub fn split(text: &str) -> Self {
        let parts: Vec<String> =
            text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        Self(if parts.is_empty() { vec![String::new()] } else { parts })
    }

    /// True if OpenAI's own service is among them.
    pub fn has_openai(&self) -> bool {
        self.0.iter().any(|url| url == OPENAI_BASE_URL)
    }
}

impl SettingValue for BaseUrls {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self::split(text))
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        let wrong = || "expected an address, such as \"http://gpu1:8000/v1\", or an array of them".to_owned();
        match value {
            Value::String(text) => Ok(Self::split(text)),
            Value::Array(items) if !items.is_empty() => {
                let urls = items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong));
                urls.collect::<Result<_, _>>().map(Self)
            }
            _ => Err(wrong()),
        }
    }

    fn to_json(&self) -> Value {
        Value::from(self.0.iter().map(|url| masked_url(url)).collect::<Vec<_>>().join(","))
    }
}

/// A JSON object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object(pub Map<String, Value>);

impl SettingValue for Object {
    fn parse(text: &str) -> Result<Self, String> {
        let example = r#"write a JSON object in single quotes, such as '{"top_k": 1}'"#;
        let value: Value = serde_json::from_str(text)
            .map_err(|error| format!("not JSON (line {}, column {}); {example}", error.line(), error.column()))?;
        Self::from_json(&value).map_err(|what| format!("{what}; {example}"))
    }

    fn from_json(value: &Value) -> Result<Self, String> {
        match value {
            Value::Object(map) => Ok(Self(map.clone())),
            // The value is not repeated: it may hold a secret.
            Value::String(_) => Err("expected an object, found a string".to_owned()),
            other => Err(format!("expected an object, found {}", type_name(other))),
        }
    }

    fn to_json(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn whole_numbers_of_at_least_one_refuse_zero_and_say_what_to_type() {
        assert_eq!(NonZeroUsize::parse("32").map(NonZeroUsize::get), Ok(32));
        assert_eq!(NonZeroU64::parse("1_000_000").map(NonZeroU64::get), Ok(1_000_000));
        assert_eq!(NonZeroUsize::parse("0").unwrap_err(), "not a whole number of at least 1, such as 32");
        assert_eq!(
            NonZeroUsize::from_json(&json!("x")).unwrap_err(),
            "expected a whole number of at least 1, such as 32, found the string \"x\""
        );
        assert!(NonZeroUsize::from_json(&json!(1.5)).is_err());
        assert!(u32::from_json(&json!(-1)).is_err());
    }

    #[test]
    fn a_share_lies_between_0_and_1() {
        assert_eq!(Share::parse("0.01"), Ok(Share(0.01)));
        assert_eq!(Share::from_json(&json!(1)), Ok(Share(1.0)));
        for text in ["1.01", "-0.1", "NaN", "1%", ""] {
            assert!(Share::parse(text).unwrap_err().contains("write 0.01"), "{text}");
        }
    }

    #[test]
    fn a_temperature_may_be_none() {
        assert_eq!(Temperature::parse("none"), Ok(Temperature(None)));
        assert_eq!(Temperature::from_json(&json!(0)), Ok(Temperature(Some(0.0))));
        assert!(Temperature::parse("2.1").is_err() && Temperature::parse("inf").is_err());
    }

    #[test]
    fn numbers_with_bounds_refuse_what_lies_outside() {
        assert_eq!((Logprobs::parse("20"), FirstIndex::parse("1")), (Ok(Logprobs(20)), Ok(FirstIndex(1))));
        assert!(Logprobs::parse("0").unwrap_err().contains("from 1 to 20") && Logprobs::parse("21").is_err());
        assert_eq!(
            FirstIndex::from_json(&json!(2)).unwrap_err(),
            "expected 0 or 1, the number that means the first source, found the number 2"
        );
        assert_eq!((TopP::parse("1"), TopP::from_json(&json!(0.5))), (Ok(TopP(1.0)), Ok(TopP(0.5))));
        for text in ["0", "1.1", "NaN", "-0.5", ""] {
            assert!(TopP::parse(text).unwrap_err().contains("such as 0.95"), "{text}");
        }
    }

    #[test]
    fn scorers_are_kept_once_each_and_a_slip_names_the_nearest() {
        let both = ScorerNames(vec![ScorerName::Overlap, ScorerName::CitationAudit]);
        assert_eq!(ScorerNames::parse("overlap,citation-audit,overlap"), Ok(both.clone()));
        assert_eq!(ScorerNames::from_json(&json!(["overlap", "citation_audit"])), Ok(both.clone()));
        assert_eq!(both.to_json(), json!(["overlap", "citation_audit"]));
        let message = ScorerNames::parse("promethius").unwrap_err();
        assert!(message.contains("not one of rubric, prometheus") && message.ends_with("did you mean prometheus?"));
    }

    #[test]
    fn names_are_split_at_commas_in_text_but_not_in_the_file() {
        assert_eq!(Names::parse(" a, b,,"), Ok(Names(vec!["a".to_owned(), "b".to_owned()])));
        assert_eq!(Names::from_json(&json!("a,b")), Ok(Names(vec!["a,b".to_owned()])));
        assert!(Names::parse(" , ").is_err() && Names::from_json(&json!([1])).is_err());
    }

    #[test]
    fn addresses_stand_between_commas_or_in_an_array_and_are_shown_masked() {
        let both = BaseUrls(vec!["gpu1:8000".to_owned(), "https://k:hunter2@gpu2/v1".to_owned()]);
        assert_eq!(BaseUrls::parse(" gpu1:8000, https://k:hunter2@gpu2/v1,"), Ok(both.clone()));
        assert_eq!(BaseUrls::from_json(&json!(["gpu1:8000", "https://k:hunter2@gpu2/v1"])), Ok(both.clone()));
        assert_eq!(BaseUrls::from_json(&json!("gpu1:8000,https://k:hunter2@gpu2/v1")), Ok(both.clone()));
        assert_eq!(both.to_json(), json!("gpu1:8000,https://***@gpu2/v1"));
        assert_eq!(BaseUrls::split(" , "), BaseUrls(vec![String::new()]));
        for wrong in [json!([]), json!(["a", 1]), json!(7)] {
            assert!(BaseUrls::from_json(&wrong).unwrap_err().contains("an array of them"), "{wrong}");
        }
    }

    #[test]
    fn an_object_is_required_and_a_string_is_not_repeated() {
        assert!(Object::parse(r#"{"top_k": 1}"#).is_ok());
        assert!(Object::parse("[1]").unwrap_err().contains("'{\"top_k\": 1}'"));
        let message = Object::parse("\"sk-secret\"").unwrap_err();
        assert!(!message.contains("sk-secret"), "{message}");
    }
}
