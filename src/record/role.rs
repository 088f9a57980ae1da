//! Who judged a role of a run: its judges, their settings, and the prompts.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::answered::{self, AnsweringModel};
use crate::domain::{EndingModel, Fingerprint, GradeMerge, ModelEnd};
use crate::judge::decider::Decider;
use crate::judge::decision_bounds::DecisionBounds;
use crate::judge::kind::JudgeKind;
use crate::judge::refusals::ReplyLimits;
use crate::prompt::PromptSet;
use crate::question::KindInfo;
use crate::text::names::without_directories;

/// Judges and prompts of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleEntry {
    /// One judge, or the panel.
    pub judges: Vec<JudgeEntry>,
    /// How the verdicts of a panel are merged.
    pub merge: GradeMerge,
    /// The prompts; `None` if the role uses none.
    pub prompts: Option<PromptsEntry>,
}

impl RoleEntry {
    /// Judge and prompts: `gpt-4o; prompts scholareval@1a2b3c4d`.
    pub fn summary(&self) -> String {
        let judges: Vec<String> = self.judges.iter().map(JudgeEntry::summary).collect();
        let mut summary = judges.join(" and ");
        if judges.len() > 1 {
            summary += &format!(" ({} of the panel)", self.merge.as_str());
        }
        if let Some(prompts) = &self.prompts {
            summary += &format!("; prompts {}", prompts.label);
        }
        summary
    }

    /// What differs from the published numbers of this role: judge, prompts. `None` if nothing does, if it has no
    /// published numbers, and for the lexical baseline, which is never comparable.
    pub fn differs_from_published(&self, role: &str) -> Option<String> {
        let published = match role {
            "rubric" => "gpt-4o",
            // The judges of ScholarQABench's published numbers.
            "aspect.organization" | "aspect.coverage" => "prometheus-bgb-8x7b-v2.0",
            "aspect.relevance" => "prometheus-8x7b-v2.0",
            "citation" => "attrscore-flan-t5-xl",
            _ => return None,
        };
        let mut judges: Vec<&JudgeEntry> = self.judges.iter().collect();
        // Nobody takes the baseline for the published judge; its warning says what it is.
        judges.retain(|judge| !judge.lexical);
        if judges.is_empty() {
            return None;
        }
        let mut differences = Vec::new();
        if !judges.iter().all(|judge| judge.is_version_of(published)) {
            let names: Vec<&str> = judges.iter().map(|judge| judge.name()).collect();
            let names = names.join(" and ");
            differences.push(format!("judge {names} instead of {published}"));
        }
        if let Some(prompts) = &self.prompts
            && !prompts.comparable_with_published
        {
            differences.push(format!("prompts {}", prompts.label));
        }
        if differences.is_empty() {
            return None;
        }
        Some(differences.join(", "))
    }
}

/// The room for reasoning that the replies of a judge had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomUse {
    /// Tokens beyond the limit of the reply, of most replies.
    pub tokens: u64,
    /// Calls with a reply.
    pub calls: u64,
    /// Those of them that were asked again with more room.
    pub asked_again: u64,
}

/// The setting of a decision model that says how many questions a request to it may have.
pub(crate) const QUESTIONS_PER_REQUEST: &str = "questions_per_request";

/// A judge of a role.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgeEntry {
    /// The identity in cache keys.
    pub id: String,
    /// The identity that earlier versions gave it, if it was another one.
    #[serde(skip)]
    pub earlier_id: Option<String>,
    /// The requested model; `None` for the lexical baseline.
    pub model: Option<String>,
    /// Its address, secrets masked; `None` for the lexical baseline.
    pub base_url: Option<String>,
    /// The model that the server reported, if it did.
    pub served: Option<Value>,
    /// True for the built-in baseline, which is not an LLM.
    pub lexical: bool,
    /// Samples per call.
    pub samples: u32,
    /// How its samples are merged.
    pub merge: GradeMerge,
    /// What else affects its replies: temperature, reply limits, ..
    pub settings: Map<String, Value>,
    /// The models that its recorded replies name; counted when the run ends, and not part of its identity.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answered_by: Vec<AnsweringModel>,
    /// What its replies had of room for reasoning; counted when the run ends, and not part of its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomUse>,
    /// What its service stated about the model's end when calls were made; not part of its identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<ModelEnd>,
}

impl JudgeEntry {
    /// The model with its stated end.
    pub(super) fn ending(&self) -> Option<EndingModel> {
        let model = self.model.clone()?;
        let end = self.end?;
        Some(EndingModel { model, end })
    }

