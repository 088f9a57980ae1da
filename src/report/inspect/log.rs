//! The log around the samples.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::means::Tally;
use super::sample::{Given, given, sample};
use super::{InspectRun, InspectSample};
use crate::domain::{ScoredAnswer, SystemName};

/// The version of `EvalLog` that is written.
const VERSION: u32 = 2;

pub(super) fn log(run: &InspectRun, system: &SystemName, samples: &[InspectSample<'_>]) -> Value {
    let answers = || samples.iter().flat_map(|sample| sample.scored.iter().copied());
    let with_score: BTreeSet<&str> =
        answers().filter(|answer| answer.score.value.is_some()).map(|answer| answer.score.scorer).collect();
    let has_score = |answer: &ScoredAnswer| with_score.contains(answer.score.scorer);
    let tallies = tallies(answers(), has_score);
    let scores: Vec<Value> = tallies.iter().map(|(scorer, name, tally)| tally.entry(name, scorer)).collect();
    let mut scorers: Vec<&str> = Vec::new();
    for (scorer, _, _) in &tallies {
        if !scorers.contains(&scorer.as_str()) {
            scorers.push(scorer);
        }
    }
    let scorer = |name: &&str| json!({"name": name, "metrics": [{"name": "mean"}, {"name": "stderr"}]});
    json!({
        "version": VERSION,
        "status": if run.complete { "success" } else { "cancelled" },
        "eval": {
            "eval_id": format!("{}{}", run.run_id, short_hash(system)),
            "run_id": run.run_id,
            "created": run.started_at,
            "task": format!("scholareval/{}", run.run),
            "task_id": format!("{}{}", run.run_id, short_hash(system)),
            "task_version": 0,
            "dataset": dataset(run, samples),
            "model": system,
            "model_roles": judges(run),
            "config": {},
            "packages": {"scholareval": env!("CARGO_PKG_VERSION")},
            "metadata": run.metadata,
            "scorers": scorers.iter().map(scorer).collect::<Vec<_>>(),
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {"total_samples": samples.len(), "completed_samples": samples.len(), "scores": scores},
        "stats": {
            "started_at": run.started_at,
            "completed_at": run.completed_at.as_deref().unwrap_or_default(),
            "model_usage": {},
        },
        "samples": samples.iter().map(|of| sample(system, of, has_score)).collect::<Vec<_>>(),
    })
}

/// Eight letters and digits that tell systems apart.
pub(super) fn short_hash(system: &SystemName) -> String {
    blake3::hash(system.as_str().as_bytes()).to_hex().chars().take(8).collect()
}

fn dataset(run: &InspectRun, samples: &[InspectSample<'_>]) -> Value {
    let ids: Vec<&str> = samples.iter().map(|sample| sample.case.case_id.as_str()).collect();
    let mut dataset = json!({"samples": samples.len(), "sample_ids": ids, "shuffled": false});
    if let Some(name) = &run.dataset {
        dataset["name"] = name.as_str().into();
    }
    dataset
}

fn judges(run: &InspectRun) -> Value {
    let judge = |judge: &super::InspectJudge| {
        let mut entry = json!({"model": judge.judge, "config": {}, "args": {}});
        if let Some(base_url) = &judge.base_url {
            entry["base_url"] = base_url.as_str().into();
        }
        (judge.role.clone(), entry)
    };
    Value::Object(run.judges.iter().map(judge).collect::<Map<_, _>>())
}

/// Scorer, name and values of every number, in order of appearance.
fn tallies<'a>(
    answers: impl Iterator<Item = &'a ScoredAnswer>,
    has_score: impl Fn(&ScoredAnswer) -> bool,
) -> Vec<(String, String, Tally)> {
    let mut tallies: Vec<(String, String, Tally)> = Vec::new();
    let mut add = |scorer: &str, name: &str, number: Option<f64>| {
        let place = tallies.iter().position(|(of, known, _)| of == scorer && known == name);
        let place = place.unwrap_or_else(|| {
            tallies.push((scorer.to_owned(), name.to_owned(), Tally::default()));
            tallies.len() - 1
        });
        if let Some((_, _, tally)) = tallies.get_mut(place) {
            tally.add(number);
        }
    };
    for answer in answers {
        match given(&answer.score, has_score(answer)) {
            Given::Numbers(numbers) => numbers.iter().for_each(|(name, number)| add(name, name, *number)),
            Given::Object(scorer, numbers) => numbers.iter().for_each(|(name, number)| add(scorer, name, *number)),
        }
    }
    tallies
}
