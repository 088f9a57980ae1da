//! What runs have learned about the parameters of a judge: those that its server refused, and a schema that it did not keep
//! to, so that all its calls are made without them; whether its replies need a schema; the reply limits it was asked with, and
//! the room that its reasoning needs beyond them.
//!
//! A call without a parameter has another cache key than one with it. So that a later run finds the replies without asking
//! the server again, this is stored in the cache of the judge.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::body::RequestOptions;
use super::cache::Cache;
use super::forms::Effort;
use super::locked;
use super::parameter::Parameter;
use scholareval_core::error::{Error, Result};
use scholareval_core::question::{Kind, KindInfo};

/// Reply limits in tokens, `None` for none, by kind of question; of criteria that of one.
pub type ReplyLimits = BTreeMap<Kind, BTreeSet<Option<u64>>>;

/// What is known of the parameters of one judge.
#[derive(Debug, Default)]
pub struct Refusals {
    known: Mutex<LearnedParameters>,
    /// Where they are stored: the cache, and their name in it.
    stored: Option<(Cache, String)>,
    /// The servers keep to a schema: first attempts carry ours, where it may be added.
    pub is_schema_kept: bool,
    /// What the model's entry states about its parameters, once it was read.
    capabilities: OnceLock<Arc<Value>>,
}

/// What runs have learned, in the form in which the cache has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct LearnedParameters {
    refused: BTreeSet<Parameter>,
    /// Replies without a schema are mostly unreadable, and readable with one.
    needs_schema: bool,
    /// The limits that users gave.
    limits: ReplyLimits,
    /// The limits of reply and reasoning together that users gave.
    totals: BTreeSet<u64>,
    /// Tokens of room for reasoning, by the effort that was asked for; of none under an empty name.
    rooms: BTreeMap<String, u64>,
    /// The highest reply limits that the server was found to take.
    most_tokens: BTreeSet<u64>,
}

impl LearnedParameters {
    /// Adds what another process has found.
    fn extend(&mut self, other: Self) {
        self.refused.extend(other.refused);
        self.needs_schema |= other.needs_schema;
        for (kind, limits) in other.limits {
            self.limits.entry(kind).or_default().extend(limits);
        }
        self.totals.extend(other.totals);
        self.most_tokens.extend(other.most_tokens);
        for (effort, room) in other.rooms {
            let known = self.rooms.entry(effort).or_default();
            *known = room.max(*known);
        }
    }
}

/// The name under which the room of an effort is stored.
fn effort_name(effort: Option<Effort>) -> String {
    let value = effort.and_then(|effort| effort.to_possible_value());
    value.map_or_else(String::new, |value| value.get_name().to_owned())
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
        let name = name_in_cache(judge_id);
        Ok(Self {
            known: Mutex::new(read(cache, &name)?),
            stored: Some((cache.clone(), name)),
            is_schema_kept: false,
            capabilities: OnceLock::new(),
        })
    }

    /// Adds what was learned of the judge under another identity.
    ///
    /// # Errors
    /// When the cache cannot be read or written.
    pub fn inherit(&self, judge_id: &str) -> Result<()> {
        match &self.stored {
            Some((cache, _)) => self.learn(read(cache, &name_in_cache(judge_id))?),
            None => Ok(()),
        }
    }

    /// Adds a refused parameter.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add(&self, parameter: Parameter) -> Result<()> {
        self.learn(LearnedParameters {
            refused: [parameter].into(),
            ..LearnedParameters::default()
        })
    }

    /// From now on requests are written as the model's entry states.
    pub fn set_capabilities(&self, capabilities: Arc<Value>) {
        // It is read once more by `check`, with the same content.
        let _ = self.capabilities.set(capabilities);
    }

    /// Whether the server has refused this parameter.
    pub fn has(&self, parameter: Parameter) -> bool {
        locked(&self.known).refused.contains(&parameter)
    }

    /// Whether first attempts must carry a schema.
    pub fn needs_schema(&self) -> bool {
        locked(&self.known).needs_schema
    }

    /// From now on first attempts carry a schema.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add_need_of_schema(&self) -> Result<()> {
        self.learn(LearnedParameters {
            needs_schema: true,
            ..LearnedParameters::default()
        })
    }

    /// Adds reply limits that the judge is or was asked with.
    ///
    /// # Errors
    /// When they cannot be stored.
    pub fn add_limits(&self, limits: ReplyLimits) -> Result<()> {
        self.learn(LearnedParameters {
            limits,
            ..LearnedParameters::default()
        })
    }

    /// The reply limits of a kind of question that users gave this judge.
    pub fn limits(&self, kind: &KindInfo) -> BTreeSet<Option<u64>> {
        let known = locked(&self.known);
        known.limits.get(&kind.kind()).cloned().unwrap_or_default()
    }

    /// Adds a limit of reply and reasoning together that the judge is asked with.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add_total(&self, total: u64) -> Result<()> {
        self.learn(LearnedParameters {
            totals: [total].into(),
            ..LearnedParameters::default()
        })
    }

    /// The limits of reply and reasoning together that users gave this judge.
    pub fn totals(&self) -> BTreeSet<u64> {
        locked(&self.known).totals.clone()
    }

    /// Adds the highest reply limit that the server states to take.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add_most_tokens(&self, tokens: u64) -> Result<()> {
        self.learn(LearnedParameters {
            most_tokens: [tokens].into(),
            ..LearnedParameters::default()
        })
    }

    /// The highest reply limit that the server takes, as far as it stated one.
    pub fn most_tokens(&self) -> Option<u64> {
        locked(&self.known).most_tokens.first().copied()
    }

    /// Tokens of room that replies at this effort need for their reasoning; 0 if they were never short of it.
    pub fn room(&self, effort: Option<Effort>) -> u64 {
        let known = locked(&self.known);
        known.rooms.get(&effort_name(effort)).copied().unwrap_or(0)
    }

    /// Gives the replies at this effort that much room, if they have less.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn add_room(&self, effort: Option<Effort>, tokens: u64) -> Result<()> {
        self.learn(LearnedParameters {
            rooms: [(effort_name(effort), tokens)].into(),
            ..LearnedParameters::default()
        })
    }

    /// Adds what is new, here and in the cache.
    fn learn(&self, new: LearnedParameters) -> Result<()> {
        let mut known = locked(&self.known);
        let before = known.clone();
        known.extend(new);
        if *known == before {
            return Ok(());
        }
        let Some((cache, name)) = &self.stored else {
            return Ok(());
        };
        // Another process may have found others.
        known.extend(read(cache, name)?);
        let stored = serde_json::to_string(&*known).map_err(|error| {
            Error::Internal(format!(
                "cannot write a judge's parameters as JSON: {error}"
            ))
        })?;
        cache.remember_server(name, &stored)
    }

    /// The options without the refused parameters, and what a reader of the scores must know of it.
    pub fn apply(&self, mut options: RequestOptions) -> (RequestOptions, Option<String>) {
        if let Some(capabilities) = self.capabilities.get() {
            options.capabilities = Arc::clone(capabilities);
        }
        let mut missing = Vec::new();
        for parameter in &locked(&self.known).refused {
            let without = options.without(*parameter);
            // A parameter that is not sent anyway is not missed, and its note would mislead.
            if without == options {
                continue;
            }
            // What is sent under another name is not missing.
            if without.max_tokens_field == options.max_tokens_field
                && without.thinks_by_budget == options.thinks_by_budget
            {
                missing.push(parameter.label());
            }
            options = without;
        }
        if missing.is_empty() {
            return (options, None);
        }
        let missing = missing.join(", ");
        let note =
            format!("the judge was asked without {missing}, which its server does not support");
        (options, Some(note))
    }
}

