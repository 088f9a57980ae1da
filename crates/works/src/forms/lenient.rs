//! JSON of many makers: a text may be a number, null or a list of one, and no such thing spoils a record.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::value::RawValue;

/// A text; of a list the first one, of numbers their digits, of anything else nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Text<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text, if there is one.
    pub(super) fn some(self) -> Option<String> {
        let text = self.0.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut json = <&RawValue>::deserialize(deserializer)?.get();
        if json.starts_with('[') {
            let elements: Vec<&RawValue> = serde_json::from_str(json).map_err(D::Error::custom)?;
            json = elements.first().map_or("null", |first| first.get());
        }
        scalar(json).map(Self).map_err(D::Error::custom)
    }
}

/// The text of a value that is not a list.
fn scalar(json: &str) -> serde_json::Result<Cow<'_, str>> {
    Ok(match json.as_bytes().first() {
        Some(b'"') if json.contains('\\') => Cow::Owned(serde_json::from_str(json)?),
        Some(b'"') => Cow::Borrowed(serde_json::from_str(json)?),
        // pandas writes a column of years with gaps as 2017.0.
        Some(b'-' | b'0'..=b'9') if json.contains(['.', 'e', 'E']) => {
            Cow::Owned(format!("{:.0}", serde_json::from_str::<f64>(json)?))
        }
        Some(b'-' | b'0'..=b'9' | b't') => Cow::Borrowed(json),
        _ => Cow::default(),
    })
}

/// Elements of a list that are kept: a record has no more authors or identifiers that matter.
const ELEMENTS: usize = 100;

/// A list; anything else is an empty one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        if !json.starts_with('[') {
            return Ok(Self::default());
        }
        let mut list: Vec<T> = serde_json::from_str(json).map_err(D::Error::custom)?;
        list.truncate(ELEMENTS);
        Ok(Self(list))
    }
}
