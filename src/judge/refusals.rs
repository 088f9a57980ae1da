//! Parameters that a judge's server has refused, and a schema that it did not keep to: all its calls are made without them.
//!
//! A call without a parameter has another cache key than one with it. So that a later run finds the replies without asking
//! the server again, the refused parameters of a judge are stored in its cache.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::body::RequestOptions;
use super::cache::Cache;
use super::locked;
use super::parameter::Parameter;
use crate::error::{Error, Result};

/// The refused parameters of one judge.
#[derive(Debug, Default)]
pub struct Refusals {
    known: Mutex<BTreeSet<Parameter>>,
    /// Where they are stored: the cache, and their name in it.
    stored: Option<(Cache, String)>,
}

/// The form in the cache.
#[derive(Default, Serialize, Deserialize)]
struct Stored {
    refused: BTreeSet<Parameter>,
}

impl Refusals {
    /// What the server of the judge with this identity has refused so far.
    ///
    /// # Errors
    /// When the cache cannot be read.
    pub fn of(judge_id: &str, cache: Option<&Cache>) -> Result<Self> {
        let Some(cache) = cache else {
            return Ok(Self::default());
        };
        let name = format!("parameters of {judge_id}");
        Ok(Self {
            known: Mutex::new(read(cache, &name)?),
            stored: Some((cache.clone(), name)),
        })
    }

    /// Adds one.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add(&self, parameter: Parameter) -> Result<()> {
        let mut known = locked(&self.known);
        if known.insert(parameter)
            && let Some((cache, name)) = &self.stored
        {
            // Another process may have found others.
            known.extend(read(cache, name)?);
            let stored = serde_json::to_string(&Stored {
                refused: known.clone(),
            })
            .map_err(|error| {
                Error::Internal(format!("cannot write refused parameters as JSON: {error}"))
            })?;
            cache.remember_server(name, &stored)?;
        }
        Ok(())
    }

    /// The options without the refused parameters, and what a reader of the scores must know of it.
    pub fn apply<'a>(
        &self,
        options: &'a RequestOptions,
    ) -> (Cow<'a, RequestOptions>, Option<String>) {
        let (mut changed, mut missing) = (Cow::Borrowed(options), Vec::new());
        for parameter in locked(&self.known).iter() {
            let without = changed.without(*parameter);
            if without == *changed {
                continue;
            }
            if without.max_tokens_field == changed.max_tokens_field {
                missing.push(parameter.label());
            }
            changed = Cow::Owned(without);
        }
        let note = || {
            format!(
                "the judge was asked without {}, which its server does not support",
                missing.join(", ")
            )
        };
        (changed, (!missing.is_empty()).then(note))
    }
}

fn read(cache: &Cache, name: &str) -> Result<BTreeSet<Parameter>> {
    let stored = cache
        .servers()?
        .into_iter()
        .find(|(known, _)| known == name);
    let stored: Stored = stored
        .and_then(|(_, json)| serde_json::from_str(&json).ok())
        .unwrap_or_default();
    Ok(stored.refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CallKind;
    use crate::judge::kind::JudgeKind;
    use crate::prompt::Messages;

    fn key(options: &RequestOptions) -> crate::domain::Fingerprint {
        options
            .render(CallKind::Property, Messages::new(None, "u"), 0, 0)
            .fingerprint
    }

    #[test]
    fn a_refused_parameter_changes_the_key_and_a_renamed_one_does_not() {
        let (refusals, options) = (Refusals::default(), RequestOptions::new("m"));
        assert_eq!(refusals.apply(&options), (Cow::Borrowed(&options), None));
        refusals.add(Parameter::MaxTokens).unwrap();
        let (renamed, note) = refusals.apply(&options);
        assert_eq!(
            (renamed.max_tokens_field.as_str(), note),
            ("max_completion_tokens", None)
        );
        assert_eq!(key(&renamed), key(&options));
        refusals.add(Parameter::Temperature).unwrap();
        let (changed, note) = refusals.apply(&options);
        assert_eq!(
            note.as_deref(),
            Some("the judge was asked without temperature, which its server does not support")
        );
        assert_eq!(
            key(&changed),
            key(&RequestOptions {
                temperature: None,
                ..options.clone()
            })
        );
        let raw = RequestOptions {
            endpoint: JudgeKind::Completions,
            ..options
        };
        assert!(
            refusals.apply(&raw).0.max_tokens.is_empty(),
            "raw completions have no other name for the limit"
        );
    }

    #[test]
    fn what_was_not_asked_for_is_not_noted() {
        let refusals = Refusals::default();
        refusals.add(Parameter::Seed).unwrap();
        assert_eq!(refusals.apply(&RequestOptions::new("m")).1, None);
    }

    #[test]
    fn refusals_are_remembered_for_their_judge_and_added_up() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache")).unwrap();
        let of = |judge: &str| Refusals::of(judge, Some(&cache)).unwrap();
        let (one, other) = (of("m"), of("m"));
        one.add(Parameter::Temperature).unwrap();
        other.add(Parameter::ResponseFormat).unwrap();
        let both = BTreeSet::from([Parameter::Temperature, Parameter::ResponseFormat]);
        assert_eq!(*locked(&of("m").known), both);
        assert_eq!(*locked(&of("n").known), BTreeSet::new());
    }
}
