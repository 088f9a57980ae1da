//! Who answered: the models that servers name in their replies.
//!
//! A service may answer a retired model's calls by another model, under the old name. So the manifest counts for each judge
//! which models its replies name (`answered_by`), and every report says so where that is not the requested
//! model throughout. Replies that name no model contradict nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::names::counted;

/// Most fingerprints that are recorded for a model; a server could send another one with each reply.
const MAX_FINGERPRINTS: usize = 20;
/// Fewest digits of a date or a version behind an alias: `-0613`, `-2024-08-06`. In `claude-opus-4-5` the 5 is another model.
const MIN_DIGITS: usize = 3;

/// A model that answered calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnsweringModel {
    /// Its name in the replies; `None` where they name none.
    pub model: Option<String>,
    /// Its recorded replies.
    pub calls: u64,
    /// Replies by `system_fingerprint`, for servers that send one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fingerprints: BTreeMap<String, u64>,
}

impl AnsweringModel {
    /// Counts calls with this fingerprint.
    pub(super) fn add_fingerprint(&mut self, fingerprint: String, calls: u64) {
        let is_known = self.fingerprints.contains_key(&fingerprint);
        if is_known || self.fingerprints.len() < MAX_FINGERPRINTS {
            *self.fingerprints.entry(fingerprint).or_default() += calls;
        }
    }
}

/// A judge of a run with the models that answered for it in all its roles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AnsweredJudge {
    /// The judge's name.
    pub judge: String,
    /// The requested model; `None` for judges without a server.
    pub requested: Option<String>,
    /// The models by name.
    pub models: Vec<AnsweringModel>,
    /// True for the built-in baseline.
    #[serde(skip)]
    pub is_lexical: bool,
    /// Its identity.
    #[serde(skip)]
    pub(super) id: String,
}

impl AnsweredJudge {
    /// The names of the models that answered.
    fn names(&self) -> Vec<&str> {
        names(&self.models)
    }

    /// Whether a reply names the model that answered.
    pub fn is_named(&self) -> bool {
        !self.names().is_empty()
    }

    /// Whether several models answered.
    pub fn is_mixed(&self) -> bool {
        self.names().len() > 1
    }

    /// The judge's name, with the models that answered if that is not the requested one: `gpt-4o (answered by
    /// gpt-4o-2024-08-06)`. The built-in baseline answers itself.
    pub fn label(&self) -> String {
        if self.is_lexical {
            return self.judge.clone();
        }
        label(&self.judge, self.requested.as_deref(), &self.names())
    }

    /// What a reader of the scores must know; `None` if the requested model answered, or a dated one of its name.
    pub fn warning(&self) -> Option<String> {
        let judge = &self.judge;
        if self.is_mixed() {
            let mut models = Vec::new();
            for model in &self.models {
                if let Some(name) = &model.model {
                    models.push(format!("{name} ({})", calls(model.calls)));
                }
            }
            return Some(format!(
                "Several models answered as judge {judge}: {}; their scores are not comparable, so score again with \
                 another --out",
                models.join(", ")
            ));
        }
        let requested = self.requested.as_deref()?;
        let answered = *self.names().first()?;
        // Services resolve an alias to a dated version: that is the requested model.
        if extends(requested, answered) {
            return None;
        }
        Some(format!(
            "Judge {requested} was requested, and {answered} answered"
        ))
    }
}

/// The names among these models.
pub(super) fn names(models: &[AnsweringModel]) -> Vec<&str> {
    let names = models.iter().filter_map(|model| model.model.as_deref());
    names.collect()
}

/// As [`AnsweredJudge::label`].
pub(super) fn label(judge: &str, requested: Option<&str>, answered: &[&str]) -> String {
    let requested = requested.map(bare);
    if answered.iter().all(|name| requested == Some(bare(name))) {
        return judge.to_owned();
    }
    format!("{judge} (answered by {})", answered.join(" and "))
}

fn calls(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "call")
}

/// Whether the answering name is the requested one, or adds a date or a version to it: `gpt-4o` and `gpt-4o-2024-08-06`.
/// `gpt-4o-mini` is another model.
fn extends(requested: &str, answered: &str) -> bool {
    let requested = bare(requested);
    let alias = requested.strip_suffix("-latest").unwrap_or(&requested);
    let answered = bare(answered);
    let Some(rest) = answered.strip_prefix(alias) else {
        return false;
    };
    // Vertex AI writes `@20240620`, Ollama `:latest`.
    let Some(version) = rest.strip_prefix(['-', '@', ':']) else {
        return rest.is_empty();
    };
    let first = version.split('-').next().unwrap_or_default();
    let is_dated = first.len() >= MIN_DIGITS && version.split('-').all(is_number);
    is_dated || version == "latest"
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A model's name without what gateways and file systems add: `openai/gpt-4o`, `models/gemini-2.5-pro`, `/w/qwen-7b.gguf`.
pub(super) fn bare(name: &str) -> String {
    let name = name.to_lowercase();
    // Both separators: a record from Windows is read on Linux, too.
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    last.strip_suffix(".gguf").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dated_model_extends_its_alias_and_another_model_does_not() {
        for (requested, answered) in [
            ("gpt-4o", "gpt-4o"),
            ("gpt-4o", "gpt-4o-2024-08-06"),
            ("gpt-4", "gpt-4-0613"),
            ("gemini-1.5-pro", "models/gemini-1.5-pro-002"),
            ("openai/gpt-4o", "gpt-4o-2024-08-06"),
            ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
            ("claude-3-5-sonnet", "claude-3-5-sonnet@20240620"),
            ("llama3.2", "llama3.2:latest"),
            ("/models/Qwen-7B.gguf", "qwen-7b"),
        ] {
            assert!(extends(requested, answered), "{requested} {answered}");
        }
        for (requested, answered) in [
            ("gpt-4o", "gpt-4o-mini"),
            ("gpt-4o", "gpt-4o-mini-2024-07-18"),
            ("gpt-4", "gpt-4.1"),
            ("claude-opus-4", "claude-opus-4-5"),
            ("gemini-2.5-pro", "gemini-3.8-flash"),
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("m", "m-"),
        ] {
            assert!(!extends(requested, answered), "{requested} {answered}");
        }
    }
}
