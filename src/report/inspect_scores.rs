//! Exports the scores of a run for inspect-ai's scorer `precomputed_scores`, which puts them into a log of the same samples.
//!
//! One file per system and scorer, since a log is of one model and a score has one value: `{id, epoch, value, explanation, metadata}` per
//! line. Unscored is a bare `NaN`, which Inspect counts as unscored; a sample without a line would be left out of both counts.

use std::path::Path;

use serde_json::{Value, json};

use super::inspect::{NAN, explanation, harmless, numbers_of, push_line, short_hash};
use crate::analysis::distinct;
use crate::domain::{ScoredAnswer, ScorerId, SystemName};
use crate::error::Result;
use crate::files::write_bytes;
use crate::record::RecordedRun;

/// Writes the files into a directory; returns their number.
///
/// # Errors
/// When a file cannot be written.
pub fn write_inspect_scores(run: &RecordedRun, out: &Path) -> Result<usize> {
    let mut files = 0;
    for system in &run.systems() {
        let own = run.scored.iter().filter(|scored| scored.system == *system);
        let scorers = distinct(own.map(|scored| &scored.score.scorer));
        for scorer in scorers {
            let bytes = lines(run, system, scorer)?;
            write_bytes(&out.join(file_name(run, system, scorer)), &bytes)?;
            files += 1;
        }
    }
    Ok(files)
}

/// The scores of a system by a scorer.
fn lines(run: &RecordedRun, system: &SystemName, scorer: &ScorerId) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for scored in &run.scored {
        if scored.system == *system && scored.score.scorer == *scorer {
            push_line(&mut bytes, &record(scored))?;
        }
    }
    Ok(bytes)
}

/// The first number of a score is that of the whole answer; the others are in the metadata.
fn record(scored: &ScoredAnswer) -> Value {
    let numbers = numbers_of(scored).numbers;
    let value = numbers.first().and_then(|(_, value)| *value);
    let all: serde_json::Map<String, Value> = numbers
        .into_iter()
        .map(|(name, value)| (name, value.into()))
        .collect();
    json!({
        "id": scored.case.case_id,
        // The answer is that of the first epoch, also where the log has more.
        "epoch": 1,
        "value": value.map_or(Value::from(NAN), Value::from),
        "explanation": explanation(&scored.score),
        "metadata": {
            "scorer": scored.score.scorer,
            "numbers": all,
            "components": scored.score.components.iter().map(|own| json!({"name": own.name, "component": own})).collect::<Vec<_>>(),
        },
    })
}

/// `RUN_SYSTEM_SCORER_ID.jsonl`; the id differs where names look the same without unsafe characters.
fn file_name(run: &RecordedRun, system: &SystemName, scorer: &ScorerId) -> String {
    format!(
        "{}_{}_{}_{}.jsonl",
        harmless(&run.name),
        harmless(system.as_str()),
        harmless(scorer.as_str()),
        short_hash(system)
    )
}
