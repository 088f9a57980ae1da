//! Which settings change scores: they name the default run directory, and a run record of others is refused.
//!
//! | part of it | why |
//! |---|---|
//! | judge kind, model, cache id, temperature, seed, JSON mode, reply limits, request fields | they change replies |
//! | rubrics and snippets, systems, cases, limit, agreement | they change what is scored |
//! | samples, parse retries, compat | they change how replies become scores |
//!
//! | no part of it | why |
//! |---|---|
//! | base URL, key, headers, query, name of the limit's field | how to reach a model, not which; headers and query may be secret. What the server reports is checked by the manifest |
//! | concurrency, rpm, tpm, retries, timeout, waiting | speed |
//! | cache, retry-unscored | where replies come from |
//! | on-unscored, max-unscored, resampling seed, format | read from the scores afterwards; a record can be summarised again in any way |
//! | strict, quiet, dry-run, out, overwrite, no-inputs, label | what is told and where |
//! | paths of tests, answers, prompts | their contents count: the pipeline adds the hashes |

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{JudgeKind, Settings};
use crate::cli::masking::masked_json;
use crate::domain::Mode;

impl Settings {
    /// The settings that change scores, by their config keys; without secrets, the same for the same run on any
    /// machine. Key-like strings in request fields are masked: they authenticate, they do not judge.
    pub fn run_fingerprint_inputs(&self) -> BTreeMap<String, Value> {
        let score = &self.score;
        let mut inputs = BTreeMap::from([
            ("score.rubrics", json!(score.parts.rubrics)),
            ("score.snippets", json!(score.parts.snippets)),
            ("score.systems", json!(score.systems.as_deref().map(system_set))),
            ("score.cases", json!(score.cases.as_deref().map(sorted))),
            ("score.limit", json!(score.limit)),
            ("score.samples", json!(score.samples)),
            ("score.agreement", json!(score.agreement)),
            ("score.compat", json!(score.mode == Mode::Compat)),
            ("score.parse_retries", json!(score.parse_retries)),
            ("judge.kind", json!(self.judge.kind.as_str())),
        ]);
        if self.judge.kind == JudgeKind::Chat {
            let judge = &self.judge;
            let max_tokens: BTreeMap<&str, u64> = judge.max_tokens.iter().map(|(k, n)| (k.as_str(), *n)).collect();
            let extra_body = masked_json(&Value::Object(judge.extra_body.clone()));
            inputs.extend([
                ("judge.model", json!(judge.model)),
                ("judge.cache_id", json!(judge.cache_id)),
                ("judge.temperature", json!(judge.temperature)),
                ("judge.seed", json!(judge.seed)),
                ("judge.json_mode", json!(judge.json_mode)),
                ("judge.max_tokens", json!(max_tokens)),
                ("judge.extra_body", key_sorted(&extra_body)),
            ]);
        }
        inputs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }
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
