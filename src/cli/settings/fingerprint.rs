//! Which settings change scores: they name the default run directory, and a run record of others is refused.
//!
//! | part of it | why |
//! |---|---|
//! | judge kind, model, cache id, temperature, top-p, seed, JSON mode, reply limits, logprobs, conversation, request fields | they change replies |
//! | roles and panels, and the judges that have them | they say who judges |
//! | rubrics and snippets, systems, cases, limit, slice, agreement | they change what is scored |
//! | scorers and what each of them is told (aspects, instruction, index base, ..) | they change what is asked |
//! | samples, merge, parse retries, compat | they change how replies become scores |
//!
//! | no part of it | why |
//! |---|---|
//! | base URL, key, headers, query, name of the limit's field | how to reach a model, not which; headers and query may be secret. What the server reports is checked by the manifest |
//! | concurrency, rpm, tpm, retries, timeout, waiting | speed |
//! | budgets, time limit, prices | when a run stops; the same command goes on |
//! | cache, retry-unscored | where replies come from |
//! | on-unscored, max-unscored, resampling seed, format | read from the scores afterwards; a record can be summarised again in any way |
//! | strict, quiet, dry-run, out, overwrite, no-inputs, label | what is told and where |
//! | paths of tests, answers, references, aspect rubrics, prompts | their contents count: their hashes stand beside these |
//!
//! A run that only scores rubrics by the judge of `[judge]` has the keys it always had, so that its directory is found
//! again: a newer setting is listed only where its scorer was asked for by name, or where it is not the default.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::value::SettingValue;
use super::{
    Conversation, JudgeKind, JudgeSettings, MergeRule, RoleSettings, ScorerName, ScorerSettings, Settings, keys,
};
use crate::cli::config_file::{ASPECT_ROLE, DEFAULT_JUDGE};
use crate::cli::masking::masked_json;
use crate::domain::{Mode, Role};

impl Settings {
    /// The settings that change scores, by their config keys; without secrets, the same for the same run on any
    /// machine. Key-like strings in request fields are masked: they authenticate, they do not judge.
    pub fn run_fingerprint_inputs(&self) -> BTreeMap<String, Value> {
        let score = &self.score;
        let inputs = BTreeMap::from([
            ("score.rubrics", json!(score.parts.rubrics)),
            ("score.snippets", json!(score.parts.snippets)),
            ("score.systems", json!(score.systems.as_deref().map(system_set))),
            ("score.cases", json!(score.cases.as_deref().map(sorted))),
            ("score.limit", json!(score.limit)),
            ("score.samples", json!(score.samples)),
            ("score.agreement", json!(score.agreement)),
            ("score.compat", json!(score.mode == Mode::Compat)),
            ("score.parse_retries", json!(score.parse_retries)),
        ]);
        let mut inputs: BTreeMap<String, Value> = inputs.into_iter().map(|(k, value)| (k.to_owned(), value)).collect();
        inputs.extend(self.budget.slice.map(|slice| (keys::SLICE.name.to_owned(), slice.to_json())));
        if score.samples > 1 && score.merge != MergeRule::Mean {
            inputs.insert(keys::MERGE.name.to_owned(), json!(score.merge.as_str()));
        }
        inputs.extend(scorer_inputs(&self.scorers).into_iter().map(|(key, value)| (key.to_owned(), value)));
        inputs.extend(self.role_inputs());
        for name in self.used_judges() {
            if name == DEFAULT_JUDGE {
                let judge = judge_inputs(&self.judge);
                inputs.extend(judge.into_iter().map(|(key, value)| (format!("{DEFAULT_JUDGE}.{key}"), value)));
            } else if let Some(named) = self.judge_named(&name) {
                let mut judge = judge_inputs(named.judge);
                judge.insert("samples", json!(named.samples));
                if named.samples > 1 {
                    judge.insert("merge", json!(named.merge.as_str()));
                }
                inputs.insert(format!("{}.{name}", keys::JUDGES), json!(judge));
            }
        }
        inputs
    }

    /// Roles whose scorers may run, where they are not as they would be without `[roles]`.
    fn role_inputs(&self) -> Vec<(String, Value)> {
        let value = |settings: &RoleSettings| match &settings.judges[..] {
            [one] => json!([one]),
            panel => json!({"judges": panel, "merge": settings.merge.as_str()}),
        };
        let runs = |role: &Role| match role {
            Role::Rubric => self.scorers.may_run(ScorerName::Rubric),
            Role::Aspect(_) => self.scorers.may_run(ScorerName::Prometheus),
            Role::Citation => self.scorers.may_run(ScorerName::Entailment),
        };
        let by_default = |role: &Role, settings: &RoleSettings| {
            *role == Role::Rubric && settings.judges.iter().map(String::as_str).eq([DEFAULT_JUDGE])
        };
        let own = self.roles.iter().filter(|(role, settings)| runs(role) && !by_default(role, settings));
        let own = own.map(|(role, settings)| (format!("{}.{}", keys::ROLES, role.name()), value(settings)));
        let aspect = self.aspect_role.iter().filter(|_| self.scorers.may_run(ScorerName::Prometheus));
        own.chain(aspect.map(|settings| (format!("{}.{ASPECT_ROLE}", keys::ROLES), value(settings)))).collect()
    }
}