    /// Its reply limits by kind of question.
    pub(super) fn limits(&self) -> ReplyLimits {
        let mut limits = ReplyLimits::new();
        let given = self.settings.get("max_tokens").and_then(Value::as_object);
        for (name, limit) in given.into_iter().flatten() {
            if let Some(info) = KindInfo::named(name) {
                limits
                    .entry(info.kind())
                    .or_default()
                    .insert(limit.as_u64());
            }
        }
        limits
    }

    /// The name for people: the model's (of a file its stem) or `cache_id`, without what the server reported.
    pub fn name(&self) -> &str {
        // What follows the bar is what the server reported of itself.
        let name = self.id.split('|').next().unwrap_or_default();
        let name = without_directories(name);
        name.strip_suffix(".gguf").unwrap_or(name)
    }

    /// How it was asked, if it is a decision model. Its replies are read by their options alone, so that the prompts do not matter.
    pub(crate) fn decider(&self) -> Option<Decider> {
        let kind = JudgeKind::deserialize(self.settings.get("kind")?).ok()?;
        let most = self.settings.get(QUESTIONS_PER_REQUEST)?.as_u64()?;
        let bounds = DecisionBounds::of_questions(usize::try_from(most).ok()?);
        Decider::new(kind, PromptSet::builtin().into(), bounds)
    }

    /// Whether its replies name several models.
    pub(super) fn is_mixed(&self) -> bool {
        answered::names(&self.answered_by).len() > 1
    }

    /// Whether its scores are expected scores.
    pub fn is_expected(&self) -> bool {
        self.settings
            .get("logprobs")
            .is_some_and(|count| !count.is_null())
    }

    /// The name, with how its samples are merged: `gpt-4o, mean of 3 samples, expected scores`.
    pub(crate) fn summary(&self) -> String {
        let answered = answered::names(&self.answered_by);
        let mut summary = answered::label(self.name(), self.model.as_deref(), &answered);
        if self.samples > 1 {
            let merge = self.merge.as_str().replace('_', " ");
            summary += &format!(", {merge} of {} samples", self.samples);
        }
        if self.is_expected() {
            summary += ", expected scores";
        }
        summary
    }

    /// Whether the requested model is this one, or a version of it by its date (`gpt-4o-2024-08-06`).
    fn is_version_of(&self, published: &str) -> bool {
        let Some(model) = &self.model else {
            return false;
        };
        // Gateways put a provider before the name.
        let name = model.rsplit('/').next().unwrap_or_default().to_lowercase();
        match name.strip_prefix(published) {
            // `gpt-4o-mini` begins with `gpt-4o`, too; a version begins with its year.
            Some(rest) => rest.is_empty() || rest.starts_with("-20"),
            None => false,
        }
    }
}

/// The prompt set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptsEntry {
    /// Its label (`scholareval@1a2b3c4d`, `scholarqabench@95e6fc5`).
    pub label: String,
    /// blake3 over its contents.
    pub fingerprint: Fingerprint,
    /// True only for the published wording.
    pub comparable_with_published: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(id: &str, model: &str, published_prompts: bool) -> RoleEntry {
        let judge = JudgeEntry {
            id: id.to_owned(),
            model: Some(model.to_owned()),
            ..JudgeEntry::default()
        };
        let prompts = PromptsEntry {
            label: "p".to_owned(),
            fingerprint: [0xab; 32].into(),
            comparable_with_published: published_prompts,
        };
        RoleEntry {
            judges: vec![judge],
            prompts: Some(prompts),
            ..RoleEntry::default()
        }
    }

    #[test]
    fn a_judge_is_called_by_its_model_and_a_file_by_its_stem() {
        let name = |id: &str| role(id, "m", true).judges[0].name().to_owned();
        let ids = [
            "gpt-4o",
            "org/m|root=/w",
            "/models/qwen-7b.gguf|path=/models/qwen-7b.gguf",
            "C:\\m\\a.gguf",
        ];
        assert_eq!(ids.map(name), ["gpt-4o", "org/m", "qwen-7b", "a"]);
    }

    #[test]
    fn only_the_published_judge_with_the_published_prompts_is_comparable() {
        let differs = |role_name: &str, model: &str, prompts| {
            role(model, model, prompts).differs_from_published(role_name)
        };
        assert_eq!(differs("rubric", "gpt-4o-2024-08-06", true), None);
        assert_eq!(
            differs("rubric", "gpt-4o-mini", true).unwrap(),
            "judge gpt-4o-mini instead of gpt-4o"
        );
        assert_eq!(differs("rubric", "gpt-4o", false).unwrap(), "prompts p");
        assert_eq!(
            differs("citation", "osunlp/attrscore-flan-t5-xl", true),
            None
        );
        assert_eq!(
            differs("aspect.depth", "m", false),
            None,
            "no published numbers"
        );
    }
}
