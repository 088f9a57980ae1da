//! Families of models: which maker's models judged, and which wrote the answers. Judges tend to prefer answers of models that are
//! like them.
//!
//! A family is read from the words of a name, such as `gpt` in `scholarqa_gpt-4o`; a name with words of two families
//! (`deepseek-r1-distill-llama-70b`) has none, since its texts can be like those of either.

use std::sync::Arc;

use super::answered::{bare, names};
use super::manifest::Manifest;
use super::role::JudgeEntry;
use crate::analysis::distinct;
use crate::domain::{ScoredAnswer, SystemName};
use crate::text::names::list;

/// Most systems that a sentence names.
const MAX_NAMED: usize = 5;

/// The families, each with the words of model names: `command-r` are two words that follow each other.
const FAMILIES: [(&str, &str); 15] = [
    ("OpenAI", "gpt chatgpt o1 o3 o4 openai"),
    ("Anthropic", "claude anthropic"),
    ("Google", "gemini gemma medgemma palm"),
    ("Meta", "llama codellama"),
    ("Alibaba", "qwen qwq"),
    // Prometheus is trained from Mistral and Mixtral.
    (
        "Mistral",
        "mistral mixtral magistral ministral codestral prometheus",
    ),
    ("DeepSeek", "deepseek"),
    ("xAI", "grok"),
    ("Cohere", "command-a command-r aya c4ai"),
    ("Microsoft", "phi"),
    ("Ai2", "olmo tulu"),
    ("Amazon", "nova-lite nova-micro nova-premier nova-pro"),
    ("Moonshot", "kimi"),
    ("Zhipu", "glm chatglm"),
    ("NVIDIA", "nemotron"),
];

/// The family of a model or of a system that is named after one; `None` for a name without words of a family, or with those of
/// several.
///
/// ```
/// use scholareval::record::family_of;
///
/// assert_eq!(family_of("scholarqa_gpt-4o"), Some("OpenAI"));
/// assert_eq!(family_of("gptzero"), None);
/// ```
pub fn family_of(name: &str) -> Option<&'static str> {
    let name = bare(name);
    let words: Vec<&str> = name.split(|c: char| !c.is_alphanumeric()).collect();
    let mut families = Vec::new();
    for (family, models) in FAMILIES {
        let mut models = models.split(' ');
        if models.any(|model| names_model(&words, model)) {
            families.push(family);
        }
    }
    match families[..] {
        [only] => Some(only),
        _ => None,
    }
}

/// A family as the table writes it, where it has it in other cases of letters.
pub(crate) fn spelled_family(family: &str) -> &str {
    let mut families = FAMILIES.iter().map(|(name, _)| *name);
    families
        .find(|name| name.eq_ignore_ascii_case(family))
        .unwrap_or(family)
}

fn names_model(words: &[&str], model: &str) -> bool {
    let parts: Vec<&str> = model.split('-').collect();
    words.windows(parts.len()).any(|words| {
        let mut pairs = words.iter().zip(&parts);
        pairs.all(|(word, part)| is_version_of(word, part))
    })
}

/// Whether a word is the model's, perhaps with a version: `gpt`, `gpt4`, `gpt4o`, `llama3`; not `gptzero` and `gpt4all`. A model
/// that ends with a version (`o3`) has no others.
fn is_version_of(word: &str, model: &str) -> bool {
    let Some(version) = word.strip_prefix(model) else {
        return false;
    };
    let letters = version.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_version = letters.len() < version.len() && letters.len() <= 1;
    version.is_empty() || (is_version && !model.ends_with(|c: char| c.is_ascii_digit()))
}

impl JudgeEntry {
    /// The family of its model: by the requested name, else by its name here, else by the models that its replies name. `None`
    /// for the built-in baseline.
    pub fn family(&self) -> Option<&'static str> {
        if self.lexical {
            return None;
        }
        let mut models: Vec<&str> = self.model.as_deref().into_iter().collect();
        models.push(self.name());
        models.extend(names(&self.answered_by));
        models.into_iter().find_map(family_of)
    }
}

impl Manifest {
    /// A sentence for each judge that is of one family with some of these systems.
    pub fn shared_families(&self, scored: &[Arc<ScoredAnswer>]) -> Vec<String> {
        let systems = distinct(scored.iter().flat_map(|answer| systems_of(answer)));
        let mut sentences = Vec::new();
        for judge in self.roles.values().flat_map(|role| &role.judges) {
            let Some(family) = judge.family() else {
                continue;
            };
            let mut of_family: Vec<&str> = systems.iter().map(|system| system.as_str()).collect();
            of_family
                .retain(|system| family_of(system) == Some(family) && !self.is_perturbed(system));
            if of_family.is_empty() {
                continue;
            }
            let noun = if of_family.len() == 1 {
                "system"
            } else {
                "the systems"
            };
            sentences.push(format!(
                "Judge {} and {noun} {} are of one family ({family}): judges tend to score answers of their family higher",
                judge.name(),
                list(of_family, MAX_NAMED)
            ));
        }
        distinct(sentences.into_iter())
    }

    /// Whether answers of this system are those of a perturbation, and not of a model.
    fn is_perturbed(&self, system: &str) -> bool {
        let mut perturbations = self.perturbations().into_iter();
        perturbations.any(|perturbation| system.ends_with(&format!(" + {}", perturbation.name())))
    }
}

/// The system of an answer, or both of a pair.
fn systems_of(answer: &ScoredAnswer) -> &[SystemName] {
    match &answer.systems {
        Some(pair) => pair,
        None => std::slice::from_ref(&answer.system),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_read_from_whole_words_of_names() {
        for (name, family) in [
            ("gpt", "OpenAI"),
            ("scholarqa_GPT4o", "OpenAI"),
            ("openai/gpt-oss-120b", "OpenAI"),
            ("chatgpt-4o-latest", "OpenAI"),
            ("o3-mini", "OpenAI"),
            ("scholarqa_claude-sonnet-4", "Anthropic"),
            ("/models/google_gemma-3-27b.gguf", "Google"),
            ("llama3.2:latest", "Meta"),
            ("Qwen2.5-72B-Instruct", "Alibaba"),
            ("prometheus-eval/prometheus-8x7b-v2.0", "Mistral"),
            ("command-r7b-12-2024", "Cohere"),
            ("phi-4", "Microsoft"),
            ("nova-pro-v1", "Amazon"),
        ] {
            assert_eq!(family_of(name), Some(family), "{name}");
        }
        for name in [
            "gptzero",
            "gpt4all",
            "philosophy",
            "supernova",
            "nova",
            "command-line",
            "o365",
            "perplexity",
            "",
            // Texts like those of either maker.
            "deepseek-r1-distill-llama-70b",
        ] {
            assert_eq!(family_of(name), None, "{name}");
        }
        assert_eq!(["openai", "mine"].map(spelled_family), ["OpenAI", "mine"]);
    }
}