/// What changes a judge's replies, by the names of its keys.
fn judge_inputs(judge: &JudgeSettings) -> BTreeMap<&'static str, Value> {
    let mut inputs = BTreeMap::from([("kind", json!(judge.kind.as_str()))]);
    if judge.kind == JudgeKind::Lexical {
        return inputs;
    }
    let max_tokens: BTreeMap<&str, u64> = judge.max_tokens.iter().map(|(k, n)| (k.as_str(), *n)).collect();
    let extra_body = masked_json(&Value::Object(judge.extra_body.clone()));
    inputs.extend([
        ("model", json!(judge.model)),
        ("cache_id", json!(judge.cache_id)),
        ("temperature", json!(judge.temperature)),
        ("seed", json!(judge.seed)),
        ("json_mode", json!(judge.json_mode)),
        ("max_tokens", json!(max_tokens)),
        ("extra_body", key_sorted(&extra_body)),
    ]);
    inputs.extend(judge.top_p.map(|top_p| ("top_p", json!(top_p))));
    inputs.extend(judge.logprobs.map(|logprobs| ("logprobs", json!(logprobs))));
    if judge.kind != JudgeKind::Chat && judge.conversation != Conversation::None {
        inputs.insert("conversation", json!(judge.conversation.as_str()));
    }
    inputs
}

/// What the scorers are told: each setting if a scorer that reads it was asked for by name, or may run and is told
/// something else than the default. The rubric alone never lists a default.
fn scorer_inputs(scorers: &ScorerSettings) -> Vec<(&'static str, Value)> {
    use ScorerName::{CitationAudit, Entailment, Overlap, Prometheus, Rubric};
    let default = ScorerSettings::default();
    let aspects = scorers.aspects.as_deref().map(sorted);
    let settings: [(&keys::Key, &[ScorerName], Value, Value); 9] = [
        (&keys::ASPECTS, &[Prometheus], json!(aspects), Value::Null),
        (&keys::NO_REFERENCE, &[Prometheus], json!(scorers.no_reference), json!(default.no_reference)),
        (&keys::INSTRUCTION, &[Prometheus], json!(scorers.instruction), json!(default.instruction)),
        (&keys::TOP_N, &[Prometheus], json!(scorers.top_n), json!(default.top_n)),
        (&keys::ENTAIL, &[Entailment], json!(scorers.entail.as_str()), json!(default.entail.as_str())),
        (&keys::AT_MOST, &[Entailment], json!(scorers.at_most), json!(default.at_most)),
        (&keys::MAX_WORDS, &[Overlap], json!(scorers.max_words), json!(default.max_words)),
        (&keys::TRUNCATE, &[Rubric, Prometheus, Entailment], json!(scorers.truncate), json!(default.truncate)),
        (
            &keys::INDEX_BASE,
            &[Rubric, Prometheus, Entailment, CitationAudit],
            json!(scorers.index_base),
            json!(default.index_base),
        ),
    ];
    let listed = settings.into_iter().filter(|(_, readers, value, default)| {
        let asked = readers.iter().any(|reader| *reader != Rubric && scorers.names_scorer(*reader));
        asked || value != default && readers.iter().any(|reader| scorers.may_run(*reader))
    });
    let mut inputs: Vec<_> = listed.map(|(key, _, value, _)| (key.name, value)).collect();
    if scorers.references_block != default.references_block && scorers.may_run(Rubric) {
        inputs.push((keys::REFERENCES_BLOCK.name, json!(scorers.references_block.as_str())));
    }
    let mut names: Vec<&str> = scorers.names.iter().flatten().map(|scorer| scorer.as_str()).collect();
    names.sort_unstable();
    if !names.is_empty() && names != [Rubric.as_str()] {
        inputs.push((keys::SCORERS.name, json!(names)));
    }
    inputs
}

/// The order and repetition of names, and `.jsonl` behind systems, change nothing.
fn sorted(names: &[String]) -> Vec<&str> {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn system_set(names: &[String]) -> Vec<String> {
    let stems: Vec<String> = names.iter().map(|name| name.strip_suffix(".jsonl").unwrap_or(name).to_owned()).collect();
    sorted(&stems).into_iter().map(str::to_owned).collect()
}

/// The same object whatever order it was typed in.
fn key_sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let pairs: BTreeMap<&String, Value> = map.iter().map(|(key, inner)| (key, key_sorted(inner))).collect();
            json!(pairs)
        }
        Value::Array(items) => Value::Array(items.iter().map(key_sorted).collect()),
        other => other.clone(),
    }
}
