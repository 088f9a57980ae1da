//! Who answered: the models that servers name in their replies.
//!
//! A service may answer a retired model's calls by another model, under the old name. So the manifest counts for each judge
//! which models its replies name, as [`JudgeEntry::answered_by`], and every report says so where that is not the requested
//! model throughout. Replies that name no model contradict nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::lines::LineReader;
use super::manifest::{JudgeEntry, Manifest};
use crate::domain::{Note, Role};
use crate::error::Result;
use crate::text::names::counted;

/// Longest name that is recorded, in characters: names come from servers.
const MAX_NAME: usize = 200;
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
    fn add_fingerprint(&mut self, fingerprint: String, calls: u64) {
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
    #[serde(skip)]
    id: String,
}

impl AnsweredJudge {
    /// The judge of that entry, by whom nothing is counted yet.
    fn of(entry: &JudgeEntry) -> Self {
        Self {
            judge: entry.name().to_owned(),
            requested: entry.model.clone(),
            models: Vec::new(),
            is_lexical: entry.lexical,
            id: entry.id.clone(),
        }
    }

    /// The names of the models that answered.
    fn names(&self) -> Vec<&str> {
        names(&self.models)
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
            let models = self.models.iter().filter_map(|model| {
                let name = model.model.as_deref()?;
                Some(format!("{name} ({})", calls(model.calls)))
            });
            let models: Vec<String> = models.collect();
            return Some(format!(
                "Several models answered as judge {judge}: {}; their scores are not comparable, so score again with \
                 another --out",
                models.join(", ")
            ));
        }
        let requested = self.requested.as_deref()?;
        let answered = *self.names().first()?;
        if extends(requested, answered) {
            return None;
        }
        Some(format!(
            "Judge {requested} was requested, and {answered} answered"
        ))
    }

    /// The system fingerprints of each model, if there are any.
    pub fn fingerprints(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for model in &self.models {
            let mut counts = Vec::new();
            for (fingerprint, count) in &model.fingerprints {
                counts.push(format!("{fingerprint} ({})", calls(*count)));
            }
            if !counts.is_empty() {
                let name = model.model.as_deref().unwrap_or(&self.judge);
                lines.push(format!(
                    "System fingerprints of {name}: {}",
                    counts.join(", ")
                ));
            }
        }
        lines
    }
}

/// The names among these models.
pub(super) fn names(models: &[AnsweringModel]) -> Vec<&str> {
    let names = models.iter().filter_map(|model| model.model.as_deref());
    names.collect()
}

/// As [`AnsweredJudge::label`].
pub(super) fn label(judge: &str, requested: Option<&str>, answered: &[&str]) -> String {
    let is_other = |name: &&str| requested.is_none_or(|requested| bare(requested) != bare(name));
    if answered.iter().any(is_other) {
        format!("{judge} (answered by {})", answered.join(" and "))
    } else {
        judge.to_owned()
    }
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
    let Some(version) = rest.strip_prefix(['-', '@', ':']) else {
        return rest.is_empty();
    };
    let first = version.split('-').next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_dated = first.len() >= MIN_DIGITS && version.split('-').all(is_number);
    is_dated || version == "latest"
}

/// A model's name without what gateways and file systems add: `openai/gpt-4o`, `models/gemini-2.5-pro`, `/w/qwen-7b.gguf`.
fn bare(name: &str) -> String {
    let name = name.to_lowercase();
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    last.strip_suffix(".gguf").unwrap_or(last).to_owned()
}

/// The fields of a line of `calls.jsonl` that say who answered.
#[derive(Deserialize)]
struct AnsweredCall {
    role: Role,
    judge: String,
    reply: Option<ReplyHead>,
}

#[derive(Deserialize)]
struct ReplyHead {
    model: Option<String>,
    system_fingerprint: Option<String>,
}