fn name_in_cache(judge_id: &str) -> String {
    format!("parameters of {judge_id}")
}

/// What the cache holds under that name; nothing if it is missing or of a version that cannot be read, since it is learned
/// again.
fn read(cache: &Cache, name: &str) -> Result<LearnedParameters> {
    let stored = cache
        .servers()?
        .into_iter()
        .find(|(known, _)| known == name);
    Ok(stored
        .and_then(|(_, json)| serde_json::from_str(&json).ok())
        .unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::JudgeKind;
    use crate::prompt::Messages;
    use scholareval_core::question::PROPERTY;

    fn key(options: &RequestOptions) -> scholareval_core::domain::Fingerprint {
        options
            .render(
                &PROPERTY,
                &options.prompt(Messages::new(None, "u"), true),
                0,
                0,
            )
            .fingerprint
    }

    #[test]
    fn a_refused_parameter_changes_the_key_and_a_renamed_one_does_not() {
        let (refusals, options) = (Refusals::default(), RequestOptions::new("m"));
        assert_eq!(refusals.apply(options.clone()), (options.clone(), None));
        refusals.add(Parameter::MaxTokens).unwrap();
        let (renamed, note) = refusals.apply(options.clone());
        assert_eq!(
            (renamed.max_tokens_field.as_str(), note),
            ("max_completion_tokens", None)
        );
        assert_eq!(key(&renamed), key(&options));
        refusals.add(Parameter::Temperature).unwrap();
        let (changed, note) = refusals.apply(options.clone());
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
            refusals.apply(raw).0.max_tokens.is_empty(),
            "raw completions have no other name for the limit"
        );
    }

    #[test]
    fn what_was_not_asked_for_is_not_noted() {
        let refusals = Refusals::default();
        refusals.add(Parameter::Seed).unwrap();
        assert_eq!(refusals.apply(RequestOptions::new("m")).1, None);
    }

    #[test]
    fn refusals_are_remembered_for_their_judge_and_added_up() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache")).unwrap();
        let of = |judge: &str| Refusals::of(judge, Some(&cache)).unwrap();
        let (first, second) = (of("m"), of("m"));
        first.add(Parameter::Temperature).unwrap();
        second.add(Parameter::ResponseFormat).unwrap();
        let both = BTreeSet::from([Parameter::Temperature, Parameter::ResponseFormat]);
        assert_eq!(locked(&of("m").known).refused, both);
        assert_eq!(*locked(&of("n").known), LearnedParameters::default());
        first.add_need_of_schema().unwrap();
        let limits = ReplyLimits::from([(PROPERTY.kind(), [Some(7), None].into())]);
        second.add_limits(limits).unwrap();
        assert!(of("m").needs_schema() && !of("n").needs_schema());
        assert_eq!(of("m").limits(&PROPERTY), [Some(7), None].into());
        assert_eq!(locked(&of("m").known).refused, both);
    }
}