impl Manifest {
    /// Counts which models the replies in `calls.jsonl` of this directory name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn count_answers(&mut self, dir: &Path) -> Result<()> {
        let judges = self.roles.values_mut().flat_map(|role| &mut role.judges);
        judges.for_each(|judge| judge.answered_by.clear());
        let Some(mut lines) = LineReader::to_resume(&dir.join("calls.jsonl"))? else {
            return Ok(());
        };
        while let Some((_, call)) = lines.read::<AnsweredCall>()? {
            let Some(reply) = call.reply else { continue };
            let role = self.roles.get_mut(&*call.role.name());
            let judges = role.map(|role| role.judges.iter_mut());
            let mut judges = judges.into_iter().flatten();
            if let Some(judge) = judges.find(|judge| judge.id == call.judge) {
                let counted = model_among(&mut judge.answered_by, recorded_name(reply.model));
                counted.calls += 1;
                if let Some(fingerprint) = recorded_name(reply.system_fingerprint) {
                    counted.add_fingerprint(fingerprint, 1);
                }
            }
        }
        Ok(())
    }

    /// Whether nobody has counted yet who answered: the run was killed, or written before this was recorded.
    pub(super) fn lacks_answers(&self) -> bool {
        let mut judges = self.roles.values().flat_map(|role| &role.judges);
        judges.all(|judge| judge.answered_by.is_empty())
    }

    /// Every judge with the models that answered for it; one that has several roles once.
    pub fn answered_judges(&self) -> Vec<AnsweredJudge> {
        let mut answered: Vec<AnsweredJudge> = Vec::new();
        for entry in self.roles.values().flat_map(|role| &role.judges) {
            let known = answered.iter().position(|judge| judge.id == entry.id);
            let place = known.unwrap_or(answered.len());
            if known.is_none() {
                answered.push(AnsweredJudge::of(entry));
            }
            for own in &entry.answered_by {
                let model = model_among(&mut answered[place].models, own.model.clone());
                model.calls += own.calls;
                for (fingerprint, calls) in &own.fingerprints {
                    model.add_fingerprint(fingerprint.clone(), *calls);
                }
            }
        }
        answered
    }

    /// Notes on who answered: warnings first, then system fingerprints.
    pub fn answer_notes(&self) -> Vec<Note> {
        let judges = self.answered_judges();
        let warnings = judges.iter().filter_map(AnsweredJudge::warning);
        let fingerprints = judges.iter().flat_map(AnsweredJudge::fingerprints);
        let warnings = warnings.map(|text| Note::warning(format!("{text}.")));
        let fingerprints = fingerprints.map(|text| Note::info(format!("{text}.")));
        warnings.chain(fingerprints).collect()
    }
}

/// The entry of the model with that name, which is added in the order of names if it is new.
fn model_among(models: &mut Vec<AnsweringModel>, name: Option<String>) -> &mut AnsweringModel {
    let place = models.partition_point(|known| known.model < name);
    if models.get(place).is_none_or(|known| known.model != name) {
        let model = AnsweringModel {
            model: name,
            ..AnsweringModel::default()
        };
        models.insert(place, model);
    }
    &mut models[place]
}

/// A name as it is recorded: not empty, and not longer than [`MAX_NAME`].
fn recorded_name(name: Option<String>) -> Option<String> {
    let name: String = name?.chars().take(MAX_NAME).collect();
    Some(name).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::record::RoleEntry;

    fn answering(model: &str, calls: u64, fingerprints: &[&str]) -> AnsweringModel {
        AnsweringModel {
            model: Some(model.to_owned()),
            calls,
            fingerprints: fingerprints
                .iter()
                .map(|name| ((*name).to_owned(), 1))
                .collect(),
        }
    }

    /// A run in which these models answered for the judge `gpt-4o` as `rubric` and as `citation`.
    fn run(rubric: &[AnsweringModel], citation: &[AnsweringModel]) -> Manifest {
        let role = |answered: &[AnsweringModel]| RoleEntry {
            judges: vec![JudgeEntry {
                id: "gpt-4o".to_owned(),
                model: Some("gpt-4o".to_owned()),
                answered_by: answered.to_vec(),
                ..JudgeEntry::default()
            }],
            ..RoleEntry::default()
        };
        let roles = [("rubric", rubric), ("citation", citation)];
        Manifest {
            roles: roles
                .into_iter()
                .map(|(name, answered)| (name.to_owned(), role(answered)))
                .collect(),
            ..Manifest::default()
        }
    }

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

    #[test]
    fn several_models_are_a_warning_even_if_each_has_its_own_role() {
        let dated = answering("gpt-4o-2024-08-06", 4, &[]);
        let other = answering("gpt-5", 1, &[]);
        let judge = run(&[dated], &[other]).answered_judges().remove(0);
        assert!(judge.is_mixed());
        assert_eq!(
            judge.warning().unwrap(),
            "Several models answered as judge gpt-4o: gpt-4o-2024-08-06 (4 calls), gpt-5 (1 call); their scores are not \
             comparable, so score again with another --out"
        );
        assert_eq!(
            judge.label(),
            "gpt-4o (answered by gpt-4o-2024-08-06 and gpt-5)"
        );
    }

    #[test]
    fn another_name_is_shown_and_noted_unless_it_extends_the_requested_one() {
        let judge = |model: &str| {
            let models = [answering(model, 3, &[])];
            run(&models, &models).answered_judges().remove(0)
        };
        let same = judge("gpt-4o");
        assert_eq!((same.label().as_str(), same.warning()), ("gpt-4o", None));
        let dated = judge("gpt-4o-2024-08-06");
        assert_eq!(dated.label(), "gpt-4o (answered by gpt-4o-2024-08-06)");
        assert_eq!(dated.warning(), None);
        let other = judge("gpt-4.1");
        assert_eq!(
            other.warning().unwrap(),
            "Judge gpt-4o was requested, and gpt-4.1 answered"
        );
        assert_eq!(other.models[0].calls, 6);
    }

    #[test]
    fn replies_without_a_model_contradict_nothing_and_fingerprints_are_details() {
        let unnamed = AnsweringModel {
            calls: 2,
            ..AnsweringModel::default()
        };
        let named = answering("gpt-4o", 2, &["fp_a", "fp_b"]);
        let notes = run(&[unnamed, named], &[]).answer_notes();
        assert_eq!(
            notes,
            [Note::info(
                "System fingerprints of gpt-4o: fp_a (1 call), fp_b (1 call)."
            )]
        );
    }

    #[test]
    fn calls_are_counted_by_role_judge_and_model() {
        let dir = tempfile::tempdir().unwrap();
        let line = |role: &str, judge: &str, reply: &str| {
            format!("{{\"role\":\"{role}\",\"judge\":\"{judge}\",\"reply\":{reply}}}\n")
        };
        let named = r#"{"model":"gpt-4o-2024-08-06","system_fingerprint":"fp"}"#;
        let text = [
            line("rubric", "gpt-4o", named),
            line("rubric", "gpt-4o", named),
            line("rubric", "gpt-4o", "null"),
            line("rubric", "another judge", named),
            line("citation", "gpt-4o", r#"{"model":""}"#),
        ];
        std::fs::write(dir.path().join("calls.jsonl"), text.concat()).unwrap();
        let mut manifest = run(&[answering("old", 9, &[])], &[]);
        manifest.count_answers(dir.path()).unwrap();
        let of = |role: &str| manifest.roles[role].judges[0].answered_by.clone();
        let expected = AnsweringModel {
            fingerprints: BTreeMap::from([("fp".to_owned(), 2)]),
            ..answering("gpt-4o-2024-08-06", 2, &[])
        };
        assert_eq!(of("rubric"), [expected]);
        let unnamed = AnsweringModel {
            calls: 1,
            ..AnsweringModel::default()
        };
        assert_eq!(of("citation"), [unnamed]);
    }
}
